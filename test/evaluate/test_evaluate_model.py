"""The real engine over a bag: the same bytes twice, and the modes agree on actions and texts."""
import json

import pytest
from robot_bag import RobotBag

from oxygen_ros import share
from oxygen_ros.evaluate.evaluate import evaluate, table_of
from oxygen_ros.evaluate.plan import Settings

pytest.importorskip('torch')
# Texts short enough to end within the bag in every mode.
SHORT = (('random_weights', True), ('checkpoint', ''), ('profile', 'aloha_sim'), ('language.subtask.max_tokens', 3),
         ('language.subtask.every_n_frames', 4), ('engine.decode_rounds', 2), ('engine.slots', 4))


@pytest.fixture(scope='module')
def tables(tmp_path_factory):
    bag = RobotBag(seconds=1.2).write(tmp_path_factory.mktemp('bags') / 'run')
    settings = Settings(str(share.config_file('aloha.yaml')), ('oxygen', 'isolated', 'shared'), overrides=SHORT,
                        delay_ms=200.0, curves=False)
    return [table_of(evaluate([bag], settings), settings, [bag]) for _ in range(2)]


def test_two_runs_of_the_model_give_the_same_bytes(tables):
    timings = [table.pop('timing') for table in tables]
    assert json.dumps(tables[0]) == json.dumps(tables[1])
    assert tables[0]['frames'] == 6 and tables[0]['action_mae'] > 0
    assert all(timing['isolated.denoise']['p50'] > 0 and timing['prefill']['p99'] > 0 for timing in timings)


def test_sharing_and_batching_change_neither_actions_nor_texts(tables):
    modes = tables[0]['modes']
    assert len({json.dumps([modes[mode][key] for key in ('action_mse', 'per_joint', 'horizon', 'rejected')])
                for mode in modes}) == 1
    for mode in ('oxygen', 'shared'):
        assert modes[mode]['text'] == {'exact_match': 1.0, 'edit_distance': 0.0, 'compared': 2, 'missing': 0}
