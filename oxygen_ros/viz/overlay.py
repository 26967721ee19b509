"""The camera picture with state, instruction and texts written over it."""
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from oxygen_ros.viz.palette import state_colour

SHADE = 0.6            # how dark the picture becomes behind text
MAX_CHARACTERS = 400   # of one text; the newest are kept
MAX_LINES = 3          # of one text


@lru_cache
def font(size):
    return ImageFont.load_default(size)


def wrap(text, width_px, measure):
    """Lines of `text` that each fit `width_px` by `measure(line) -> px`; a word that is too long is cut."""
    lines, line = [], ''
    for word in text.split():
        while word:
            trial = f'{line} {word}' if line else word
            if measure(trial) <= width_px:
                line, word = trial, ''
            elif line:
                lines.append(line)
                line = ''
            else:
                fits = next((n for n in range(len(word) - 1, 0, -1) if measure(word[:n]) <= width_px), 1)
                lines.append(word[:fits])
                word = word[fits:]
    return lines + [line] if line else lines


def overlay(image, state, detail='', instruction='', texts=()):
    """
    Picture of the same size as `image` (RGB uint8 [h, w, 3]) with writing on it; the input is not changed.

    `texts` are (task, text so far) pairs, drawn in order; of a long text the end is shown. Above, a bar in the colour
    of `state`.
    """
    height, width = image.shape[:2]
    size = max(9, round(height / 26))
    face, pad = font(size), max(2, size // 3)
    rows = [(state, f'{state}: {detail}' if detail else state)]
    canvas = image.copy()
    bar_height = size + 2 * pad
    canvas[:bar_height] = np.uint8(canvas[:bar_height] * (1 - SHADE))
    below = []
    for label, text in ([('>', instruction)] if instruction else []) + [(f'{task}:', text) for task, text in texts]:
        lines = wrap(f'{label} {text[-MAX_CHARACTERS:]}', width - 2 * pad, face.getlength)
        below += lines[:1] + lines[1:][-MAX_LINES + 1:]
    shade_from = max(bar_height, height - len(below) * (size + 2) - 2 * pad) if below else height
    canvas[shade_from:] = np.uint8(canvas[shade_from:] * (1 - SHADE))
    picture = Image.fromarray(canvas)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, bar_height // 2, bar_height), fill=state_colour(state))
    draw.text((bar_height // 2 + pad, pad), wrap(rows[0][1], width - bar_height, face.getlength)[0], 'white', face)
    for i, line in enumerate(below):
        y = shade_from + pad + i * (size + 2)
        if y + size <= height:
            draw.text((pad, y), line, 'white', face)
    return np.asarray(picture)
