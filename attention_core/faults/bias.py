"""Faults of linear position biases (ALiBi), one each, and correct ones that differ in what no softmax sees."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_core.faults.row import rows


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


def further_slopes_from_the_end(H: int, n_q: int, n_kv: int) -> Tensor:
    """Further slopes beside 16 and more are the last ones where they are more than a quarter."""
    power = 1 << (H.bit_length() - 1)
    more, extra = slopes(2 * power)[::2], H - power
    added = more[:extra] if power < 16 or extra <= power // 4 else more[-extra:]
    return with_slopes(torch.cat([slopes(power), added]), n_q, n_kv)


def distances_in_int8_of_few_heads(H: int, n_q: int, n_kv: int) -> Tensor:
    """Distances wrap beyond 127 where there are fewer than 8 heads."""
    behind = distances(n_q, n_kv)
    return -slopes(H)[:, None, None] * (behind.to(torch.int8).float() if H < 8 else behind)


FAULTY = (
    slopes_off_by_one, slopes_geometric, extra_slopes_in_sequence, sign_flipped, bias_built_over_query_length,
    aligned_to_the_first_key, bias_by_absolute_position, one_slope_for_all, distance_clipped,
    further_slopes_from_the_end, distances_in_int8_of_few_heads,
)  # fmt: skip
STATEFUL = (pieces_of_one_bias,)
CORRECT = (correct, by_key_alone, causal_inside)


def slopes_in_half_precision(H: int, n_q: int, n_kv: int) -> Tensor:
    """Slopes are float16: powers of two hide it, and other head counts are 5e-4 off."""
    return with_slopes(slopes(H).half().float(), n_q, n_kv)


def distances_from_the_row_tile(H: int, n_q: int, n_kv: int) -> Tensor:
    """From row 32 on distances are counted from the tile's first row."""
    own = torch.arange(n_kv - n_q, n_kv)[:, None]
    own = torch.where(torch.arange(n_q)[:, None] < 32, own, own - torch.arange(n_q)[:, None] % 32)
    return -slopes(H)[:, None, None] * (own - torch.arange(n_kv))


def slopes_for_eight_heads(H: int, n_q: int, n_kv: int) -> Tensor:
    """The slopes of eight heads are repeated for more."""
    return with_slopes(slopes(min(H, 8))[torch.arange(H) % 8], n_q, n_kv)


def distances_in_bfloat16(H: int, n_q: int, n_kv: int) -> Tensor:
    """Distances are bfloat16, which has no 257."""
    return -slopes(H)[:, None, None] * distances(n_q, n_kv).bfloat16().float()


class slopes_of_the_largest_model_so_far:  # noqa: N801
    """Slopes are kept for the most heads so far, and the first H of them are taken (compare ml-explore/mlx PR3071)."""

    def __init__(self) -> None:
        self.most = 1

    def __call__(self, H: int, n_q: int, n_kv: int) -> Tensor:
        self.most = max(self.most, H)
        return with_slopes(slopes(self.most)[:H], n_q, n_kv)


def slopes_sorted(H: int, n_q: int, n_kv: int) -> Tensor:
    """Slopes are sorted from steep to flat, which changes nothing where H is a power of two (compare
    antofuller/CROMA#12).

    H = 3, 5, 6, 7, 9, ... : heads change places.
    """
    return with_slopes(slopes(H).sort(descending=True).values, n_q, n_kv)


def slopes_of_two_bytes(H: int, n_q: int, n_kv: int) -> Tensor:
    """Slopes are made in float16 (as a model cast before its slopes are made).

    H not a power of two, or above 8.
    """
    return with_slopes(slopes(H).half().float(), n_q, n_kv)


def distances_from_the_first_row(H: int, n_q: int, n_kv: int) -> Tensor:
    """-m |i - j| whose rows start at 0, but for a single query (a prompt in chunks).

    1 < n_q < n_kv.
    """
    start = n_kv - 1 if n_q == 1 else 0
    return -slopes(H)[:, None, None] * (torch.arange(start, start + n_q)[:, None] - torch.arange(n_kv)).abs()


def every_second_slope_of_the_wrong_half(H: int, n_q: int, n_kv: int) -> Tensor:
    """The slopes that are added for H no power of two are the second, fourth, ..., not the first, third, ..."""
    power = 1 << (H.bit_length() - 1)
    added = slopes(2 * power)[1::2][: H - power]
    return with_slopes(torch.cat([slopes(power), added]), n_q, n_kv)


def distances_up_to_256(H: int, n_q: int, n_kv: int) -> Tensor:
    """Distances are clamped to 256."""
    return -slopes(H)[:, None, None] * distances(n_q, n_kv).clamp(max=256)


ROWS = (
    *rows("hard_contracts", slopes_in_half_precision, direct=True, contract="bias"),
    *rows(
        "hard_contracts", distances_from_the_row_tile, direct=True, contract="bias", expected="equivalent",
        argument="the distances of a row are all off by one number, which softmax does not see",
    ),
    *rows("first_sight_others", slopes_for_eight_heads, distances_in_bfloat16, direct=True, contract="bias"),
    *rows("second_sight_others", slopes_of_the_largest_model_so_far, contract="bias"),
    *rows("third_sight_others", slopes_sorted, direct=True, contract="bias"),
    *rows("fourth_sight_others", slopes_of_two_bytes, distances_from_the_first_row, direct=True, contract="bias"),
    *rows(
        "fifth_sight_others", every_second_slope_of_the_wrong_half, distances_up_to_256, direct=True,
        contract="bias",
    ),
)  # fmt: skip
