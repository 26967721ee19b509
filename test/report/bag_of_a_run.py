"""Writes the bag of a short made-up run of the node, for the tests of reports."""
import numpy as np

from oxygen_ros.bag.write import BagWriter

T0_NS = 1_700_000_000 * 10**9
JOINTS = ['left_waist', 'left_elbow', 'left_gripper']
SENTENCE = ['Move ', 'the arm ', 'to the </script><b>cube</b>']


class Scribe(BagWriter):
    """A bag writer that counts seconds from the run's start."""

    def header(self, time_s):
        return super().header(T0_NS + round(time_s * 1e9))

    def put(self, topic, time_s, message):
        super().put(topic, T0_NS + round(time_s * 1e9), message)


def positions(time_s):
    return np.array([np.sin(time_s), 0.5 * np.cos(time_s), 0.03])


def write_run(path, seconds=4.0):
    """A bag of `seconds`: 10 Hz pictures, 50 Hz states and commands, 5 Hz chunks and status, tokens."""
    with Scribe(path) as scribe:
        layout = scribe.make('std_msgs/msg/MultiArrayLayout')
        for i in range(round(seconds * 50)):
            time_s = i / 50
            scribe.put('/joint_states', time_s, scribe.make(
                'sensor_msgs/msg/JointState', header=scribe.header(time_s), name=JOINTS[::-1],
                position=positions(time_s)[::-1].copy(), velocity=np.zeros(0), effort=np.zeros(0)))
            scribe.put('/joint_command', time_s + 0.001, scribe.make(
                'std_msgs/msg/Float64MultiArray', layout=layout, data=positions(time_s) + 0.01))
            if i % 5 == 0:
                picture = np.zeros((48, 64, 3), np.uint8)
                picture[:, :, 0], picture[10:30, (i // 5) % 40:(i // 5) % 40 + 20] = 90, 220
                scribe.put('/top/image_raw', time_s, scribe.make(
                    'sensor_msgs/msg/Image', header=scribe.header(time_s), height=48, width=64, encoding='rgb8',
                    step=192, data=picture.reshape(-1)))
            if i % 10 == 0:
                frame = i // 10
                rows = np.stack([positions(time_s + 0.02 * row) + 0.02 for row in range(25)])
                scribe.put('/oxygen/action_chunk', time_s + 0.05, scribe.make(
                    'oxygen_ros/msg/ActionChunk', header=scribe.header(time_s), frame_id=frame, instruction_id=1,
                    kind='joint_position', joint_names=JOINTS, dt=0.02, horizon=25, data=rows.reshape(-1)))
                scribe.put('/oxygen/language/tokens', time_s + 0.06, scribe.make(
                    'oxygen_ros/msg/LanguageToken', header=scribe.header(time_s), frame_id=frame,
                    request_id=1 + frame // 3, task='subtask', index=frame % 3, token_id=5, text=SENTENCE[frame % 3],
                    finished=frame % 3 == 2, finish_reason='eos' if frame % 3 == 2 else ''))
                scribe.put('/oxygen/status', time_s + 0.07, scribe.make(
                    'oxygen_ros/msg/EngineStatus', header=scribe.header(time_s), state='running', model='nano',
                    mode='oxygen', frames=frame + 1, prefills=frame + 1, chunks=frame + 1, tokens=frame + 1,
                    slots_used=frame % 3, slots_total=4, blocks_used=1 + frame % 2, blocks_total=5,
                    live_streams=frame % 3, vision_ms=5.0, prefill_ms=20.0 + frame % 4, denoise_ms=15.0,
                    decode_ms=6.0, frame_ms=46.0 + frame % 4))
    return path
