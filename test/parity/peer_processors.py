"""Run LeRobot's pi0.5 pre- and post-processors on random statistics, states and actions: files into FOLDER."""
import argparse
import json
import os
from pathlib import Path
import random

os.environ.setdefault('HF_HUB_OFFLINE', '1')

import lerobot_on_311  # noqa: E402,F401
from lerobot.configs import FeatureType, NormalizationMode, PolicyFeature  # noqa: E402
from lerobot.policies.pi05 import PI05Config  # noqa: E402
import lerobot.policies.pi05.processor_pi05 as peer  # noqa: E402
import sentencepiece  # noqa: E402
import torch  # noqa: E402

TASKS = ('pick up the red block', '  put_the cup\non the plate ', 'Open the drawer, then close it.', 'go')
STATES = 12


class Tokenizer:
    """What the peer asks of a Hugging Face tokenizer, on a SentencePiece model."""

    def __init__(self, path):
        self.model = sentencepiece.SentencePieceProcessor(str(path))

    def __call__(self, texts, max_length, padding='max_length', **_):
        texts = [texts] if isinstance(texts, str) else texts
        rows = [[self.model.bos_id(), *self.model.encode(text)][:max_length] for text in texts]
        ids = torch.tensor([row + [0] * (max_length - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (max_length - len(row)) for row in rows])
        return {'input_ids': ids, 'attention_mask': mask}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder')
    parser.add_argument('seed', type=int)
    parser.add_argument('tokenizer')
    arguments = parser.parse_args()
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(arguments.seed)
    generator = torch.Generator().manual_seed(arguments.seed)
    joints = draw.randint(3, 16)
    mode = draw.choice(('QUANTILES', 'MEAN_STD', 'MIN_MAX'))
    relative = draw.random() < 0.5
    names = [*(f'joint_{i}' for i in range(joints - 1)), 'gripper']
    real = peer.TokenizerProcessorStep
    peer.TokenizerProcessorStep = lambda tokenizer_name, **more: real(tokenizer=Tokenizer(arguments.tokenizer), **more)

    config = PI05Config(
        device='cpu', use_relative_actions=relative, action_feature_names=names if relative else None,
        normalization_mapping={'VISUAL': NormalizationMode.IDENTITY, 'STATE': NormalizationMode(mode),
                               'ACTION': NormalizationMode(mode)},
        input_features={'observation.images.base_0_rgb': PolicyFeature(FeatureType.VISUAL, (3, 224, 224)),
                        'observation.state': PolicyFeature(FeatureType.STATE, (joints,))},
        output_features={'action': PolicyFeature(FeatureType.ACTION, (joints,))})
    statistics = {}
    for feature in ('observation.state', 'action'):
        middle, half = torch.randn(joints, generator=generator), torch.rand(joints, generator=generator) + 0.05
        half[0] = 0.0  # a joint that never moved in the data
        statistics[feature] = {'mean': middle, 'std': half, 'q01': middle - half, 'q99': middle + half,
                               'min': middle - 1.5 * half, 'max': middle + 1.5 * half}
    before, after = peer.make_pi05_pre_post_processors(config, statistics)
    before.save_pretrained(folder)
    after.save_pretrained(folder)
    config.save_pretrained(folder)

    state_statistics = statistics['observation.state']
    cases = []
    for i in range(STATES):
        spread = 0.5 if i % 2 else 1.5  # half of the states reach out of the range
        state = state_statistics['mean'] + spread * (torch.rand(joints, generator=generator) * 2 - 1) * (
            state_statistics['std'] + 0.001)
        task = TASKS[i % len(TASKS)]
        out = before({'observation.state': state, 'task': task,
                      'observation.images.base_0_rgb': torch.zeros(3, 224, 224)})
        mask = out['observation.language.attention_mask'][0].bool()
        actions = torch.randn(1, 5, joints, generator=generator)
        robot = after(actions.clone())
        cases.append({'state': state.tolist(), 'task': task,
                      'tokens': out['observation.language.tokens'][0][mask].tolist(),
                      'model_actions': actions[0].tolist(), 'robot_actions': robot[0].tolist()})
    (folder / 'cases.json').write_text(json.dumps({'names': names, 'mode': mode, 'relative': relative, 'cases': cases}))


main()
