"""Run LeRobot's pi0.5 at a small random size: weights, inputs and every stage's output into FOLDER/SEED."""
import argparse
import json
import os
from pathlib import Path
import random

os.environ.setdefault('HF_HUB_OFFLINE', '1')
os.environ.setdefault('TRANSFORMERS_OFFLINE', '1')

import lerobot_on_311  # noqa: E402,F401
from lerobot.configs import FeatureType, PolicyFeature  # noqa: E402
from lerobot.policies.pi05 import PI05Config  # noqa: E402
import lerobot.policies.pi05.modeling_pi05 as peer  # noqa: E402
import peer_rtc  # noqa: E402
from safetensors.torch import save_file, save_model  # noqa: E402
import torch  # noqa: E402

VIEWS = ('base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb')
NEW_TOKENS = 8


def draw_sizes(seed):
    """Sizes of one run; the joint training forward of the peer fixes 8 heads."""
    draw = random.Random(seed)
    vision_heads = draw.choice((2, 3, 4))
    return {'vision_heads': vision_heads, 'vision_width': vision_heads * draw.choice((8, 12, 16)),
            'vision_depth': draw.randint(1, 3), 'vision_mlp': draw.choice((40, 64, 96)),
            'trunk_width': draw.choice((48, 64, 80)), 'trunk_mlp': draw.choice((96, 128)),
            'expert_width': draw.choice((24, 32, 48)), 'expert_mlp': draw.choice((48, 64)),
            'depth': draw.randint(1, 4), 'heads': 8, 'head_dim': draw.choice((8, 16, 32)),
            'vocabulary': draw.randint(300, 700), 'image_size': draw.choice((28, 42, 56)),
            'horizon': draw.randint(2, 16)}


def shrink(sizes):
    """The peer's sizes are fixed in its code at three places."""
    widths = {'gemma_2b': (sizes['trunk_width'], sizes['trunk_mlp']),
              'gemma_300m': (sizes['expert_width'], sizes['expert_mlp'])}
    peer.get_gemma_config = lambda name: peer.GemmaConfig(
        width=widths[name][0], mlp_dim=widths[name][1], depth=sizes['depth'], num_heads=8, num_kv_heads=1,
        head_dim=sizes['head_dim'])
    trunk, expert = peer.PaliGemmaForConditionalGenerationWithPiGemma, peer.PiGemmaForCausalLM

    def small_trunk(config):
        vision = config.vision_config
        vision.hidden_size, vision.num_hidden_layers = sizes['vision_width'], sizes['vision_depth']
        vision.num_attention_heads, vision.intermediate_size = sizes['vision_heads'], sizes['vision_mlp']
        vision.projection_dim = config.text_config.hidden_size
        config.text_config.vocab_size = sizes['vocabulary']
        return trunk(config)

    def small_expert(config):
        config.vocab_size = sizes['vocabulary']
        return expert(config)

    peer.PaliGemmaForConditionalGenerationWithPiGemma, peer.PiGemmaForCausalLM = small_trunk, small_expert


def build(sizes, limit, dtype):
    """A policy of these sizes with prompts of at most `limit` tokens; its weights are still to be filled."""
    shrink(sizes)
    size = sizes['image_size']
    image = PolicyFeature(FeatureType.VISUAL, (3, size, size))
    return peer.PI05Policy(PI05Config(
        dtype=dtype, device='cpu', chunk_size=sizes['horizon'], n_action_steps=sizes['horizon'], max_action_dim=32,
        max_state_dim=32, image_resolution=(size, size), tokenizer_max_length=limit,
        input_features={**{f'observation.images.{view}': image for view in VIEWS},
                        'observation.state': PolicyFeature(FeatureType.STATE, (8,))},
        output_features={'action': PolicyFeature(FeatureType.ACTION, (7,))}))


def fill(model, generator, gain):
    """Random weights; those that training starts at zero too, or the adaptive norms would hide the expert."""
    for name, parameter in sorted(model.named_parameters()):
        scale = 0.05 if parameter.ndim == 1 else gain * parameter.shape[-1] ** -0.5
        if 'embed_tokens' in name or 'lm_head' in name:
            scale = 0.03
        if 'position_embedding' in name:
            scale = 0.1
        values = torch.randn(parameter.shape, generator=generator) * scale
        if ('layer_norm' in name or 'post_layernorm' in name) and name.endswith('weight'):
            values = values + 1
        parameter.data.copy_(values)
    paligemma = model.paligemma_with_expert.paligemma
    paligemma.lm_head.weight.data.copy_(paligemma.model.language_model.embed_tokens.weight.data)


def text(core, prefix, pad, count):
    """Greedy continuation by whole forwards of the peer's trunk: the prefix bidirectional, the new tokens causal."""
    trunk = core.paligemma_with_expert
    generated = []
    embeddings = prefix[pad][None]  # without padding, which changes nothing
    length = embeddings.shape[1]
    margins = []
    for i in range(count):
        total = length + i
        visible = torch.ones(total, total, dtype=torch.bool).tril()
        visible[:length, :length] = True
        mask = peer.prepare_attention_masks_4d(visible[None])
        (hidden, _), _ = trunk.forward(attention_mask=mask, position_ids=torch.arange(total)[None],
                                       past_key_values=None, inputs_embeds=[embeddings, None], use_cache=False)
        logits = trunk.paligemma.lm_head(hidden[:, -1]).float()
        best = logits[0].topk(2)
        margins.append(float(best.values[0] - best.values[1]))
        generated.append(int(best.indices[0]))
        token = trunk.embed_language_tokens(torch.tensor([[generated[-1]]]))
        embeddings = torch.cat([embeddings, token.to(embeddings.dtype)], 1)
    return torch.tensor(generated), torch.tensor(margins)


def make_prompt_causal(core):
    """
    Let prompt tokens see the images and earlier prompt tokens only, and images no prompt, as OxyGen's code does.

    The peer's own mask code does it, given a 1 for each prompt token where pi0.5 has 0.
    """
    embed = core.embed_prefix

    def embed_causal(images, image_masks, tokens, masks):
        embeddings, pad, kinds = embed(images, image_masks, tokens, masks)
        kinds = kinds.clone()
        kinds[:, -tokens.shape[1]:] = True
        return embeddings, pad, kinds

    core.embed_prefix = embed_causal


@torch.no_grad()
def stages(core, inputs, noise, bf16):
    """Every stage's output for one sample."""
    images, image_masks, tokens, used = inputs
    trunk = core.paligemma_with_expert
    prefix, pad, kinds = core.embed_prefix(*inputs)
    mask = peer.prepare_attention_masks_4d(peer.make_att_2d_masks(pad, kinds))
    if bf16:
        prefix = prefix.to(torch.bfloat16)
    (hidden, _), cache = trunk.forward(
        attention_mask=mask, position_ids=pad.cumsum(1) - 1, past_key_values=None, inputs_embeds=[prefix, None],
        use_cache=True)
    one = torch.ones(1)
    generated, margins = text(core, prefix, pad, NEW_TOKENS)
    present = [image for image, there in zip(images, image_masks) if there.all()]
    return {
        'image_features': torch.cat([trunk.embed_image(image)[0] for image in present]),
        'prefix_out': hidden[pad], 'logits': trunk.paligemma.lm_head(hidden[pad]),
        'velocity': core.denoise_step(pad, cache, noise, one)[0], 'condition': core.embed_suffix(noise, one)[3][0],
        'actions_10': core.sample_actions(*inputs, noise=noise, num_steps=10)[0],
        'actions_4': core.sample_actions(*inputs, noise=noise, num_steps=4)[0],
        'text': generated, 'text_margins': margins}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder')
    parser.add_argument('seed', type=int)
    parser.add_argument('--bf16', action='store_true')
    arguments = parser.parse_args()
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    sizes = draw_sizes(arguments.seed)
    draw = random.Random(arguments.seed + 1)
    limit = draw.randint(12, 30)
    policy = build(sizes, limit, 'bfloat16' if arguments.bf16 else 'float32')
    generator = torch.Generator().manual_seed(arguments.seed)
    # lively weights find errors in float32; in bfloat16 they would mostly enlarge the rounding
    fill(policy.model, generator, gain=1.0 if arguments.bf16 else 1.1)
    policy.eval()
    core = policy.model
    core.paligemma_with_expert.paligemma.model.language_model.config._attn_implementation = 'eager'

    present = sorted(draw.sample(range(3), draw.randint(1, 3)))
    shape = (draw.randint(20, 90), draw.randint(20, 90))
    pictures = {view: torch.randint(0, 256, (1, *shape, 3), generator=generator, dtype=torch.uint8) for view in present}
    tokens = torch.randint(1, sizes['vocabulary'], (1, limit), generator=generator)
    used = torch.arange(limit)[None] < draw.randint(4, limit)
    tokens[~used] = 0
    noise = torch.randn(1, sizes['horizon'], 32, generator=generator)
    batch = {f'observation.images.{VIEWS[view]}': picture.permute(0, 3, 1, 2).float() / 255
             for view, picture in pictures.items()}
    images, image_masks = policy._preprocess_images(batch)
    inputs = (images, image_masks, tokens, used)
    results = stages(core, inputs, noise, arguments.bf16)
    if arguments.bf16:  # the same weights without rounding: what the peer's own rounding amounts to
        policy.float()
        exact = stages(core, inputs, noise, False)
        results.update({f'exact.{name}': exact[name] for name in ('velocity', 'actions_4', 'actions_10')})
    else:
        results.update(peer_rtc.guided(core, inputs, noise, arguments.seed))
        make_prompt_causal(core)
        causal = stages(core, inputs, noise, False)
        results.update({f'causal.{name}': causal[name] for name in ('prefix_out', 'actions_10')})
    generated = results.pop('text')
    results = {name: value.float().contiguous() for name, value in results.items()}
    results.update({f'picture.{view}': picture[0] for view, picture in pictures.items()})
    results.update({f'letterbox.{view}': images[i][0].contiguous() for i, view in enumerate(present)})
    results.update(tokens=tokens[used], noise=noise[0], text=generated)
    save_file(results, folder / 'stages.safetensors')
    save_model(policy, folder / 'model.safetensors')
    (folder / 'sizes.json').write_text(json.dumps(sizes))


if __name__ == '__main__':
    main()
