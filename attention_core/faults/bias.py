"""Faults of linear position biases (ALiBi), one each, and correct ones that differ in what no softmax sees."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor


def slopes(H: int) -> Tensor:
    """The paper's slopes, by steps of the ratio."""

    def geometric(count: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(count) - 3)))
        return [start * start**h for h in range(count)]

    P = 2 ** int(math.log2(H))
    return torch.tensor(geometric(P) + geometric(2 * P)[::2][: H - P])


def distances(n_q: int, n_kv: int) -> Tensor:
    """i - j, the last query at the last key."""
    return torch.arange(n_kv - n_q, n_kv)[:, None] - torch.arange(n_kv)


def with_slopes(m: Tensor, n_q: int, n_kv: int) -> Tensor:
    """The bias of given slopes."""
    return -m[:, None, None] * distances(n_q, n_kv)


# --- correct ------------------------------------------------------------------------


def correct(H: int, n_q: int, n_kv: int) -> Tensor:
    """-m (i - j)."""
    return with_slopes(slopes(H), n_q, n_kv)


def by_key_alone(H: int, n_q: int, n_kv: int) -> Tensor:
    """m j: a constant per row away (vllm-project/vllm PR945, lucidrains/x-transformers#153: not a fault)."""
    return (slopes(H)[:, None, None] * torch.arange(n_kv)).expand(H, n_q, n_kv)


def causal_inside(H: int, n_q: int, n_kv: int) -> Tensor:
    """-inf on later keys."""
    return correct(H, n_q, n_kv).masked_fill(distances(n_q, n_kv) < 0, -math.inf)


# --- faulty -------------------------------------------------------------------------


def slopes_off_by_one(H: int, n_q: int, n_kv: int) -> Tensor:
    """2^(-8h/H) with h from 0 (paiml/aprender PR2143)."""
    return with_slopes(2.0 ** (-8 * torch.arange(H) / H), n_q, n_kv)


def slopes_geometric(H: int, n_q: int, n_kv: int) -> Tensor:
    """2^(-8h/H) also where H is no power of two (ml-explore/mlx#343, PR3071); right if declared."""
    return with_slopes(2.0 ** (-8 * torch.arange(1, H + 1) / H), n_q, n_kv)


def extra_slopes_in_sequence(H: int, n_q: int, n_kv: int) -> Tensor:
    """For H = P + r the first r slopes of 2P heads are added, not every second (compare Baichuan2#225)."""
    P = 2 ** int(math.log2(H))
    extra = 2.0 ** (-4 * torch.arange(1, 2 * P + 1) / P)
    return with_slopes(torch.cat([2.0 ** (-8 * torch.arange(1, P + 1) / P), extra])[:H], n_q, n_kv)


def sign_flipped(H: int, n_q: int, n_kv: int) -> Tensor:
    """Farther keys get more weight (meta-pytorch/attention-gym PR86)."""
    return -correct(H, n_q, n_kv)


def bias_built_over_query_length(H: int, n_q: int, n_kv: int) -> Tensor:
    """Distances among the queries, broadcast to the keys: nothing when decoding (keras-team/keras-hub#2861)."""
    square = correct(H, n_q, n_q)
    return square if n_q == n_kv else square[:, -1:, -1:].expand(H, n_q, n_kv)


def aligned_to_the_first_key(H: int, n_q: int, n_kv: int) -> Tensor:
    """Query 0 stands at key 0: a cache's queries see the wrong distances (keras-team/keras-hub PR2977)."""
    gap = torch.arange(n_q)[:, None] - torch.arange(n_kv)
    return -slopes(H)[:, None, None] * gap.abs()


def bias_by_absolute_position(H: int, n_q: int, n_kv: int) -> Tensor:
    """The slope grows with the query's own position."""
    own = torch.arange(n_kv - n_q, n_kv)[:, None] + 1
    return correct(H, n_q, n_kv) * own / n_kv


def one_slope_for_all(H: int, n_q: int, n_kv: int) -> Tensor:
    """Every head gets the first head's slope."""
    return with_slopes(slopes(H)[:1].expand(H), n_q, n_kv)


def distance_clipped(H: int, n_q: int, n_kv: int) -> Tensor:
    """Distances from 8 on are alike."""
    return -slopes(H)[:, None, None] * distances(n_q, n_kv).clamp(max=8)


def pieces_of_one_bias() -> Callable[[int, int, int], Tensor]:
    """A factory: the largest bias so far is kept, and callers get pieces of it."""
    kept: dict[int, Tensor] = {}

    def piece(H: int, n_q: int, n_kv: int) -> Tensor:
        if H not in kept or kept[H].shape[-1] < n_kv:
            kept[H] = correct(H, n_kv, n_kv)
        size = kept[H].shape[-1]
        return kept[H][:, size - n_q :, size - n_kv :]

    return piece


FAULTY = (
    slopes_off_by_one, slopes_geometric, extra_slopes_in_sequence, sign_flipped, bias_built_over_query_length,
    aligned_to_the_first_key, bias_by_absolute_position, one_slope_for_all, distance_clipped,
)  # fmt: skip
STATEFUL = (pieces_of_one_bias,)
CORRECT = (correct, by_key_alone, causal_inside)
