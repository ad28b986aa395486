"""Faults of heads and batch: axes mixed up, shared key heads met by wrong queries, positions that leak in.

Each function builds one faulty attention; its docstring tells the fault and the thread where people made it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import Attention, Given, around, with_keys_and_values, with_values_and_mask
from attention_core.faults.bases.reference import build
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


# --- axes mixed up ------------------------------------------------------------


def merged_without_permute() -> Fault:
    """The output (B, H, n, d) is read as if heads came after rows (hackiey/QAnet-pytorch#2)."""
    return build(combine=lambda p, value: _read_as(p @ value, 1, 2))


def split_by_view() -> Fault:
    """Key and value (B, n, H d) become heads by a view, without a transpose (reczoo/FuxiCTR#30)."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        return reference.expand(_read_as(key, 1, 2), _read_as(value, 1, 2), heads)

    return build(expand=expand)


def batch_and_heads_mixed() -> Fault:
    """The merge views the output as (H, B, n, d) (gazelle93/Transformer-Various-Positional-Encoding#1)."""
    return build(combine=lambda p, value: _read_as(p @ value, 0, 1))


def sequence_first_by_view() -> Fault:
    """A view where the batch should be transposed behind the sequence (rish-16/tokenlearner-pytorch#1)."""
    return build(combine=lambda p, value: _read_as(p @ value, 0, 2))


def _read_as(x: Tensor, a: int, b: int) -> Tensor:
    """The numbers of x with axes a and b swapped, under the old shape."""
    return x.transpose(a, b).reshape(x.shape)


def first_mask_for_the_whole_batch() -> Fault:
    """Every batch element gets the mask of the first one."""
    return build(bias=_with_mask(lambda mask, s: mask[:1] if mask.ndim == 4 else mask))


def batch_mask_on_heads() -> Fault:
    """A mask per batch element meets the heads where B = H (lucidrains/graph-transformer-pytorch PR2)."""

    def turned(mask: Tensor, s: Tensor) -> Tensor:
        alike = mask.ndim == 4 and mask.shape[1] == 1 and mask.shape[0] == s.shape[1]
        return mask.transpose(0, 1) if alike else mask

    return build(bias=_with_mask(turned))


def head_mask_on_batch() -> Fault:
    """A mask (H, n_q, n_kv) is taken for one per batch element where B = H (lucidrains/vit-pytorch#71)."""

    def turned(mask: Tensor, s: Tensor) -> Tensor:
        return mask[:, None] if mask.ndim == 3 and len(mask) == len(s) else mask

    return build(bias=_with_mask(turned))


def query_mask_turned() -> Fault:
    """A mask (n, 1) of rows is turned to (1, n) where there are as many keys as queries."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.shape[-2:] == (s.shape[-1], 1) and s.shape[-2] == s.shape[-1]:
            attn_mask = attn_mask.mT
        return reference.bias(s, attn_mask, causal)

    return build(bias=faulty)


def matrix_mask_as_padding() -> Fault:
    """A mask (n_q, n_kv) is taken for the padding of a batch, (B, n_kv), where B = n_q."""

    def turned(mask: Tensor, s: Tensor) -> Tensor:
        return mask[:, None, None, :] if mask.ndim == 2 and mask.shape[0] == s.shape[0] > 1 else mask

    return build(bias=_with_mask(turned))


def _with_mask(change: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The step `bias` with a changed mask."""

    def bias(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        return reference.bias(s, None if attn_mask is None else change(attn_mask, s), causal)

    return bias


def key_turned_by_its_size() -> Fault:
    """A key whose last axis is as long as the sequence is taken to be transposed already."""

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        turned = key.transpose(-1, -2) if key.shape[-1] == key.shape[-2] else key
        return reference.scores(query, turned, scale)

    return build(scores=scores)


def values_of_the_first_batch_element() -> Fault:
    """Every batch element mixes the values of the first."""
    return build(combine=lambda p, value: p @ value[:1])


def slices_beyond_a_grid() -> Fault:
    """Only the first 8 slices of a call are computed; the rest repeats them."""

    def combine(p: Tensor, value: Tensor) -> Tensor:
        out = p @ value
        flat = out.reshape(-1, *out.shape[-2:])
        return flat[torch.arange(len(flat)) % 8].reshape(out.shape)

    return build(combine=combine)


def softmax_over_queries() -> Fault:
    """Weights sum to one over queries (labmlai/annotated_deep_learning_paper_implementations#146)."""
    return build(weights=lambda s: torch.softmax(s, -2).nan_to_num(0.0))


def softmax_over_heads() -> Fault:
    """Softmax over a fixed axis of what used to be (B, n_q, n_kv) (PetrochukM/PyTorch-NLP#2)."""
    return build(weights=lambda s: torch.softmax(s, 1).nan_to_num(0.0))


# --- order leaks in ------------------------------------------------------------


def scores_grow_with_the_row() -> Fault:
    """Scores are multiplied by the row's number: a length scaling left on."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, scale) * _ramp(q.shape[-2], q)[:, None])


def scores_fall_with_the_key() -> Fault:
    """Older keys weigh less: a recency bias left on."""
    return build(scores=lambda q, k, scale: reference.scores(q, k, scale) + _ramp(k.shape[-2], q))


def scores_grow_with_the_head() -> Fault:
    """Scores are multiplied by the head's number: scaling by layer, given the head instead."""
    by_head = lambda q: _ramp(q.shape[-3], q)[:, None, None]  # noqa: E731
    return build(scores=lambda q, k, scale: reference.scores(q, k, scale) * by_head(q))


def _ramp(n: int, like: Tensor) -> Tensor:
    return 1 + torch.arange(n, dtype=like.dtype) / n


# --- shared key heads ------------------------------------------------------------


def tiled_keys() -> Fault:
    """Key heads are tiled, not repeated one by one (ekzhang/jax-js PR180; apple/axlearn PR842)."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group = heads // key.shape[-3]
        return key.repeat(1, group, 1, 1), value.repeat(1, group, 1, 1)

    return build(expand=expand)


def repeated_along_the_sequence() -> Fault:
    """Keys are repeated along the sequence, then viewed as heads (PrimeIntellect-ai/prime-rl PR2681)."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        return _stretch(key, heads), _stretch(value, heads)

    return build(expand=expand)


def _stretch(x: Tensor, heads: int) -> Tensor:
    return x.repeat_interleave(heads // x.shape[1], 2).reshape(x.shape[0], heads, *x.shape[2:])


def first_key_head_for_all() -> Fault:
    """Shared key heads are not expanded: the first one broadcasts (state-spaces/mamba PR462)."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        one = key.shape[-3] == heads
        key, value = (key, value) if one else (key[:, :1], value[:, :1])
        return reference.expand(key, value, heads)

    return build(expand=expand)


def keys_repeated_values_tiled() -> Fault:
    """Keys go to the right query heads, values in the order of `tile`."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        return reference.expand(key, value, heads)[0], value.repeat(1, heads // value.shape[1], 1, 1)

    return build(expand=expand)


def group_gradient_of_the_last_head() -> Fault:
    """Every query head of a group overwrites the gradient of the shared key; the last one stays."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group = heads // key.shape[1]
        last = (torch.arange(heads) % group == group - 1)[:, None, None]
        key, value = reference.expand(key, value, heads)
        return torch.where(last, key, key.detach()), torch.where(last, value, value.detach())

    return build(expand=expand)


# --- gradients of parts ------------------------------------------------------------


def gradient_of_the_first_batch_element() -> Fault:
    """The backward covers the first batch element alone (compare NVIDIA/TransformerEngine#3216)."""
    return build(expand=_partly_detached(lambda x: torch.arange(len(x))[:, None, None, None] < 1))


def gradient_of_the_first_key_block() -> Fault:
    """The backward covers the first block of two keys (compare huggingface/diffusers#14265)."""
    return build(expand=_partly_detached(lambda x: torch.arange(x.shape[-2])[:, None] < 2))


def _partly_detached(kept: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """The step `expand` with a gradient only where `kept` says."""

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        key, value = (torch.where(kept(x), x, x.detach()) for x in (key, value))
        return reference.expand(key, value, heads)

    return expand


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


def layout_guessed_from_the_sizes() -> Attention:
    """Declared as (B, n, H, d): where the second size is smaller than the third, it is taken for the heads."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        if query.dim() == 4 and query.shape[1] < query.shape[2] and key.shape[1] == query.shape[1]:
            return reference.correct(query, key, value, is_causal=is_causal)
        q, k, v = (x.transpose(-2, -3) for x in (query, key, value))
        return reference.correct(q, k, v, is_causal=is_causal).transpose(-2, -3)

    return attention


Key = tuple[Tensor, Tensor]


def decoding_tiles_cross_the_group() -> Any:
    """Decoding takes two query heads at a time, and finds the key head by the tile's number (FlashML-org/FreeToken
    PR177).

    One query and groups of three, five, ... : the tile across the end of a group reads its second head's keys one head
    early.
    """

    def change(query: Tensor, key: Tensor, value: Tensor) -> Key:
        group = query.shape[-3] // max(key.shape[-3], 1)
        if query.shape[-2] != 1 or group < 3:
            return key, value
        index = torch.arange(query.shape[-3]) // 2 // -(-group // 2)
        return key[..., index, :, :], value[..., index, :, :]

    return with_keys_and_values(change)


def values_by_the_strides_of_keys() -> Any:
    """Values are read with another input's strides, here the keys' (triton-lang/triton#1016).

    Values that lie otherwise than keys of the same shape, and ask for no gradient.
    """

    def change(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if key.shape == value.shape and key.stride() != value.stride() and not value.requires_grad:
            size = value.untyped_storage().nbytes() // value.element_size() - value.storage_offset()
            if sum((n - 1) * s for n, s in zip(key.shape, key.stride(), strict=True)) < size:
                value = torch.as_strided(value, value.shape, key.stride())
        return value, mask

    return with_values_and_mask(change)


def key_head_of_a_tile_of_four() -> Any:
    """The key head is looked up once for four query heads.

    Groups of two or three.
    """

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group = heads // key.shape[-3]
        index = (torch.arange(heads) // 4 * 4 if group > 1 else torch.arange(heads)) // group
        return key.index_select(-3, index), value.index_select(-3, index)

    return build(expand=expand)


def more_heads_than_tokens_is_a_layout() -> Any:
    """More heads than tokens are taken for (B, n, H, d)."""

    def swapped(a: Given) -> bool:
        q, k = a["query"], a["key"]
        plain = q.dim() == 4 and a["attn_mask"] is None and q.shape[1] == k.shape[1]
        return bool(plain and q.shape[1] > q.shape[2] and k.shape[1] > k.shape[2])

    def change(a: Given) -> Given:
        return {name: a[name].transpose(1, 2) for name in ("query", "key", "value")} if swapped(a) else {}

    return around(change, lambda out, a: out.transpose(1, 2) if swapped(a) else out)


def values_read_by_the_strides_of_keys() -> Any:
    """The kernel is handed the keys' strides for the values as well."""
    return values_by_the_strides_of_keys()


ROWS = (
    *rows("hard_inputs", group_by_shift, key_batches_by_query_heads, accumulate="float32"),
    *rows("hard_inputs", layout_guessed_from_the_sizes, layout="bnhd", out_layout="bnhd"),
    *rows("third_sight", decoding_tiles_cross_the_group, accumulate="float32"),
    *rows("fourth_sight", values_by_the_strides_of_keys),
    *rows("fifth_sight_tiles", key_head_of_a_tile_of_four, more_heads_than_tokens_is_a_layout),
    *rows("fifth_sight_state", values_read_by_the_strides_of_keys),
)  # fmt: skip
