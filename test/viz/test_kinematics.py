"""Places of links from a URDF, against the arithmetic of a two-link arm."""
import numpy as np
import pytest

from oxygen_ros.viz.shapes import plan_shapes, standing_shapes, text_shape, thin_rows

pytest.importorskip('yourdfpy', reason='yourdfpy, the URDF library')
from oxygen_ros.viz.kinematics import Kinematics  # noqa: E402

JOINTS = ('a', 'b', 'grip')
ARM = '''<robot name="arm"><link name="base"/><link name="upper"/><link name="lower"/><link name="hand"/>
<link name="finger"/><link name="lens"/>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<joint name="b" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<joint name="wrist" type="fixed"><parent link="lower"/><child link="hand"/><origin xyz="0.5 0 0"/></joint>
<joint name="grip" type="prismatic"><parent link="hand"/><child link="finger"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="0.1" effort="1" velocity="1"/></joint>
<joint name="mount" type="fixed"><parent link="base"/><child link="lens"/></joint></robot>'''


@pytest.fixture(scope='module')
def arm():
    return Kinematics(ARM)


def hand(a, b):
    return [np.cos(a) + 0.5 * np.cos(a + b), np.sin(a) + 0.5 * np.sin(a + b), 0]


def test_the_hand_is_where_trigonometry_puts_it(arm):
    rows = np.random.default_rng(0).uniform(-2, 2, (20, 3))
    found = arm.positions(JOINTS, rows, ('hand',))
    assert found[:, 0] == pytest.approx(np.array([hand(a, b) for a, b, _ in rows]), abs=1e-6)


def test_joints_that_the_robot_lacks_are_no_obstacle(arm):
    found = arm.positions(('zz', *JOINTS), np.array([[9, 0.3, 0.2, 0]]), ('hand',))
    assert found[0, 0] == pytest.approx(hand(0.3, 0.2), abs=1e-6)


def test_the_tip_of_a_chain_with_a_sliding_finger_is_the_hand_that_carries_it(arm):
    assert arm.tips(JOINTS) == ('hand',) and arm.root == 'base'
    assert arm.tips(('a', 'b')) == ('lower',)


def test_shapes_of_a_plan_begin_and_end_with_the_chunk(arm):
    rows = np.stack([np.linspace(0, 1, 50), np.zeros(50), np.zeros(50)], 1)
    path, end = plan_shapes(arm, JOINTS, rows, ('hand',))
    assert path.kind == 'line' and len(path.places) <= 25
    assert path.places[0] == pytest.approx(hand(0, 0), abs=1e-6) and path.places[-1] == pytest.approx(hand(1, 0))
    assert end.kind == 'points' and end.places[0] == pytest.approx(hand(1, 0))


def test_measured_and_commanded_are_points_and_a_joint_never_heard_draws_none(arm):
    shapes = standing_shapes(arm, JOINTS, ('hand',), np.array([0.1, 0, 0]), np.array([0.2, np.nan, 0]))
    assert [shape.namespace for shape in shapes] == ['measured']
    assert shapes[0].places[0] == pytest.approx(hand(0.1, 0), abs=1e-6)


def test_the_text_names_state_instruction_and_what_is_said():
    shape = text_shape('holding', 'stack', [('subtask', 'wait')])
    assert shape.text == 'holding\n> stack\nsubtask: wait'


def test_thinning_keeps_the_ends():
    rows = np.arange(200).reshape(100, 2)
    assert len(thin_rows(rows, 10)) == 10 and (thin_rows(rows, 10)[[0, -1]] == rows[[0, -1]]).all()


@pytest.mark.parametrize('text, sentence', [
    ('', 'no URDF'), ('not xml', 'no URDF'), ('<robot', 'no URDF'), ('<world/>', 'no URDF'),
    ('<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]><robot name="x"/>', 'document type'),
    ('x' * (16 * 2**20 + 1), 'bytes, more than')])
def test_what_is_no_urdf_gets_a_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        Kinematics(text)
