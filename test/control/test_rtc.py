from types import SimpleNamespace

import numpy as np
from oxygen_ros.control.config import ControlConfig
from oxygen_ros.control.controller import Controller
from oxygen_ros.control.limits import JointLimits
from oxygen_ros.control.plan import Plan
from oxygen_ros.control.rtc import executed_at, RealTimeChunking, RtcConfig
from oxygen_ros.engine.chunk import ActionChunk, ActionKind
import pytest

JOINTS = ('a', 'b')
S = 1_000_000_000


def chunk(stamp_ns, data, dt_s=0.1, instruction_id=1, kind=ActionKind.JOINT_POSITION):
    return ActionChunk(0, stamp_ns, instruction_id, kind, JOINTS, dt_s, np.asarray(data, float))


def ramp(stamp_ns, rows=10, **over):
    return chunk(stamp_ns, np.stack([np.arange(rows), -np.arange(rows)], axis=1), **over)


def observation(stamp_ns, instruction_id=1):
    return SimpleNamespace(stamp_ns=stamp_ns, instruction_id=instruction_id, state=np.zeros(2))


def rtc(plan, **config):
    return RealTimeChunking(lambda: plan, lambda data, _: data * 10, 8, 4, 0.1, RtcConfig(**config))


def test_rows_are_matched_by_time_between_rows_too():
    rows = executed_at(ramp(0), round(0.35 * S), 0.1, 8)
    assert np.allclose(rows[:, 0], [3.5, 4.5, 5.5, 6.5, 7.5, 8.5]) and np.allclose(rows[:, 1], -rows[:, 0])


def test_positions_reach_to_the_last_row_and_not_beyond():
    assert np.allclose(executed_at(ramp(0), 2 * S // 10, 0.1, 20)[:, 0], range(2, 10))
    assert len(executed_at(ramp(0), S, 0.1, 8)) == 0
    assert np.allclose(executed_at(ramp(0, rows=1), 0, 0.1, 8)[:, 0], [0])


@pytest.mark.parametrize('kind', [ActionKind.JOINT_VELOCITY, ActionKind.EEF_DELTA])
def test_velocities_and_deltas_are_not_interpolated(kind):
    assert np.allclose(executed_at(ramp(0, kind=kind), round(0.35 * S), 0.1, 20)[:, 0], [3, 4, 5, 6, 7, 8, 9])


def test_rows_go_to_the_models_scale_and_spare_columns_stay_free():
    guidance = rtc(Plan(ramp(0), 15 * S // 100))(observation(5 * S // 10))
    assert np.allclose(guidance.target[:5, 0], [50, 60, 70, 80, 90]) and np.allclose(guidance.target[5:], 0)
    weights = guidance.weights.numpy()
    assert np.allclose(weights[:3, :2], 1)  # 0.15 s of delay are two rows, and up to the third it is interpolated
    assert (np.diff(weights[2:5, 0]) < 0).all() and np.allclose(weights[5:], 0) and np.allclose(weights[:, 2:], 0)


def test_columns_without_a_way_back_stay_free():
    def no_gripper(data, _):
        return data * [1, np.nan]

    chunking = RealTimeChunking(lambda: Plan(ramp(0), 0), no_gripper, 8, 4, 0.1)
    guidance = chunking(observation(0))
    assert (guidance.weights[:, 1:] == 0).all() and (guidance.weights[:8, 0] > 0).all()
    assert np.allclose(guidance.target[:, 0], range(8))


def test_the_longest_of_the_newest_delays_is_expected_next():
    plans = [Plan(ramp(i), delay) for i, delay in enumerate([S // 10, 4 * S // 10, S // 10])]
    current = plans[:1]
    chunking = RealTimeChunking(lambda: current[0], lambda data, _: data, 8, 4, 0.1)
    assert chunking.frozen_rows() == 0
    for plan, rows in zip(plans, (2, 5, 5)):
        current[0] = plan
        chunking(observation(S // 10))
        chunking(observation(S // 10))
        assert chunking.frozen_rows() == rows
    for i in range(10):
        current[0] = Plan(ramp(i), S // 10)
        chunking(observation(S // 10))
    assert chunking.frozen_rows() == 2
    current[0] = Plan(ramp(10, kind=ActionKind.JOINT_VELOCITY), S // 10)
    chunking(observation(S // 10))
    assert chunking.frozen_rows() == 1  # velocities are held, nothing lies between two rows


@pytest.mark.parametrize('plan, stamp_ns, instruction_id', [
    (None, 0, 1), (Plan(ramp(0), 0), 5 * S, 1), (Plan(ramp(0), 0), S // 10, 2), (Plan(ramp(S), 0), S // 2, 1)])
def test_nothing_to_continue_is_no_guidance(plan, stamp_ns, instruction_id):
    assert rtc(plan)(observation(stamp_ns, instruction_id)) is None


def test_the_horizon_bounds_how_far_the_old_chunk_is_followed():
    weights = rtc(Plan(ramp(0), 0), horizon_s=0.3)(observation(0)).weights
    assert (weights[:3, 0] > 0).all() and (weights[3:] == 0).all()


def test_a_checkpoint_trained_for_it_gets_the_rows_themselves_as_far_as_it_was_trained():
    from oxygen_ros.engine.guidance import Frozen, Guidance
    plan = Plan(ramp(0), 15 * S // 100)
    frozen = rtc(plan, trained_rows=3)(observation(5 * S // 10))
    assert isinstance(frozen, Frozen) and frozen.rows == 3 and frozen.columns.tolist() == [True, True, False, False]
    assert np.allclose(frozen.target[:3, 0], [50, 60, 70])
    assert isinstance(rtc(plan, trained_rows=2)(observation(5 * S // 10)), Guidance)


@pytest.mark.parametrize('bad', [{'trained_rows': -1}, {'max_weight': 0}, {'horizon_s': -1}, {'schedule': 'steep'}])
def test_settings_that_make_no_sense_are_refused(bad):
    with pytest.raises(ValueError):
        RtcConfig(**bad)


def test_the_plan_of_a_stopped_or_redirected_controller_is_gone():
    limits = JointLimits.from_table(JOINTS, {'default': {'lower': -2, 'upper': 2}})
    controller = Controller(ControlConfig(), JOINTS, limits, ActionKind.JOINT_POSITION)

    def start(now):
        controller.activate(now)
        controller.instruction(1, 'go', now)
        controller.measured(np.zeros(2), now)
        assert controller.offer(chunk(now, np.zeros((10, 2))), now + S // 10) == ''
        assert controller.plan.delay_ns == S // 10

    for end in (lambda now: controller.stop('test'), controller.reset, lambda now: controller.deactivate(),
                lambda now: controller.instruction(2, '', now)):
        start(S)
        end(S + S // 10)
        assert controller.plan is None
