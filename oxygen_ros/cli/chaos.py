"""Inject random faults into the running demo and judge every command from outside.

Starts the simulated robot, the node, a relay between them and a recorder in a process of its own, injects one fault
after the other, and writes what happened. Exit status 0: no unsafe command, every fault recovered from, and the arm
was commanding for at least 80 % of the time without a fault.
"""
import json
import os
from pathlib import Path
import sys
import time

LEAST_SHARE = 0.8


def add_arguments(parser):
    parser.add_argument('--minutes', type=float, default=2.0, help='how long to inject faults (default 2)')
    parser.add_argument('--seed', type=int, default=0, help='seed of the faults')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    parser.add_argument('--params-file', type=Path, help="the node's parameters; default: the shipped aloha.yaml")
    parser.add_argument('--limits-file', type=Path,
                        help="the judge's limits; default: the shipped config/chaos_limits.yaml")
    parser.add_argument('--directory', type=Path, help='logs and record; default: recordings/chaos-<date and time>')
    parser.add_argument('--messages', type=int, metavar='N',
                        help='instead: give N mutated messages to every input of a node in this process')
    parser.add_argument('--soak', type=int, metavar='FRAMES',
                        help='instead: run so many frames through a node in this process and watch its memory; an hour '
                             'at 15 Hz has 54000')
    parser.add_argument('--cycles', type=int, default=100, help='lifecycle cycles of a soak (default 100)')
    parser.add_argument('--fake-engine', action='store_true', help='soak without a model')
    parser.add_argument('--list', action='store_true', help='list the faults and end')


def run(arguments):
    from oxygen_ros.chaos import faults
    if arguments.list:
        print(faults.markdown())
        return 0
    if not 0 < arguments.minutes < 10_000:
        print(f'chaos: --minutes must be above 0 and below 10000, got {arguments.minutes:g}', file=sys.stderr)
        return 2
    for name in ('messages', 'soak', 'cycles'):
        if getattr(arguments, name) is not None and getattr(arguments, name) < 1:
            print(f'chaos: --{name} must be at least 1, got {getattr(arguments, name)}', file=sys.stderr)
            return 2
    if arguments.json and not arguments.json.resolve().parent.is_dir():
        print(f'chaos: cannot write {arguments.json}: its folder does not exist', file=sys.stderr)
        return 2
    try:
        figures = pester(arguments) if arguments.messages else soak(arguments) if arguments.soak else inject(arguments)
    except (OSError, RuntimeError, ValueError) as error:
        print(f'chaos: {error}', file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        print(f'chaos: {error} in {sys.executable}; source a ROS 2 setup file or run `make setup`', file=sys.stderr)
        return 1
    text = json.dumps(figures, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + '\n')
    if arguments.messages:
        return 0 if figures['crashes'] == 0 else 1
    if arguments.soak:
        from oxygen_ros.chaos.soak import FLAT_MB
        return 0 if figures['timing']['grown_mb'] < FLAT_MB else 1
    return 0 if not figures['unsafe_commands'] and not figures['unrecovered'] \
        and figures['commanding_share'] >= LEAST_SHARE else 1


def say(text):
    print(f'chaos: {text}', flush=True)


def inject(arguments):
    """The figures of a run against robot and node."""
    from oxygen_ros import transport
    from oxygen_ros.demo.session import free_domain
    from oxygen_ros.share import config_file
    directory = arguments.directory or Path('recordings') / time.strftime('chaos-%Y-%m-%d-%H%M%S')
    directory.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, PYTHONUNBUFFERED='1')
    environment.setdefault('ROS_DOMAIN_ID', str(free_domain()))
    transport.configure(environment)
    os.environ.update(environment)
    from oxygen_ros.chaos.session import Session
    session = Session(directory, environment, arguments.params_file or config_file('aloha.yaml'),
                      arguments.limits_file or config_file('chaos_limits.yaml'), arguments.seed,
                      ('sim', '--params-file', config_file('sim.yaml')),
                      say=say)
    return session.run(arguments.minutes)


def pester(arguments):
    """The figures of mutated messages in this process."""
    from oxygen_ros.chaos.pester import pester_node
    return pester_node(arguments.messages, arguments.seed, say=say)


def soak(arguments):
    """The figures of many frames in this process."""
    from oxygen_ros.chaos.soak import soak as run_soak
    return run_soak(arguments.soak, arguments.cycles, arguments.params_file, arguments.fake_engine, say)
