"""Playing: what goes out under which name, and when."""
import pytest
from rosbags.interfaces import Qos, QosDurability, QosReliability

from oxygen_ros.bag.offered_qos import to_publish
from oxygen_ros.bag.play import Player
from oxygen_ros.bag.play_names import names_to_play, PlayOptions
from oxygen_ros.bag.read import Bag, Topic
from oxygen_ros.cli.play import remaps

TOPICS = {name: Topic(name, kind, 1) for name, kind in [
    ('/top/image_raw', 'sensor_msgs/msg/Image'), ('/joint_states', 'sensor_msgs/msg/JointState'),
    ('/joint_command', 'std_msgs/msg/Float64MultiArray'), ('/arm/goal', 'trajectory_msgs/msg/JointTrajectory'),
    ('/arm/cmd', 'sensor_msgs/msg/JointState'), ('/commander/state', 'std_msgs/msg/String'),
    ('/robot1/oxygen/language/tokens', 'oxygen_ros/msg/LanguageToken'),
    ('/robot1/oxygen/language/text', 'std_msgs/msg/String'), ('/robot1/oxygen/status', 'oxygen_ros/msg/EngineStatus'),
    ('/clock', 'rosgraph_msgs/msg/Clock')]}


class FakeTime:
    def __init__(self):
        self.now_s, self.hooks = 0.0, []

    def __call__(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds
        for at_s, hook in list(self.hooks):
            if self.now_s >= at_s:
                self.hooks.remove((at_s, hook))
                hook()


class FakeNode:
    """Keeps what its publishers publish, with the time."""

    def __init__(self, time):
        self.time, self.sent = time, []

    def create_publisher(self, cls, name, quality):
        node = self

        class Publisher:
            def publish(self, message):
                node.sent.append((name, node.time(), message))

            def get_subscription_count(self):
                return 0
        return Publisher()


def test_commands_and_node_outputs_are_kept_from_a_live_robot():
    played = names_to_play(TOPICS, PlayOptions())
    assert {name for name, target in played.items() if target == name} == {
        '/top/image_raw', '/joint_states', '/commander/state', '/clock'}
    assert played['/joint_command'] == '/recorded/joint_command'
    assert played['/robot1/oxygen/language/text'] == '/recorded/robot1/oxygen/language/text'


def test_commands_go_out_under_their_own_name_only_when_asked():
    assert names_to_play(TOPICS, PlayOptions(aside=False))['/joint_command'] == '/joint_command'
    assert names_to_play(TOPICS, PlayOptions(remap=(('/arm/cmd', '/sim/cmd'),)))['/arm/cmd'] == '/sim/cmd'


def test_the_recorded_clock_is_left_out_where_the_player_makes_one():
    assert '/clock' not in names_to_play(TOPICS, PlayOptions(clock_hz=100.0))


@pytest.mark.parametrize('options', [dict(topics=('/nothing',)), dict(remap=(('/nothing', '/a'),))])
def test_a_topic_that_the_bag_lacks_is_refused_with_a_list(options):
    with pytest.raises(ValueError, match='no topic /nothing.*it has: /arm/cmd'):
        names_to_play(TOPICS, PlayOptions(**options))


@pytest.mark.parametrize('options', [dict(rate=0.0), dict(rate=-1.0), dict(rate=float('nan')), dict(start_s=-1.0),
                                     dict(clock_hz=float('inf'))])
def test_numbers_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match='must be a positive number'):
        PlayOptions(**options)


@pytest.mark.parametrize('text', ['/a', 'a:=/b', '/a:=b', ':='])
def test_a_remap_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match='/from:=/to'):
        remaps([text])


@pytest.mark.parametrize('rate', [0.5, 1.0, 4.0])
def test_messages_leave_at_the_recorded_distance_divided_by_the_rate(tmp_path, bag_maker, rate):
    time = FakeTime()
    node = FakeNode(time)
    with Bag(bag_maker.write(tmp_path / 'bag')) as bag:
        Player(node, bag, PlayOptions(rate=rate), clock=time, sleep=time.sleep).play()
        expected = [((at - bag.start_ns) / 1e9 / rate) for _, at, _ in bag.messages()]
    assert [at for _, at, _ in node.sent] == pytest.approx(expected, abs=1e-6)


def test_the_clock_ticks_before_the_message_of_its_time_and_starts_over_in_a_loop(tmp_path, bag_maker):
    time = FakeTime()
    node = FakeNode(time)
    with Bag(bag_maker.write(tmp_path / 'bag')) as bag:
        player = Player(node, bag, PlayOptions(clock_hz=50.0, loop=True, rate=2.0), clock=time, sleep=time.sleep)
        time.hooks.append((0.75, player.stop))
        player.play()
        start_ns = bag.start_ns
    ticks = [message.clock.sec * 10**9 + message.clock.nanosec - start_ns
             for name, _, message in node.sent if name == '/clock']
    jump = next(i for i in range(1, len(ticks)) if ticks[i] < ticks[i - 1])
    assert ticks[:3] == [0, 40_000_000, 80_000_000] and ticks[jump] == 0 and ticks[jump - 1] >= 9.6 * 10**8
    assert node.sent[0][0] == '/clock'


def test_a_pause_shifts_everything_after_it(tmp_path, bag_maker):
    time = FakeTime()
    node = FakeNode(time)
    with Bag(bag_maker.write(tmp_path / 'bag')) as bag:
        player = Player(node, bag, PlayOptions(), clock=time, sleep=time.sleep)
        time.hooks += [(0.3, player.paused.set), (5.0, player.paused.clear)]
        player.play()
        expected = [(at - bag.start_ns) / 1e9 for _, at, _ in bag.messages()]
    shifts = [at - due for (_, at, _), due in zip(node.sent, expected)]
    assert max(shifts[:10]) < 1e-6 and min(shifts[-10:]) > 4.5 and max(shifts) < 4.9
    assert not any(0.36 < at < 4.9 for _, at, _ in node.sent)


def test_start_skips_and_refuses_to_start_behind_the_end(tmp_path, bag_maker):
    time = FakeTime()
    node = FakeNode(time)
    with Bag(bag_maker.write(tmp_path / 'bag')) as bag:
        Player(node, bag, PlayOptions(start_s=0.5), clock=time, sleep=time.sleep).play()
        assert sum(name == '/top/image_raw' for name, _, _ in node.sent) == 5
        with pytest.raises(ValueError, match='behind the end of the bag, which lasts 1.0 s'):
            Player(node, bag, PlayOptions(start_s=9.0))


def test_the_replayed_quality_matches_every_subscriber_that_the_recorded_one_did():
    def offered(reliability, durability):
        return Qos(None, 0, QosReliability[reliability], QosDurability[durability], None, None, None, None, False)

    assert to_publish([]).reliability.name == 'RELIABLE'
    assert to_publish([offered('BEST_EFFORT', 'VOLATILE')]).reliability.name == 'BEST_EFFORT'
    latched = to_publish([offered('RELIABLE', 'TRANSIENT_LOCAL'), offered('BEST_EFFORT', 'VOLATILE')])
    assert (latched.reliability.name, latched.durability.name) == ('RELIABLE', 'TRANSIENT_LOCAL')
