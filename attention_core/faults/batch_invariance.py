"""Faults of batch invariance: right within every budget, and other bits in other company.

The kernels of `INVARIANT` are invariant: every row is added up element by element, in an order that depends on the
places of its keys alone, or in no order at all. Each other function returns a kernel whose parts are cut by something
that does not belong to the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.faults.row import row
from attention_core.kernels.invariant import exponential, invariant_attention, ordered_product

Parts = Callable[[Tensor, Tensor], Sequence[int]]
Kernel = Callable[..., Tensor]


def scores_of(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """q . k, feature by feature from the first: elementwise sums have the same bits wherever an element stands."""
    total = torch.zeros(query.shape[:-1], dtype=query.dtype)
    for feature in range(query.shape[-1]):
        total = total + query[..., feature] * key[..., feature]
    return total * scale


def part(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, scale: float) -> tuple[Tensor, ...]:
    """Maximum, sum and weighted sum of values over some keys, one key after another."""
    top = torch.full(query.shape[:-1], -torch.inf, dtype=query.dtype)
    total, out = torch.zeros_like(top), torch.zeros((*query.shape[:-1], value.shape[-1]), dtype=query.dtype)
    for j in range(key.shape[-2]):
        score = scores_of(query, key[..., j : j + 1, :], scale)
        if bias is not None:
            score = score + bias[..., j if bias.shape[-1] > 1 else 0]
        higher = torch.maximum(top, score)
        base = torch.where(higher == -torch.inf, 0.0, higher)
        keep, weight = torch.exp(top - base), torch.exp(score - base)
        total, out, top = (
            total * keep + weight,
            out * keep[..., None] + weight[..., None] * value[..., j : j + 1, :],
            higher,
        )
    return top, total, out


def merge_parts(parts: Sequence[tuple[Tensor, ...]]) -> Tensor:
    """The output of all parts, added up in their order; a row without any key is zero."""
    top = torch.stack([p[0] for p in parts]).amax(0)
    base = torch.where(top == -torch.inf, 0.0, top)
    total, out = torch.zeros_like(top), torch.zeros_like(parts[0][2])
    for own, mass, sums in parts:
        share = torch.exp(own - base)
        total, out = total + share * mass, out + share[..., None] * sums
    return torch.where(total[..., None] > 0, out / torch.where(total > 0, total, 1.0)[..., None], 0.0)


def bias_of(query: Tensor, key: Tensor, attn_mask: Tensor | None, is_causal: bool) -> Tensor | None:
    """Mask and causality as one bias."""
    n_q, n_kv = query.shape[-2], key.shape[-2]
    bias = None
    if attn_mask is not None:
        bias = (
            attn_mask.to(query.dtype)
            if attn_mask.dtype != torch.bool
            else torch.zeros(attn_mask.shape, dtype=query.dtype).masked_fill(~attn_mask, -torch.inf)
        )
    if is_causal:
        later = torch.arange(n_kv) > torch.arange(n_q)[:, None]
        causal = torch.zeros(n_q, n_kv, dtype=query.dtype).masked_fill(later, -torch.inf)
        bias = causal if bias is None else bias + causal
    return bias


def require_sizes(query: Any, key: Any, value: Any) -> None:
    """Raise ValueError where heads, lengths or head sizes do not agree."""
    if query.shape[-3] != key.shape[-3] or key.shape[-2] != value.shape[-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError("heads, lengths or head sizes do not agree")


def build(ends: Parts, rows: Callable[[Tensor, Tensor], Tensor] | None = None) -> Kernel:
    """A kernel that adds up its keys in parts, `ends(query, key)` their ends, the last one the number of keys.

    `rows` may change the order of the keys.
    """

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:  # fmt: skip
        require_sizes(query, key, value)
        dtype = query.dtype
        query, key, value = (x.to(torch.promote_types(dtype, torch.float32)) for x in (query, key, value))
        bias, scale = bias_of(query, key, attn_mask, is_causal), query.shape[-1] ** -0.5
        if rows is not None:
            order = rows(query, key)
            key, value = key[..., order, :], value[..., order, :]
            bias = bias[..., order] if bias is not None and bias.shape[-1] > 1 else bias
        found, start = [], 0
        for end in ends(query, key):
            inside = bias[..., start:end] if bias is not None and bias.shape[-1] > 1 else bias
            found.append(part(query, key[..., start:end, :], value[..., start:end, :], inside, scale))
            start = end
        return merge_parts(found).to(dtype)

    return attention


def whole(query: Tensor, key: Tensor) -> Sequence[int]:
    """One part."""
    return (key.shape[-2],)


def equal_parts(count: int, n_kv: int) -> Sequence[int]:
    """The ends of so many parts of about equal length."""
    count = max(1, min(count, n_kv))
    return tuple(n_kv * (i + 1) // count for i in range(count))


def fixed_blocks(block: int, n_kv: int) -> Sequence[int]:
    """The ends of blocks of one size, counted from the first key."""
    return (*range(block, n_kv, block), n_kv)


def keys_one_by_one() -> Kernel:
    """Invariant: one key after another."""
    return build(whole)


def keys_in_blocks() -> Kernel:
    """Invariant: blocks of eight keys, counted from the first key. A block that is masked as a whole adds zero."""
    return build(lambda q, k: fixed_blocks(8, k.shape[-2]))


def in_a_tree(x: Tensor) -> Tensor:
    """The sum over the last axis: neighbours in pairs, then pairs of pairs, by their places from the first."""
    while x.shape[-1] > 1:
        x = torch.nn.functional.pad(x, (0, x.shape[-1] % 2))
        x = x[..., ::2] + x[..., 1::2]
    return x[..., 0]


def keys_in_a_tree() -> Kernel:
    """Invariant: keys are added in pairs of neighbours, pairs of pairs and so on; what is masked adds zero."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:  # fmt: skip
        require_sizes(query, key, value)
        dtype = query.dtype
        query, key, value = (x.to(torch.promote_types(dtype, torch.float32)) for x in (query, key, value))
        bias, scores = bias_of(query, key, attn_mask, is_causal), ordered_product(query, key.mT)
        scores = scores * query.shape[-1] ** -0.5 + (0.0 if bias is None else bias)
        top = scores.amax(-1, keepdim=True)
        weights = exponential(scores - torch.where(top == -torch.inf, 0.0, top))
        total = in_a_tree(weights)[..., None]
        out = in_a_tree((weights[..., None] * value[..., None, :, :]).mT)
        return torch.where(total > 0, out / torch.where(total > 0, total, 1.0), 0.0).to(dtype)

    return attention


def sums_rounded_once() -> Callable[..., Any]:
    """Invariant: every sum is exact before it is rounded, so that it has no order."""

    def attention(
        query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False
    ) -> Any:  # fmt: skip
        require_sizes(query, key, value)
        n_q, n_kv, dtype = query.shape[-2], key.shape[-2], query.dtype
        bias = np.zeros((n_q, n_kv)) if attn_mask is None else attn_mask
        bias = np.where(bias, 0.0, -np.inf) if bias.dtype == bool else bias.astype(np.float64)
        bias = np.broadcast_to(bias + np.where(is_causal & (np.triu(np.ones((n_q, n_kv)), 1) > 0), -np.inf, 0.0),
                               (*query.shape[:-1], n_kv))  # fmt: skip
        out = np.zeros((*query.shape[:-1], value.shape[-1]))
        for index in np.ndindex(*query.shape[:-1]):
            q, ks, vs = (x.astype(np.float64) for x in (query[index], key[index[:-1]], value[index[:-1]]))
            seen = np.flatnonzero(bias[index] > -np.inf)
            if len(seen) == 0:
                continue
            scores = [math.fsum(q * ks[j]) * q.size**-0.5 + bias[index][j] for j in seen]
            weights = [math.exp(score - max(scores)) for score in scores]
            total = math.fsum(weights)
            out[index] = [math.fsum(w * v for w, v in zip(weights, column, strict=True)) for column in vs[seen].T]
            out[index] /= total
        return out.astype(dtype)

    return attention


def keys_split_by_the_batch() -> Kernel:
    """About eight parts of the keys run at once: fewer problems, more parts (vllm-project/vllm#48305)."""
    return build(lambda q, k: equal_parts(8 // q.shape[0], k.shape[-2]))


def the_last_of_a_batch_by_another_path() -> Kernel:
    """The last problem of a batch of several is a remainder, and takes a kernel with other blocks."""
    one, other = build(whole), build(lambda q, k: fixed_blocks(4, k.shape[-2]))

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:  # fmt: skip
        if query.shape[0] == 1 or attn_mask is not None:
            return one(query, key, value, attn_mask, is_causal)
        first, last = (
            f(query[s], key[s], value[s], None, is_causal)
            for f, s in ((one, slice(None, -1)), (other, slice(-1, None)))
        )
        return torch.cat([first, last])

    return attention


def rows_per_tile_by_the_batch() -> Kernel:
    """From four problems on another tiling is the fastest, with blocks of keys of its own (vllm-project/vllm#58131)."""
    return build(lambda q, k: fixed_blocks(4 if q.shape[0] >= 4 else 16, k.shape[-2]))


def keys_split_by_the_heads() -> Kernel:
    """Heads and parts of the keys fill the device: alone, a head has more parts (NVIDIA-NeMo/RL#4039)."""
    return build(lambda q, k: equal_parts(8 // q.shape[1], k.shape[-2]))


def keys_split_where_rows_are_few() -> Kernel:
    """Up to four rows take the kernel for decoding, which splits the keys (RL-Align/RL-Kernel#101)."""
    return build(lambda q, k: equal_parts(4 if q.shape[-2] <= 4 else 1, k.shape[-2]))


def blocks_counted_from_the_end() -> Kernel:
    """Blocks of keys end at the last key, and the first is the short one: a longer sequence moves them all."""
    return build(lambda q, k: tuple(range(k.shape[-2] % 8 or 8, k.shape[-2] + 1, 8)))


def blocks_by_the_padded_length() -> Kernel:
    """The size of a block is a quarter of the length, padding included."""
    return build(lambda q, k: equal_parts(4, k.shape[-2]))


def keys_split_by_threads() -> Kernel:
    """Every thread adds up a part of the keys of its own."""
    return build(lambda q, k: equal_parts(torch.get_num_threads(), k.shape[-2]))


def parts_added_as_they_come() -> Kernel:
    """Keys are added in the order in which threads arrive."""
    return build(whole, rows=lambda q, k: torch.randperm(k.shape[-2]))


class _KeyGradientInParts(torch.autograd.Function):
    """Elementwise sums forward; backward with as many parts of the rows as the batch leaves room for."""

    @staticmethod
    def forward(context, query, key, value):  # type: ignore[no-untyped-def]
        with torch.enable_grad():
            inputs = [x.detach().requires_grad_() for x in (query, key, value)]
            out = build(whole)(*inputs)
        context.graph = inputs, out
        return out.detach()

    @staticmethod
    def backward(context, down):  # type: ignore[no-untyped-def]
        inputs, out = context.graph
        total: list[Tensor] = []
        start = 0
        for end in equal_parts(8 // down.shape[0], down.shape[-2]):
            own = torch.zeros_like(down)
            own[..., start:end, :] = down[..., start:end, :]
            found = torch.autograd.grad(out, inputs, own, retain_graph=True)
            total = list(found) if not total else [a + b for a, b in zip(total, found, strict=True)]
            start = end
        return tuple(total)


def key_gradient_in_parts_by_the_batch() -> Kernel:
    """The rows of a gradient of keys are added up in parts, fewer of them where there are more problems."""

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        require_sizes(query, key, value)
        return _KeyGradientInParts.apply(query, key, value)

    return attention


def ours() -> Kernel:
    """Invariant: the kernel of the table."""
    return invariant_attention


INVARIANT: Mapping[Callable[[], Any], Mapping[str, Any]] = {
    keys_one_by_one: {}, keys_in_blocks: {}, keys_in_a_tree: {}, ours: {},
    sums_rounded_once: {"array": "numpy", "accumulate": "input"},
}  # fmt: skip
"""Kernels that hold every law, and what is declared of them."""
FAULTY = (
    keys_split_by_the_batch, the_last_of_a_batch_by_another_path, rows_per_tile_by_the_batch, keys_split_by_the_heads,
    keys_split_where_rows_are_few, blocks_counted_from_the_end, blocks_by_the_padded_length, keys_split_by_threads,
    parts_added_as_they_come, key_gradient_in_parts_by_the_batch,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="batch-invariant", accumulate="float32") for fault in FAULTY)
