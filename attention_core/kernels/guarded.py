"""torch's scaled_dot_product_attention for a GPU, given nothing that one of its backends there gets wrong.

With torch 2.11.0 on an NVIDIA H200 (docs/gpu.md, findings G1 and G5) flash and cuDNN turn a scale of 0 or less into
NaN, and read beside views whose rows do not begin at a multiple of 16 bytes, or lose the device over them. Which
backend answers is torch's choice, so that both are taken away before it is made:

a scale s < 0  -> s q . k = |s| (-q) . k: the query changes its sign, which is exact
a scale of 0   -> the query is multiplied by 0, the scale is 1: what is not finite stays so, gradients are 0
such a view    -> its numbers in memory of their own, where the axes along which it is expanded stay so
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import torch
from jaxtyping import Float
from torch import Tensor
from torch.compiler import is_dynamo_compiling
from torch.nn.functional import scaled_dot_product_attention

BYTES = 16
"""What kernels on a GPU load at once; memory that torch allocates begins at a multiple of it."""


def guarded_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """torch's function, o_i = sum_j w_ij v_j, with a positive scale and rows that begin where a GPU can load them.

    Args, Returns, Raises: as torch's. While torch compiles, the scale alone is seen to: it aligns inputs itself.
    Example:
        >>> x = torch.ones(1, 1, 3, 8)
        >>> guarded_attention(x, x, x, is_causal=True, scale=-1.0)[0, 0, 2, 0]
        tensor(1.)

    Source: docs/gpu.md, findings G1 and G5.
    """
    query, scale = with_positive_scale(query, scale)
    query, key, value = with_aligned_rows(query), with_aligned_rows(key), with_aligned_rows(value)
    if attn_mask is not None and attn_mask.dtype != torch.bool:  # torch writes what is bool as numbers of its own
        attn_mask = with_aligned_rows(attn_mask)
    return scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def torch_attention_on(device: torch.device) -> Callable[..., Tensor]:
    """torch's own function for a processor, whose kernels need no guard, and the guarded one for another device.

    Example:
        >>> torch_attention_on(torch.device("cuda")).__name__, torch_attention_on(torch.device("cpu")).__name__
        ('guarded_attention', 'scaled_dot_product_attention')
    """
    return scaled_dot_product_attention if device.type == "cpu" else guarded_attention


def with_positive_scale(query: Tensor, scale: float | None) -> tuple[Tensor, float | None]:
    """A query and a scale above 0 with the same scaled scores; what is None or NaN is left.

    Example:
        >>> with_positive_scale(torch.tensor([[2.0]]), -0.5)
        (tensor([[-2.]]), 0.5)
    """
    if scale is None or not scale <= 0:
        return query, scale
    return (-query, -scale) if scale < 0 else (query * 0, 1.0)


def with_aligned_rows(x: Tensor) -> Tensor:
    """The same numbers, copied where rows do not begin at multiples of 16 bytes; expanded axes stay expanded.

    Example:
        >>> wide = torch.zeros(3, 9)
        >>> with_aligned_rows(wide[:, :8]).stride(), with_aligned_rows(wide) is wide
        ((8, 1), True)
    """
    if is_dynamo_compiling() or not x.numel():
        return x
    once = x[tuple(slice(0, 1) if step == 0 else slice(None) for step in x.stride())]
    return x if is_aligned(once) else once.clone(memory_format=torch.contiguous_format).expand(x.shape)


def is_aligned(x: Tensor) -> bool:
    """Whether a tensor begins at a multiple of 16 bytes and each of its rows does, or all lies in one piece.

    Kernels whose rows would not be aligned in one piece, for the size of a head, are not chosen, or get zeros beside.

    Example:
        >>> wide = torch.zeros(4, 12, dtype=torch.float16)
        >>> is_aligned(wide), is_aligned(wide[:, :8]), is_aligned(wide[1:]), is_aligned(torch.zeros(4, 16)[:, :8])
        (True, False, False, True)
    """
    size, start = x.element_size(), int(x.storage_offset()) * x.element_size()
    with suppress(RuntimeError):  # a stand-in, as torch.func has them, has no memory
        start = x.data_ptr()
    steps = [step * size for count, step in zip(x.shape[:-1], x.stride()[:-1], strict=True) if count > 1]
    return start % BYTES == 0 and (x.is_contiguous() or all(step % BYTES == 0 for step in steps))
