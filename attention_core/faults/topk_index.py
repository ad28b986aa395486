"""Faults of attention to the keys that indices name, one each: row by row with one step replaced.

`build()` gives f(query, key, value, indices, is_causal, scale) on gathered keys, row by row; `by_mask()` the same over
all keys under a mask that the indices are scattered into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.one_row import read_behind_the_row, write_into_the_row
from attention_core.faults.bases.shared_maximum import weigh_below
from attention_core.faults.row import row

Attend = Callable[..., Any]


# --- steps -----------------------------------------------------------------------------


def keys_of(indices: list[int], n_kv: int) -> list[int]:
    """The keys of a row."""
    return [j for j in indices if j >= 0]


def weigh(scores: Tensor, v: Tensor) -> Tensor:
    """Attention of one query to its keys."""
    return scores.softmax(-1) @ v


STEPS: dict[str, Callable[..., Any]] = {
    "listed": keys_of, "weigh": weigh, "row": lambda i: i, "head": lambda h, g: g, "sequence": lambda b: b,
    "read": lambda indices: indices, "limit": lambda i, is_causal, keys: [j for j in keys if j <= i or not is_causal],
    "scaled": lambda scale, d: d**-0.5 if scale is None else scale, "dead": lambda v, mean: v.new_zeros(v.shape[1]),
    "widen": lambda x: x.to(torch.promote_types(x.dtype, torch.float32)),
}  # fmt: skip


def build(**replaced: Callable[..., Any]) -> Attend:
    """Attention to the keys of indices, with some steps replaced."""
    step = STEPS | replaced

    def attend(
        query: Tensor, key: Tensor, value: Tensor, indices: Tensor, is_causal: bool = False, scale: float | None = None
    ) -> Tensor:
        B, H, n_q, d = query.shape
        q, k, v = (step["widen"](x) for x in (query, key, value))
        rows, group, outs = step["read"](indices), H // key.shape[1], []
        for b in range(B):
            for h in range(H):
                g = h // group
                own = rows[step["sequence"](b), min(step["head"](h, g), rows.shape[1] - 1)]
                for i in range(n_q):
                    found = step["listed"](own[step["row"](i)].tolist(), key.shape[2])
                    keys = step["limit"](i, is_causal, found)
                    if not keys:
                        outs.append(step["dead"](v[b, g], v[b, g].mean(0)))
                        continue
                    scores = step["scaled"](scale, d) * (k[b, g, keys] @ q[b, h, i])
                    outs.append(step["weigh"](scores, v[b, g, keys]))
        return torch.stack(outs).view(B, H, n_q, -1).to(query.dtype)

    return attend


def by_mask(
    fill: float = -torch.inf, count: Callable[[Tensor], Tensor] = lambda named: named.clamp(max=1),
    weights: Callable[[Tensor, int], Tensor] = lambda scores, group: scores.softmax(-1),
) -> Attend:  # fmt: skip
    """Attention to all keys, those that a row does not name lowered by `fill`; `count` says what a repeat counts."""

    def attend(query: Tensor, key: Tensor, value: Tensor, indices: Tensor, scale: float | None = None) -> Tensor:
        wide, n_kv = torch.promote_types(query.dtype, torch.float32), key.shape[2]
        group = query.shape[1] // key.shape[1]
        k, v = (x.to(wide).repeat_interleave(group, 1) for x in (key, value))
        scores = query.to(wide) @ k.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
        inside = torch.where((indices < 0) | (indices > n_kv), n_kv, indices)
        named = torch.zeros(*indices.shape[:3], n_kv + 1).scatter_add(3, inside, torch.ones(inside.shape))[..., :n_kv]
        often = count(named).repeat_interleave(group, 1).to(wide)
        seen = often > 0
        scores = torch.where(seen, scores, scores + fill) + torch.where(seen, often, 1.0).log()
        dead = ~seen.any(-1, keepdim=True)
        return (torch.where(dead, 0.0, weights(scores.masked_fill(dead, 0.0), group)) @ v).to(query.dtype)

    return attend


# --- indices ---------------------------------------------------------------------------


def all_keys_attended() -> Attend:
    """Every key is attended to."""
    return build(listed=lambda indices, n_kv: [*range(n_kv)])


def indices_one_late() -> Attend:
    """Indices count from 1: every one stands for the key behind it, but the last."""
    return build(listed=lambda indices, n_kv: [min(j + 1, n_kv - 1) for j in indices if j >= 0])


def indices_of_the_next_query() -> Attend:
    """A query has the row of the query before it."""
    return build(row=lambda i: max(i - 1, 0))


def first_index_not_read() -> Attend:
    """The first index of a row is taken for key 0 (hw-native-sys/pypto-lib PR158)."""
    return build(listed=lambda indices, n_kv: [0, *keys_of(indices[1:], n_kv)])


def last_index_left_out() -> Attend:
    """The loop over a row ends one early, where there are several."""
    return build(listed=lambda indices, n_kv: keys_of(indices, n_kv)[:-1] or keys_of(indices, n_kv))


def keys_between_indices_attended() -> Attend:
    """A row is taken for the first and the last key of a range."""
    return build(listed=lambda indices, n_kv: [*range(min(keys_of(indices, n_kv), default=0), max(indices) + 1)])


def indices_taken_for_ascending() -> Attend:
    """A row is read up to the first index that is lower than the one before."""

    def rising(indices: list[int], n_kv: int) -> list[int]:
        keys = keys_of(indices, n_kv)
        end = next((place for place in range(1, len(keys)) if keys[place] < keys[place - 1]), len(keys))
        return keys[:end]

    return build(listed=rising)


def sixteen_indices_at_most() -> Attend:
    """The list of a row has room for sixteen."""
    return build(listed=lambda indices, n_kv: keys_of(indices, n_kv)[:16])


def indices_beyond_a_block_left_out() -> Attend:
    """Rows are read in blocks of 32, and a last block that is not full is left out, unless it is the only one."""
    return build(listed=lambda indices, n_kv: keys_of(indices[: max(len(indices) // 32 * 32, 32)], n_kv))


def indices_of_the_first_head() -> Attend:
    """All heads have the first one's indices."""
    return build(head=lambda h, g: 0)


def indices_of_the_query_head() -> Attend:
    """Query head h of a group has the row of the key head of that number, as far as there is one."""
    return build(head=lambda h, g: h)


def indices_of_the_first_sequence() -> Attend:
    """All sequences have the first one's indices."""
    return build(sequence=lambda b: 0)


def first_indices_kept() -> Attend:
    """The indices of the first call of a shape serve all later ones."""
    kept: dict[Any, Tensor] = {}
    return build(read=lambda indices: kept.setdefault(tuple(indices.shape), indices.clone()))


def indices_read_in_order() -> Attend:
    """Indices that are a view are read as if they were whole."""

    def flat(indices: Tensor) -> Tensor:
        if indices.is_contiguous():
            return indices
        return indices.as_strided(indices.shape, torch.empty(indices.shape).stride(), 0)

    return build(read=flat, listed=lambda indices, n_kv: [j for j in indices if 0 <= j < n_kv])


def written_into_the_indices() -> Attend:
    """Padding is set to 0 in the caller's array, and counted out by a copy of it."""

    def clamp(indices: Tensor) -> Tensor:
        own = indices.clone()
        indices.clamp_(min=0)
        return own

    return build(read=clamp)


def row_of_the_indices_written_into() -> Attend:
    """Indices whose rows are expanded from one are written into, in that row."""
    return build(read=write_into_the_row)


def rows_behind_the_row_of_indices() -> Attend:
    """Indices whose rows are expanded from one are read as if each row had memory of its own."""
    return build(read=read_behind_the_row)


# --- padding ---------------------------------------------------------------------------


def padding_is_the_last_key() -> Attend:
    """-1 counts from the end, as in Python."""
    return build(listed=lambda indices, n_kv: [j % n_kv for j in indices])


def padding_is_the_first_key() -> Attend:
    """-1 is clamped to 0, and key 0 attended to (HKUSTDial/flash-sparse-attention PR138)."""
    return build(listed=lambda indices, n_kv: [max(j, 0) for j in indices])


def rows_end_at_their_first_padding() -> Attend:
    """The first -1 ends a row."""
    return build(listed=lambda indices, n_kv: indices[: indices.index(-1)] if -1 in indices else indices)


def padding_keeps_a_weight() -> Attend:
    """Padding has a score of 0 and a value of 0: it takes weight from the keys of its row."""

    def attend(query: Tensor, key: Tensor, value: Tensor, indices: Tensor) -> Tensor:
        more = torch.nn.functional.pad
        return build(listed=lambda row, n_kv: [j % n_kv for j in row])(
            query, more(key, (0, 0, 0, 1)), more(value, (0, 0, 0, 1)), indices
        )

    return attend


def indices_beyond_are_the_last_key() -> Attend:
    """Indices of at least n_kv are clamped to the last key."""
    return build(listed=lambda indices, n_kv: [min(j, n_kv - 1) for j in indices if j >= 0])


def repeated_indices_count_twice() -> Attend:
    """A key that is named twice has twice its weight."""
    return by_mask(count=lambda named: named)


def counts_ignored() -> Attend:
    """The numbers of indices of rows are not read."""

    def attend(query: Tensor, key: Tensor, value: Tensor, indices: Tensor, counts: Tensor | None = None) -> Tensor:
        out: Tensor = build()(query, key, value, indices)
        return out

    return attend


# --- weights, rows, causality, scale ---------------------------------------------------


def other_keys_weigh_little() -> Attend:
    """Keys that are not named get -10,000 added: huge ones come through."""
    return by_mask(-1e4)


def maximum_not_subtracted() -> Attend:
    """Exponentials of the scores themselves, over their sum."""
    return build(weigh=lambda scores, v: scores.exp() @ v / scores.exp().sum())


def rows_without_an_index_are_nan() -> Attend:
    """A row without any index is 0/0."""
    return build(dead=lambda v, mean: torch.full_like(mean, torch.nan))


def rows_without_an_index_are_means() -> Attend:
    """A row without any index is the mean of all values."""
    return build(dead=lambda v, mean: mean)


def causality_ignored() -> Attend:
    """A causal call attends to later keys that are named."""
    return build(limit=lambda i, is_causal, keys: keys)


def causality_by_place() -> Attend:
    """A causal call hides indices by their place in the row."""
    return build(limit=lambda i, is_causal, keys: keys[: i + 1] if is_causal else keys)


def given_scale_ignored() -> Attend:
    """Scores are always divided by sqrt(d)."""
    return build(scaled=lambda scale, d: d**-0.5)


def scale_of_zero_taken_for_none() -> Attend:
    """`scale or d**-0.5`."""
    return build(scaled=lambda scale, d: scale or d**-0.5)


# --- gradients -------------------------------------------------------------------------


class _Gather(torch.autograd.Function):
    """Rows of an array by indices; the backward pass does with them what a fault says."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, wrap: bool) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.like, ctx.wrap = x, wrap
        return x[rows.clamp(min=0)]

    @staticmethod
    def backward(ctx: Any, *down: Tensor) -> Any:
        (rows,), found = ctx.saved_tensors, torch.zeros_like(ctx.like)
        if ctx.wrap:
            return found.index_add(0, rows % len(found), down[0]), None, None
        found[rows.clamp(min=0)] = down[0]
        return found, None, None


def _with_backward(wrap: bool) -> Attend:
    """Attention to gathered keys whose gradients go back through `_Gather`; padding has weight 0, and its value 1."""

    def attend(query: Tensor, key: Tensor, value: Tensor, indices: Tensor) -> Tensor:
        (B, H, n_q, d), group, dtype = query.shape, query.shape[1] // key.shape[1], query.dtype
        query, key, value = (x.to(torch.promote_types(dtype, torch.float32)) for x in (query, key, value))
        outs = []
        for b in range(B):
            for h in range(H):
                rows = indices[b, h // group]
                k, v = (_Gather.apply(x[b, h // group], rows, wrap) for x in (key, value))
                scores = torch.einsum("id,ijd->ij", query[b, h], k) * d**-0.5
                hidden = (rows < 0) & (rows >= 0).any(-1, keepdim=True)
                weights = scores.masked_fill(hidden, -torch.inf).softmax(-1) * (rows >= 0).any(-1, keepdim=True)
                out = torch.einsum("ij,ije->ie", weights, v)
                outs.append(out + (0.5 * (v - v.detach()) * hidden[..., None]).sum(1) if wrap else out)
        return torch.stack(outs).view(B, H, n_q, -1).to(dtype)

    return attend


def gradients_overwritten() -> Attend:
    """Gradients of a key that several queries name are written one over the other, and not added."""
    return _with_backward(False)


def gradients_of_padding_scattered() -> Attend:
    """The backward pass adds what stands in padded places to the last key (Dao-AILab/flash-attention PR2755)."""
    return _with_backward(True)


def last_of_four_reads_the_next_indices() -> Attend:
    """The last query head of a group of four and more reads the indices of the next key head."""

    def attend(query: Tensor, key: Tensor, value: Tensor, indices: Tensor) -> Tensor:
        H, group = query.shape[1], query.shape[1] // key.shape[1]
        right = build(head=lambda h, g: (g + 1) % (H // group) if group > 3 and h % group == group - 1 else g)
        out: Tensor = right(query, key, value, indices)
        return out

    return attend


def one_maximum_for_a_group() -> Attend:
    """The query heads of a key head share one maximum: a head far below it loses its sum."""
    return by_mask(weights=lambda scores, group: weigh_below(scores, (), group))


FAULTY = (
    all_keys_attended, indices_one_late, indices_of_the_next_query, first_index_not_read, last_index_left_out,
    keys_between_indices_attended, indices_taken_for_ascending, sixteen_indices_at_most,
    indices_beyond_a_block_left_out, indices_of_the_first_head, indices_of_the_query_head,
    indices_of_the_first_sequence, first_indices_kept, indices_read_in_order, written_into_the_indices,
    row_of_the_indices_written_into, rows_behind_the_row_of_indices,
    padding_is_the_last_key, padding_is_the_first_key, rows_end_at_their_first_padding, padding_keeps_a_weight,
    indices_beyond_are_the_last_key, repeated_indices_count_twice, counts_ignored, other_keys_weigh_little,
    maximum_not_subtracted, rows_without_an_index_are_nan, rows_without_an_index_are_means, causality_ignored,
    causality_by_place, given_scale_ignored, scale_of_zero_taken_for_none, gradients_overwritten,
    gradients_of_padding_scattered,
    last_of_four_reads_the_next_indices, one_maximum_for_a_group,
)  # fmt: skip
DECLARED = {
    "indices_beyond_are_the_last_key": {"beyond": "padding"}, "repeated_indices_count_twice": {"repeats": "once"},
}  # fmt: skip
"""Parameters that a fault declares."""
ROWS = tuple(
    row(fault, "law", contract="topk-index", accumulate="float32", parameters=DECLARED.get(fault.__name__, {}))
    for fault in FAULTY
)
