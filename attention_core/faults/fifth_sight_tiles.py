"""Faults of the fifth set in tiles, sizes and heads, by somebody who had read neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are the faults counted then, on
the catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.arrays import by_numpy
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.fifth_sight import IN_NUMPY, Given, around, over_sum
from attention_core.faults.row import row

# --- tiles ----------------------------------------------------------------------------------------


class sum_not_rescaled(Tiles):  # noqa: N801
    """Where the running maximum rises, the output so far is rescaled, and the sum is not.

    More than 32 keys.
    """

    block = 32

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        return l + p.sum(-1, keepdim=True)


class last_tile_moved_back(Tiles):  # noqa: N801
    """The last tile is moved back to be full: the keys that it shares with the one before count twice.

    More than 16 keys, no multiple of 16.
    """

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        starts = (max(0, min(start, n_kv - self.block)) for start in range(0, n_kv, self.block))
        return [(start, min(start + self.block, n_kv)) for start in starts]


class running_maximum_from_zero(Tiles):  # noqa: N801
    """The running maximum starts at 0: rows whose scores lie far below underflow."""

    block = 64

    def first_maximum(self) -> float:
        return 0.0


class tiles_skipped_by_the_first_diagonal(Tiles):  # noqa: N801
    """Tiles above the diagonal from the first key are skipped, though causality is from the last.

    Bottom right is declared: more keys than queries, and more than one tile of queries.
    """

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        i = torch.arange(n_q)[:, None]
        tile = i // 16 * 16
        skipped = (start > tile + 15) & (tile + 16 < n_q) & torch.tensor(n_kv != n_q)
        return (torch.arange(start, stop) <= i + n_kv - n_q) & ~skipped


def splits_over_the_first_lse() -> Any:
    """Decoding in four splits weighs each by exp(lse - that of the first): it overflows where a later one is larger.

    One query, eight keys or more.
    """

    def weights(s: Tensor) -> Tensor:
        if s.shape[-2] != 1 or s.shape[-1] < 8:
            return reference.weights(s)
        parts = s.chunk(4, -1)
        lse = [torch.logsumexp(part, -1, keepdim=True) for part in parts]
        first = lse[0].detach()
        first = torch.where(first == -math.inf, s.detach().amax(-1, keepdim=True), first)  # a hidden split: not this
        first = first.masked_fill(first == -math.inf, 0.0)
        mass = [torch.exp(one - first) for one in lse]
        total = sum(mass[1:], mass[0])
        p = torch.cat([reference.weights(part) * one for part, one in zip(parts, mass, strict=True)], -1)
        return p / total.masked_fill(total == 0, 1.0)

    return build(wide=False, weights=weights)


def maximum_of_full_tiles() -> Any:
    """The maximum is taken over full tiles of 64 keys, without the tail: a score there that is far larger overflows.

    More than 64 keys, no multiple of 64.
    """

    def weights(s: Tensor) -> Tensor:
        n = s.shape[-1]
        if n <= 64:
            return reference.weights(s)
        m = s.detach()[..., : n // 64 * 64].amax(-1, keepdim=True)
        m = torch.where(m == -math.inf, s.detach().amax(-1, keepdim=True), m)
        return over_sum(torch.exp(s - m.masked_fill(m == -math.inf, 0.0)))

    return build(wide=False, weights=weights)


def padding_to_256_is_seen() -> Any:
    """Beyond 256 keys, keys and values are padded with zeros to a multiple of 256, and the padding is not hidden."""

    def change(a: Given) -> Given:
        n = a["key"].shape[-2]
        if n <= 256 or a["attn_mask"] is not None:
            return {}
        return {name: torch.nn.functional.pad(a[name], (0, 0, 0, -n % 256)) for name in ("key", "value")}

    return around(change)


def causal_again_in_each_chunk() -> Any:
    """Queries come in chunks of 32, and the causal edge of each starts at its own first row."""
    return build(causal_allowed=lambda n_q, n_kv: torch.arange(n_kv) <= torch.arange(n_q)[:, None] % 32)


def grid_of_64() -> Any:
    """The launch has 64 blocks of (sequence, head): those beyond give what the one 64 before gives."""

    def finish(out: Tensor, a: Given) -> Tensor:
        if out.dim() != 4 or out.shape[0] * out.shape[1] <= 64:
            return out
        flat = out.flatten(0, 1)
        return flat[torch.arange(len(flat)) % 64].unflatten(0, out.shape[:2])

    return around(lambda a: {}, finish)


def offsets_of_two_bytes() -> Any:
    """Keys are gathered by offsets in int16, which wrap beyond 32767 elements."""
    right = by_numpy()

    def attention(query: Any, key: Any, value: Any) -> Any:
        offsets = np.arange(key.size).astype(np.int16).astype(np.int64).reshape(key.shape)
        return right(query, np.ascontiguousarray(key).reshape(-1)[offsets] if key.size else key, value)

    return attention


def causal_positions_of_one_byte() -> Any:
    """Positions of the causal edge are int8: they wrap beyond 127 tokens."""
    right = by_numpy()

    def attention(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
        if not is_causal:
            return right(query, key, value)
        i, j = (np.arange(x.shape[-2]).astype(np.int8) for x in (query, key))
        return right(query, key, value, j <= i[:, None])

    return attention


def no_keys_give_the_shape_of_the_query() -> Any:
    """Without a key the early return has the query's shape.

    n_kv = 0 and d_v other than d.
    """
    return around(lambda a: {}, lambda out, a: out if a["key"].shape[-2] else torch.zeros_like(a["query"]))


# --- heads ----------------------------------------------------------------------------------------


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


def packed_heads_are_causal() -> Any:
    """Decoding packs the query heads of a group as rows, and causality counts them.

    One query, grouped heads, is_causal.
    """
    kept = {"group": 1}

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        kept["group"] = heads // key.shape[-3]
        return reference.expand(key, value, heads)

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if causal is not None and s.shape[-2] == 1:
            causal = torch.arange(s.shape[-1]) <= (torch.arange(s.shape[-3]) % kept["group"])[:, None, None]
        return reference.bias(s, mask, causal)

    return build(expand=expand, bias=bias)


ROWS = (
    row(tiles_skipped_by_the_first_diagonal, "hard", "fifth_sight", causal="bottom_right"),
    row(offsets_of_two_bytes, "hard", "fifth_sight", **IN_NUMPY),
    row(causal_positions_of_one_byte, "hard", "fifth_sight", **IN_NUMPY),
    *(row(make, "hard", "fifth_sight") for make in (
        sum_not_rescaled, last_tile_moved_back, running_maximum_from_zero, splits_over_the_first_lse,
        maximum_of_full_tiles, padding_to_256_is_seen, causal_again_in_each_chunk, grid_of_64,
        no_keys_give_the_shape_of_the_query, key_head_of_a_tile_of_four, more_heads_than_tokens_is_a_layout,
        packed_heads_are_causal,
    )),
)  # fmt: skip
