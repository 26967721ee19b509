"""What an engine has done so far and holds now."""
from dataclasses import dataclass


@dataclass
class Counters:
    """
    Sums since the engine was made; `live_streams`, `slots_used` and `blocks_used` are of this moment.

    `rows` sums the streams that each decode round advanced. `captures` counts the computations prepared in fixed
    shapes, `eager_runs` what was computed without one all the same. Of `drafted` tokens `accepted` proved right.
    `late_chunks` left after their deadline, where there is one. Streams that were dropped also count as finished.
    `state_out_of_range` sums the joints of each frame that lay outside what the statistics span, `dropped_characters`
    those of instructions that were too long.
    """

    frames: int = 0
    prefills: int = 0
    chunks: int = 0
    tokens: int = 0
    decode_rounds: int = 0
    rows: int = 0
    eager_runs: int = 0
    captures: int = 0
    drafted: int = 0
    accepted: int = 0
    late_chunks: int = 0
    state_out_of_range: int = 0
    dropped_characters: int = 0
    streams_started: int = 0
    streams_finished: int = 0
    streams_refused: int = 0
    streams_dropped: int = 0
    live_streams: int = 0
    max_live_streams: int = 0
    slots_used: int = 0
    slots_total: int = 0
    blocks_used: int = 0
    blocks_total: int = 0
    pool_bytes: int = 0


class PrefillCounter:
    """
    Counts prefills where they happen, by hooks on the first vision and the first trunk layer.

    Both layers must run for a prefill; a trunk run belongs to one when it starts at position 0, which no decode
    round does.
    """

    def __init__(self, model):
        self.vision_runs = self.trunk_runs = 0
        self._handles = [model.vision.layers[0].register_forward_hook(self._vision),
                         model.trunk.layers[0].register_forward_hook(self._trunk)]

    @property
    def prefills(self):
        return max(self.vision_runs, self.trunk_runs)

    def _vision(self, layer, inputs, output):
        self.vision_runs += 1

    def _trunk(self, layer, inputs, output):
        self.trunk_runs += inputs[1].start == 0

    def replayed(self):
        """A captured prefill ran: hooks see the capture only."""
        self.vision_runs += 1
        self.trunk_runs += 1

    def close(self):
        for handle in self._handles:
            handle.remove()
