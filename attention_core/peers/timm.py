"""timm's rotary embedding of one axis."""

from __future__ import annotations

import torch
from torch import Tensor


def rotate(x: Tensor, positions: Tensor, half: bool) -> Tensor:
    """apply_rot_embed with the table of build_rotary_pos_embed's frequencies, (*batch, H, n, d)."""
    from timm.layers.pos_embed_sincos import apply_rot_embed, freq_bands

    bands = freq_bands(x.shape[-1] // 2, temperature=10000.0, step=1)
    angle = positions[:, None].to(bands.dtype) * bands
    table = torch.cat([angle, angle], -1) if half else angle.repeat_interleave(2, -1)
    return apply_rot_embed(x, table.sin(), table.cos(), half=half)


def rotary_half(x: Tensor, positions: Tensor) -> Tensor:
    """apply_rot_embed, halves rotated."""
    return rotate(x, positions, half=True)


def rotary_interleaved(x: Tensor, positions: Tensor) -> Tensor:
    """apply_rot_embed, neighbours rotated."""
    return rotate(x, positions, half=False)
