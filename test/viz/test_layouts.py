"""The layouts of Foxglove and PlotJuggler name topics and fields that exist."""
import json
from pathlib import Path
import re
from xml.etree import ElementTree

from oxygen_ros.bag.definitions import standard_types, types_of_class

CONFIG = Path(__file__).parents[2] / 'config'
TYPES = {'/oxygen/status': 'oxygen_ros/msg/EngineStatus', '/joint_command': 'std_msgs/msg/Float64MultiArray',
         '/joint_states': 'sensor_msgs/msg/JointState', '/oxygen/overlay': 'sensor_msgs/msg/Image',
         '/oxygen/markers': 'visualization_msgs/msg/MarkerArray', '/robot_description': 'std_msgs/msg/String',
         '/oxygen/language/tokens': 'oxygen_ros/msg/LanguageToken',
         '/diagnostics': 'diagnostic_msgs/msg/DiagnosticArray'}


def fields(topic):
    name = TYPES[topic]
    known = types_of_class(name) if name.startswith('oxygen_ros') else standard_types().fielddefs
    return {field for field, _ in known[name][1]}


def test_every_path_of_the_foxglove_layout_is_a_field_of_its_topic():
    text = (CONFIG / 'foxglove.json').read_text()
    layout = json.loads(text)
    paths = re.findall(r'"(/[a-z_/]+)(?:\.([a-z_]+)[^"]*)?"', text)
    assert len(paths) > 10
    for topic, field in paths:
        assert topic in TYPES and (not field or field in fields(topic)), (topic, field)
    panels = set(re.findall(r'"(?:first|second)": "([^"]+)"', json.dumps(layout['layout'])))
    assert panels == set(layout['configById'])


def test_every_curve_of_the_plotjuggler_layout_is_a_field_of_its_topic():
    curves = [curve.get('name') for curve in ElementTree.parse(CONFIG / 'plotjuggler.xml').iter('curve')]
    assert len(curves) > 10
    for curve in curves:
        topic = next(topic for topic in TYPES if curve.startswith(f'{topic}/'))
        rest = curve.removeprefix(f'{topic}/').split('/')
        # PlotJuggler puts the joint's name before the field of a JointState.
        assert re.sub(r'\[\d+\]', '', rest[-1]) in fields(topic), curve
