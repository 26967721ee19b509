import json
from pathlib import Path

import checkpoints
import numpy as np
import pytest
import torch

from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.engine.observation import Observation
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.profile.load import load_profile
from oxygen_ros.profile.policy import load_policy, model_config, profile_for

torch.set_num_threads(1)  # a model this small only waits for a second thread


def chunk_of(profile, state, instruction='pick up the red block'):
    """First chunk of a fresh engine with random weights of one seed."""
    model, processor = load_policy(profile, seed=3)
    engine = Engine(model, processor, EngineConfig(slots=1, denoise_steps=2, pack=False))
    image = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    seen = Observation(1, {view: image for view in profile.required_views}, state, instruction, 1)
    chunks = []
    engine.run_frame(seen, [], chunks.append, lambda event: None)
    engine.close()
    return chunks[0].data


@pytest.mark.parametrize('state_in_prompt', [True, False])
def test_two_states_and_two_instructions_give_two_chunks_where_they_are_inputs(state_in_prompt):
    profile = load_profile('aloha_sim', state_in_prompt=state_in_prompt)
    rest = np.array([0, -.96, 1.16, 0, -.3, 0, .0224] * 2)
    one, again, moved = (chunk_of(profile, state) for state in (rest, rest, rest + 0.01))
    other = chunk_of(profile, rest, 'pick up the blue block')
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    assert np.array_equal(one, moved) == (not state_in_prompt)


def test_the_chunk_length_is_the_profiles():
    profile = load_profile('aloha_sim', chunk_horizon=7)
    assert model_config(profile).horizon == 7
    assert chunk_of(profile, np.zeros(14)).shape == (7, 14)


def test_weights_come_from_the_checkpoint_and_not_from_a_seed(tmp_path):
    path = checkpoints.write_checkpoint(tmp_path, CONFIGS['nano'], 'lerobot_untied', dtype='fp32')
    profile = profile_for('aloha_sim', path)
    model, processor = load_policy(profile, path, progress=False)
    other, _ = load_policy(profile, seed=0)
    wanted = checkpoints.random_tensor(checkpoints.EMBEDDING, tuple(model.embedding.shape), 0, torch.float32)
    assert torch.equal(model.embedding, wanted) and not torch.equal(other.embedding, wanted)
    assert processor.image_size == CONFIGS['nano'].image_size


def test_no_weights_are_made_up_unasked():
    with pytest.raises(ValueError, match='has no checkpoint: give one, or ask for random weights'):
        load_policy(load_profile('aloha_sim'))


def test_everything_is_checked_before_weights_are_read(tmp_path):
    path = checkpoints.write_checkpoint(tmp_path, CONFIGS['nano'])
    profile = load_profile('aloha_sim', model='mini')
    with pytest.raises(ValueError, match='does not fit the model'):
        load_policy(profile, path)
    with pytest.raises(ValueError, match='model must be one of'):
        load_policy(load_profile('aloha_sim', model='maxi'), path)
    with pytest.raises(FileNotFoundError, match='gs://big_vision'):
        load_policy(load_profile('aloha_sim', model='pi05'), path)


def test_a_file_that_is_no_profile_is_named(tmp_path):
    path = checkpoints.write_checkpoint(tmp_path, CONFIGS['nano'])
    Path(tmp_path / 'profile.yaml').write_text(json.dumps([1]))
    with pytest.raises(ValueError, match='profile.yaml: a profile is a mapping'):
        profile_for('', path)
