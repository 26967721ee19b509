"""Settings of the controller."""
from dataclasses import dataclass
import math


@dataclass(frozen=True)
class ControlConfig:
    """
    How chunks become commands.

    `rate_hz` is the control timer. `blend_s` is the cross-fade between chunks, `ramp_s` the one from the measured
    position after a start. `hold_s` is how long the last command is repeated without a valid chunk before nothing is
    published any more. `max_chunk_age_s` refuses chunks whose observation is older, `max_future_s` those ahead of time.
    `max_measured_age_s` is how old the measured position may be that a start relies on. `finish_old_chunk` says what a
    new instruction does to the old chunk: execute it until the first chunk of the new one comes, or drop it at once.
    `clock_jump_s` is the gap between ticks that counts as a jump of the clock.
    """

    rate_hz: float = 60.0
    blend_s: float = 0.15
    ramp_s: float = 0.5
    hold_s: float = 1.0
    max_chunk_age_s: float = 1.0
    max_future_s: float = 0.05
    max_measured_age_s: float = 0.5
    finish_old_chunk: bool = True
    clock_jump_s: float = 5.0

    def __post_init__(self):
        if not 1 <= self.rate_hz <= 200:
            raise ValueError(f'rate_hz must be 1 to 200, got {self.rate_hz}')
        for name in ('blend_s', 'ramp_s', 'hold_s', 'max_chunk_age_s', 'max_future_s', 'max_measured_age_s',
                     'clock_jump_s'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f'{name} must be 0 s or more and finite, got {value}')
        if self.clock_jump_s < 2 / self.rate_hz:
            raise ValueError(f'clock_jump_s must be at least two periods, {2 / self.rate_hz:.3g} s, '
                             f'got {self.clock_jump_s}')

    @property
    def period_s(self):
        return 1.0 / self.rate_hz
