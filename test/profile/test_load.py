import re

import pytest
import yaml

from oxygen_ros.profile.load import KEYS, load_profile, profile_names, profile_path, read_yaml
from oxygen_ros.share import config_folder

BASE = read_yaml(profile_path('aloha_sim'))


def write(tmp_path, **changes):
    table = {key: value for key, value in {**BASE, **changes}.items() if value is not None}
    path = tmp_path / 'mine.yaml'
    path.write_text(yaml.safe_dump(table))
    return path


def test_the_simulated_robot_has_a_profile():
    profile = load_profile('aloha_sim')
    assert 'aloha_sim' in profile_names()
    assert len(profile.joints) == 14 and profile.joints[6] == 'left_gripper'
    assert profile.required_views == ('base_0_rgb',)
    assert profile.name == 'aloha_sim' and profile.model == 'nano' and profile.chunk_horizon == 10


@pytest.mark.parametrize('changes, sentence', [
    ({'views': ['top']}, "views must be some of"),
    ({'views': ['left_wrist_0_rgb', 'base_0_rgb']}, 'in that order'),
    ({'joints': ['a', 'a']}, 'joints must be different names'),
    ({'action_kind': 'torque'}, "action_kind must be one of"),
    ({'chunk_horizon': 2.5}, 'chunk_horizon must be a whole number, got 2.5'),
    ({'dt_s': 'fast'}, "dt_s must be a number, got 'fast'"),
    ({'dt_s': 0}, 'dt_s must be 0.001..10 s, got 0'),
    ({'colour': 1}, r"unknown keys \['colour'\]"),
    ({'joints': None}, r"missing keys \['joints'\]"),
    ({'statistics': 'checkpoint'}, 'statistics come from the checkpoint'),
    ({'statistics': {'state': {'q01': [0] * 14}, 'actions': {}}}, 'needs q99'),
    ({'delta': [True]}, 'delta has 1 flags for 14 actions'),
    ({'delta': {'except': ['thumb']}}, r"delta excepts \['thumb'\]"),
    ({'action_kind': 'joint_velocity', 'delta': {'except': ['left_gripper']}}, 'leave delta out'),
    ({'prompt': 'Task: {task}'}, 'state_in_prompt is True but the prompt'),
    ({'action_ranges': {'thumb': [0, 1]}}, 'action_ranges names thumb'),
    ({'state_maps': {'left_waist': {'scale': 0}}}, 'scale 0'),
    ({'state_maps': {'left_waist': {'by': 2}}}, 'must have scale and offset, or from and to'),
    ({'position_actions': {'left_gripper': 2}}, 'among joint_velocity actions, here the actions are joint_position'),
    ({'action_kind': 'joint_velocity', 'position_actions': {'thumb': 2}}, 'thumb: 2'),
    ({'time_rule': 'sundial'}, 'time_rule must be lerobot or openpi'),
    ({'high_level_prompt': 'Subtask:'}, 'high_level_prompt must contain'),
    ({'suppressed': {'subtask': [[5, 2]]}}, 'first <= last, got 5..2'),
])
def test_a_wrong_file_is_refused_with_its_path_and_a_sentence(tmp_path, changes, sentence):
    path = write(tmp_path, **changes)
    with pytest.raises(ValueError, match=sentence) as error:
        load_profile(path)
    assert str(path) in str(error.value) and '\n' not in str(error.value).replace(repr('\n'), '')


def test_files_that_are_no_profile(tmp_path):
    path = tmp_path / 'x.yaml'
    for content, sentence in (('[1, 2]', 'mapping of keys, this is a list'), ('a: [', 'not YAML'),
                              ('!!python/object/apply:os.system ["true"]', 'not YAML'),
                              ('[' * 20000, 'not'), ('a: 1\n' * 300000, 'too many')):
        path.write_text(content)
        with pytest.raises(ValueError, match=sentence):
            load_profile(path)
    with pytest.raises(FileNotFoundError, match='aloha_sim'):
        load_profile('nobody')


def test_overrides_replace_keys_and_maps_can_be_given_as_ranges(tmp_path):
    path = write(tmp_path, state_maps={'left_gripper': {'from': [0.021, 0.057], 'to': [0, 1]}},
                 delta={'except': ['left_gripper', 'right_gripper']}, suppressed={'subtask': [[300, 310], [5, 6]]})
    profile = load_profile(path, chunk_horizon=10)
    name, scale, offset = profile.state_maps[0]
    assert profile.chunk_horizon == 10 and scale * 0.057 + offset == pytest.approx(1)
    assert sum(profile.delta) == 12 and not profile.delta[6]
    assert profile.suppressed == (('subtask', 300, 310), ('subtask', 5, 6))


def test_every_key_is_documented_and_no_other():
    text = (config_folder() / 'profiles' / 'README.md').read_text()
    cells = [line.split('|')[1] for line in text.partition('## Keys')[2].splitlines() if line.startswith('| `')]
    assert sorted(word for cell in cells for word in re.findall(r'`(\w+)`', cell)) == sorted(KEYS)
    for name in profile_names():
        assert f'`{name}.yaml`' in text
