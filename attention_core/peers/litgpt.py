"""LitGPT."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def rotary(x: Tensor, positions: Tensor) -> Any:
    """build_rope_cache and apply_rope."""
    from litgpt.model import apply_rope, build_rope_cache

    cos, sin = build_rope_cache(int(positions.max()) + 1 if len(positions) else 1, x.shape[-1])
    return apply_rope(x.reshape(-1, *x.shape[-3:]), cos[positions][None], sin[positions][None]).reshape(x.shape)
