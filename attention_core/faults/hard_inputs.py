"""Hard faults at the door of a kernel: scales, heads, masks, memory and layouts, wrong only for some of them.

Each function builds the reference with one step changed, of our making.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.memory import _misread, packed, raw
from attention_core.faults.row import row

Attention = Callable[..., Any]


def _default(scale: Callable[[int], float]) -> Attention:
    return build(scores=lambda q, k, s: reference.scores(q, k, scale(q.shape[-1]) if s is None else s))


def scale_of_the_padded_head() -> Attention:
    """The default scale is that of the head size rounded up to a multiple of 8: right on aligned sizes."""
    return _default(lambda d: 1 / math.sqrt(-(-d // 8) * 8))


def scale_by_integer_root() -> Attention:
    """The default scale is 1/isqrt(d): right where d is a square."""
    return _default(lambda d: 1 / math.isqrt(d))


def scale_in_half_precision() -> Attention:
    """The default scale is stored in bfloat16: right where d is a power of four, 2e-3 off elsewhere."""
    return _default(lambda d: float(torch.tensor(1 / math.sqrt(d)).bfloat16()))


def scale_of_one_is_no_scale() -> Attention:
    """`if scale and scale != 1.0`: a scale of exactly 1 is replaced by the default."""
    return build(scores=lambda q, k, s: reference.scores(q, k, None if s == 1.0 else s))


def scale_without_its_sign() -> Attention:
    """The scale's logarithm is passed on, and with it its sign is lost."""
    return build(scores=lambda q, k, s: reference.scores(q, k, None if s is None else abs(s)))


def group_by_shift() -> Attention:
    """The key head is h >> log2(group): a group of three is taken for one of two."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        shift = int(math.log2(max(heads // key.shape[-3], 1)))
        index = (torch.arange(heads) >> shift) % key.shape[-3]
        return key[..., index, :, :], value[..., index, :, :]

    return build(expand=expand)


def key_batches_by_query_heads() -> Attention:
    """The offset of a batch row of keys counts query heads: grouped heads and two batch rows reveal it."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        if key.dim() != 4:
            return reference.expand(key, value, heads)
        B, H_kv = key.shape[:2]
        index = torch.arange(B)[:, None] * heads + torch.arange(heads) // (heads // H_kv)
        k, v = (x.flatten(0, 1)[(index % (B * H_kv)).flatten()].unflatten(0, (B, heads)) for x in (key, value))
        return k, v

    return build(expand=expand)


def values_by_key_stride_of_heads() -> Attention:
    """Values find their head by the keys' head stride: d_v = d hides it, and so does one head."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        k, v = reference.expand(key, value, heads)
        if v.shape[-1] >= k.shape[-1] or v.shape[-3] < 2:
            return k, v
        return k, torch.cat([v[..., :1, :, :], v[..., 1:, :, :].roll(1, -2)], -3)

    return build(expand=expand)


def bias_in_bfloat16() -> Attention:
    """A float mask is kept in bfloat16: 2e-3 of the bias, nothing for 0 and -inf."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.bfloat16().to(mask.dtype)
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def bias_without_positive_part_is_a_bool_mask() -> Attention:
    """A float mask whose largest entry is 0 is taken for a padding mask, and every other entry for -inf (ALiBi!)."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype != torch.bool and mask.numel() and float(mask.detach().max()) == 0.0:
            mask = mask == 0
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def matrix_mask_taken_for_padding() -> Attention:
    """A mask (n_q, n_kv) with as many rows as the batch is taken for key padding (B, n_kv)."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() == 2 and s.dim() == 4 and mask.shape == (s.shape[0], s.shape[-1]):
            mask = mask[:, None, None]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def mask_rows_modulo_64() -> Attention:
    """The mask's tile is loaded once for 64 rows: row i reads row i % 64."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() > 1 and mask.shape[-2] > 64:
            mask = mask[..., torch.arange(mask.shape[-2]) % 64, :]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def low_rows_taken_for_dead() -> Attention:
    """A row whose largest score is below -1000 is taken for one without keys."""

    def weights(s: Tensor) -> Tensor:
        return reference.weights(s).masked_fill(s.detach().amax(-1, keepdim=True) < -1000, 0.0)

    return build(weights=lambda s: weights(s) if s.shape[-1] else reference.weights(s))


def causal_needs_two_queries() -> Attention:
    """`is_causal and n_q > 1`: a single query sees every key, though its place is declared as the first."""
    causal = lambda n_q, n_kv: reference.causal_allowed(n_q, n_kv) | torch.tensor(n_q == 1)  # noqa: E731
    return build(causal_allowed=causal)


def causal_in_bytes() -> Attention:
    """Positions are compared as signed bytes: from 128 on a key looks like an early one."""

    def causal(n_q: int, n_kv: int) -> Tensor:
        return torch.arange(n_kv).to(torch.int8) <= torch.arange(n_q).to(torch.int8)[:, None]

    return build(causal_allowed=causal)


def layout_guessed_from_the_sizes() -> Attention:
    """Declared as (B, n, H, d): where the second size is smaller than the third, it is taken for the heads."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        if query.dim() == 4 and query.shape[1] < query.shape[2] and key.shape[1] == query.shape[1]:
            return reference.correct(query, key, value, is_causal=is_causal)
        q, k, v = (x.transpose(-2, -3) for x in (query, key, value))
        return reference.correct(q, k, v, is_causal=is_causal).transpose(-2, -3)

    return attention


def packed_if_its_last_stride_is_one() -> Attention:
    """What has stride 1 in its last axis counts as packed: slices and transposes of other axes are misread."""
    return _misread(lambda x: raw(x, x.storage_offset(), packed(x.shape)) if x.dim() and x.stride(-1) == 1 else x)


def output_lies_like_the_query() -> Attention:
    """The output takes over the query's strides and is then written in order: packed queries hide it."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        out = reference.correct(query, key, value, is_causal=is_causal)
        if query.is_contiguous() or out.shape != query.shape or not query.transpose(-2, -3).is_contiguous():
            return out
        return out.reshape(*out.shape[:-3], out.shape[-2], out.shape[-3], out.shape[-1]).transpose(-2, -3)

    return attention


def offset_of_the_values_ignored() -> Attention:
    """Queries and keys honour their storage offset, values start at the front of theirs."""
    read = build()

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        front = raw(value.detach(), 0, value.stride())
        return read(query, key, value + (front - value).detach(), attn_mask)

    return attention


class parts_merged_in_half_precision(Tiles):  # noqa: N801
    """Beyond 64 keys two parts are merged, and their weights are float16: 5e-4 relative; float64 is spared."""

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        n = key.shape[-2]
        if n <= 64 or query.dtype != torch.float32:
            return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)
        reference.check(query, key, value, attn_mask, enable_gqa)
        k, v = self.expand(key, value, query.shape[-3])
        s = reference.scores(query, k, scale)
        s = reference.bias(s, attn_mask, reference.causal_allowed(query.shape[-2], n) if is_causal else None)
        parts = [slice(0, 64), slice(64, n)]
        lse = torch.stack([torch.logsumexp(s[..., part], -1) for part in parts])
        share = reference.weights(lse.movedim(0, -1)).half().float()
        return sum(  # type: ignore[return-value]
            share[..., i, None] * (reference.weights(s[..., part]) @ v[..., part, :]) for i, part in enumerate(parts)
        )


PLAIN = (
    scale_of_the_padded_head, scale_by_integer_root, scale_in_half_precision, scale_of_one_is_no_scale,
    scale_without_its_sign, group_by_shift, key_batches_by_query_heads, values_by_key_stride_of_heads,
    bias_in_bfloat16, bias_without_positive_part_is_a_bool_mask, matrix_mask_taken_for_padding, mask_rows_modulo_64,
    low_rows_taken_for_dead, causal_needs_two_queries, causal_in_bytes, packed_if_its_last_stride_is_one,
    output_lies_like_the_query, offset_of_the_values_ignored, parts_merged_in_half_precision,
)  # fmt: skip
ROWS = (
    *(row(make, "hard", accumulate="float32") for make in PLAIN),
    row(layout_guessed_from_the_sizes, "hard", layout="bnhd", out_layout="bnhd"),
)
