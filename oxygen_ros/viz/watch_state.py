"""What a person in a terminal wants to know of a running node, kept from its messages; time is given."""
from collections import deque
from dataclasses import dataclass, field

MAX_TEXTS = 6
MAX_CHARACTERS = 400
WINDOW_S = 2.0  # over which rates are taken


class Rate:
    """Arrivals of one topic: rate over the last seconds and age of the newest."""

    def __init__(self):
        self._times_s = deque(maxlen=1000)

    def arrived(self, now_s):
        self._times_s.append(now_s)

    def hz(self, now_s):
        """Arrivals a second over the window; 0.0 where none came within it."""
        recent = [t for t in self._times_s if now_s - t <= WINDOW_S]
        if len(recent) < 2:
            return len(recent) / WINDOW_S
        return (len(recent) - 1) / max(recent[-1] - recent[0], now_s - recent[0] - WINDOW_S / 4, 1e-6)

    def age_s(self, now_s):
        return now_s - self._times_s[-1] if self._times_s else None


@dataclass
class Text:
    """One language stream so far."""

    task: str
    text: str = ''
    tokens: int = 0
    reason: str = ''


@dataclass
class WatchState:
    """
    Filled by `on_...` with the node's messages; read by the screen.

    `inputs` are rows (name, topic, rate, age, note, good) as the node itself reports them in /diagnostics, so that
    watching adds no load to the cameras.
    """

    node: str
    status: object = None
    inputs: list = field(default_factory=list)
    commands: Rate = field(default_factory=Rate)
    chunks: Rate = field(default_factory=Rate)
    tokens: Rate = field(default_factory=Rate)
    said: Rate = field(default_factory=Rate)  # status messages
    late_ms: str = ''
    horizon: str = ''
    texts: dict = field(default_factory=dict)  # request id -> Text, oldest first
    instruction: str = ''

    def on_status(self, message, now_s):
        self.status = message
        self.said.arrived(now_s)

    def on_command(self, now_s):
        self.commands.arrived(now_s)

    def on_chunk(self, message, now_s):
        self.chunks.arrived(now_s)
        self.horizon = f'H {message.horizon} x {message.dt * 1e3:.0f} ms'

    def on_token(self, message, now_s):
        if message.token_id >= 0:
            self.tokens.arrived(now_s)
        text = self.texts.setdefault(message.request_id, Text(message.task))
        text.text = (text.text + message.text)[-MAX_CHARACTERS:]
        text.tokens += message.token_id >= 0
        text.reason = message.finish_reason
        while len(self.texts) > MAX_TEXTS:
            done = next((key for key, kept in self.texts.items() if kept.reason), next(iter(self.texts)))
            del self.texts[done]

    def on_diagnostics(self, message):
        """Take the entries of this node; others publish there too."""
        mine = {}
        for entry in message.status:
            name, separator, part = entry.name.partition(': ')
            if separator and name.rpartition('/')[2] == self.node.rpartition('/')[2]:
                mine[part] = (entry, {pair.key: pair.value for pair in entry.values})
        if not mine:
            return
        self.inputs = [
            (part.removeprefix('input '), values.get('topic', ''), values.get('rate_hz', ''), values.get('age_s', ''),
             entry.message, entry.level == b'\x00')
            for part, (entry, values) in mine.items() if part.startswith('input ')]
        _, values = mine.get('commands', (None, {}))
        self.late_ms = f'{values["late_ms_p50"]} / {values["late_ms_p99"]}' if 'late_ms_p50' in values else ''
