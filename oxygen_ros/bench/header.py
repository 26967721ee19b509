"""What every result begins with: what was measured, where, and by which code."""
from pathlib import Path
import subprocess

from oxygen_ros.bench.limits import host

PACKAGE = Path(__file__).resolve().parent.parent


def header(options, suite):
    """The first keys of a result; `commit` only in a git checkout of this package."""
    first = {'suite': suite, 'model': options.model, 'dtype': options.dtype, 'clock': options.clock_name,
             'host': host(options.device)}
    found = commit()
    return {**first, 'commit': found} if found else first


def commit(package=PACKAGE):
    """The commit that `package` is checked out at, with `-dirty` where its files differ; '' for an installed copy."""
    def git(*words):
        return subprocess.run(['git', '-C', str(package), *words], capture_output=True, text=True, check=False)

    try:  # an installed copy may lie inside the checkout of something else, which does not track it
        if git('ls-files', '--error-unmatch', '__init__.py').returncode:
            return ''
        name = git('rev-parse', 'HEAD').stdout.strip()
        return name + '-dirty' * bool(name and git('diff', '--quiet', 'HEAD', '--', '.').returncode)
    except OSError:  # no git
        return ''
