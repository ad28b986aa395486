"""Faults of attention under block maps, one each: row of blocks by row of blocks with one step replaced.

`build()` gives f(query, key, value, block_mask, q_block, k_block, is_causal, scale), which gathers the blocks of every
row; `flexible()` the call of FlexAttention, pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.one_row import read_behind_the_row, write_into_the_row
from attention_core.faults.row import row

Attend = Callable[..., Any]


# --- steps -----------------------------------------------------------------------------


def read_map(block_map: Tensor, query: Tensor) -> Tensor:
    """The map of every sequence and head."""
    return block_map.expand(*query.shape[:2], *block_map.shape[2:])


def listed(blocks: Tensor) -> list[int]:
    """The blocks of a row that is attended, of one head."""
    return [int(c) for c in blocks.nonzero()]


def keys_of(column: int, k_block: int, n_kv: int) -> range:
    """The keys of a block."""
    return range(column * k_block, min((column + 1) * k_block, n_kv))


def rows_of(row: int, q_block: int, n_q: int) -> range:
    """The queries of a row of blocks."""
    return range(row * q_block, min((row + 1) * q_block, n_q))


def weigh(scores: Tensor, pairs: Tensor, v: Tensor) -> Tensor:
    """Attention of one row of blocks to its keys; rows without any are 0."""
    live = pairs.any(-1, keepdim=True)
    weights = scores.masked_fill(~pairs, -torch.inf).masked_fill(~live, 0.0).softmax(-1)
    return torch.where(live, weights, 0.0) @ v


def causal(rows: Tensor, keys: Tensor, is_causal: bool) -> Tensor:
    """The pairs of a row of blocks that causality leaves."""
    return keys <= rows[:, None] if is_causal else torch.ones(len(rows), len(keys), dtype=torch.bool)


def scaled(scale: float | None, d: int) -> float:
    """What scores are multiplied by."""
    return d**-0.5 if scale is None else scale


STEPS: dict[str, Callable[..., Any]] = {
    "read_map": read_map, "listed": listed, "keys_of": keys_of, "rows_of": rows_of, "weigh": weigh, "causal": causal,
    "scaled": scaled, "sides": lambda q_block, k_block: (q_block, k_block),
    "dead": lambda v, n, kept: v.new_zeros(n, v.shape[1]),
    "widen": lambda x: x.to(torch.promote_types(x.dtype, torch.float32)),
}  # fmt: skip


def build(**replaced: Callable[..., Any]) -> Attend:
    """Attention in the blocks of a map, with some steps replaced."""
    step = STEPS | replaced

    def head(
        q: Tensor, k: Tensor, v: Tensor, blocks: Tensor, sizes: tuple[int, int], is_causal: bool, s: float
    ) -> Tensor:
        outs: list[Tensor] = []
        for r in range(blocks.shape[0]):
            rows = torch.tensor(list(step["rows_of"](r, sizes[0], len(q))), dtype=torch.long)
            keys = [j for c in step["listed"](blocks[r]) for j in step["keys_of"](c, sizes[1], len(k))]
            at = torch.tensor(keys, dtype=torch.long)
            if not len(at):
                outs.append(step["dead"](v, len(rows), outs))
                continue
            outs.append(step["weigh"](s * (q[rows] @ k[at].mT), step["causal"](rows, at, is_causal), v[at]))
        return torch.cat(outs)[: len(q)]

    def attend(
        query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, q_block: int = 64, k_block: int = 64,
        is_causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        blocks, group = step["read_map"](block_mask, query), query.shape[1] // key.shape[1]
        q, k, v = (step["widen"](x) for x in (query, key, value))
        sizes, factor = step["sides"](q_block, k_block), step["scaled"](scale, query.shape[-1])
        out = torch.stack([
            torch.stack([
                head(q[b, h], k[b, h // group], v[b, h // group], blocks[b, h], sizes, is_causal, factor)
                for h in range(query.shape[1])
            ]) for b in range(query.shape[0])
        ])  # fmt: skip
        return out.to(query.dtype)

    return attend


# --- the map ---------------------------------------------------------------------------


def map_ignored() -> Attend:
    """Every block is attended."""
    return build(read_map=lambda m, q: read_map(torch.ones_like(m), q))


def map_transposed() -> Attend:
    """A square map is read with rows for columns."""
    return build(read_map=lambda m, q: read_map(m.mT if m.shape[-1] == m.shape[-2] else m, q))


def map_of_the_first_head() -> Attend:
    """All heads have the first one's map."""
    return build(read_map=lambda m, q: read_map(m[:, :1], q))


def map_of_the_first_sequence() -> Attend:
    """All sequences have the first one's map (a stride of 0 for the batch)."""
    return build(read_map=lambda m, q: read_map(m[:1], q))


def map_of_the_next_head() -> Attend:
    """Heads have the map of their neighbour."""
    return build(read_map=lambda m, q: read_map(m.roll(1, 1), q))


def map_of_the_key_head() -> Attend:
    """Where query heads share a key head, each has the map of that number (Dao-AILab/flash-attention#1619)."""

    def attend(
        query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, q_block: int = 64, k_block: int = 64,
        is_causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        group = query.shape[1] // key.shape[1]
        heads = torch.arange(query.shape[1]) // group
        out: Tensor = build()(query, key, value, block_mask[:, heads], q_block, k_block, is_causal, scale)
        return out

    return attend


def map_one_block_late() -> Attend:
    """Every block stands for the one behind it."""
    return build(listed=lambda row: listed(row.roll(1)))


def map_inverted() -> Attend:
    """True hides a block."""
    return build(read_map=lambda m, q: read_map(~m, q))


def map_read_in_order() -> Attend:
    """A map that is a view is read as if it were whole."""

    def flat(m: Tensor, q: Tensor) -> Tensor:
        return read_map(m if m.is_contiguous() else m.as_strided(m.shape, torch.empty(m.shape).stride(), 0), q)

    return build(read_map=flat)


def rows_behind_the_row_of_a_map() -> Attend:
    """A map whose rows are expanded from one is read as if each had memory of its own."""
    return build(read_map=lambda m, q: read_map(read_behind_the_row(m), q))


def row_of_a_map_written_into() -> Attend:
    """A map whose rows are expanded from one is written into, in that row."""
    return build(read_map=lambda m, q: read_map(write_into_the_row(m), q))


def first_map_kept() -> Attend:
    """The map of the first call of a shape serves all later ones."""
    kept: dict[Any, Tensor] = {}
    return build(read_map=lambda m, q: read_map(kept.setdefault(tuple(m.shape), m.clone()), q))


def map_of_the_tensor_kept() -> Attend:
    """The map is kept for its place in memory: one that is changed there is not read anew."""
    kept: dict[Any, tuple[Tensor, Tensor]] = {}

    def copy(m: Tensor) -> Tensor:
        return kept.setdefault((m.data_ptr(), tuple(m.shape)), (m, m.clone()))[1]  # alive: its place stays its own

    return build(read_map=lambda m, q: read_map(copy(m), q))


def written_into_the_map() -> Attend:
    """The first block of every row is switched on in the caller's map."""

    def force(m: Tensor, q: Tensor) -> Tensor:
        m[..., 0] = True
        return read_map(m, q)

    return build(read_map=force)


# --- blocks ----------------------------------------------------------------------------


def short_last_block_dropped() -> Attend:
    """Keys of a last block that is not full are left out."""
    return build(keys_of=lambda c, b, n: keys_of(c, b, n) if (c + 1) * b <= n or n < b else range(0))


def padded_keys_weigh() -> Attend:
    """A short last block is filled up with scores of 0, which keep a weight (thunlp/TritonBench, attention_llama)."""

    def attend(
        query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, q_block: int = 64, k_block: int = 64,
        is_causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        more = -key.shape[2] % k_block
        k, v = (torch.nn.functional.pad(x, (0, 0, 0, more)) for x in (key, value))
        out: Tensor = build()(query, k, v, block_mask, q_block, k_block, is_causal, scale)
        return out

    return attend


def last_block_one_key_short() -> Attend:
    """The end of a short last block is off by one."""
    return build(keys_of=lambda c, b, n: keys_of(c, b, n)[: -1 if c * b + b > n and n - c * b > 1 else None])


def sides_of_blocks_swapped() -> Attend:
    """Rows of the map have as many queries as its columns should have keys."""

    def clipped(m: Tensor, q: Tensor) -> Tensor:
        m = read_map(m, q)
        more = q.shape[2]
        return torch.nn.functional.pad(m.double(), (0, more, 0, more), "replicate").bool()

    return build(sides=lambda q_block, k_block: (k_block, q_block), read_map=clipped)


def sixteen_blocks_at_most() -> Attend:
    """The list of a row's blocks has room for sixteen."""
    return build(listed=lambda row: listed(row)[:16])


def last_block_left_out() -> Attend:
    """The loop over a row's blocks ends one early, where there are several."""
    return build(listed=lambda row: listed(row)[:-1] or listed(row))


def other_blocks_weigh_little() -> Attend:
    """Blocks that are not attended get -1e9 times a switch, not -inf: huge keys come through."""

    def attend(
        query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, q_block: int = 64, k_block: int = 64,
        is_causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(query.dtype, torch.float32)
        q, k, v = (x.to(wide) for x in (query, key, value))
        group = q.shape[1] // k.shape[1]
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
        pairs = block_mask.repeat_interleave(q_block, -2).repeat_interleave(k_block, -1)
        pairs = pairs[..., : q.shape[2], : k.shape[2]] & causal(
            torch.arange(q.shape[2]), torch.arange(k.shape[2]), is_causal
        )
        scores = scaled(scale, q.shape[-1]) * (q @ k.mT) - 1e9 * ~pairs
        return torch.where(pairs.any(-1, keepdim=True), scores.softmax(-1) @ v, 0.0).to(query.dtype)

    return attend


def maximum_not_subtracted() -> Attend:
    """Exponentials of the scores themselves, over their sum."""

    def plain(scores: Tensor, pairs: Tensor, v: Tensor) -> Tensor:
        weights = scores.exp() * pairs
        total = weights.sum(-1, keepdim=True)
        return weights / torch.where(total == 0, 1.0, total) @ v

    return build(weigh=plain)


# --- rows, causality, scale ------------------------------------------------------------


def dead_rows_are_means() -> Attend:
    """A row without any block is the mean of all values."""
    return build(dead=lambda v, n, kept: v.mean(0).expand(n, -1))


def dead_rows_are_nan() -> Attend:
    """A row without any block is 0/0."""
    return build(dead=lambda v, n, kept: torch.full((n, v.shape[1]), torch.nan, dtype=v.dtype))


def dead_rows_keep_the_row_before() -> Attend:
    """A row without any block is not written: what the accumulator held of the row of blocks before stays."""

    def stale(v: Tensor, n: int, kept: list[Tensor]) -> Tensor:
        return kept[-1][-1:].expand(n, -1) if kept else v.new_zeros(n, v.shape[1])

    return build(dead=stale)


def causality_ignored() -> Attend:
    """The blocks of the map are attended whole by a causal call."""
    return build(causal=lambda rows, keys, is_causal: causal(rows, keys, False))


def causal_by_blocks() -> Attend:
    """A causal call attends the block on the diagonal whole."""

    def within(rows: Tensor, keys: Tensor, is_causal: bool) -> Tensor:
        return causal(rows.max() + 0 * rows, keys, is_causal)

    return build(causal=within)


def given_scale_ignored() -> Attend:
    """Scores are always divided by sqrt(d)."""
    return build(scaled=lambda scale, d: d**-0.5)


def scale_of_zero_taken_for_none() -> Attend:
    """`scale or d**-0.5`."""
    return build(scaled=lambda scale, d: scale or d**-0.5)


def backward_ignores_the_map() -> Attend:
    """Gradients are those of attention to the row's blocks and to the first one besides."""
    right, wrong = build(), build(listed=lambda row: sorted({0, *listed(row)}))

    def attend(
        query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, q_block: int = 64, k_block: int = 64,
        is_causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        rest = (block_mask, q_block, k_block, is_causal, scale)
        other: Tensor = wrong(query, key, value, *rest)
        out: Tensor = right(query, key, value, *rest).detach() + (other - other.detach())
        return out

    return attend


def empty_rows_cleaned_behind_the_softmax() -> Attend:
    """Rows without a block become 0 behind a softmax of -inf alone: every key's gradient is NaN."""

    def attend(
        query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, q_block: int = 64, k_block: int = 64
    ) -> Tensor:
        n_q, n_kv, group = query.shape[2], key.shape[2], query.shape[1] // key.shape[1]
        pairs = block_mask.bool().repeat_interleave(q_block, -2)[..., :n_q, :].repeat_interleave(k_block, -1)
        wide = torch.promote_types(query.dtype, torch.float32)
        keys, values = (x.to(wide).repeat_interleave(group, 1) for x in (key, value))
        scores = query.to(wide) * query.shape[-1] ** -0.5 @ keys.mT
        hidden = torch.zeros(pairs[..., :n_kv].shape, dtype=wide).masked_fill(~pairs[..., :n_kv], -torch.inf)
        weights = (scores + hidden).softmax(-1)
        out: Tensor = torch.where(pairs.any(-1, keepdim=True), weights, 0.0) @ values
        return out.to(query.dtype)

    return attend


# --- FlexAttention's call --------------------------------------------------------------


def pairs_of(block_mask: Any, scores: Tensor) -> Tensor:
    """The pairs that a BlockMask allows: its blocks, and its mask_mod within them."""
    B, H, n_q, n_kv = scores.shape
    b, h, i, j = torch.meshgrid(*(torch.arange(n) for n in scores.shape), indexing="ij")
    found: Tensor = block_mask.mask_mod(b, h, i, j)
    return found.expand(B, H, n_q, n_kv)


def blocks_alone(block_mask: Any, scores: Tensor) -> Tensor:
    """The pairs of all blocks of a BlockMask, as if each were full."""
    q_block, k_block = block_mask.BLOCK_SIZE
    dense = block_mask.to_dense().bool()
    found: Tensor = dense.repeat_interleave(q_block, -2).repeat_interleave(k_block, -1)
    return found[..., : scores.shape[-2], : scores.shape[-1]].expand(scores.shape)


def add(score_mod: Any, scores: Tensor) -> Tensor:
    """The scores as a score_mod leaves them."""
    b, h, i, j = torch.meshgrid(*(torch.arange(n) for n in scores.shape), indexing="ij")
    found: Tensor = score_mod(scores, b, h, i, j)
    return found


def flexible(pairs: Callable[..., Tensor] = pairs_of, early: bool = False) -> Attend:
    """The call of flex_attention; `early` scales what its score_mod gives."""

    def flex_attention(
        query: Tensor, key: Tensor, value: Tensor, score_mod: Any = None, block_mask: Any = None,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(query.dtype, torch.float32)
        group = query.shape[1] // key.shape[1] if enable_gqa else 1
        k, v = (x.to(wide).repeat_interleave(group, 1) for x in (key, value))
        factor = scaled(scale, query.shape[-1])
        scores = query.to(wide) @ k.mT * (1.0 if early else factor)
        scores = scores if score_mod is None else add(score_mod, scores)
        return weigh(scores * (factor if early else 1.0), pairs(block_mask, scores), v).to(query.dtype)

    return flex_attention


def whole_blocks_of_a_mask_mod() -> Attend:
    """Blocks that a mask_mod allows in part are attended whole."""
    return flexible(blocks_alone)


def score_mod_before_the_scale() -> Attend:
    """What a score_mod adds is multiplied by the scale."""
    return flexible(early=True)


def groups_of_three_in_turn() -> Attend:
    """Query heads of groups of three take the key heads in turn."""
    right = build()

    def attend(query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, q_block: int, k_block: int) -> Tensor:
        if query.shape[1] == 3 * key.shape[1]:
            key, value = (x.repeat(1, 3, 1, 1) for x in (key, value))
        out: Tensor = right(query, key, value, block_mask, q_block, k_block)
        return out

    return attend


def maximum_of_blocks_from_zero() -> Attend:
    """A running maximum begins at 0: a row whose scores all lie far below comes back as 0."""

    def weighed(scores: Tensor, allow: Tensor, v: Tensor) -> Tensor:
        scores = scores.masked_fill(~allow, -torch.inf)
        p = (scores - scores.amax(-1, keepdim=True).clamp(min=0.0)).exp()
        return p / p.sum(-1, keepdim=True).clamp(min=torch.finfo(p.dtype).tiny) @ v

    return build(weigh=weighed)


FAULTY = (
    map_ignored, map_transposed, map_of_the_first_head, map_of_the_first_sequence, map_of_the_next_head,
    map_of_the_key_head, map_one_block_late, map_inverted, map_read_in_order, first_map_kept, written_into_the_map,
    map_of_the_tensor_kept, rows_behind_the_row_of_a_map, row_of_a_map_written_into,
    short_last_block_dropped, padded_keys_weigh, last_block_one_key_short, sides_of_blocks_swapped,
    sixteen_blocks_at_most, last_block_left_out, other_blocks_weigh_little, maximum_not_subtracted,
    dead_rows_are_means, dead_rows_are_nan,
    dead_rows_keep_the_row_before, causality_ignored, causal_by_blocks, given_scale_ignored,
    scale_of_zero_taken_for_none, backward_ignores_the_map, empty_rows_cleaned_behind_the_softmax,
    whole_blocks_of_a_mask_mod, score_mod_before_the_scale,
    groups_of_three_in_turn, maximum_of_blocks_from_zero,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="block-mask", accumulate="float32") for fault in FAULTY)
