"""The flow's time: which times the Euler steps use, and how a time becomes the expert's condition."""
import math
from enum import Enum

import torch


class TimeRule(str, Enum):
    """LeRobot computes `1 - i / S` in double; openpi accumulates `t += dt` in float32 (0.8999999, 0.7999999, ...)."""

    LEROBOT = 'lerobot'
    OPENPI = 'openpi'


def euler_times(steps, rule=TimeRule.LEROBOT):
    """Times of the S Euler steps from noise (t = 1) towards data (t = 0), float32 [S]."""
    if steps < 1:
        raise ValueError(f'the number of denoising steps must be at least 1, got {steps}')
    dt = -1.0 / steps
    if TimeRule(rule) is TimeRule.LEROBOT:
        return torch.tensor([1.0 + i * dt for i in range(steps)], dtype=torch.float64).float()
    time, times = torch.tensor(1.0), []
    for _ in range(steps):
        times.append(time)
        time = time + torch.tensor(dt)
    return torch.stack(times)


def time_embedding(time, width, min_period, max_period):
    """Sine and cosine of `time` [...] at width / 2 periods, float32 [..., width]; in float64 inside, as openpi."""
    fraction = torch.linspace(0, 1, width // 2, dtype=torch.float64, device=time.device)
    period = min_period * (max_period / min_period) ** fraction
    angle = time[..., None].double() * (2 * math.pi / period)
    return torch.cat((angle.sin(), angle.cos()), -1).float()
