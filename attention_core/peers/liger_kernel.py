"""Kernels in Triton of Liger."""

from __future__ import annotations

import math

from torch import Tensor

from attention_core.peers.triton_calls import table_of_angles


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Liger's rotary embedding, which rotates queries and keys in place, of a contiguous (B, H, n, d)."""
    from liger_kernel.ops.rope import LigerRopeFunction

    cos, sin = table_of_angles(x, positions)
    q = x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])
    return LigerRopeFunction.apply(q.clone(), q.clone(), cos[None], sin[None])[0].view(x.shape)
