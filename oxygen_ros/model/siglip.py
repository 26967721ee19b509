"""The vision tower: SigLIP without its pooling head, and the projector into the trunk."""
import torch
import torch.nn.functional as F
from torch import nn

from oxygen_ros.model.attention import attend_heads
from oxygen_ros.model.linear import Linear

EPS = 1e-6


class VisionLayer(nn.Module):
    """Pre-norm transformer block with biases and tanh-GELU."""

    def __init__(self, width, mlp, heads, **kind):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, EPS, **kind)
        self.qkv = Linear(width, 3 * width, True, **kind)
        self.out = Linear(width, width, True, **kind)
        self.norm2 = nn.LayerNorm(width, EPS, **kind)
        self.fc1 = Linear(width, mlp, True, **kind)
        self.fc2 = Linear(mlp, width, True, **kind)

    def forward(self, x):  # [B, N, W]
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads).unbind(2)
        x = self.out.add(attend_heads(q, k, v), x)
        return self.fc2.add(self.fc1.gelu(self.norm2(x)), x)


class Vision(nn.Module):
    """`images float32 [B, 3, S, S]` in [-1, 1] -> image tokens `[B, N, trunk_width]`, unscaled."""

    def __init__(self, config, dtype, device):
        super().__init__()
        c, kind = config, {'dtype': dtype, 'device': device}
        exact = {'dtype': torch.float32, 'device': device}
        self.patch = c.patch
        self.patch_embedding = Linear(3 * c.patch * c.patch, c.vision_width, True, **exact)
        self.position_embedding = nn.Parameter(torch.empty(c.image_tokens, c.vision_width, **exact))
        self.layers = nn.ModuleList(VisionLayer(c.vision_width, c.vision_mlp, c.vision_heads, **kind)
                                    for _ in range(c.vision_depth))
        self.norm = nn.LayerNorm(c.vision_width, EPS, **kind)
        self.projector = Linear(c.vision_width, c.trunk_width, True, **kind)

    def matrices(self):
        """The linear layers of all blocks."""
        return [m for layer in self.layers for m in (layer.qkv, layer.out, layer.fc1, layer.fc2)]

    def forward(self, images):
        patches = F.unfold(images, self.patch, stride=self.patch).transpose(1, 2)  # [B, N, 3 * P * P]
        x = self.patch_embedding(patches) + self.position_embedding
        x = x.to(self.norm.weight.dtype)
        for layer in self.layers:
            x = layer(x)
        return self.projector(self.norm(x))
