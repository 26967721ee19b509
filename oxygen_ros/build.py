"""Profile, model and engine from the parameters; what needs torch is imported here, late, in the engine's thread."""
from dataclasses import dataclass
import sys

from oxygen_ros.engine.fake import FakeEngine


@dataclass(frozen=True)
class EngineSettings:
    """The parameters that decide about the engine, checked by their table."""

    model: str
    checkpoint: str
    profile: str
    random_weights: bool
    device: str
    dtype: str
    mode: str
    slots: int
    decode_rounds: int
    denoise_steps: int
    seed: int
    threads: int

    @classmethod
    def read(cls, params):
        plain = ('model', 'checkpoint', 'profile', 'random_weights', 'device', 'dtype')
        return cls(**{name: params[name] for name in plain},
                   **{name: params[f'engine.{name}'] for name in cls.__dataclass_fields__ if name not in plain})


def load_profile(settings):
    """The Profile that the parameters name; ValueError or OSError with a sentence."""
    from oxygen_ros.profile.load import load_profile as load
    return load(settings.profile or 'aloha_sim')


def build_engine(settings, profile):
    """
    Load the model, build its engine and warm it up; call it in the thread that will run it.

    Raises ValueError, OSError or RuntimeError with a sentence; a missing library names the interpreter it is missing
    from, because `ros2 launch` may well use another one than the shell (yolo_ros#112).
    """
    if settings.model == 'fake':
        engine = FakeEngine(profile.actions, profile.action_kind, profile.chunk_horizon, profile.dt_s,
                            slots=settings.slots, decode_rounds=settings.decode_rounds)
        engine.warm_up()
        return engine
    try:
        import torch
    except ImportError as error:
        raise RuntimeError(f'{error} in {sys.executable}; install it there: {sys.executable} -m pip install torch')
    raise RuntimeError(f'model {settings.model} is not available; {torch.__version__}')
