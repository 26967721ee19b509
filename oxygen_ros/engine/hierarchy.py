"""pi0.5's own two levels: the model says its subtask, and the actions obey that instead of the instruction."""
from dataclasses import replace

from oxygen_ros.engine.request import FinishReason

TASK = 'subtask'


class Hierarchy:
    """
    Keeps the newest subtask of the instruction in force.

    A subtask comes from a prompt of its own (the profile's `high_level_prompt`), so each request for one costs a second
    prefill, which the engine counts. Until the first one is finished, and after another instruction, the actions obey
    the instruction itself.
    """

    def __init__(self):
        self.subtask = ''
        self._instruction_id = None
        self._asked = {}  # request id -> (instruction id, text so far)

    def wants(self, request):
        """Whether this language request is for the subtask that the actions are to obey."""
        return request.task == TASK

    def for_actions(self, observation):
        """Return the observation with the subtask in the instruction's place, once there is one."""
        if observation.instruction_id != self._instruction_id:
            self.forget()
            self._instruction_id = observation.instruction_id
        return replace(observation, instruction=self.subtask) if self.subtask else observation

    def asked(self, request_id):
        """Note the request whose text will be the subtask."""
        self._asked[request_id] = (self._instruction_id, '')

    def heard(self, event):
        """Take a TokenEvent; a text that ended by itself, and of the instruction in force, becomes the subtask."""
        if event.request_id not in self._asked:
            return
        instruction_id, text = self._asked[event.request_id]
        text += event.text
        if not event.finished:
            self._asked[event.request_id] = instruction_id, text
            return
        del self._asked[event.request_id]
        # one that was cut off by its length says only half of what to do
        if event.finish_reason is FinishReason.EOS and instruction_id == self._instruction_id and text.strip():
            self.subtask = text.strip()

    def forget(self):
        """Obey the instruction again."""
        self.subtask = ''
