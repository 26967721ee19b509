"""The node from a checkpoint folder to chunks: the published robots, every layout, a small model's random weights."""
import json

import checkpoints
import numpy as np
import pytest
import rig as rigs
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image
from std_msgs.msg import String
import yaml

from oxygen_ros.model.config import CONFIGS
from oxygen_ros.profile.load import profile_path, read_yaml

ASSETS = {'aloha': 'trossen', 'droid': 'droid', 'libero': 'physical-intelligence/libero'}
TOPICS = {'base_0_rgb': 'top/image_raw', 'left_wrist_0_rgb': 'left_wrist/image_raw'}
COMMON = {'control_rate_hz': 60.0, 'command_type': 'float64_multi_array', 'realtime_priority': 0, 'autostart': True,
          'views': list(TOPICS), 'language.tasks': ['subtask'], 'language.subtask.max_tokens': 4,
          'question.max_tokens': 4, 'control.max_chunk_age_s': 10.0, 'engine.denoise_steps': 2}


def write_policy(folder, weights, robot):
    """Weights of the small model, the robot's profile and statistics beside them."""
    folder.mkdir()
    (folder / 'model.safetensors').hardlink_to(weights)
    table = {**read_yaml(profile_path(robot)), 'model': 'nano'}
    (folder / 'profile.yaml').write_text(yaml.safe_dump(table))
    # narrow actions: random weights then stay near the state (or slow), as the limits demand
    span = {'state': 2.0, 'actions': 0.01}
    sizes = {'state': len(table['joints']), 'actions': len(table.get('actions') or table['joints'])}
    stats = {what: {'q01': [-span[what]] * n, 'q99': [span[what]] * n} for what, n in sizes.items()}
    path = folder / 'assets' / ASSETS[robot] / 'norm_stats.json'
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({'norm_stats': stats}))
    return table


class Robot:
    """A rig with the joints and cameras of a profile."""

    def __init__(self, monkeypatch, folder, table, **more):
        parameters = {**COMMON, 'checkpoint': str(folder), **{f'image.{v}.topic': t for v, t in TOPICS.items()}, **more}
        if table['action_kind'] != 'eef_delta':
            parameters.update({f'limits.default.{name}': value for name, value in (
                ('lower', -3.0), ('upper', 3.0), ('velocity', 3.0), ('acceleration', 20.0), ('jump', 0.6))})
        parameters = [Parameter(name, value=value) for name, value in parameters.items()]
        monkeypatch.setattr(rigs, 'aloha_parameters', lambda **_: parameters)
        self.rig = rigs.Rig()
        self.joints = table['joints']
        self.positions = np.full(len(self.joints), 0.03)
        self.wrist = self.rig.robot.create_publisher(Image, 'left_wrist/image_raw', rigs.BEST_EFFORT)
        self.rig.sources += [self.rig.send_picture, lambda: self.wrist.publish(rigs.picture()), self.send_joints]

    def send_joints(self):
        self.rig.joints.publish(rigs.joint_state(self.positions, self.joints))

    def run(self):
        assert self.rig.node.start() == ''
        self.rig.until(lambda: self.rig.instruction.get_subscription_count(), 'subscribed')
        self.rig.instruction.publish(String(data='pick up the block'))
        self.rig.until(lambda: self.rig.chunks and self.rig.texts, 'chunks and texts', 60)

    def newest(self):
        """The newest chunk as [H, J], made after this call."""
        count = len(self.rig.chunks)
        self.rig.until(lambda: len(self.rig.chunks) > count + 2, 'more chunks', 60)
        chunk = self.rig.chunks[-1]
        return chunk, np.array(chunk.data).reshape(-1, len(chunk.joint_names))


@pytest.fixture(scope='module')
def written(tmp_path_factory):
    """A function layout -> weights file, written once."""
    folder, found = tmp_path_factory.mktemp('weights'), {}

    def write(layout):
        if layout not in found:
            found[layout] = checkpoints.write_checkpoint(folder / layout, CONFIGS['nano'], layout)
        return found[layout]
    return write


@pytest.fixture
def make(monkeypatch, tmp_path, written):
    made = []

    def build(robot, layout, **more):
        table = write_policy(tmp_path / 'policy', written(layout), robot)
        made.append(Robot(monkeypatch, tmp_path / 'policy', table, **more))
        return made[-1]
    yield build
    for robot in made:
        robot.rig.close()


@pytest.mark.parametrize('robot, layout', [
    ('aloha', 'openpi'), ('aloha', 'newer_transformers'), ('droid', 'lerobot_untied'), ('droid', 'compiled'),
    ('libero', 'lerobot_tied'), ('libero', 'old')])
def test_profile_and_layout_run_from_folder_to_chunk(make, robot, layout):
    made = make(robot, layout)
    made.run()
    chunk, data = made.newest()
    table = read_yaml(profile_path(robot))
    assert data.shape == (table['chunk_horizon'], len(table.get('actions') or table['joints']))
    assert chunk.kind == table['action_kind'] and chunk.dt == pytest.approx(table['dt_s'])
    assert list(chunk.joint_names) == (table.get('actions') or table['joints'])
    rig = made.rig
    assert rig.status.prefills == rig.status.frames
    if robot == 'libero':
        rig.turn()
        assert not rig.commands and rig.robot.count_publishers(f'{rig.namespace}/joint_command') == 0
    else:
        rig.until(lambda: rig.commands and rig.status.state == 'running', 'commands', 60)
        assert len(rig.commands[-1]) == len(table['joints'])


def test_a_question_is_answered_from_the_shared_prefix(make):
    made = make('droid', 'openpi')
    made.run()
    made.rig.question.publish(String(data='where is the block?'))
    made.rig.until(lambda: any(t.task == 'question' and t.finished for t in made.rig.tokens), 'an answer', 60)
    assert made.rig.status.prefills == made.rig.status.frames


def test_the_second_prefill_of_the_two_levels_is_on_the_status(make, tmp_path):
    made = make('aloha', 'openpi', **{'language.subtask.every_n_frames': 3})
    path = tmp_path / 'policy' / 'profile.yaml'
    table = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**table, 'high_level_prompt': 'Task: {task} Subtask:',
                                    'language_suffix': {'subtask': ''}}))
    made.run()
    made.rig.until(lambda: made.rig.status.frames > 8, 'frames', 60)
    status = made.rig.status
    # every third frame asks for a subtask, unless both slots are taken
    assert status.frames < status.prefills <= status.frames + status.frames // 3 + 1


@pytest.mark.parametrize('damage, words', [
    ({'chunk_horizon': 7}, 'chunk_horizon: the profile says 7, the checkpoint 15'),
    ({'model': 'mini'}, 'does not fit the model'),
    ({'joints': ['a', 'b']}, 'the profile says 2 columns, the checkpoint 8 columns'),
])
def test_a_profile_that_disagrees_refuses_to_configure_with_both_sides(make, tmp_path, damage, words):
    made = make('droid', 'openpi')
    folder = tmp_path / 'policy'
    table = yaml.safe_load((folder / 'profile.yaml').read_text())
    table = {k: v for k, v in table.items() if k not in ('action_maps', 'action_ranges', 'binary', 'position_actions')}
    (folder / 'profile.yaml').write_text(yaml.safe_dump({**table, **damage}))
    (folder / 'config.json').write_text(json.dumps({'action_dim': 32, 'action_horizon': 15}))
    assert made.rig.node.trigger_configure() is TransitionCallbackReturn.FAILURE
    assert words in made.rig.node.problem and '\n' not in made.rig.node.problem


def test_degrees_in_the_statistics_refuse_to_configure(make, tmp_path):
    made = make('aloha', 'openpi')
    path = tmp_path / 'policy' / 'assets' / 'trossen' / 'norm_stats.json'
    stats = json.loads(path.read_text())
    for key, value in (('q01', -90.0), ('q99', 90.0)):
        stats['norm_stats']['actions'][key] = [value] * 14
    path.write_text(json.dumps(stats))
    profile = tmp_path / 'policy' / 'profile.yaml'
    table = yaml.safe_load(profile.read_text())
    table.pop('delta')
    profile.write_text(yaml.safe_dump(table))
    assert made.rig.node.trigger_configure() is TransitionCallbackReturn.FAILURE
    assert 'left_waist reach 90 in the statistics' in made.rig.node.problem
