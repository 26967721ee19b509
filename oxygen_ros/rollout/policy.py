"""The engine with the shipped or given weights, built without ROS."""
import itertools
from pathlib import Path

from safetensors.torch import load_file

from oxygen_ros.engine.config import EngineConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.engine.observation import Observation
from oxygen_ros.model.config import CONFIGS
from oxygen_ros.model.pi05 import Pi05
from oxygen_ros.profile.load import load_profile
from oxygen_ros.profile.processor import Processor
from oxygen_ros.profile.tokenizer import find_tokenizer

WEIGHTS = Path(__file__).parents[1] / 'model' / 'nano.safetensors'


def driver(engine):
    """The engine's actions alone, as a function of (picture of base_0_rgb, positions [14], instruction) -> [H, 14]."""
    count = itertools.count(1)

    def drive(picture, positions, instruction):
        chunks = []
        engine.run_frame(Observation(next(count), {'base_0_rgb': picture.copy()}, positions, instruction, 1), [],
                         chunks.append, lambda event: None)
        return chunks[0].data

    return drive


def nano_engine(weights=WEIGHTS, mode='oxygen', seed=0, profile='aloha_sim', threads=1, **options):
    """Engine of the nano model in float32; `options` go to EngineConfig."""
    weights = Path(weights)
    if not weights.is_file():
        raise FileNotFoundError(f'no weights at {weights}; train them with: python -m oxygen_ros train')
    config = CONFIGS['nano']
    model = Pi05(config)
    model.load_tensors((name, tensor.float()) for name, tensor in load_file(weights).items())
    processor = Processor(load_profile(profile), find_tokenizer('nano'), config.image_size, config.action_dim,
                          config.vocabulary)
    engine = Engine(model, processor, EngineConfig(mode=mode, seed=seed, threads=threads, **options))
    engine.warm_up()
    return engine
