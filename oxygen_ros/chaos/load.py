"""Takes one processor until it is killed: `python -m oxygen_ros.chaos.load`."""
import time


def busy(seconds):
    """Compute nothing for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


if __name__ == '__main__':
    busy(60.0)
