"""What a demo run came to, as JSON and as one screen of text."""
import json
import os
from pathlib import Path
import platform

import numpy as np

from oxygen_ros.demo.punctuality import Punctuality


def host():
    """The machine in words: processor, cores, system, Python."""
    model = platform.machine()
    try:
        for line in Path('/proc/cpuinfo').read_text().splitlines():
            if line.startswith('model name'):
                model = line.partition(':')[2].strip()
                break
    except OSError:
        pass
    system = f'{platform.system()} {platform.machine()}'
    return f'{model}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}'


def summarise(monitor, target_hz):
    """The figures of a run, as a dictionary; raises ValueError where no command was seen."""
    if len(monitor.command_times_s) < 2 or monitor.status is None:
        raise ValueError('no joint command or no status of the node was seen')
    judged = Punctuality.of(monitor.command_times_s, 1 / target_hz)
    status = monitor.status
    age = float(np.percentile(monitor.chunk_ages_ms, 99)) if monitor.chunk_ages_ms else None
    return {
        'control_rate_hz_target': target_hz,
        'control_rate_hz': round(judged.rate_hz, 3),
        'control_late_ms_p50': round(judged.late_ms_p50, 3),
        'control_late_ms_p99': round(judged.late_ms_p99, 3),
        'images_sent': monitor.images_sent,
        'images_received': status.images_received,
        'frames': status.frames,
        'prefills': status.prefills,
        'chunks': status.chunks,
        'streams_started': status.streams_started,
        'streams_finished': status.streams_finished,
        'tokens': status.tokens,
        'max_live_streams': status.max_live_streams,
        'ticks_fresh': status.ticks_fresh,
        'ticks_held': status.ticks_held,
        'chunk_age_ms_p99': None if age is None else round(age, 1),
        'host': host(),
    }


def screen(figures, monitor, directory):
    """The figures for a person, about 20 lines."""
    lost = Punctuality.of(monitor.command_times_s, 1 / figures['control_rate_hz_target']).lost
    ticks = figures['ticks_fresh'] + figures['ticks_held']
    seen = 100 * figures['images_received'] / figures['images_sent'] if figures['images_sent'] else 0
    rows = [
        ('joint commands', f'{figures["control_rate_hz"]:.2f} Hz (asked {figures["control_rate_hz_target"]:g} Hz), '
                           f'{lost} of {len(monitor.command_times_s)} lost'),
        ('lateness', f'{figures["control_late_ms_p50"]:.2f} ms at the median, '
                     f'{figures["control_late_ms_p99"]:.2f} ms at the 99th percentile'),
        ('from a fresh chunk', f'{figures["ticks_fresh"]} of {ticks} ticks, the rest held'),
        ('camera images', f'{figures["images_received"]} received of {figures["images_sent"]} sent ({seen:.0f} %)'),
        ('frames', f'{figures["frames"]}, each with one prefill: {figures["prefills"]} prefills'),
        ('action chunks', f'{figures["chunks"]}'),
        ('language', f'{figures["tokens"]} tokens in {figures["streams_started"]} streams, up to '
                     f'{figures["max_live_streams"]} alive at once'),
        ('host', figures['host']),
        ('recorded in', str(directory)),
    ]
    lines = ['', 'oxygen_ros demo: what a subscriber outside the node saw', '']
    lines += [f'  {name:<20}{text}' for name, text in rows]
    if monitor.finished_texts:
        lines += ['', '  last texts']
        lines += [f'    {task}: {text.strip()!r} ({reason})' for task, text, reason in monitor.finished_texts[-3:]]
    return '\n'.join(lines)


def write(figures, path):
    Path(path).write_text(json.dumps(figures, indent=2) + '\n')
