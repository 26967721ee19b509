"""
Build the wheel with the CMakeLists.txt that colcon uses: run it into a stage and pack the stage.

An editable install (`pip install -e .`) puts the generated `msg/` and its libraries into the source tree, so that
`oxygen_ros` is one Python package there too.
"""
import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

from distutils.command.install_data import install_data  # provided by setuptools

HERE = Path(__file__).resolve().parent
PACKAGE = 'oxygen_ros'
BUILD = HERE / 'build' / f'cmake-py{sys.version_info.major}{sys.version_info.minor}'
STAGE = HERE / 'build' / f'stage-py{sys.version_info.major}{sys.version_info.minor}'

# Written into the source tree by an editable install. The loader does not look beside a Python file for shared
# libraries; once loaded here, in order and after rclpy's, they are found by name.
PRELOAD = '''"""Load the message libraries that lie in this folder."""
import ctypes
from pathlib import Path

import rclpy  # noqa: F401

for suffix in ('rosidl_generator_c', 'rosidl_typesupport_fastrtps_cpp', 'rosidl_typesupport_fastrtps_c',
               'rosidl_typesupport_introspection_c', 'rosidl_typesupport_c', 'rosidl_generator_py'):
    for library in Path(__file__).parent.glob(f'lib*__{suffix}.so'):
        ctypes.CDLL(str(library))
'''


def ros_prefixes():
    """Folders that hold ROS 2: sourced ones first, then the environment of the ros-* wheels."""
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    wheels = importlib.util.find_spec('rosidl_cmake')  # found, not imported: it warns that it is deprecated
    if wheels and wheels.origin:
        prefixes.append(str(Path(wheels.origin).resolve().parents[4]))
    if not prefixes:
        raise SystemExit('no ROS 2 found: source a ROS setup file, or run `make setup` for the ros-* wheels')
    return list(dict.fromkeys(prefixes))


def build_stage():
    """Configure, build and install into STAGE, once per run of this script."""
    if getattr(build_stage, 'done', False):
        return
    prefixes = ros_prefixes()
    environment = dict(os.environ, AMENT_PREFIX_PATH=os.pathsep.join(prefixes))
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.rmtree(STAGE, ignore_errors=True)
    subprocess.check_call([
        'cmake', '-S', str(HERE), '-B', str(BUILD), '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release', '-DBUILD_TESTING=OFF',
        f'-DCMAKE_INSTALL_PREFIX={STAGE}', f'-DCMAKE_PREFIX_PATH={";".join(prefixes)}',
        f'-DPython3_EXECUTABLE={sys.executable}'], env=environment)
    subprocess.check_call(['cmake', '--build', str(BUILD)], env=environment)
    subprocess.check_call(['cmake', '--install', str(BUILD)], env=environment, stdout=subprocess.DEVNULL)
    build_stage.done = True


def staged_package():
    return next(STAGE.glob(f'lib/python*/*-packages/{PACKAGE}'))


class BuildPy(build_py):
    """Add what CMake generated to the Python package."""

    def run(self):
        build_stage()
        super().run()
        editable = getattr(self, 'editable_mode', False)
        target = HERE / PACKAGE if editable else Path(self.build_lib) / PACKAGE
        if editable:
            libraries = target / '_lib'
            shutil.rmtree(libraries, ignore_errors=True)
            libraries.mkdir()
            for library in (STAGE / 'lib').glob('lib*.so'):
                shutil.copy2(library, libraries)
            (libraries / '__init__.py').write_text(PRELOAD)
        source = staged_package()
        for file in source.rglob('*'):
            relative = file.relative_to(source)
            generated = relative.parts[0] == 'msg' or file.suffix == '.so'
            data = not editable and file.suffix not in ('.pyc',)
            if file.is_file() and '__pycache__' not in relative.parts and (generated or data):
                (target / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, target / relative)
        if editable:
            messages = target / 'msg' / '__init__.py'
            messages.write_text(f'import {PACKAGE}._lib  # noqa: F401\n' + messages.read_text())


class InstallData(install_data):
    """Add libraries, launch files, configuration and the ament index to the environment's prefix."""

    def finalize_options(self):
        super().finalize_options()
        build_stage()
        files = {}
        for top in ('lib', 'share'):
            for file in (STAGE / top).rglob('*'):
                relative = file.relative_to(STAGE)
                if file.is_file() and not any(part.endswith('-packages') for part in relative.parts):
                    files.setdefault(str(relative.parent), []).append(str(file.relative_to(HERE)))
        self.data_files = sorted(files.items())


class BinaryDistribution(Distribution):
    """The generated message code is compiled, so the wheel is specific to Python and machine."""

    def has_ext_modules(self):
        return True


setup(
    cmdclass={'build_py': BuildPy, 'install_data': InstallData},
    data_files=[('share/oxygen_ros', ['package.xml'])],
    distclass=BinaryDistribution,
)
