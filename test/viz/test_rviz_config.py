"""The RViz configuration names displays that a default RViz has, and topics of the type that each display takes."""
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
# Display -> type of its topic; the displays of rviz_default_plugins that need no further package.
TAKES = {'Image': 'sensor_msgs/msg/Image', 'MarkerArray': 'visualization_msgs/msg/MarkerArray', 'RobotModel': None,
         'Grid': None, 'TF': None}


@pytest.fixture(scope='module')
def displays():
    return yaml.safe_load((ROOT / 'config' / 'oxygen.rviz').read_text())['Visualization Manager']['Displays']


def test_every_display_comes_with_rviz(displays):
    assert {display['Class'] for display in displays} <= {f'rviz_default_plugins/{name}' for name in TAKES}
    assert len({display['Name'] for display in displays}) == len(displays)


def test_displays_subscribe_to_what_the_viz_node_publishes_with_a_quality_that_matches(displays):
    rclpy = pytest.importorskip('rclpy')
    from oxygen_ros.viz.node import VizNode
    rclpy.init()
    node = VizNode()
    try:
        offered = {p.topic_name: (p.msg_type, p.qos_profile) for p in node.publishers}
        for display in displays:
            kind = display['Class'].rpartition('/')[2]
            if TAKES[kind]:
                cls, quality = offered[display['Topic']['Value']]
                assert f'{cls.__module__.split(".")[0]}/msg/{cls.__name__}' == TAKES[kind]
                wanted = display['Topic']['Reliability Policy'].upper().replace(' ', '_')
                assert wanted == quality.reliability.name or wanted == 'BEST_EFFORT'
    finally:
        node.destroy_node()
        rclpy.shutdown()


def test_the_ghost_uses_the_prefix_that_the_launch_file_gives_its_frames(displays):
    prefixes = {display['TF Prefix'] for display in displays if display['Class'].endswith('RobotModel')}
    assert prefixes == {'', 'ghost'}
    assert "'frame_prefix': 'ghost/'" in (ROOT / 'launch' / 'rviz.launch.py').read_text()
