"""The node's ears: its inputs' subscriptions and what their messages do. All of it runs in the executor's thread."""
from functools import partial

from rclpy.event_handler import SubscriptionEventCallbacks
from sensor_msgs.msg import CompressedImage, Image, JointState
from std_msgs.msg import String

from oxygen_ros import incompatible, messages, qos
from oxygen_ros.convert import images
from oxygen_ros.convert.instruction import Change, clean
from oxygen_ros.heard import Heard

IMAGE_TYPES = {'raw': Image, 'compressed': CompressedImage}


class Listener:
    """
    Subscribes to the inputs, from activate to deactivate; what stops the arm is heard elsewhere and always.

    Pictures are only stored here and decoded in the engine's thread. Every subscription is raw, so that bytes which are
    no valid message (text that is not UTF-8: rclpy#881) are refused here instead of ending the executor.
    """

    def __init__(self, node, params, parts):
        self._node = node
        self._parts = parts
        self.subscriptions = []
        try:
            self._subscribe_all(params, parts)
        except BaseException:
            self.close()
            raise

    def _subscribe_all(self, params, parts):
        for view, stream in parts.inputs.views.items():
            self._subscribe(IMAGE_TYPES[params[f'image.{view}.transport']], stream.topic,
                            partial(self._on_image, stream), qos.image())
        self._subscribe(JointState, 'joint_states', self._on_joints, qos.joints())
        self._subscribe(String, 'instruction', self._on_instruction, qos.text())
        self._subscribe(String, 'question', self._on_question, qos.text())

    def close(self):
        for subscription in self.subscriptions:
            self._node.destroy_subscription(subscription)
        self.subscriptions.clear()

    def _subscribe(self, kind, topic, callback, profile):
        heard = self._parts.heard.setdefault(topic, Heard(self._node.resolve_topic_name(topic)))

        def guarded(data):
            heard.note(self._parts.timeline.now_ns())
            try:
                callback(data)
            except Exception as error:
                heard.refuse(self._refuse(topic, error))
        self.subscriptions.append(self._node.create_subscription(
            kind, topic, guarded, profile, raw=True, qos_overriding_options=qos.overrides(),
            event_callbacks=SubscriptionEventCallbacks(
                incompatible_qos=partial(incompatible.note, self._node, self._parts, topic, incompatible.PUBLISHER))))

    def _refuse(self, topic, error):
        self._parts.messages_refused += 1
        problem = f'message on {topic} refused: {sentence(error)}'
        self._node.get_logger().warning(problem, throttle_duration_sec=1.0)
        return problem

    def _refuse_sample(self, stream, error):
        stream.refuse(sentence(error))
        self._node.get_logger().warning(stream.problem, throttle_duration_sec=1.0)

    def _on_image(self, stream, data):
        try:
            stamp_ns = messages.serialised_stamp_ns(data)
        except ValueError as error:
            self._refuse_sample(stream, error)
            return
        if stream.put(data, stamp_ns, self._parts.timeline.now_ns()):
            self._parts.worker.wake()

    def _on_joints(self, data):
        parts, stream = self._parts, self._parts.inputs.joints
        try:
            known = stream.put(messages.deserialise(data, JointState), parts.timeline.now_ns())
        except Exception as error:
            self._refuse_sample(stream, error)
            return
        if known:
            parts.loop.post('measured', stream.newest.payload, stream.newest.stamp_ns)
            parts.worker.wake()

    def _on_instruction(self, data):
        parts, now_ns = self._parts, self._parts.timeline.now_ns()
        instruction, change = parts.inputs.instruction.receive(messages.deserialise(data, String).data, now_ns)
        parts.inputs.instruction = instruction
        if change is not Change.REPEATED:
            parts.loop.post('instruction', instruction.instruction_id, instruction.text, now_ns)
            self._node.get_logger().info(f'instruction {instruction.instruction_id}: {instruction.text!r}')
        parts.worker.wake()

    def _on_question(self, data):
        parts, text = self._parts, clean(messages.deserialise(data, String).data)
        if parts.runner.question is None:
            raise ValueError(f'profile {parts.profile.name} cannot answer questions')
        if not text:
            raise ValueError('the question is empty')
        if not parts.runner.ask(text):
            raise ValueError(f'{parts.runner.MAX_QUESTIONS} questions wait already, this one is dropped')
        parts.worker.wake()


def decode(transports, view, data):
    """Serialised picture of a view -> RGB uint8 [h, w, 3]; ValueError with a sentence. Engine's thread."""
    kind = IMAGE_TYPES[transports[view]]
    try:
        message = messages.deserialise(data, kind)
    except Exception as error:
        raise ValueError(f'{len(data)} bytes are no {kind.__name__}: {sentence(error)}') from None
    return images.to_rgb(message)


def sentence(error):
    return ' '.join(str(error).split()) or type(error).__name__
