"""`python -m oxygen_ros VERB ...`: one verb a module of `oxygen_ros.cli`."""
import argparse
import importlib
import sys

VERBS = {}


def main(arguments=None):
    """Run one verb and return its exit status."""
    return 0


if __name__ == '__main__':
    sys.exit(main())
