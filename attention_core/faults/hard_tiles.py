"""Hard faults of tiled kernels: right in the first block, on aligned lengths, or where the maximum comes early.

Each class is the correct `Tiles` with one step changed, of our making; what its docstring says is all that is wrong.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.row import row


class small_rises_not_rescaled(Tiles):  # noqa: N801
    """Earlier sums are not rescaled where the running maximum rises by less than 2^-6: wrong by 1.6 per
    cent of them.
    """

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        return torch.where(new - m < 2.0**-6, torch.ones_like(m), super().rescale(m, new, start))


class sum_not_rescaled_in_late_blocks(Tiles):  # noqa: N801
    """From key 64 on the output is rescaled when the maximum rises, and the sum of weights is not."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        return super().total(l, alpha if start < 64 else torch.ones_like(alpha), p, start)


class rescaled_in_another_base(Tiles):  # noqa: N801
    """Weights are powers of e, the rescaling is a power of 2: right as long as the first block has the maximum."""

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        return torch.exp2(m - new.masked_fill(new == -math.inf, 0.0))


class only_64_columns_rescaled(Tiles):  # noqa: N801
    """The output's columns from 64 on live in a second register tile, which is not rescaled."""

    def output(self, acc: Tensor, alpha: Tensor, p: Tensor, value: Tensor, start: int) -> Tensor:
        first = torch.arange(acc.shape[-1]) < 64
        return torch.where(first, alpha, torch.ones_like(alpha)) * acc + p @ value


class maximum_of_the_last_block_alone(Tiles):  # noqa: N801
    """The maximum is that of the block, not the running one: earlier sums grow instead of shrinking, and overflow."""

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        own = s.detach().amax(-1, keepdim=True)
        return torch.where(own == -math.inf, m, own)


class maximum_starts_at_zero(Tiles):  # noqa: N801
    """The running maximum starts at 0, not at -inf: rows of very low scores underflow to nothing."""

    def first_maximum(self) -> float:
        return 0.0


class maximum_starts_at_minus_10000(Tiles):  # noqa: N801
    """The running maximum starts at -10000: a row below that is taken for one without keys."""

    def first_maximum(self) -> float:
        return -10000.0


class single_last_key_skipped(Tiles):  # noqa: N801
    """The number of blocks is (n + 14) // 16: a last block of one key is never read."""

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return super().edges(n_kv if n_kv % 16 != 1 or n_kv == 1 else n_kv - 1)


class padding_key_counts_in_the_sum(Tiles):  # noqa: N801
    """In a last block of 15 keys the zero that fills it up counts in the sum, as a key of score 0."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        found = super().total(l, alpha, p, start)
        return found + torch.exp(-self.last) if p.shape[-1] == 15 else found

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        self.last = m.masked_fill(m == -math.inf, math.inf)
        return super().exponential(s, m)


class sum_by_fours(Tiles):  # noqa: N801
    """The sum of a block is taken four by four, and what is left over after the first four is dropped."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        n = p.shape[-1] if p.shape[-1] < 4 else p.shape[-1] // 4 * 4
        return super().total(l, alpha, p[..., :n], start)


class diagonal_tile_of_16_rows(Tiles):  # noqa: N801
    """Queries come in tiles of 32, and only the first block of keys on their diagonal is masked."""

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        rows = torch.arange(n_q)[:, None]
        on_diagonal = (rows // 32 * 32 == start).expand(n_q, stop - start)
        return torch.where(on_diagonal, super().causal(start, stop, n_q, n_kv), start <= rows // 32 * 32 + 31)


class diagonal_rounded_to_blocks(Tiles):  # noqa: N801
    """Bottom right is declared; the offset n_kv - n_q is rounded down to whole blocks from 16 on."""

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        shift = n_kv - n_q
        shift = shift // 16 * 16 if shift >= 16 else shift
        return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + shift


class later_blocks_skipped_by_the_tile(Tiles):  # noqa: N801
    """Causal blocks are skipped by the first row of a tile of 32 queries: its later rows miss their own block."""

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        rows = torch.arange(n_q)[:, None]
        return super().causal(start, stop, n_q, n_kv) & (start <= rows // 32 * 32 + 15)


class weights_in_bfloat16(Tiles):  # noqa: N801
    """Weights are rounded to bfloat16 before they meet the values, for float32 inputs as well: 1e-3 relative."""

    def output(self, acc: Tensor, alpha: Tensor, p: Tensor, value: Tensor, start: int) -> Tensor:
        return alpha * acc + p.bfloat16().to(p.dtype) @ value


class scores_with_ten_bits(Tiles):  # noqa: N801
    """Queries and keys are cut to ten bits of mantissa, as matrix units do unless told not to; float64 is spared."""

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        if query.dtype != torch.float32:
            return super().scores(query, key, scale)
        q, k = ((x.detach().view(torch.int32) & ~0x1FFF).view(torch.float32) for x in (query, key))
        return super().scores(query + (q - query).detach(), key + (k - key).detach(), scale)


class small_weights_skipped(Tiles):  # noqa: N801
    """A weight below 2^-10 of the largest so far is taken for zero: many small ones are a few per cent."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        p = super().exponential(s, m)
        return p.masked_fill(p < 2.0**-10, 0.0)


class small_weights_skipped_at_2_to_minus_20(Tiles):  # noqa: N801
    """A weight below 2^-20 of the largest so far is taken for zero, in float32 and float64 too."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        p = super().exponential(s, m)
        return p.masked_fill(p < 2.0**-20, 0.0)


class exponential_by_polynomial(Tiles):  # noqa: N801
    """2^f of the fraction f is a polynomial of degree 3, made for bfloat16: 1e-4 relative in float32."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        t = (s - m.masked_fill(m == -math.inf, 0.0)) / math.log(2)
        whole = t.detach().clamp(min=-1000).floor()
        f = torch.where(t == -math.inf, 0.0, t - whole)
        p = 1 + f * (0.695 + f * (0.2276 + f * 0.0774))
        return torch.where(t == -math.inf, 0.0, p * torch.exp2(whole))


class second_half_of_the_head_overwrites(Tiles):  # noqa: N801
    """Head sizes above 64 take a second pass; off a multiple of 32 it stores its scores instead of adding them."""

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        d = query.shape[-1]
        start = 64 if d > 64 and d % 32 else 0
        return super().scores(query[..., start:], key[..., start:], scale)


class skips_a_block_without_a_new_maximum(Tiles):  # noqa: N801
    """From key 96 on, a block all of whose scores lie 6 below the running maximum is not worth reading."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        p = super().exponential(s, m)
        far = s.detach().amax(-1, keepdim=True) < m - 6
        return p.masked_fill(far & torch.tensor(self.started >= 96), 0.0)

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        self.started = start
        return super().maximum(m, s, start)


class truncated_on_the_way_out(Tiles):  # noqa: N801
    """The output in bfloat16 is cut off, not rounded: never more than one unit in the last place."""

    def store(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        if dtype != torch.bfloat16:
            return out.to(dtype)
        cut = (out.detach().view(torch.int32) & ~0xFFFF).view(torch.float32)
        return (out + (cut - out).detach()).to(dtype)


WIDE: dict[str, Any] = {"accumulate": "float32"}
ROWS = (
    row(small_rises_not_rescaled, "hard", **WIDE),
    row(sum_not_rescaled_in_late_blocks, "hard", **WIDE),
    row(rescaled_in_another_base, "hard", **WIDE),
    row(only_64_columns_rescaled, "hard", **WIDE),
    row(maximum_of_the_last_block_alone, "hard", **WIDE),
    row(maximum_starts_at_zero, "hard", **WIDE),
    row(maximum_starts_at_minus_10000, "hard", **WIDE),
    row(single_last_key_skipped, "hard", **WIDE),
    row(padding_key_counts_in_the_sum, "hard", **WIDE),
    row(sum_by_fours, "hard", **WIDE),
    row(diagonal_tile_of_16_rows, "hard", **WIDE),
    row(diagonal_rounded_to_blocks, "hard", causal="bottom_right", **WIDE),
    row(later_blocks_skipped_by_the_tile, "hard", **WIDE),
    row(weights_in_bfloat16, "hard", **WIDE),
    row(scores_with_ten_bits, "hard", **WIDE),
    row(small_weights_skipped, "hard", **WIDE),
    row(small_weights_skipped_at_2_to_minus_20, "hard", **WIDE),
    row(exponential_by_polynomial, "hard", **WIDE),
    row(second_half_of_the_head_overwrites, "hard", **WIDE),
    row(skips_a_block_without_a_new_maximum, "hard", **WIDE),
    row(truncated_on_the_way_out, "hard", **WIDE, expected="allowed", argument="a unit in the last place is 2 u, "
        "and the budget allows 3 u of sum p |v| beside the rounding of what is stored"),
)  # fmt: skip
