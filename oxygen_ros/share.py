"""Where the package's own data files lie: beside the source when run from a source tree, else in the ament share."""
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def config_folder():
    """
    Folder with the shipped parameter and profile files.

    A source tree (also `pip install -e`) has package.xml beside the Python package and is used as it is, so that an
    older installed copy cannot shadow it; an installed package has none and asks the ament index.
    """
    tree = PACKAGE.parent
    if (tree / 'package.xml').is_file():
        return tree / 'config'
    try:
        from ament_index_python.packages import get_package_share_directory
        return Path(get_package_share_directory('oxygen_ros')) / 'config'
    except (ImportError, LookupError):
        pass
    for prefix in PACKAGE.parents:  # a wheel: share/ under the environment's prefix
        share = prefix / 'share' / 'oxygen_ros'
        if share.is_dir():
            return share / 'config'
    raise FileNotFoundError(f'no config folder for the package at {PACKAGE}: reinstall it, or source its setup file')


def config_file(relative):
    """Path of one shipped file below config/; raises FileNotFoundError with the folder searched."""
    path = config_folder() / relative
    if not path.is_file():
        raise FileNotFoundError(f'no {relative} in {path.parent}')
    return path
