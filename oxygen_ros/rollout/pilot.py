"""What drives the arm in an episode: the node's engine and controller in this process, without ROS."""
from dataclasses import replace

from oxygen_ros.control.config import ControlConfig
from oxygen_ros.control.controller import Controller
from oxygen_ros.engine.request import LanguageRequest
from oxygen_ros.profile.prompt import suffix_text
from oxygen_ros.rollout.limits import robot_limits
from oxygen_ros.sim.joints import JOINTS

MAX_TOKENS = 16  # of a text
SLOTS, DECODE_ROUNDS = 16, 4
BLEND_S = RAMP_S = 0.1
MAX_AGE_S = 2.0  # of an observation, so that long delays can be injected


class EnginePilot:
    """
    An engine and, for each episode, a new controller.

    The other pilot (`LockstepPilot`) has the same methods and asks a node over ROS topics.
    """

    def __init__(self, engine, tick_s):
        self.engine = engine
        self._control = ControlConfig(rate_hz=1 / tick_s, blend_s=BLEND_S, ramp_s=RAMP_S, max_chunk_age_s=MAX_AGE_S,
                                      max_measured_age_s=MAX_AGE_S)
        self._suffixes = dict(engine.processor.profile.language_suffix)
        self._limits = robot_limits()
        self._questions, self._controller = [], None
        self.chunks, self.frame_ms = 0, []

    def begin(self, seed, text, stamp_ns, now_ns, positions):
        """Start an episode at `now_ns` as if nothing had been before; the arm stands at `positions` [14]."""
        engine = self.engine
        engine.config = replace(engine.config, seed=seed % 2**31)
        engine.reset(frame_id=0)
        self._text, self._questions, self.chunks, self.frame_ms = text, [], 0, []
        self._controller = Controller(self._control, JOINTS, self._limits, engine.processor.profile.action_kind)
        self._controller.activate(stamp_ns)
        self._controller.instruction(1, text, now_ns)

    def feel(self, positions, stamp_ns):
        """Take the measured joints [14]."""
        self._controller.measured(positions, stamp_ns)

    def ask(self, question):
        """Ask with the next picture."""
        self._questions.append(question)

    def tick(self, now_ns, hear):
        """The command [14] of this moment, or None."""
        self._now_ns = now_ns
        return self._controller.tick(now_ns).command

    def look(self, observation, hear):
        """Run a frame; its chunk is in force from the next tick on, `hear(TokenEvent)` gets what is said."""
        requests = [LanguageRequest('subtask', self._suffixes['subtask'], MAX_TOKENS)]
        requests += [LanguageRequest('question', suffix_text(self._suffixes['answer'], question), MAX_TOKENS, 1)
                     for question in self._questions]
        self._questions = []
        report = self.engine.run_frame(observation, requests, self._offer, hear)
        self.frame_ms.append(report.frame_ms)

    def _offer(self, chunk):
        self.chunks += not self._controller.offer(chunk, self._now_ns)

    def end(self):
        """The episode is over."""

    def close(self):
        self.engine.close()
