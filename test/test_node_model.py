"""The node with the package's own small model in it: text streams while the arm is commanded."""
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from std_msgs.msg import String

from oxygen_ros.convert.instruction import MAX_CHARACTERS
from oxygen_ros.sim.joints import START
from rig import Rig

# The picture is no picture of the robot; what the limits say to that is not tested here.
WIDE = {f'limits__{joint}__{name}': 1000.0 for joint in ('default', 'left_gripper', 'right_gripper')
        for name in ('velocity', 'jump', 'acceleration')}


def test_the_real_engine_commands_and_streams_with_one_prefill_a_frame():
    rig = Rig(engine__fake=False, control__max_chunk_age_s=10.0, language__subtask__max_tokens=6,
              language__subtask__every_n_frames=1, engine__decode_rounds=2, **WIDE)
    try:
        rig.run()
        rig.until(lambda: rig.status.max_live_streams > 1 and rig.status.streams_finished > 3 and rig.texts, 'streams')
        rig.until(lambda: rig.status.ticks_fresh > 30, 'ticks')
        status = rig.status
        assert status.model == 'nano' and status.prefills == status.frames == status.chunks
        assert status.pool_bytes > 0 and status.denoise_ms > 0
        finished = [t.request_id for t in rig.tokens if t.finished]
        assert len(finished) == len(set(finished))
        for request_id in finished:
            indices = [t.index for t in rig.tokens if t.request_id == request_id]
            assert indices == list(range(len(indices)))
        rig.instruction.publish(String(data='x' * (MAX_CHARACTERS + 1)))  # refused, and the old one stays
        rig.turn()
        assert rig.status.instruction_id == 1
    finally:
        rig.close()


def test_a_state_out_of_range_and_an_instruction_that_is_cut_are_on_the_diagnostics():
    rig = Rig(engine__fake=False, control__max_chunk_age_s=10.0, **WIDE)
    parts = {}
    rig.robot.create_subscription(DiagnosticArray, '/diagnostics', lambda message: parts.update({
        status.name.rpartition(': ')[2]: status for status in message.status if rig.namespace in status.name}), 10)

    def value(part, key):
        return int(next((v.value for v in parts[part].values if v.key == key), -1)) if part in parts else -1
    try:
        rig.positions = START.copy()
        rig.positions[0] = 0.5  # the statistics end at 0.3
        rig.run('put ' + 'the red block ' * 100)
        rig.until(lambda: value('engine', 'state_out_of_range') > 0 < value('engine', 'dropped_characters'), 'counts')
        rig.until(lambda: 'characters were dropped' in parts['input instruction'].message, 'the warning')
        assert parts['input instruction'].level == DiagnosticStatus.WARN
        rig.instruction.publish(String(data='put the red block on the left'))
        rig.until(lambda: parts['input instruction'].level == DiagnosticStatus.OK, 'the warning is over')
    finally:
        rig.close()


def test_real_time_chunking_continues_the_chunk_that_runs():
    rig = Rig(engine__fake=False, control__max_chunk_age_s=10.0, rtc__enabled=True, **WIDE)
    try:
        rig.run()
        rig.until(lambda: rig.node._parts.engine.guide.guided > 3, 'guided frames')
        assert rig.status.state == 'running'
    finally:
        rig.close()
