"""xFormers' masks as what they build: its kernels want a GPU, the masks do not."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def build_mask(bias: Any, n_q: int, n_kv: int) -> Tensor:
    """The mask of a bias, (n_q, n_kv): 0 where a query may attend, -inf elsewhere."""
    mask: Tensor = bias.materialize((n_q, n_kv)) == 0
    return mask


def causal_mask(n_q: int, n_kv: int) -> Tensor:
    """LowerTriangularMask."""
    from xformers.ops.fmha.attn_bias import LowerTriangularMask

    return build_mask(LowerTriangularMask(), n_q, n_kv)


def causal_mask_at_the_end(n_q: int, n_kv: int) -> Tensor:
    """LowerTriangularFromBottomRightMask."""
    from xformers.ops.fmha.attn_bias import LowerTriangularFromBottomRightMask

    return build_mask(LowerTriangularFromBottomRightMask(), n_q, n_kv)


def window_mask(n_q: int, n_kv: int, W: int) -> Tensor:
    """LowerTriangularFromBottomRightLocalAttentionMask."""
    from xformers.ops.fmha.attn_bias import LowerTriangularFromBottomRightLocalAttentionMask

    return build_mask(LowerTriangularFromBottomRightLocalAttentionMask(W), n_q, n_kv)
