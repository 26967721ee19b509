"""Sizes of the model; every other file is written for any of them."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Pi05Config:
    """
    Sizes of one pi0.5 model: SigLIP vision tower, Gemma trunk, Gemma action expert.

    Trunk and expert attend to each other's keys, so `depth`, `heads` and `head_dim` are common to both. `horizon` is
    the chunk length H the weights were trained for, `action_dim` the padded width of an action.
    """

    vision_width: int
    vision_depth: int
    vision_mlp: int
    vision_heads: int
    trunk_width: int
    trunk_mlp: int
    expert_width: int
    expert_mlp: int
    depth: int
    heads: int
    head_dim: int
    vocabulary: int
    kv_heads: int = 1
    image_size: int = 224
    patch: int = 14
    action_dim: int = 32
    horizon: int = 10
    min_period: float = 4e-3
    max_period: float = 4.0
    rope_theta: float = 10000.0

    def __post_init__(self):
        if self.kv_heads != 1:
            raise ValueError(f'kv_heads must be 1 (all query heads share one key head), got {self.kv_heads}')
        if self.image_size % self.patch:
            raise ValueError(f'image_size {self.image_size} px must be a multiple of patch {self.patch} px')
        if self.vision_width % self.vision_heads:
            raise ValueError(f'vision_width {self.vision_width} must be a multiple of vision_heads {self.vision_heads}')
        if self.head_dim % 2 or self.expert_width % 2:
            raise ValueError(f'head_dim {self.head_dim} and expert_width {self.expert_width} must be even')
        for name in ('vision_depth', 'depth', 'heads', 'vocabulary', 'action_dim', 'horizon'):
            if getattr(self, name) < 1:
                raise ValueError(f'{name} must be at least 1, got {getattr(self, name)}')

    @property
    def image_tokens(self):
        """Prefix positions of one view."""
        return (self.image_size // self.patch) ** 2


CONFIGS = {
    # The published architecture: SigLIP So400m/14 at 224, Gemma 2B, Gemma 300M expert (openpi gemma_2b, gemma_300m).
    'pi05': Pi05Config(
        vision_width=1152, vision_depth=27, vision_mlp=4304, vision_heads=16, trunk_width=2048, trunk_mlp=16384,
        expert_width=1024, expert_mlp=4096, depth=18, heads=8, head_dim=256, vocabulary=257152, horizon=50),
    # Larger than a CPU's caches, random weights: performance work without a GPU.
    'mini': Pi05Config(
        vision_width=384, vision_depth=12, vision_mlp=1536, vision_heads=6, trunk_width=768, trunk_mlp=3072,
        expert_width=384, expert_mlp=1536, depth=12, heads=8, head_dim=96, vocabulary=8192),
    # Trained for the simulated task; small enough for an embedded computer.
    'nano': Pi05Config(
        vision_width=128, vision_depth=2, vision_mlp=384, vision_heads=4, trunk_width=160, trunk_mlp=256,
        expert_width=160, expert_mlp=320, depth=4, heads=4, head_dim=40, vocabulary=1024, image_size=56, action_dim=14,
        horizon=10),
}
