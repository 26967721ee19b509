"""
Make the README's pictures from the bag of a real run: `python tools/pictures.py BAG [--out docs/pictures]`.

`make demo` leaves such a bag. Chromium or Chrome takes the screenshots.
"""
import argparse
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile

import cv2
from rich.console import Console

from oxygen_ros.bag.read import Bag
from oxygen_ros.convert.images import to_rgb
from oxygen_ros.report.build import report_of_bag
from oxygen_ros.viz.overlay import overlay
from oxygen_ros.viz.screen import screen
from oxygen_ros.viz.watch_state import WatchState

IMAGES = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage')
TYPES = {'oxygen_ros/msg/EngineStatus': 'status', 'oxygen_ros/msg/LanguageToken': 'token',
         'oxygen_ros/msg/ActionChunk': 'chunk', 'diagnostic_msgs/msg/DiagnosticArray': 'diagnostics'}
AT = 0.7  # of the run
WIDTH = 1000  # of the terminal's picture


def browser():
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if path := shutil.which(name):
            return path
    raise SystemExit('pictures: Chromium or Chrome is missing; on Debian: apt-get install chromium')


def shot(page, out, width, height):
    """PNG of a file as a browser shows it."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run([browser(), '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
                        '--virtual-time-budget=20000', f'--user-data-dir={profile}', f'--screenshot={out.resolve()}',
                        f'--window-size={width},{height}', page.resolve().as_uri()],
                       check=True, capture_output=True, timeout=180)


def state_at(bag, until_ns):
    """WatchState and the newest picture as they were at a time of the run."""
    state, picture = WatchState('oxygen'), None
    commands = [name for name in bag.topics if name.endswith('joint_command')]
    wanted = {name for name, topic in bag.topics.items() if topic.type in TYPES or topic.type in IMAGES}
    wanted |= {name for name in bag.topics if name.endswith('instruction')} | set(commands)
    wanted -= {name for name in wanted if name.endswith('/overlay')}
    for topic, time_ns, data in bag.messages(wanted, None, until_ns):
        kind, now_s = bag.topics[topic].type, time_ns / 1e9
        if kind in IMAGES:
            picture = (topic, data)
        elif topic in commands:
            state.on_command(now_s)
        elif topic.endswith('instruction'):
            state.instruction = bag.decode(topic, data).data
        else:
            message, what = bag.decode(topic, data), TYPES[kind]
            if what == 'diagnostics':
                for entry in message.status:
                    entry.level = bytes([int(entry.level)])  # as rclpy has it
                state.on_diagnostics(message)
            else:
                getattr(state, f'on_{what}')(message, now_s)
    if picture is None or state.status is None:
        raise SystemExit(f'pictures: {bag.path} holds no picture or no status of a node')
    return state, to_rgb(bag.decode(*picture))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('bag', type=Path)
    parser.add_argument('--out', type=Path, default=Path('docs/pictures'))
    parser.add_argument('--at', type=float, default=AT, help='moment of the run to show, as a part of it')
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with Bag(arguments.bag) as bag, tempfile.TemporaryDirectory() as scratch:
        until_ns = bag.start_ns + round((bag.end_ns - bag.start_ns) * arguments.at)
        state, rgb = state_at(bag, until_ns)
        console = Console(width=96, record=True, file=open('/dev/null', 'w'))
        console.print(screen(state, until_ns / 1e9))
        svg = console.export_svg(title='python -m oxygen_ros watch')
        width, height = (float(part) for part in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
        (Path(scratch) / 'terminal.svg').write_text(svg)
        terminal = Path(scratch) / 'terminal.html'
        terminal.write_text(f'<body style="margin:0"><img src="terminal.svg" width="{WIDTH}">')
        shot(terminal, arguments.out / 'terminal.png', WIDTH, round(WIDTH * height / width))
        texts = [(text.task, text.text) for text in list(state.texts.values())[-2:]]
        scale = max(1, round(640 / rgb.shape[1]))
        large = cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
        drawn = overlay(large, state.status.state, state.status.detail, state.instruction, texts)
        cv2.imwrite(str(arguments.out / 'overlay.png'), drawn[..., ::-1])
        page = report_of_bag(arguments.bag, Path(scratch) / 'report.html')
        shot(page, arguments.out / 'report.png', 1240, 3400)
    return 0


if __name__ == '__main__':
    sys.exit(main())
