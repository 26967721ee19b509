"""Engine, real-time chunking and controller together: consecutive chunks agree where they overlap."""
import numpy as np
from oxygen_ros.control.config import ControlConfig
from oxygen_ros.control.controller import Controller
from oxygen_ros.control.limits import JointLimits
from oxygen_ros.control.rtc import RealTimeChunking, RtcConfig
from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.engine.observation import Observation
from tiny_engine import CONFIG, engine, JOINTS, Log, observation

DT_S, DELAY_NS = 0.05, 50_000_000


def gaps(config):
    """Distance of each chunk from the plan it takes over from; frames every 0.1 s, chunks one step late."""
    made, log = engine(), Log()
    limits = JointLimits.from_table(JOINTS, {'default': {
        'lower': -1e3, 'upper': 1e3, 'jump': 1e3, 'velocity': 1e3, 'acceleration': 1e5}}, velocity_reject=1e3)
    controller = Controller(ControlConfig(ramp_s=0.0), JOINTS, limits, ActionKind.JOINT_POSITION)
    controller.activate(0)
    controller.measured(np.zeros(3), 0)
    if config is not None:
        made.guide = RealTimeChunking(
            lambda: controller.plan, lambda data, _: data, CONFIG.horizon, CONFIG.action_dim, DT_S, config)
    found = []
    for i in range(12):
        seen = observation(i)
        seen = Observation(i * 100_000_000, seen.images, seen.state, seen.instruction, 1)
        made.run_frame(seen, [], log.chunk, log.token)
        now_ns = seen.stamp_ns + DELAY_NS
        controller.measured(np.zeros(3), now_ns)
        assert controller.offer(log.chunks[-1], now_ns) == ''
        found.append(controller.counters.boundary_gap)
        controller.tick(now_ns)
    return np.array(found[1:]), 0 if config is None else made.guide.guided


def test_guided_chunks_begin_where_the_running_one_is():
    # Random weights: the expert's derivative means nothing here, so it is taken for the identity.
    free, _ = gaps(None)
    guided, count = gaps(RtcConfig(jacobian=False))
    assert count == len(guided) and guided.mean() < 0.5 * free.mean()


def test_trained_rows_are_taken_over_exactly():
    guided, _ = gaps(RtcConfig(trained_rows=2))
    assert guided.max() < 1e-4
