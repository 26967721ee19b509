"""Profile, model and engine from the parameters; what needs torch is imported here, late, in the engine's thread."""
from dataclasses import dataclass
import os
from pathlib import Path
import sys

from oxygen_ros.engine.fake import FakeEngine
from oxygen_ros.profile.policy import load_policy, profile_for

PLAIN = ('profile', 'checkpoint', 'tokenizer', 'random_weights', 'device', 'dtype')
NANO = Path(__file__).with_name('model') / 'nano.safetensors'  # comes with the package
ENGINE = ('fake', 'mode', 'slots', 'decode_rounds', 'ride', 'draft_tokens', 'deadline_s', 'max_new_tokens',
          'max_suffix_tokens', 'on_full', 'eos', 'denoise_steps', 'seed', 'threads')
RTC = ('enabled', 'max_weight', 'schedule', 'horizon_s', 'jacobian')


@dataclass(frozen=True)
class EngineSettings:
    """The parameters that decide about the engine, checked by their table."""

    profile: str
    checkpoint: str
    tokenizer: str
    random_weights: bool
    device: str
    dtype: str
    fake: bool
    mode: str
    slots: int
    decode_rounds: int
    ride: str
    draft_tokens: int
    deadline_s: float
    max_new_tokens: int
    max_suffix_tokens: int
    on_full: str
    eos: bool
    denoise_steps: int
    seed: int
    threads: int
    rtc_enabled: bool
    rtc_max_weight: float
    rtc_schedule: str
    rtc_horizon_s: float
    rtc_jacobian: bool

    @classmethod
    def read(cls, params):
        plain = {name: params[name] for name in PLAIN}
        if plain['checkpoint'] == 'nano':
            plain['checkpoint'] = str(NANO)
        return cls(*plain.values(), *(params[f'engine.{name}'] for name in ENGINE),
                   *(params[f'rtc.{name}'] for name in RTC))

    def thread_count(self):
        """Torch's threads: all cores but one, which the control tick and the cameras need."""
        return self.threads or max(1, len(os.sched_getaffinity(0)) - 1)


def load_profile(settings):
    """The Profile that the parameters name, `aloha_sim` for the package's own weights; raises with a sentence."""
    if settings.checkpoint == str(NANO) and not settings.profile:
        return profile_for('aloha_sim', settings.checkpoint)
    return profile_for(settings.profile, settings.checkpoint)


def build_engine(settings, profile, plan=lambda: None):
    """
    Load the model, build its engine and warm it up; call it in the thread that will run it.

    `plan()` gives what the controller is executing, which real-time chunking continues.

    Raises ValueError, OSError or RuntimeError with a sentence; a missing library names the interpreter it is missing
    from, because `ros2 launch` may well use another one than the shell (yolo_ros#112).
    """
    if settings.fake:
        return FakeEngine(profile.actions, profile.action_kind, profile.chunk_horizon, profile.dt_s,
                          slots=settings.slots, decode_rounds=settings.decode_rounds)
    try:
        return _model_engine(settings, profile, plan)
    except ImportError as error:
        raise RuntimeError(f'{error} in {sys.executable}; install it with: {sys.executable} -m pip install '
                           f'{error.name or "torch"}') from None


def _model_engine(settings, profile, plan):
    import torch
    from oxygen_ros.control.rtc import RealTimeChunking, RtcConfig
    from oxygen_ros.engine.config import EngineConfig
    from oxygen_ros.engine.engine import Engine
    check_device(settings.device)
    torch.set_num_threads(settings.thread_count())
    model, processor = load_policy(
        profile, settings.checkpoint, settings.tokenizer, getattr(torch, settings.dtype), settings.device,
        settings.seed if settings.random_weights else None, progress=False)
    engine = Engine(model, processor, EngineConfig(
        mode=settings.mode, slots=settings.slots, max_prompt_tokens=profile.max_prompt_tokens,
        max_suffix_tokens=settings.max_suffix_tokens, max_new_tokens=settings.max_new_tokens,
        decode_rounds=settings.decode_rounds, ride=settings.ride, draft_tokens=settings.draft_tokens,
        deadline_s=settings.deadline_s, denoise_steps=settings.denoise_steps, seed=settings.seed,
        on_full=settings.on_full, eos=settings.eos, dtype=settings.dtype, device=settings.device))
    if settings.rtc_enabled:
        engine.guide = RealTimeChunking(
            plan, processor.model_actions, profile.chunk_horizon, processor.action_dim, profile.dt_s,
            RtcConfig(settings.rtc_max_weight, settings.rtc_schedule, settings.rtc_horizon_s, settings.rtc_jacobian,
                      profile.rtc_trained_rows))
    engine.warm_up()
    return engine


def check_device(name):
    """Raise ValueError with one sentence when torch cannot use a device."""
    import torch
    try:
        kind = torch.device(name).type
        if kind == 'cuda' and not torch.cuda.is_available():
            built = torch.version.cuda
            raise ValueError(f'torch {torch.__version__} ' + (
                f'was built for CUDA {built} but finds no GPU; is the driver installed (nvidia-smi)?' if built else
                'is a CPU build; install one for CUDA, see https://pytorch.org/get-started/locally'))
        torch.empty(1, device=name)
    except (RuntimeError, ValueError, AssertionError) as error:
        first = str(error).partition('\n')[0]
        raise ValueError(f'parameter device is {name!r}: {first}') from None
