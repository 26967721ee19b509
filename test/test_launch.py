"""The launch files: what they name exists, and they load with the real launch where it is installed."""
import ast
import importlib.util
import os
from pathlib import Path
import subprocess
import sys

import pytest
import yaml

from oxygen_ros import params

ROOT = Path(__file__).resolve().parents[1]
LAUNCH = sorted((ROOT / 'launch').glob('*.launch.py'))
EXPECTED = {'params_file', 'namespace', 'use_sim_time', 'log_level', 'autostart'}
ANY_NODE = {'use_sim_time'}

pytestmark = pytest.mark.skipif(not LAUNCH, reason='the launch folder is not beside the tests')


def calls(tree, *names):
    """Calls of functions with one of these names."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)
            and getattr(node.func, 'id', getattr(node.func, 'attr', '')) in names]


def keyword(call, name):
    return next((word.value for word in call.keywords if word.arg == name), None)


def text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def tree_of(path):
    return ast.parse(path.read_text())


def installed_executables():
    """Executables that CMakeLists.txt installs."""
    cmake = (ROOT / 'CMakeLists.txt').read_text()
    assert 'CONFIGURE_DEPENDS oxygen_ros/cli/[a-z]*.py)' in cmake
    verbs = [path.stem for path in (ROOT / 'oxygen_ros' / 'cli').glob('[a-z]*.py')]
    assert 'install(PROGRAMS scripts/verb DESTINATION lib/${PROJECT_NAME} RENAME ${_verb})' in cmake
    return {*verbs, 'oxygen_ros'}


@pytest.mark.parametrize('path', LAUNCH, ids=lambda path: path.name)
def test_every_executable_that_a_launch_file_names_is_installed_and_is_a_verb(path):
    for call in calls(tree_of(path), 'Node', 'LifecycleNode'):
        if text(keyword(call, 'package')) != 'oxygen_ros':
            continue
        executable = text(keyword(call, 'executable'))
        assert executable in installed_executables()
        assert (ROOT / 'oxygen_ros' / 'cli' / f'{executable}.py').is_file()


@pytest.mark.parametrize('path', LAUNCH, ids=lambda path: path.name)
def test_every_file_that_a_launch_file_names_exists(path):
    named = 0
    for call in calls(tree_of(path), 'join'):
        parts = [text(argument) for argument in call.args[1:]]
        if parts and all(parts) and getattr(call.args[0], 'id', '') == 'share':
            assert ROOT.joinpath(*parts).is_file(), f'{path.name}: {os.path.join(*parts)}'
            named += 1
    assert named or path.name not in ('oxygen.launch.py', 'demo.launch.py')


@pytest.mark.parametrize('path', LAUNCH, ids=lambda path: path.name)
def test_every_parameter_that_a_launch_file_sets_is_declared(path):
    known = {'node': {row.name for row in params.TABLE}}
    simulator = ROOT / 'oxygen_ros' / 'sim' / 'parameters.py'
    if simulator.is_file():
        from oxygen_ros.sim.parameters import TABLE
        known['sim'] = {row.name for row in TABLE}
    for call in calls(tree_of(path), 'Node', 'LifecycleNode'):
        executable = text(keyword(call, 'executable'))
        for table in ast.walk(keyword(call, 'parameters') or ast.List(elts=[])):
            if isinstance(table, ast.Dict) and executable in known:
                assert {text(key) for key in table.keys} <= known[executable] | ANY_NODE


@pytest.mark.parametrize('path', LAUNCH, ids=lambda path: path.name)
def test_every_argument_has_a_description_and_every_one_used_is_declared(path):
    tree = tree_of(path)
    declared = {}
    for call in calls(tree, 'DeclareLaunchArgument'):
        declared[text(call.args[0])] = text(keyword(call, 'description'))
    used = {text(call.args[0]) for call in calls(tree, 'LaunchConfiguration') if text(call.args[0])}
    assert used <= set(declared)
    assert all(declared.values()), declared
    if path.name in ('oxygen.launch.py', 'demo.launch.py'):
        assert EXPECTED <= set(declared)


def test_the_parameter_files_set_only_parameters_that_exist():
    for path in (ROOT / 'config').glob('*.yaml'):
        for name, section in yaml.safe_load(path.read_text()).items():
            if not name.endswith('oxygen'):
                continue
            values = section['ros__parameters']

            def flatten(table, prefix=''):
                for key, value in table.items():
                    if isinstance(value, dict):
                        yield from flatten(value, f'{prefix}{key}.')
                    else:
                        yield prefix + key, value
            flat = dict(flatten(values))
            joints = {key.split('.')[1] for key in flat if key.startswith('limits.')}
            known = params.rows(view=flat['views'], task=flat['language.tasks'], joint=joints)
            for key, value in flat.items():
                known[key].check(value)


launch_ros = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None, reason='launch_ros is not installed (it is not on PyPI)')


@launch_ros
@pytest.mark.parametrize('name', ['oxygen.launch.py', 'demo.launch.py'])
def test_launch_shows_the_arguments(name):
    shown = subprocess.run([sys.executable, '-c', 'from ros2cli.cli import main; main()', 'launch', str(
        ROOT / 'launch' / name), '--show-args'], capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, shown.stderr
    for argument in EXPECTED:
        assert f"'{argument}'" in shown.stdout
