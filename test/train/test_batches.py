from made_frames import made_frames
import numpy as np
import pytest

from oxygen_ros.profile.load import load_profile
from oxygen_ros.profile.processor import Processor
from oxygen_ros.profile.tokenizer import find_tokenizer
from oxygen_ros.sim.instructions import COLOURS, GOALS
from oxygen_ros.sim.questions import place_of
from oxygen_ros.train.batches import Batches

PROFILE, TOKENIZER = load_profile('aloha_sim'), find_tokenizer('nano')


@pytest.fixture
def batches():
    return Batches(made_frames(), PROFILE, TOKENIZER)


def test_training_prompts_are_those_of_the_processor(batches):
    processor = Processor(PROFILE, TOKENIZER, 56, 14, 1024)
    for row in range(len(batches.frames)):
        for instruction in GOALS[batches.frames.goal[row]].phrases():
            wanted, _ = processor.prompt(instruction, batches.frames.state[row].astype(np.float64))
            assert batches.prompt(row, instruction) == list(wanted.tokens)


def test_training_images_are_those_of_the_processor(batches):
    from oxygen_ros.convert.letterbox import letterbox
    picture = np.random.default_rng(1).integers(0, 255, (224, 224, 3), dtype=np.uint8)
    seen = letterbox(picture, 56)
    kept = np.rint((seen + 1) * 127.5).astype(np.uint8)
    assert np.abs(kept.astype(np.float32) / 127.5 - 1 - seen).max() < 1e-6


def test_actions_come_back_through_the_profile(batches):
    from oxygen_ros.profile.normalise import unnormalise
    back = unnormalise(batches.actions, PROFILE.action_statistics, PROFILE.action_normalisation,
                       PROFILE.normalisation_rule)
    assert np.abs(back - batches.frames.actions).max() < 1e-5


def test_a_batch_is_a_function_of_its_seed(batches):
    one, two = (batches.batch(np.random.default_rng([3, 4]), np.arange(5)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(vars(one).values(), vars(two).values()))


def test_camera_noise_is_drawn_for_every_picture_and_bounded(batches):
    batches.frames.images[:] = 128  # far from black and white
    rows, clean = np.arange(12), 128 / 127.5 - 1
    one, two = (batches.batch(np.random.default_rng(seed), rows).images.numpy() - clean for seed in (1, 2))
    assert np.abs(one - two).max(axis=(1, 2, 3, 4)).min() > 1e-3  # another seed, other noise in each picture
    strengths = one.std(axis=(1, 2, 3, 4))  # of numbers from -1 to 1: twice the share of the range
    assert strengths.max() < 2 * batches.camera_noise * 1.05 and np.ptp(strengths) > 0.01
    assert np.abs(np.corrcoef(one.reshape(12, -1))[np.triu_indices(12, 1)]).max() < 0.1
    quiet = Batches(batches.frames, PROFILE, TOKENIZER, camera_noise=0)
    assert np.abs(quiet.batch(np.random.default_rng(1), rows).images.numpy() - clean).max() < 1e-6


def test_the_subtask_names_the_block_of_the_instruction(batches):
    row = 3
    (suffix, reply), *answers = batches.say(np.random.default_rng(0), row)
    at = place_of(reply)
    blocks = batches.frames.blocks[row]
    assert suffix == '' and COLOURS[int(np.argmin(np.linalg.norm(blocks[:, :2] - at, axis=1)))] == 'blue'
    assert reply.endswith('reach for the blue block')
    assert len(answers) == 2 and all(asked.startswith('Question: ') for asked, _ in answers)


def test_only_the_reply_is_to_be_predicted(batches):
    asked = 'Question: where is the red block? Answer:'
    texts = [('pick up the blue block', [('', 'hold still'), (asked, 'nothing')]),
             ('pick up the blue block', [(asked, 'nothing')])]
    batch = batches.batch(np.random.default_rng(0), np.arange(2), texts)
    for row, part in ((0, 1), (1, 0)):
        mine = batch.answer_mask[row] & (batch.answer_part[row] == part)
        wanted = batch.answer[row][mine & batch.answer_wanted[row]].tolist()
        assert wanted == [*TOKENIZER.encode('nothing'), TOKENIZER.eos_id]
        assert TOKENIZER.decode(batch.answer[row][mine & ~batch.answer_wanted[row]].tolist()) == asked
    first = batch.answer[0][batch.answer_part[0] == 0].tolist()
    assert first == [*TOKENIZER.encode('hold still'), TOKENIZER.eos_id]
    assert not batch.answer_mask[1, -1] and not batch.answer_wanted[1, -1]
