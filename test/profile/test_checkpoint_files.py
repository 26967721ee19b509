from dataclasses import replace
import json
from pathlib import Path
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oxygen_ros.profile.beside import read_facts, read_found_statistics
from oxygen_ros.profile.facts import agree, disagreements
from oxygen_ros.profile.load import load_profile, profile_names
from oxygen_ros.profile.policy import profile_for
from oxygen_ros.profile.profile import Normalisation, NormalisationRule
from oxygen_ros.profile.processor import Processor
from oxygen_ros.profile.tokenizer import SMALL, Tokenizer

GOLDEN = Path(__file__).parents[1] / 'data' / 'lerobot_processors'
SIZES = {'aloha': (14, 14), 'base': (14, 14), 'droid': (8, 8), 'libero': (8, 7), 'so101': (6, 6), 'ur5e': (7, 7)}
ASSETS = {'aloha': 'trossen', 'base': 'trossen', 'droid': 'droid', 'libero': 'physical-intelligence/libero',
          'so101': 'x', 'ur5e': 'ur5e'}


def norm_stats(folder, asset, state, actions, **change):
    columns = {'mean': 0.0, 'std': 1.0, 'q01': -1.0, 'q99': 1.0}
    table = {what: {key: [value] * size for key, value in columns.items()}
             for what, size in (('state', state), ('actions', actions))}
    table.update(change)
    path = folder / 'assets' / asset / 'norm_stats.json'
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({'norm_stats': table}))
    return path


@pytest.mark.parametrize('name', SIZES)
def test_every_shipped_profile_loads_with_its_statistics(tmp_path, name):
    norm_stats(tmp_path, ASSETS[name], *SIZES[name])
    profile = profile_for(name, tmp_path)
    processor = Processor(profile, Tokenizer(SMALL))
    zero = np.zeros((profile.chunk_horizon, 32))

    class Here:
        state, stamp_ns, instruction_id = np.full(len(profile.joints), 0.03), 1, 1
    chunk = processor.chunk(zero, Here, 1)
    assert chunk.data.shape == (profile.chunk_horizon, SIZES[name][1]) and np.isfinite(chunk.data).all()
    prompt, _ = processor.prompt('go', Here.state)
    assert ('State' in prompt.text) == (name != 'libero')


def test_all_shipped_profiles_are_tested_here():
    assert set(profile_names()) == {*SIZES, 'aloha_sim'}


def test_a_robot_that_stands_still_is_told_to_stay_by_a_zero_delta(tmp_path):
    norm_stats(tmp_path, 'ur5e', 7, 7)
    processor = Processor(profile_for('ur5e', tmp_path), Tokenizer(SMALL))

    class Here:
        state, stamp_ns, instruction_id = np.array([0.1, -1.2, 1.3, 0.4, 0.5, 0.6, 0.4]), 1, 1
    actions = np.zeros((50, 32))
    actions[:, 6] = 0.5
    chunk = processor.chunk(actions, Here, 1)
    np.testing.assert_allclose(chunk.data, np.tile(Here.state, (50, 1)), atol=1e-6)


def test_droid_velocities_are_radians_a_second_and_its_gripper_is_open_or_closed(tmp_path):
    norm_stats(tmp_path, 'droid', 8, 8)
    processor = Processor(profile_for('droid', tmp_path), Tokenizer(SMALL))

    class Here:
        state, stamp_ns, instruction_id = np.zeros(8), 1, 1
    actions = np.zeros((15, 32))
    actions[0, :7], actions[1, 0], actions[:, 7] = [0.5, -0.5, 2, 0, 0, 0, 0], -9, 0.7
    data = processor.chunk(actions, Here, 1).data
    np.testing.assert_allclose(data[0], [1.5, -1.5, 3, 0, 0, 0, 0, 2.0], atol=1e-5)
    assert data[1, 0] == -3
    # open (0) to closed (1) at 2 a second: half a second, then it rests there
    np.testing.assert_allclose(data[:, 7].sum() / 15, 1.0)
    np.testing.assert_allclose(data[8:, 7], 0, atol=1e-9)


def test_openpi_statistics_may_be_padded_or_null(tmp_path):
    path = norm_stats(tmp_path, 'droid', 32, 32)
    assert len(read_found_statistics(tmp_path).state.q01) == 32
    assert profile_for('droid', tmp_path).normalisation_rule is NormalisationRule.OPENPI
    table = json.loads(path.read_text())
    table['norm_stats']['state']['q01'] = None
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError, match='quantile normalisation of the state needs q01'):
        profile_for('droid', tmp_path)


def test_statistics_of_another_robot_are_refused_with_both_counts(tmp_path):
    norm_stats(tmp_path, 'droid', 14, 14)
    with pytest.raises(ValueError, match='statistics of state: the profile says 8 columns, the checkpoint 14 columns'):
        profile_for('droid', tmp_path)


def test_the_asset_is_picked_by_name_and_must_exist(tmp_path):
    norm_stats(tmp_path, 'droid', 8, 8)
    norm_stats(tmp_path, 'physical-intelligence/libero', 8, 7)
    assert 'libero' in read_found_statistics(tmp_path, 'physical-intelligence/libero').source
    with pytest.raises(ValueError, match=r"\['droid', 'physical-intelligence/libero'\]: say which"):
        read_found_statistics(tmp_path)
    with pytest.raises(ValueError, match='no norm_stats.json of ur5e'):
        profile_for('ur5e', tmp_path)


@pytest.mark.parametrize('content, sentence', [
    ('{', 'is not JSON'), ('[]', 'should be a mapping'), ('{"norm_stats": {"state": {}}}', 'has no actions'),
    ('{"norm_stats": {"state": {"mean": ["a"]}, "actions": {}}}', 'state mean should be'),
    ('{"norm_stats": {"state": {"mean": [NaN]}, "actions": {}}}', 'non-finite'),
    ('{"norm_stats": 3}', 'norm_stats should be a dict'), ('[' * 100000, 'is not JSON')])
def test_broken_norm_stats_are_named(tmp_path, content, sentence):
    path = norm_stats(tmp_path, 'droid', 8, 8)
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence) as error:
        read_found_statistics(tmp_path)
    assert str(path) in str(error.value)


def lerobot(tmp_path, **config):
    folder = tmp_path / 'policy'
    shutil.copytree(GOLDEN, folder)
    table = json.loads((folder / 'config.json').read_text())
    (folder / 'config.json').write_text(json.dumps({**table, **config}))
    return folder


def edit_step(folder, file, step, **change):
    path = folder / file
    table = json.loads(path.read_text())
    for row in table['steps']:
        if row['registry_name'] == step:
            for key, value in change.items():
                row[key] = value if key != 'config' else {**row['config'], **value}
    path.write_text(json.dumps(table))


BEFORE, AFTER = 'policy_preprocessor.json', 'policy_postprocessor.json'
ARM = {'views': ['base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb'], 'joints': [f'j{i}' for i in range(8)],
       'actions': [f'd{i}' for i in range(7)], 'action_kind': 'eef_delta', 'chunk_horizon': 50, 'dt_s': 0.05,
       'antialias': False, 'statistics': 'checkpoint'}


def own_profile(tmp_path, **change):
    path = tmp_path / 'arm.yaml'
    path.write_text(json.dumps({**ARM, **change}))  # JSON is YAML
    return path


def test_a_lerobot_folder_gives_statistics_and_facts(tmp_path):
    folder = lerobot(tmp_path)
    found, facts = read_found_statistics(folder), read_facts(folder)
    assert found.state.q01.tolist() == [-1] * 8 and found.actions.q99.tolist() == [0.5] * 7
    assert found.rule is NormalisationRule.LEROBOT and found.state_mode is Normalisation.QUANTILE
    assert (facts.chunk_horizon, facts.state_size, facts.action_size, facts.image_size) == (50, 8, 7, 224)
    profile = profile_for(own_profile(tmp_path), folder)
    assert profile.normalisation_rule is NormalisationRule.LEROBOT


@pytest.mark.parametrize('change, sentence', [
    ({'chunk_horizon': 10}, 'chunk_horizon: the profile says 10, the checkpoint 50'),
    ({'joints': ['a'], 'actions': ['b']}, 'joints: the profile says 1, the checkpoint 8'),
    ({'views': ['base_0_rgb']}, r'views: the profile says \[base_0_rgb\], the checkpoint \[base_0_rgb, left'),
    ({'normalisation': 'mean_std'}, 'normalisation: the profile says mean_std, the checkpoint quantile'),
    ({'state_in_prompt': False}, 'state_in_prompt: the profile says False, the checkpoint True'),
    ({'max_prompt_tokens': 48}, 'max_prompt_tokens: the profile says 48, the checkpoint 200'),
    ({'model': 'nano'}, 'model: the profile says nano'),
])
def test_a_profile_that_disagrees_is_refused_with_both_sides(tmp_path, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        profile_for(own_profile(tmp_path, **change), lerobot(tmp_path))


def test_a_conflict_can_be_ignored_by_name(tmp_path):
    path = own_profile(tmp_path, chunk_horizon=10, ignore_conflicts=['chunk_horizon'])
    assert profile_for(path, lerobot(tmp_path)).chunk_horizon == 10


def test_relative_actions_must_agree(tmp_path):
    folder = lerobot(tmp_path, use_relative_actions=True)
    facts = replace(read_facts(folder), action_size=None, state_size=None, chunk_horizon=None, cameras=())
    profile = load_profile('aloha_sim', model='pi05')
    profile = replace(profile, action_normalisation=profile.normalisation, action_statistics=profile.state_statistics)
    keys = [row[0] for row in disagreements(profile, facts)]
    assert keys == ['delta']
    agree(replace(profile, delta=tuple('gripper' not in name for name in profile.joints)), facts)


@pytest.mark.parametrize('damage, sentence', [
    (lambda f: edit_step(f, BEFORE, 'normalizer_processor', state_file=None), 'has no statistics file'),
    (lambda f: edit_step(f, BEFORE, 'normalizer_processor', state_file='../../etc/passwd'), 'is not in the folder'),
    (lambda f: edit_step(f, BEFORE, 'normalizer_processor', state_file='gone.safetensors'), 'is missing'),
    (lambda f: edit_step(f, BEFORE, 'normalizer_processor', config={'norm_map': {'STATE': 'MAGIC'}}), 'MAGIC'),
    (lambda f: edit_step(f, BEFORE, 'to_batch_processor', registry_name='my_step'), 'has the step my_step'),
    (lambda f: edit_step(f, BEFORE, 'relative_actions_processor', config={'enabled': True}), 'relative actions on'),
    (lambda f: (f / AFTER).unlink(), 'but not policy_postprocessor.json'),
    (lambda f: (f / BEFORE).write_text('{"steps": []}'), 'has no step normalizer_processor'),
    (lambda f: (f / BEFORE).write_text('{"steps": [3]}'), 'a step should be a mapping'),
])
def test_processor_files_that_would_change_the_actions_are_refused(tmp_path, damage, sentence):
    folder = lerobot(tmp_path)
    damage(folder)
    with pytest.raises(ValueError, match=sentence):
        read_found_statistics(folder)


def test_a_missing_feature_is_an_error_where_lerobot_would_pass_it_through(tmp_path):
    folder = lerobot(tmp_path)
    file = folder / 'policy_preprocessor_step_3_normalizer_processor.safetensors'
    save_file({k: v for k, v in load_file(file).items() if k != 'observation.state.q99'}, file)
    with pytest.raises(ValueError, match='lacks observation.state.q99, so LeRobot would pass'):
        read_found_statistics(folder)


def test_statistics_that_overlap_are_refused_with_a_sentence(tmp_path):
    folder = lerobot(tmp_path)
    file = folder / 'policy_preprocessor_step_3_normalizer_processor.safetensors'
    content = file.read_bytes()
    length = int.from_bytes(content[:8], 'little')
    table = json.loads(content[8:8 + length])
    table['observation.state.q99']['data_offsets'] = table['observation.state.q01']['data_offsets']
    text = json.dumps(table).encode()
    file.write_bytes(len(text).to_bytes(8, 'little') + text + content[8 + length:])
    with pytest.raises(ValueError, match='cannot be read'):
        read_found_statistics(folder)


def test_the_step_is_found_wherever_it_stands(tmp_path):
    folder = lerobot(tmp_path)
    path = folder / BEFORE
    table = json.loads(path.read_text())
    table['steps'].reverse()
    path.write_text(json.dumps(table))
    assert read_found_statistics(folder).state.q99.tolist() == [1] * 8


def test_other_policies_are_refused(tmp_path):
    with pytest.raises(ValueError, match='is of a smolvla policy'):
        read_facts(lerobot(tmp_path, type='smolvla'))
    shutil.rmtree(tmp_path / 'policy')
    with pytest.raises(ValueError, match='use_visual_memory is on'):
        read_facts(lerobot(tmp_path, use_visual_memory=True))


def test_openpi_config_states_the_chunk(tmp_path):
    norm_stats(tmp_path, 'droid', 8, 8)
    (tmp_path / 'config.json').write_text(json.dumps(
        {'action_dim': 32, 'action_horizon': 16, 'paligemma_variant': 'gemma_2b', 'action_expert_variant': 'gemma_300m',
         'precision': 'bfloat16'}))
    with pytest.raises(ValueError, match='chunk_horizon: the profile says 15, the checkpoint 16'):
        profile_for('droid', tmp_path)


def test_openpi_statistics_win_over_empty_lerobot_processors(tmp_path):
    folder = lerobot(tmp_path)
    edit_step(folder, BEFORE, 'normalizer_processor', state_file=None)
    norm_stats(folder, 'x', 8, 7)
    assert read_found_statistics(folder).rule is NormalisationRule.OPENPI


def test_a_profile_beside_the_weights_is_used(tmp_path):
    folder = lerobot(tmp_path)
    with pytest.raises(ValueError, match='no profile.yaml beside'):
        profile_for('', folder)
    shutil.copy(own_profile(tmp_path), folder / 'profile.yaml')
    assert profile_for('', folder).name == 'profile'
    assert profile_for().name == 'aloha_sim'
