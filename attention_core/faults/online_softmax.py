"""Faults of the softmax, most of them of the online one: its maximum, its rescaling, its sums, its rounding."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import below_maximum, over_sum
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Tiles
from attention_core.faults.row import rows


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


class truncated_on_the_way_out(Tiles):  # noqa: N801
    """The output in bfloat16 is cut off, not rounded: never more than one unit in the last place."""

    def store(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        if dtype != torch.bfloat16:
            return out.to(dtype)
        cut = (out.detach().view(torch.int32) & ~0xFFFF).view(torch.float32)
        return (out + (cut - out).detach()).to(dtype)


class output_kept_in_the_input_dtype(Tiles):  # noqa: N801
    """Between blocks the output lies in the input's dtype: two-byte inputs lose a bit with every block."""

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        return super().walk(q, k, v, *rest)

    def output(self, acc: Tensor, alpha: Tensor, p: Tensor, value: Tensor, start: int) -> Tensor:
        found = super().output(acc, alpha, p, value, start)
        return found.to(self.dtype).to(found.dtype)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.dtype = query.dtype
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


class sum_in_half_precision(Tiles):  # noqa: N801
    """The running sum of weights is float16: 5e-4 relative, whatever the inputs; sums above 65504 overflow."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        found = super().total(l, alpha, p, start)
        return found + (found.detach().half().to(found.dtype) - found.detach())


class old_blocks_never_vanish(Tiles):  # noqa: N801
    """The rescaling factor is kept above 2^-12: what came before a great rise of the maximum is not quite gone."""

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        alpha = super().rescale(m, new, start)
        return torch.where(m > -math.inf, alpha.clamp(min=2.0**-12), alpha)


class exponent_kept_above_minus_12(Tiles):  # noqa: N801
    """exp(max(s - m, -12)): weights that should be 1e-13 are 6e-6; masked keys stay at zero."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        safe = m.masked_fill(m == -math.inf, 0.0)
        return torch.where(s == -math.inf, 0.0, torch.exp((s - safe).clamp(min=-12)))


class log2e_of_five_digits(Tiles):  # noqa: N801
    """exp(x) is exp2(1.4427 x): a constant typed with five digits, 3e-6 of every difference of scores."""

    factor = 1.4427 * math.log(2)

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        return torch.exp(self.factor * (m - new.masked_fill(new == -math.inf, 0.0)))

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        return torch.exp(self.factor * (s - m.masked_fill(m == -math.inf, 0.0)))


class unscaled_product_saturates_in_float16(Tiles):  # noqa: N801
    """Q K^T leaves the matrix unit in float16 before it is scaled: above 65504 all keys are alike (PaddlePaddle/Paddle
    PR41933).
    """

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        if self.dtype != torch.float16:
            return super().scores(query, key, scale)
        return scale * (query @ key.mT).clamp(-65504, 65504)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.dtype = query.dtype
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


class maximum_before_a_negative_scale(Tiles):  # noqa: N801
    """The maximum is that of the unscaled scores, times the scale: a negative scale makes it the minimum.

    Exponentials above 1 cancel until they overflow: negative scales and rows whose scores lie 89 apart give NaN.
    """

    def scale(self, d: int, scale: float | None) -> float:
        self.negative = scale is not None and scale < 0
        return super().scale(d, scale)

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        if not self.negative:
            return super().maximum(m, s, start)
        low = s.detach().masked_fill(s == -math.inf, math.inf).amin(-1, keepdim=True)
        low = torch.minimum(low, m.masked_fill(m == -math.inf, math.inf))
        return low.masked_fill(low == math.inf, -math.inf)


class maximum_never_below_zero(Tiles):  # noqa: N801
    """The running maximum of the online softmax starts at 0, where -inf belongs (textbook slip).

    Rows whose scores all lie below about -100: every exponential is 0.
    """

    def first_maximum(self) -> float:
        return 0.0


def maximum_times_a_negative_scale() -> Any:
    """exp2(qk scale - max(qk) scale): a negative scale makes the maximum a minimum (as FlashAttention writes it).

    A negative scale over scores more than 100 apart.
    """
    kept = {"negative": False}

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        kept["negative"] = scale is not None and scale < 0
        return reference.scores(query, key, scale)

    def weights(s: Tensor) -> Tensor:
        if not kept["negative"] or not s.shape[-1]:
            return reference.weights(s)
        low = s.detach().masked_fill(s == -math.inf, math.inf).amin(-1, keepdim=True)
        e = torch.exp(s - low.masked_fill(low == math.inf, 0.0))
        z = e.sum(-1, keepdim=True)
        return e / z.masked_fill(z == 0, 1.0)

    return build(scores=scores, weights=weights)


def maximum_of_whole_groups_of_eight() -> Any:
    """The row maximum is taken over whole groups of 8 keys, without the tail (the loop of a vector unit).

    9 to 15, 17 to 23, ... keys of which one in the tail scores 89 more than the rest.
    """

    def weights(s: Tensor) -> Tensor:
        n = s.shape[-1]
        if n <= 8:
            return reference.weights(s)
        raw, dead = s.detach(), (s == -math.inf).all(-1, keepdim=True)
        m = raw[..., : n - n % 8].amax(-1, keepdim=True)
        m = torch.where(m == -math.inf, raw.amax(-1, keepdim=True), m).masked_fill(dead, 0.0)
        e = torch.exp(s - m)
        return e / e.sum(-1, keepdim=True).masked_fill(dead, 1.0)

    return build(weights=weights)


def scores_clamped_at_80() -> Any:
    """Scores are clamped to 80 against overflow, in place of the maximum's subtraction."""
    return build(weights=lambda s: over_sum(s.clamp(-80, 80).exp().masked_fill(s == -math.inf, 0.0)))


def log2e_as_1_4427() -> Any:
    """exp as exp2 with log2(e) = 1.4427."""
    return build(
        weights=lambda s: over_sum(torch.exp2(1.4427 * below_maximum(s))) if s.shape[-1] else reference.weights(s)
    )


def weights_below_1e_4_dropped() -> Any:
    """Weights below 1e-4 are taken for zero (a skip of negligible tiles)."""

    def weights(s: Tensor) -> Tensor:
        p = reference.weights(s)
        return p.masked_fill(p < 1e-4, 0.0)

    return build(weights=weights)


def denominator_plus_a_thousandth() -> Any:
    """1e-3 is added to the sum of exponentials."""
    return build(weights=lambda s: over_sum(below_maximum(s).exp(), 1e-3) if s.shape[-1] else reference.weights(s))


def maximum_before_the_scale() -> Any:
    """The maximum is taken before the scaling: with a negative scale it is the minimum, and exp overflows."""
    return maximum_times_a_negative_scale()


def top_128_scores() -> Any:
    """The 128 largest scores of a row are kept (approximate attention sold as exact)."""

    def weights(s: Tensor) -> Tensor:
        if s.shape[-1] > 128:
            s = s.masked_fill(s < s.detach().topk(128, -1).values[..., -1:], -math.inf)
        return reference.weights(s)

    return build(weights=weights)


class sum_not_rescaled(Tiles):  # noqa: N801
    """Where the running maximum rises, the output so far is rescaled, and the sum is not.

    More than 32 keys.
    """

    block = 32

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        return l + p.sum(-1, keepdim=True)


class running_maximum_from_zero(Tiles):  # noqa: N801
    """The running maximum starts at 0: rows whose scores lie far below underflow."""

    block = 64

    def first_maximum(self) -> float:
        return 0.0


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


ROWS = (
    *rows(
        "hard_tiles", small_rises_not_rescaled, sum_not_rescaled_in_late_blocks, rescaled_in_another_base,
        only_64_columns_rescaled, maximum_of_the_last_block_alone, maximum_starts_at_zero,
        maximum_starts_at_minus_10000, weights_in_bfloat16, scores_with_ten_bits, small_weights_skipped,
        small_weights_skipped_at_2_to_minus_20, exponential_by_polynomial, accumulate="float32",
    ),
    *rows(
        "hard_tiles", truncated_on_the_way_out, accumulate="float32", expected="allowed",
        argument="a unit in the last place is 2 u, and the budget allows 3 u of sum p |v| beside the "
        "rounding of what is stored",
    ),
    *rows(
        "first_sight", output_kept_in_the_input_dtype, sum_in_half_precision, old_blocks_never_vanish,
        exponent_kept_above_minus_12, accumulate="float32",
    ),
    *rows("second_sight", log2e_of_five_digits, unscaled_product_saturates_in_float16, accumulate="float32"),
    *rows("third_sight", maximum_before_a_negative_scale, accumulate="float32"),
    *rows("fourth_sight", maximum_never_below_zero, accumulate="float32"),
    *rows("fourth_sight", maximum_times_a_negative_scale, maximum_of_whole_groups_of_eight),
    *rows(
        "fifth_sight", scores_clamped_at_80, log2e_as_1_4427, weights_below_1e_4_dropped,
        denominator_plus_a_thousandth, maximum_before_the_scale, top_128_scores,
    ),
    *rows("fifth_sight_tiles", sum_not_rescaled, running_maximum_from_zero, maximum_of_full_tiles),
)  # fmt: skip
