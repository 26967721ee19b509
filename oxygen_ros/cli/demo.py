"""Simulated robot and node together: commands, streamed text, a summary."""
import argparse
import os
from pathlib import Path
import sys
import time

DEFAULT_INSTRUCTION = 'pick up the red block'
START_TIMEOUT_S = 90.0


def positive(text):
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f'must be greater than 0, got {text}')
    return value


def add_arguments(parser):
    parser.add_argument('--seconds', type=positive, default=20.0, help='how long to run after the first command')
    parser.add_argument('--json', type=Path, metavar='FILE', help='also write the figures to FILE')
    parser.add_argument('--instruction', default=DEFAULT_INSTRUCTION, help='what the robot shall do')
    parser.add_argument('--params-file', type=Path, help='node parameters; default: the shipped config/aloha.yaml')
    parser.add_argument('--directory', type=Path, help='where to record; default: recordings/<date and time>')
    parser.add_argument('--bag', type=Path, metavar='DIR', help='folder of the bag; default: bag in that directory')
    parser.add_argument('--no-bag', action='store_true', help='record no bag and make no report')


def run(arguments):
    if not arguments.instruction.strip():
        print('demo: --instruction is empty; say what the robot shall do', file=sys.stderr)
        return 2
    if arguments.json and not arguments.json.resolve().parent.is_dir():
        print(f'demo: cannot write {arguments.json}: its folder does not exist', file=sys.stderr)
        return 2
    from oxygen_ros.demo.session import Session
    directory = arguments.directory or Path('recordings') / time.strftime('%Y-%m-%d-%H%M%S')
    bag = None if arguments.no_bag else arguments.bag or directory / 'bag'
    if bag and bag.exists():
        print(f'demo: {bag} exists already; give another folder for the bag', file=sys.stderr)
        return 2
    directory.mkdir(parents=True, exist_ok=True)
    session = Session(directory, arguments.instruction, arguments.params_file, bag, dict(os.environ))
    return session.run(arguments.seconds, START_TIMEOUT_S, arguments.json)
