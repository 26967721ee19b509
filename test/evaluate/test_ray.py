"""Many bags on a Ray cluster, here one of this machine alone."""
import pytest
from robot_bag import RobotBag

from oxygen_ros import share
from oxygen_ros.evaluate.evaluate import evaluate, table_of
from oxygen_ros.evaluate.plan import Settings

pytest.importorskip('ray', reason='ray, the optional extra for clusters')


def test_a_local_ray_gives_what_one_process_gives_and_lists_a_bag_that_failed(tmp_path, monkeypatch):
    monkeypatch.setenv('RAY_ENABLE_UV_RUN_RUNTIME_ENV', '0')
    bags = [RobotBag(seconds=1.0).write(tmp_path / 'good'), tmp_path / 'none']
    settings = Settings(str(share.config_file('aloha.yaml')), overrides=(('engine.fake', True),))
    tables = [table_of(evaluate(bags, settings, ray_address=address), settings, bags) for address in (None, 'local')]
    for table in tables:
        table.pop('timing')
    assert tables[0] == tables[1]
    assert tables[1]['frames'] == 10 and 'does not exist' in tables[1]['bags'][1]['error']
