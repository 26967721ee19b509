"""The README tells the truth: its tables are those of the code, and CI runs its commands."""
import importlib.util
from pathlib import Path
import sys
import re
import shlex
import subprocess

import pytest
import yaml

from oxygen_ros import params
from oxygen_ros.convert import commands
from oxygen_ros.engine.chunk import ActionKind

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / 'README.md').read_text()
specification = importlib.util.spec_from_file_location('readme_tables', ROOT / 'tools' / 'readme_tables.py')
readme_tables = importlib.util.module_from_spec(specification)
specification.loader.exec_module(readme_tables)
tables = sys.modules['tables']

COMMANDS = re.findall(r'(?:<!-- ([^>]*) -->\n)?```bash\n(.*?)```', README, re.DOTALL)  # (mark, block)
RUN, RUN_BY_CI, NOT_RUN = 'run in CI', 'run in CI: this is what CI runs', 'not run in CI: '
# A node of its own graph, not the package's: parameters, logs, time.
UNREMARKABLE = ('/rosout', '/parameter_events', '/clock')


@pytest.mark.parametrize('name', readme_tables.TABLES)
def test_a_table_is_the_code_s(name):
    written = README[tables.block(README, name)]
    assert written == readme_tables.TABLES[name](), 'run: python tools/readme_tables.py'


def test_every_command_says_whether_ci_runs_it():
    assert COMMANDS
    for mark, block in COMMANDS:
        assert mark in (RUN, RUN_BY_CI) or mark.startswith(NOT_RUN) and len(mark) > len(NOT_RUN), block


def test_ci_runs_the_test_command_of_the_readme():
    (block,) = (block for mark, block in COMMANDS if mark == RUN_BY_CI)
    assert block.strip() in (ROOT / '.ci' / 'run').read_text().splitlines()


@pytest.mark.parametrize('block', [block for mark, block in COMMANDS if mark == RUN])
def test_a_command_of_the_readme_runs(block, tmp_path):
    for line in block.strip().splitlines():
        done = subprocess.run(line, shell=True, cwd=ROOT, timeout=900, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f'{shlex.quote(line)}:\n{done.stdout[-3000:]}'


@pytest.mark.parametrize('block', re.findall(r'```yaml\n(.*?)```', README, re.DOTALL))
def test_a_controller_of_the_readme_takes_what_the_node_beside_it_sends(block):
    files = {name: section['ros__parameters'] for name, section in yaml.safe_load(block).items()}
    node, = (values for name, values in files.items() if name.endswith('oxygen'))
    known = params.rows(output=node['outputs'])
    values = {name: known[name].check(value) for name, value in node.items()}
    (output,), (name,) = commands.outputs(values['output.arm.joints'], [
        (values['output.arm.topic'], values['command_type'], values['output.arm.joints'])]), values['outputs']
    controller = files[values[f'output.{name}.controller']]
    commands.check_controller(output, controller['joints'])
    commands.check_interface(output, ActionKind.JOINT_POSITION, controller.get(
        'command_interfaces', [controller.get('interface_name')]))


def interface_table():
    """{name: (types, direction)} of the README's topics and services; `~/` and relative names as in a namespace."""
    section = README.partition('### Topics and services')[2].partition('###')[0]
    table = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if len(cells) == 5 and cells[0].startswith('`'):
            for name in re.findall(r'`([^`]+)`', cells[0]):
                table[name] = set(re.findall(r'(\w+)/(\w+)', cells[1])), cells[2]
    return table


def test_the_interface_table_is_the_live_node_s():
    from rig import Rig
    rig = Rig(engine__fake=True)
    try:
        assert rig.node.start() == ''
        node, space = rig.node, rig.namespace

        def written(name):
            own = f'{space}/oxygen/'
            return '~/' + name.removeprefix(own) if name.startswith(own) else name.removeprefix(f'{space}/')

        found = {}
        listings = {'in': node.get_subscriber_names_and_types_by_node,
                    'out': node.get_publisher_names_and_types_by_node,
                    'service': node.get_service_names_and_types_by_node}
        for direction, listing in listings.items():
            for name, types in listing('oxygen', space):
                standard = name.startswith(f'{space}/oxygen/') and direction == 'service' \
                    and types[0].split('/')[0] in ('rcl_interfaces', 'lifecycle_msgs', 'type_description_interfaces')
                if name not in UNREMARKABLE and not standard and not name.endswith('/transition_event'):
                    found[written(name)] = types, direction
        table = interface_table()
        assert set(found) == set(table)
        for name, (types, direction) in found.items():
            assert direction == table[name][1], name
            for kind in types:
                package, _, short = kind.split('/')
                assert (package, short) in table[name][0] or ('sensor_msgs', short) in table[name][0], name
    finally:
        rig.close()
