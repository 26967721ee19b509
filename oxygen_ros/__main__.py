"""`python -m oxygen_ros VERB ...`: one verb a module of `oxygen_ros.cli`."""
import argparse
import ast
import importlib
from pathlib import Path
import sys

import oxygen_ros

CLI = Path(__file__).with_name('cli')


def verbs():
    """Verb -> one line of help, from the modules' docstrings, without importing them (torch and ROS load late)."""
    found = {}
    for path in sorted(CLI.glob('[a-z]*.py')):
        found[path.stem] = (ast.get_docstring(ast.parse(path.read_text())) or '').partition('\n')[0]
    return found


def main(arguments=None):
    """Run one verb and return its exit status: 0 done, 1 it failed, 2 the command line is wrong."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    table = verbs()
    listing = '\n'.join(f'  {name:<12}{line}' for name, line in table.items())
    parser = argparse.ArgumentParser(
        prog='oxygen_ros', description=oxygen_ros.__doc__, epilog=f'verbs:\n{listing}\n\n`VERB --help` tells more.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--version', action='version', version=f'oxygen_ros {oxygen_ros.__version__}')
    parser.add_argument('verb', choices=table, metavar='VERB', help='what to do, see below')
    if not arguments:
        parser.print_help()
        return 2
    # The verb's own options, ROS arguments among them, are left for the verb.
    known = parser.parse_args(arguments[:1])
    module = importlib.import_module(f'oxygen_ros.cli.{known.verb}')
    verb = argparse.ArgumentParser(
        prog=f'oxygen_ros {known.verb}', description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    module.add_arguments(verb)
    rest = arguments[1:]
    ros = rest[rest.index('--ros-args'):] if '--ros-args' in rest else []
    options = verb.parse_args(rest[:len(rest) - len(ros)])
    options.ros_arguments = ros
    return module.run(options)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # before a verb could take the signal itself
        sys.exit(0)
