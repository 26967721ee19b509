"""Compare this package with what the peers left in folders; prints the largest error of every stage, exit 1 beyond."""
import argparse
import json
from pathlib import Path
import sys

import numpy as np
from safetensors.torch import load_file
import torch

from oxygen_ros.convert.letterbox import letterbox
from oxygen_ros.engine.chunk import ActionKind
from oxygen_ros.engine.guidance import Guidance, prefix_weights
from oxygen_ros.model.attention import attend
from oxygen_ros.model.checkpoint import load_into, open_checkpoint
from oxygen_ros.model.config import Pi05Config
from oxygen_ros.model.pi05 import Pi05
from oxygen_ros.profile.beside import read_facts, read_found_statistics
from oxygen_ros.profile.facts import agree
from oxygen_ros.profile.processor import Processor
from oxygen_ros.profile.profile import PrefixMask, Profile
from oxygen_ros.profile.tokenizer import SMALL, Tokenizer

FLOAT32 = 1e-5
# bfloat16: LeRobot's own comparison of its GPU and CPU samples allows rtol 1e-2, atol 5e-3
BFLOAT16 = (1e-2, 5e-3)
GUIDED = {'relative': 1e-5, 'absolute': FLOAT32}  # guidance pulls as strongly as its weight, and actions grow with it
MARGIN = 1e-3  # where the two best tokens are closer, either is right


class Results:
    """Collects one line a stage."""

    def __init__(self):
        self.failed = 0

    def near(self, stage, ours, theirs, relative=0.0, absolute=FLOAT32):
        ours, theirs = torch.as_tensor(ours).float(), torch.as_tensor(theirs).float()
        if ours.shape != theirs.shape:
            self.line(stage, False, f'shape {list(ours.shape)}, theirs {list(theirs.shape)}')
            return
        error = (ours - theirs).abs()
        good = bool((error <= absolute + relative * theirs.abs()).all())
        self.line(stage, good, f'largest error {error.max():.2e} of values up to {theirs.abs().max():.2g}')

    def equal(self, stage, ours, theirs):
        self.line(stage, list(ours) == list(theirs), f'{len(list(theirs))} tokens' if list(ours) == list(theirs)
                  else f'ours {list(ours)}, theirs {list(theirs)}')

    def line(self, stage, good, text):
        self.failed += not good
        print(f'  {"ok  " if good else "FAIL"} {stage:<32}{text}')


@torch.no_grad()
def compare_model(folder, results, bf16):
    sizes = json.loads((folder / 'sizes.json').read_text())
    config = Pi05Config(**sizes)
    print(f'{folder.name}: {", ".join(f"{name} {value}" for name, value in sizes.items())}')
    stages = load_file(folder / 'stages.safetensors')
    dtype = torch.bfloat16 if bf16 else torch.float32
    # LeRobot keeps the whole vision tower in float32
    model = Pi05(config, dtype, vision_dtype=torch.float32, max_positions=512)
    load_into(model, open_checkpoint(folder / 'model.safetensors'), progress=False).eval()
    tolerance = {'relative': BFLOAT16[0], 'absolute': BFLOAT16[1]} if bf16 else {}
    views = [view for view in range(3) if f'picture.{view}' in stages]
    pictures = [letterbox(stages[f'picture.{view}'].numpy(), config.image_size, antialias=False) for view in views]
    for view, picture in zip(views, pictures):
        results.near(f'letterbox, slot {view}', picture, stages[f'letterbox.{view}'])
    tokens = model.embed_images(torch.from_numpy(np.stack(pictures)))
    results.near('image features', tokens, stages['image_features'], **tolerance)
    kv = torch.zeros(config.depth, 2, 512, config.head_dim, dtype=dtype)
    hidden = model.prefill(tokens, stages['tokens'], kv, rows=slice(None))
    # hidden rows and logits of bfloat16 carry the rounding of every layer; the actions are what counts
    if not bf16:
        results.near('prefix', hidden, stages['prefix_out'])
        results.near('logits', model.logits(hidden), stages['logits'])
    length = len(hidden)
    results.near('time condition', model.expert.condition(torch.tensor(1.0)), stages['condition'])
    noise = stages['noise']
    ours = {'velocity': model.velocity(noise, kv, length, model.prepare(10)[0])}
    ours.update({f'actions_{steps}': model.denoise(noise, kv, length, model.prepare(steps)) for steps in (4, 10)})
    for name, value in ours.items():
        if bf16:  # no farther from the peer than twice what rounding does to the peer itself
            rounding = float((stages[f'exact.{name}'] - stages[name]).abs().max())
            results.near(f'{name}, peer rounds {rounding:.0e}', value, stages[name], absolute=2 * rounding)
        else:
            results.near(name, value, stages[name])
    if bf16:
        results.near('actions_10, fixed tolerance', ours['actions_10'], stages['actions_10'], *BFLOAT16)
    if not bf16:
        compare_guidance(stages, results, lambda guidance: model.denoise(
            noise, kv, length, model.prepare(10), guidance))
        causal = torch.zeros_like(kv)
        rows = model.prefill(tokens, stages['tokens'], causal, PrefixMask.CAUSAL_PROMPT, slice(None))
        results.near('causal prompt, prefix', rows, stages['causal.prefix_out'])
        results.near('causal prompt, actions_10', model.denoise(noise, causal, length, model.prepare(10)),
                     stages['causal.actions_10'])
        sure = int((stages['text_margins'] > MARGIN).long().cumprod(0).sum())
        ours = greedy(model, kv, length, hidden[-1:], len(stages['text']))
        results.equal('greedy text', ours[:sure], stages['text'].tolist()[:sure])


def compare_guidance(stages, results, denoise):
    """Real-time chunking: every row weight, and the guided actions with the peer's derivative and the published one."""
    old, horizon = stages['rtc.old'], len(stages['noise'])
    delay, reach, most = stages['rtc.settings'].tolist()
    target = torch.zeros_like(stages['noise'])
    target[:len(old)] = old
    for schedule in ('exp', 'linear', 'ones', 'zeros'):
        ours = torch.stack([prefix_weights(frozen, covered, horizon, schedule)
                            for frozen in range(horizon + 1) for covered in range(horizon + 1)])
        results.near(f'RTC weights, {schedule}', ours, stages[f'rtc.weights.{schedule}'], absolute=1e-6)
        weights = prefix_weights(int(delay), min(int(reach), len(old)), horizon, schedule)[:, None].expand_as(target)
        for jacobian, name in ((False, 'identity'), (True, 'jacobian')):
            theirs = stages[f'rtc.{name}.{schedule}']
            results.near(f'RTC actions, {schedule}, {name}', denoise(Guidance(target, weights, most, jacobian)), theirs,
                         **GUIDED)
            moved = float((theirs - stages['actions_10']).abs().max())
            results.line('  and they are guided', moved > 1e-2, f'up to {moved:.2g} from the actions without')


def greedy(model, kv, length, hidden, count):
    """Text by one row at a time in the prefix's cache."""
    tokens = []
    for at in range(length, length + count):
        tokens.append(int(model.logits(hidden).argmax()))

        def over_all(layer, q, k, v, at=at):
            kv[layer, 0, at:at + 1], kv[layer, 1, at:at + 1] = k, v
            return attend(q, kv[layer, 0, :at + 1], kv[layer, 1, :at + 1])

        hidden = model.extend(torch.tensor([tokens[-1]]), torch.tensor([at]), over_all)
    return tokens


def processor_of(folder, table, tokenizer=SMALL):
    """Processor from the folder that LeRobot saved and the names that it does not save."""
    found, facts = read_found_statistics(folder), read_facts(folder)
    names = tuple(table['names'])
    profile = Profile(
        name='peer', views=('base_0_rgb',), joints=names, action_kind=ActionKind.JOINT_POSITION,
        chunk_horizon=facts.chunk_horizon, dt_s=0.02, state_statistics=found.state, action_statistics=found.actions,
        normalisation=found.state_mode, action_normalisation=found.action_mode, normalisation_rule=found.rule,
        delta=tuple(table['relative'] and 'gripper' not in name for name in names))
    agree(profile, facts, found)
    return Processor(profile, Tokenizer(tokenizer))


class Observed:
    """The parts of an observation that an action needs."""

    stamp_ns, instruction_id = 1, 1

    def __init__(self, state):
        self.state = np.array(state, dtype=np.float64)


def compare_processors(folder, results):
    table = json.loads((folder / 'cases.json').read_text())
    processor = processor_of(folder, table)
    print(f'{folder.name}: {len(table["names"])} joints, {table["mode"]}, '
          f'{"relative" if table["relative"] else "absolute"} actions')
    ours, theirs, actions, robot = [], [], [], []
    for case in table['cases']:
        prompt, _ = processor.prompt(case['task'], np.array(case['state']))
        ours += prompt.tokens
        theirs += case['tokens']
        model = np.zeros((processor.profile.chunk_horizon, 32))
        rows = np.array(case['model_actions'])
        model[:len(rows), :rows.shape[1]] = rows
        actions.append(processor.chunk(model, Observed(case['state']), 1).data[:len(rows)])
        robot.append(case['robot_actions'])
    results.equal('prompt tokens', ours, theirs)
    results.near('robot actions', np.array(actions), np.array(robot))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folders', nargs='+', type=Path)
    arguments = parser.parse_args()
    results = Results()
    for folder in arguments.folders:
        if (folder / 'stages.safetensors').is_file():
            compare_model(folder, results, bf16=folder.name.endswith('bf16'))
        elif (folder / 'cases.json').is_file():
            compare_processors(folder, results)
        else:
            raise SystemExit(f'{folder} has neither stages.safetensors nor cases.json: the peer did not run')
    print(f'{results.failed} stages differ' if results.failed else 'all stages agree')
    return 1 if results.failed else 0


if __name__ == '__main__':
    sys.exit(main())
