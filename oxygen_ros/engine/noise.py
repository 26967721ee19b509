"""The flow's starting point."""
import torch


def action_noise(seed, frame_id, horizon, width):
    """Standard normal float32 [horizon, width], a function of `seed` and `frame_id` alone, drawn on the CPU."""
    generator = torch.Generator().manual_seed((seed * 0x9E3779B97F4A7C15 + frame_id) % (1 << 63))
    return torch.randn(horizon, width, generator=generator)
