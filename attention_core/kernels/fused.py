"""Every call put into the form that torch's fused kernel takes, so that it never falls back to the unfused one.

torch's scaled_dot_product_attention computes n_q x n_kv weights, without a word, for inputs of two, three or five
axes, a strided last axis, a value of another width than the key, key heads that are shared or broadcast.

Values of another width than the keys, without a mask or gradients: plain products, some hundred queries at a time.

torch's fused kernel wants one width, so that zeros are put beside the narrower and multiplied for nothing. Two matmuls
and a softmax in a buffer that stays in the core's cache take 0.75 to 0.95 of that time for four-byte and eight-byte
numbers (one core each of two processors); of one width the fused kernel is faster.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attention_core.kernels.arguments import broadcast, check_dropout, check_mask_fits, check_shapes
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.guarded import torch_attention_on
from attention_core.kernels.heads import expand_kv_heads

ROWS = 256
"""Queries of a block: of 128 to 512 the fastest at most lengths."""
LEAST, MOST = 256, 4096
"""Fewer queries or keys than this, and calling costs what is saved; more keys, and a block leaves the cache."""


def suits_row_blocks(query: Tensor, key: Tensor, value: Tensor, scale: float = 1.0) -> bool:
    """Whether row blocks are faster than zeros beside the narrower of key and value: (B, H, n, width), unmasked.

    Results are written into place, which neither gradients nor what only looks like a tensor (a compiler's, that of
    torch.func) nor a trace can follow, and autocast would round. A scale of 0 or NaN is a factor that a product does
    without: what is NaN would be lost.

    Example:
        >>> x = torch.zeros(1, 8, 512, 64)
        >>> suits_row_blocks(x, x, x[..., :32]), suits_row_blocks(x[..., :8, :], x, x[..., :32])
        (True, False)
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

    Example:
        >>> x = torch.zeros(1, 8, 512, 64)
        >>> row_blocks(x, x, x[..., :32], 0.125).shape
        torch.Size([1, 8, 512, 32])

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


def fused_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """The function of `dot_product_attention` by torch's fused kernel: o_i = sum_j w_ij v_j.

    Queries that share a key head become queries of that head where the mask allows it; a value that is narrower or
    wider than the key is met by zeros, which change no score, or where that is faster multiplied in blocks of rows
    (`row_blocks`); sequences are flattened to one axis. A mask that needs a gradient goes to torch's unfused
    kernel, empty inputs to `dot_product_attention`.

    Args, Returns, Raises: as `dot_product_attention`. Masked NaN values give NaN, as in torch.

    Example:
        >>> q, kv = torch.zeros(1, 4, 1, 8), torch.zeros(1, 2, 5, 8)
        >>> fused_attention(q, kv, kv, enable_gqa=True).shape
        torch.Size([1, 4, 1, 8])

    Source: Dao et al., "FlashAttention" (2022); Shazeer, "Fast Transformer Decoding" (2019) shares key heads.
    """
    check_dropout(dropout_p)
    check_shapes(query, key, value, enable_gqa)
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, enable_gqa)
    if not (query.numel() and key.numel() and value.numel()):
        return dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
    n_q, d = query.shape[-2:]
    four = four_axes(query, batch), four_axes(key, batch), four_axes(value, batch)
    mask = None if attn_mask is None else mask_of_four_axes(attn_mask, batch)
    out = fused(*four, mask, dropout_p, is_causal, 1.0 / math.sqrt(d) if scale is None else scale)
    return out.reshape(*batch, *query.shape[-3:-2], n_q, value.shape[-1])


def fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, scale: float
) -> Tensor:
    """The same for four axes and checked arguments; key heads may be shared."""
    (B, H, n_q, d), H_kv, d_v = query.shape, key.shape[1], value.shape[-1]
    if is_causal and (mask is not None or scale <= 0):
        mask, is_causal = _with_causality(mask, n_q, key.shape[-2], query.device), False
    group = H // H_kv
    folded = group > 1 and not is_causal and (mask is None or n_q == 1 or mask.shape[-3:-1] == (1, 1))
    if folded:
        query = query.reshape(B, H_kv, group * n_q, d)
        if mask is not None and mask.shape[-3] > 1:
            mask = mask.reshape(mask.shape[0], H_kv, group, mask.shape[-1])
    elif group > 1 and query.device.type != "cpu":  # on a processor torch's fused kernel shares them by itself
        key, value = expand_kv_heads(key, H), expand_kv_heads(value, H)
    if mask is None and not is_causal and not dropout_p and suits_row_blocks(query, key, value, scale):
        out = row_blocks(query, key, value, scale)
        return out.reshape(B, H, n_q, d_v) if folded else out
    query, key, value = (_of_width(x, max(d, d_v)) for x in (query, key, value))
    shared = key.shape[1] != query.shape[1]
    attend = torch_attention_on(query.device)
    out = attend(query, key, value, mask, dropout_p, is_causal, scale=scale, enable_gqa=shared)
    out = out[..., :d_v]
    return out.reshape(B, H, n_q, d_v) if folded else out


def _of_width(x: Tensor, width: int) -> Tensor:
    """The same numbers, zeros beside them where they are fewer, one after the other in memory."""
    if x.shape[-1] < width:
        return pad(x, (0, width - x.shape[-1]))
    return x if x.stride(-1) == 1 else x.contiguous()


def _with_causality(mask: Tensor | None, n_q: int, n_kv: int, device: torch.device) -> Tensor:
    past = torch.ones(n_q, n_kv, dtype=torch.bool, device=device).tril()
    if mask is None:
        return past[None, None]
    return mask & past if mask.dtype == torch.bool else mask.masked_fill(~past, -torch.inf)


def four_axes(x: Tensor, batch: tuple[int, ...]) -> Tensor:
    """(*batch, H, n, d) as (B, H, n, d)."""
    if x.ndim == 4 and x.shape[:1] == batch:
        return x
    heads = x.shape[-3:] if x.ndim > 2 else (1, *x.shape)
    return x.expand(*batch, *heads).reshape(math.prod(batch), *heads)


def mask_of_four_axes(mask: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Any mask that broadcasts as one of four axes, the first 1 or B."""
    inner = (1,) * (3 - mask.ndim) + tuple(mask.shape[-3:])
    outer = tuple(mask.shape[:-3])
    if math.prod(outer) == 1:
        return mask.reshape(1, *inner)
    return mask.expand(*batch, *inner).reshape(math.prod(batch), *inner)
