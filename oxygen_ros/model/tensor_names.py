"""Tensor names of the published layouts, brought to the one form that the model knows."""
import re

from oxygen_ros.model.tensors import HEAD, TRUNK

EMBEDDING = TRUNK + 'embed_tokens.weight'
DEAD = ('paligemma_with_expert.gemma_expert.lm_head.weight',)  # in every file, never used
PALIGEMMA = 'paligemma_with_expert.paligemma.'
# pi0 of another generation (LeRobot before July 2025): no `model.` inside PaliGemma
OLD = (('vision_tower.', 'model.vision_tower.'), ('multi_modal_projector.', 'model.multi_modal_projector.'),
       ('language_model.model.', 'model.language_model.'), ('language_model.lm_head.', 'lm_head.'))


def canonical(name):
    """
    File name -> canonical name.

    Takes off `model.` (LeRobot) and `_orig_mod.` (torch.compile), puts in the `vision_model.` level that newer
    transformers leave out, and rewrites the oldest layout.
    """
    name = name.replace('_orig_mod.', '')
    while name.startswith(('model.', 'module.')):
        name = name.partition('.')[2]
    if name.startswith(PALIGEMMA):
        rest = name[len(PALIGEMMA):]
        for old, new in OLD:
            if rest.startswith(old):
                rest = new + rest[len(old):]
                break
        rest = re.sub(r'^model\.vision_tower\.(?!vision_model\.)', 'model.vision_tower.vision_model.', rest)
        name = PALIGEMMA + rest
    return name


def describe_layout(names):
    """Say in a few words how the names of a file are written."""
    words = ['LeRobot names' if any(n.startswith('model.') for n in names) else 'openpi names']
    if any('_orig_mod.' in n for n in names):
        words.append('compiled')
    if any('vision_tower.' in n for n in names) and not any('vision_tower.vision_model.' in n for n in names):
        words.append('no vision_model level')
    if any('language_model.model.' in n for n in names):
        words.append('layout of before July 2025')
    stripped = {canonical(n) for n in names}
    pair = (EMBEDDING in stripped, HEAD in stripped)
    words.append({(True, True): 'embedding and language head', (True, False): 'embedding only, tied',
                  (False, True): 'language head only, tied', (False, False): 'no embedding'}[pair])
    return ', '.join(words)


def refuse_other_models(names, where):
    """Raise ValueError for files of pi0, of pi0.5 with parts this package does not have, and of something else."""
    known = {canonical(n) for n in names}
    pi0 = sorted(n for n in known if n.startswith(('state_proj.', 'action_time_mlp')))
    if pi0:
        raise ValueError(f'{where} is pi0, not pi0.5 (it has {pi0[0]}): this package runs pi0.5 only')
    memory = sorted(n for n in known if 'proprio_history_proj' in n or 'visual_memory' in n)
    if memory:
        raise ValueError(f'{where} is a pi0.5 with memory inputs (it has {memory[0]}), which this package does not '
                         'give it')
    if not any(n.startswith('time_mlp_in.') for n in known):
        raise ValueError(f'{where} is not pi0.5: no time_mlp_in among its {len(known)} tensors, e.g. '
                         f'{sorted(known)[:3]}')
