"""LeRobot's real-time chunking on its pi0.5: the weights of every schedule, and guided actions by both derivatives."""
import random

from lerobot.configs import RTCAttentionSchedule
from lerobot.policies.rtc.configuration_rtc import RTCConfig
from lerobot.policies.rtc.modeling_rtc import RTCProcessor
import torch

STEPS = 10


class ThroughTheModel(RTCProcessor):
    """
    The peer's processor with the derivative of the published method.

    It asks for derivatives after it has run the model, which leaves the identity; here they are asked for before.
    """

    def denoise_step(self, x_t, prev_chunk_left_over, inference_delay, time, original_denoise_step_partial,
                     execution_horizon=None):
        return super().denoise_step(x_t, prev_chunk_left_over, inference_delay, time,
                                    lambda x: original_denoise_step_partial(x.requires_grad_(True)), execution_horizon)


def configured(schedule, most=5.0):
    return RTCConfig(prefix_attention_schedule=RTCAttentionSchedule[schedule.upper()], max_guidance_weight=most)


@torch.no_grad()
def guided(core, inputs, noise, seed):
    """What the peer computes, by name, and the old chunk, its delay and its reach in rows that it was given."""
    draw, horizon = random.Random(seed), noise.shape[1]
    generator = torch.Generator().manual_seed(seed)
    other = torch.randn(noise.shape, generator=generator)
    passed = draw.randint(1, max(1, horizon // 2))  # rows of the running chunk that are over
    old = core.sample_actions(*inputs, noise=other, num_steps=STEPS)[0, passed:]
    delay, reach, most = draw.randint(1, 3), draw.randint(2, horizon), draw.choice((2.0, 5.0, 10.0))
    found = {'rtc.old': old, 'rtc.settings': torch.tensor([delay, reach, most])}
    for schedule in ('exp', 'linear', 'ones', 'zeros'):
        config = configured(schedule, most)
        found[f'rtc.weights.{schedule}'] = torch.stack([
            RTCProcessor(config).get_prefix_weights(start, end, horizon)
            for start in range(horizon + 1) for end in range(horizon + 1)])
        for name, processor in (('identity', RTCProcessor), ('jacobian', ThroughTheModel)):
            core.rtc_processor, core.config.rtc_config = processor(config), config
            found[f'rtc.{name}.{schedule}'] = core.sample_actions(
                *inputs, noise=noise, num_steps=STEPS, inference_delay=delay, prev_chunk_left_over=old,
                execution_horizon=reach)[0]
    core.rtc_processor = core.config.rtc_config = None
    return found
