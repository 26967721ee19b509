from dataclasses import replace

import numpy as np
import pytest

from oxygen_ros.engine.observation import Observation
from oxygen_ros.profile.load import load_profile
from oxygen_ros.profile.processor import Processor
from oxygen_ros.profile.tokenizer import SMALL, Tokenizer

HOME = np.array([0, -.96, 1.16, 0, -.3, 0, .0224] * 2)
PROFILE = load_profile('aloha_sim')


def processor(profile=PROFILE):
    return Processor(profile, Tokenizer(SMALL), image_size=56, action_dim=32, vocabulary=1024)


def observation(instruction='pick up the red block', state=HOME, views=('base_0_rgb',), **more):
    images = {view: np.full((40, 60, 3), 10 * (i + 1), np.uint8) for i, view in enumerate(views)}
    return Observation(stamp_ns=5, images=images, state=np.array(state, dtype=float), instruction=instruction,
                       instruction_id=3, **more)


def test_inputs_of_the_simulated_robot():
    inputs = processor().inputs(observation())
    assert inputs.images.shape == (1, 3, 56, 56) and inputs.images.dtype == np.float32 and inputs.slots == (0,)
    assert -1 <= inputs.images.min() and inputs.images.max() <= 1
    assert inputs.prompt_tokens.dtype == np.int64 and inputs.prompt_tokens[0] == 2
    assert inputs.prompt.startswith('Task: pick up the red block, State: ')
    assert inputs.state_out_of_range == 0 and inputs.dropped_characters == 0


def test_another_instruction_and_another_state_change_the_tokens():
    one = processor().inputs(observation()).prompt_tokens.tolist()
    other = processor().inputs(observation('pick up the blue block')).prompt_tokens.tolist()
    moved = processor().inputs(observation(state=HOME + 0.1)).prompt_tokens.tolist()
    assert one != other and one != moved and len(set(map(tuple, (one, other, moved)))) == 3


def test_state_is_left_out_where_the_profile_says_so():
    plain = replace(PROFILE, state_in_prompt=False, prompt='')
    one, moved = (processor(plain).inputs(observation(state=s)).prompt_tokens.tolist() for s in (HOME, HOME + 0.1))
    assert one == moved


def test_padding_the_state_writes_the_middle_bin_for_each_missing_dimension():
    padded = processor(replace(PROFILE, pad_state_to=32)).inputs(observation()).prompt
    assert padded.endswith(' 128' * 18 + ';\nAction: ')


def test_views_come_in_the_model_order_and_only_those_present():
    inputs = processor().inputs(observation(views=('right_wrist_0_rgb', 'base_0_rgb')))
    assert inputs.slots == (0, 2) and len(inputs.images) == 2
    assert inputs.images[0].max() > inputs.images[1].max()  # base got value 20, the wrist 10


def test_missing_and_foreign_views_are_refused_with_both_lists():
    with pytest.raises(ValueError, match=r"wants the views \['base_0_rgb'\].*has \['left_wrist_0_rgb'\]"):
        processor().inputs(observation(views=('left_wrist_0_rgb',)))
    with pytest.raises(ValueError, match='top'):
        processor().inputs(observation(views=('base_0_rgb', 'top')))


def test_chunk_is_in_robot_units():
    actions = np.zeros((10, 32), np.float32)
    actions[:, 0], actions[:, 6] = 1.0, 9.0
    chunk = processor().chunk(actions, observation(), frame_id=7)
    assert (chunk.frame_id, chunk.stamp_ns, chunk.instruction_id, chunk.dt_s) == (7, 5, 3, 0.1)
    assert chunk.joint_names == PROFILE.joints and chunk.data.shape == (10, 14)
    assert chunk.data[0, 0] == pytest.approx(0.05, abs=1e-5)
    assert chunk.data[0, 1] == pytest.approx(-0.96, abs=1e-5) and chunk.data[0, 6] == 0.057  # clipped to its range


def test_wrong_or_broken_actions_are_refused():
    with pytest.raises(ValueError, match=r'expects actions \[10, 32\], got \[50, 32\]'):
        processor().chunk(np.zeros((50, 32)), observation(), 1)
    actions = np.zeros((10, 32))
    actions[3, 4] = np.nan
    with pytest.raises(ValueError, match='1 non-finite actions in frame 9'):
        processor().chunk(actions, observation(), 9)


def test_a_tokenizer_of_another_model_is_refused():
    with pytest.raises(ValueError, match='1024 pieces, the model has 512'):
        Processor(PROFILE, Tokenizer(SMALL), vocabulary=512)
    with pytest.raises(ValueError, match='14 actions, the model gives 7'):
        Processor(PROFILE, Tokenizer(SMALL), action_dim=7)


def test_suffix_has_no_bos_and_stream_gives_text():
    own = processor()
    tokens = own.suffix_tokens('Subtask:')
    assert tokens and 2 not in tokens and own.suffix_tokens('') == []
    stream = own.text_stream()
    assert ''.join([*map(stream.push, tokens), stream.finish()]) == 'Subtask:'
    assert own.eos_id == 1 and own.suppressed == {}


@pytest.mark.parametrize('changes', [
    {}, {'delta': (True,) * (len(PROFILE.joints) - 1) + (False,)}, {'robot': 'aloha'}])
def test_robot_actions_go_back_to_the_models_scale(changes):
    made = processor(replace(PROFILE, action_ranges=(), **changes))
    own = len(PROFILE.actions)
    actions = np.random.default_rng(0).uniform(-0.5, 0.5, (made.profile.chunk_horizon, made.action_dim))
    chunk = made.chunk(actions, observation(), 0)
    assert np.allclose(made.model_actions(chunk.data[2:], observation()), actions[2:, :own], atol=1e-9)
