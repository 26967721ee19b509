"""How the engine is run; checked once."""
from dataclasses import dataclass
from enum import Enum

from oxygen_ros.engine.ride import Ride


class Mode(str, Enum):
    """
    How requests share work. `oxygen` shares the prefix and decodes all live streams together across frames; `shared`
    shares the prefix but decodes one request after the other to its end; `isolated` also repeats the prefill.
    """

    OXYGEN = 'oxygen'
    SHARED = 'shared'
    ISOLATED = 'isolated'


class OnFull(str, Enum):
    """What a new language request meets when every slot is taken."""

    REFUSE = 'refuse'
    DROP_OLDEST = 'drop_oldest'


@dataclass(frozen=True)
class EngineConfig:
    """
    Limits and choices of one engine.

    `slots` is the most streams alive at once, `prefix_blocks` the most prefixes kept (0: one a slot and one for the
    frame at work). `max_prompt_tokens`, `max_suffix_tokens` and `max_new_tokens` bound what one prefix and one stream
    may hold. `decode_rounds` is the number of decode rounds a frame in mode oxygen, `ride` whether the first of them
    rides in the prefill (True and False stand for on and off). `seed` and the frame id make the action noise. With
    `eos` off streams run to their length. `threads` is torch's thread count, 0 leaves it alone.
    `pack` keeps the weights in the CPU kernel's own order where they are too many for its caches. `static`
    runs every stage in fixed shapes at fixed addresses, which CUDA graphs need; None: on a GPU only.
    """

    mode: Mode = Mode.OXYGEN
    slots: int = 8
    prefix_blocks: int = 0
    max_prompt_tokens: int = 200
    max_suffix_tokens: int = 32
    max_new_tokens: int = 64
    decode_rounds: int = 1
    ride: Ride = Ride.OFF
    draft_tokens: int = 0
    deadline_s: float = 0.0
    fold_times: bool = True
    trim_last_layer: bool = True
    denoise_steps: int = 10
    seed: int = 0
    eos: bool = True
    on_full: OnFull = OnFull.REFUSE
    dtype: str = 'float32'
    device: str = 'cpu'
    threads: int = 0
    pack: bool = True
    static: bool | None = None

    def __post_init__(self):
        object.__setattr__(self, 'mode', Mode(self.mode))
        object.__setattr__(self, 'on_full', OnFull(self.on_full))
        ride = {True: Ride.ON, False: Ride.OFF}.get(self.ride, self.ride)
        object.__setattr__(self, 'ride', Ride(ride))
        for name, least in (('slots', 1), ('prefix_blocks', 0), ('max_prompt_tokens', 1), ('max_suffix_tokens', 0),
                            ('max_new_tokens', 1), ('decode_rounds', 0), ('denoise_steps', 1), ('threads', 0),
                            ('draft_tokens', 0), ('deadline_s', 0)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f'{name} must be at least {least}, got {value}')
        if self.prefix_blocks == 1:
            raise ValueError('prefix_blocks must be 0 or at least 2: one for the frame at work and one for a stream')
        if self.dtype not in ('float32', 'bfloat16'):
            raise ValueError(f'dtype must be float32 or bfloat16, got {self.dtype}')

    @property
    def in_fixed_shapes(self):
        return self.device.startswith('cuda') if self.static is None else self.static

    @property
    def blocks(self):
        return self.prefix_blocks or self.slots + 1
