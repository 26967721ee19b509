"""Training curves as a PNG, drawn from the run's curves.csv."""
import csv

import cv2
import numpy as np

PANELS = (
    ('flow loss', ('flow', 'val_flow')),
    ('text loss a token', ('place', 'word')),
    ('named block: words miss it by, mm', ('val_place_mm', 'val_place_start_mm')),
    ('error of sampled chunks, rad', ('val_joint_rad', 'val_action_error')),
)
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 520, 300, 64, 34, 30
INK, GRID = (60, 60, 60), (225, 225, 225)
COLOURS = ((180, 90, 20), (40, 110, 220))  # BGR


def read(path):
    """curves.csv -> column name -> float array."""
    with open(path, newline='') as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise ValueError(f'{path} has no rows yet')
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def panel(title, samples, lines):
    """One chart `uint8 [HEIGHT, WIDTH, 3]`, logarithmic upwards; `lines` are (name, values)."""
    picture = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    values = np.concatenate([np.empty(0), *(v[np.isfinite(v) & (v > 0)] for _, v in lines)])
    low, high = (np.log10(values.min()), np.log10(values.max())) if len(values) else (0.0, 1.0)
    high = max(high, low + 0.1)

    def at(x, y):
        right = LEFT + (WIDTH - LEFT - 16) * x / max(samples.max(), 1)
        up = (np.log10(max(y, 1e-12)) - low) / (high - low)
        return round(right), round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * float(np.clip(up, 0, 1)))

    def write(text, place, colour=INK, size=0.4):
        cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA)

    for share in np.linspace(0, 1, 5):
        level = 10 ** (low + share * (high - low))
        _, y = at(0, level)
        cv2.line(picture, (LEFT, y), (WIDTH - 16, y), GRID, 1)
        write(f'{level:.3g}', (6, y + 4))
    for i, (name, line) in enumerate(lines):
        points = np.array([at(x, y) for x, y in zip(samples, line) if np.isfinite(y) and y > 0], np.int32)
        cv2.polylines(picture, [points.reshape(-1, 1, 2)], False, COLOURS[i], 2, cv2.LINE_AA)
        write(f'{name} {line[-1]:.3g}', (LEFT + 8 + 210 * i, TOP + 12), COLOURS[i])
    write(title, (LEFT, 18), size=0.5)
    write(f'{samples.max() / 1000:.0f}k samples', (WIDTH - 110, HEIGHT - 10))
    return picture


def draw(csv_path, png_path):
    """Write the four charts into one PNG."""
    columns = read(csv_path)
    charts = [panel(title, columns['samples'], [(name, columns[name]) for name in names if name in columns])
              for title, names in PANELS]
    picture = np.concatenate([np.concatenate(charts[:2], 1), np.concatenate(charts[2:], 1)])
    if not cv2.imwrite(str(png_path), picture):
        raise OSError(f'cannot write {png_path}')
