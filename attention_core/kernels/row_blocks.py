"""Values of another width than the keys, without a mask or gradients: plain products, some hundred queries at a time.

torch's fused kernel wants one width, so that zeros are put beside the narrower and multiplied for nothing. Two matmuls
and a softmax in a buffer that stays in the core's cache take 0.75 to 0.95 of that time for four-byte and eight-byte
numbers (one core each of two processors); of one width the fused kernel is faster.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

ROWS = 256
"""Queries of a block: of 128 to 512 the fastest at most lengths."""
LEAST, MOST = 256, 4096
"""Fewer queries or keys than this, and calling costs what is saved; more keys, and a block leaves the cache."""


def suits_row_blocks(query: Tensor, key: Tensor, value: Tensor, scale: float = 1.0) -> bool:
    """Whether row blocks are faster than zeros beside the narrower of key and value: (B, H, n, width), unmasked.

    Results are written into place, which neither gradients nor what only looks like a tensor (a compiler's, that of
    torch.func) nor a trace can follow, and autocast would round. A scale of 0 or NaN is a factor that a product does
    without: what is NaN would be lost.
    Example: suits_row_blocks(q, k, v) for q, k (1, 8, 512, 64), v (1, 8, 512, 32) of float32, none with gradients.
    """
    tensors = query, key, value
    return (
        key.shape[-1] != value.shape[-1]
        and query.dtype in (torch.float32, torch.float64)
        and query.shape[-2] >= LEAST
        and LEAST <= key.shape[-2] <= MOST
        and all(type(x) in (Tensor, torch.nn.Parameter) and x.is_cpu for x in tensors)
        and not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
        and not torch.is_autocast_enabled("cpu")
        and not torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
        and math.isfinite(scale)
        and scale != 0
        and torch._C._functorch.peek_interpreter_stack() is None  # there is no public way to ask
    )


def row_blocks(
    query: Float[Tensor, "B H n_q d"], key: Float[Tensor, "B H n_kv d"], value: Float[Tensor, "B H n_kv d_v"],
    scale: float, rows: int = ROWS,
) -> Float[Tensor, "B H n_q d_v"]:  # fmt: skip
    """softmax(scale q k^T) v for checked inputs that suit, `rows` queries at a time, all scores of a row at once.

    Holds rows * n_kv numbers beside the result.
    Example: row_blocks(q, k, v, 0.125).shape is (1, 8, 512, 32) for the inputs above.
    Source: Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory" (2021), section 2, by queries alone.
    """
    (B, H, n_q, _), (n_kv, d_v) = query.shape, value.shape[-2:]
    out = query.new_empty(B, H, n_q, d_v)
    scores = query.new_empty(rows, n_kv)
    for b in range(B):
        for h in range(H):
            keys, values, into = key[b, h].mT, value[b, h], out[b, h]
            for start in range(0, n_q, rows):
                chunk = query[b, h, start : start + rows]
                part = scores[: len(chunk)]
                torch.addmm(part, chunk, keys, beta=0, alpha=scale, out=part)
                torch.softmax(part, -1, out=part)
                torch.mm(part, values, out=into[start : start + rows])
    return out
