"""The node with the package's own small model in it: text streams while the arm is commanded."""
from std_msgs.msg import String

from oxygen_ros.convert.instruction import MAX_CHARACTERS
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


def test_real_time_chunking_continues_the_chunk_that_runs():
    rig = Rig(engine__fake=False, control__max_chunk_age_s=10.0, rtc__enabled=True, **WIDE)
    try:
        rig.run()
        rig.until(lambda: rig.node._parts.engine.guide.guided > 3, 'guided frames')
        assert rig.status.state == 'running'
    finally:
        rig.close()
