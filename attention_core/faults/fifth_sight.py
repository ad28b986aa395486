"""A fifth set of faults of attention, written by somebody who had read neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They were counted as the attacker
wrote them; the rows here are the same faults on the catalogue's own correct bases, and declare what they declared then.
Some are faults of earlier sets made again. This file has those of scale, scores and softmax.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.arrays import by_numpy
from attention_core.faults.bases.reference import build
from attention_core.faults.fourth_sight import maximum_times_a_negative_scale
from attention_core.faults.row import row

Given = dict[str, Any]


def as_given(out: Tensor, given: Given) -> Tensor:
    """The output as it is."""
    return out


def around(change: Callable[[Given], Given], finish: Callable[[Tensor, Given], Tensor] = as_given) -> Any:
    """Correct attention of what `change` makes of some arguments, after the checks, and `finish` of its output."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        given = {
            "query": query, "key": key, "value": value, "attn_mask": attn_mask, "dropout_p": dropout_p,
            "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa,
        }  # fmt: skip
        return finish(reference.correct(**{**given, **change(given)}), given)

    return attention


def over_sum(e: Tensor, more: float = 0.0) -> Tensor:
    """Divided by their sum; rows of zeros stay."""
    z = e.sum(-1, keepdim=True) + more
    return e / z.masked_fill(z == 0, 1.0)


def below_maximum(s: Tensor) -> Tensor:
    """s less the maximum of its row."""
    m = s.detach().amax(-1, keepdim=True)
    return s - m.masked_fill(m == -math.inf, 0.0)


# --- scale ----------------------------------------------------------------------------------------


def scale_of_the_values() -> Any:
    """The default scale is 1/sqrt(d_v).

    Values of another size than queries.
    """
    return around(lambda a: {"scale": max(a["value"].shape[-1], 1) ** -0.5 if a["scale"] is None else a["scale"]})


def default_scale_of_the_padded_head() -> Any:
    """d is padded to a multiple of 8, and the default scale is that of the padded size.

    d that is no multiple of 8.
    """
    return build(
        scores=lambda q, k, scale: reference.scores(
            q, k, (q.shape[-1] + -q.shape[-1] % 8) ** -0.5 if scale is None else scale
        )
    )


def scale_of_zero_is_none() -> Any:
    """`scale or default`: a scale of 0, uniform attention, is taken for none."""
    return around(lambda a: {"scale": a["scale"] or None})


def scale_in_float16() -> Any:
    """A given scale is kept as float16 (a kernel's argument): 0.3 becomes 0.30005."""
    return around(lambda a: {"scale": None if a["scale"] is None else torch.tensor(a["scale"]).half().item()})


def late_heads_scaled_in_bfloat16() -> Any:
    """Heads from the ninth on (a second group of the launch) take a scale rounded to bfloat16.

    More than 8 heads; off by a thousandth.
    """

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        of_head = torch.full((query.shape[-3], 1, 1), scale, dtype=query.dtype)
        of_head[8:] = of_head[8:].bfloat16().to(query.dtype)
        return query @ key.mT * of_head

    return build(scores=scores)


def scale_lost_for_causal_groups() -> Any:
    """A given scale is handed on by every path but that of causal calls with grouped heads."""

    def change(a: Given) -> Given:
        grouped = a["query"].shape[-3] != a["key"].shape[-3]
        return {"scale": None} if a["is_causal"] and grouped else {}

    return around(change)


def log_n_beyond_512() -> Any:
    """Beyond 512 keys scores are multiplied by log(n) / log(512) (length extrapolation left on)."""
    return build(
        scores=lambda q, k, scale: reference.scores(q, k, scale) * (math.log(max(k.shape[-2], 512)) / math.log(512))
    )


def bias_scaled_with_the_scores() -> Any:
    """The float mask is added before the scaling, so that it is scaled too."""
    right = by_numpy()

    def attention(query: Any, key: Any, value: Any, mask: Any = None) -> Any:
        if mask is not None and mask.dtype != bool:
            mask = mask * np.asarray(query.shape[-1] ** -0.5, mask.dtype)
        return right(*(x.swapaxes(-2, -3) for x in (query, key, value)), mask).swapaxes(-2, -3)

    return attention


# --- scores ---------------------------------------------------------------------------------------


def features_beyond_128() -> Any:
    """Scores are summed over the first 128 features (one tile of d)."""
    return build(
        scores=lambda q, k, scale: reference.scores(
            q[..., :128], k[..., :128], q.shape[-1] ** -0.5 if scale is None else scale
        )
    )


class _Tf32(torch.autograd.Function):
    """float32 with ten bits behind the point; its gradient goes through."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad


def scores_in_tf32_when_aligned() -> Any:
    """float32 scores are formed in TF32 where d is a multiple of 16 and there are 16 queries or more."""

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        if query.dtype == torch.float32 and query.shape[-1] % 16 == 0 and query.shape[-2] >= 16:
            query, key = _Tf32.apply(query), _Tf32.apply(key)
        return reference.scores(query, key, scale)

    return build(scores=scores)


def widened(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Both in float32 or wider."""
    wide = torch.promote_types(query.dtype, torch.float32)
    return query.to(wide), key.to(wide)


def scores_rounded_before_float32() -> Any:
    """Scores are rounded to the inputs' dtype before a softmax in float32, which is declared for all between."""

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        s = (query @ key.mT).to(torch.promote_types(query.dtype, torch.float32))
        return s * (query.shape[-1] ** -0.5 if scale is None else scale)

    return build(wide=False, scores=scores, combine=lambda p, value: p @ value.to(p.dtype))


def products_overflow_in_float16() -> Any:
    """q k is formed in float16 before it is scaled: beyond 65504 it is infinite, though the score is not.

    float32 between is declared.
    """

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        raw, s = query.detach() @ key.detach().mT, reference.scores(*widened(query, key), scale)
        return torch.where(raw.isfinite(), s, raw.to(s.dtype))

    return build(wide=False, scores=scores, combine=lambda p, value: p @ value.to(p.dtype))


def float64_in_float32() -> Any:
    """float64 is computed in float32 (an upcast written for two bytes)."""
    return build(
        scores=lambda q, k, scale: reference.scores(q.float(), k.float(), scale),
        combine=lambda p, value: p.float() @ value.float(),
    )


def float64_of_a_square_root() -> Any:
    """Scores are divided by np.sqrt(d), a float64 scalar: NumPy 2 gives float64 for float32."""
    right = by_numpy()

    def attention(query: Any, key: Any, value: Any) -> Any:
        return right(query, key, value).astype(np.float64)

    return attention


# --- softmax --------------------------------------------------------------------------------------


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


IN_NUMPY: dict[str, Any] = {"array": "numpy", "gradients": False}
ROWS = (
    row(bias_scaled_with_the_scores, "hard", "fifth_sight", **IN_NUMPY, layout="bnhd"),
    row(float64_of_a_square_root, "hard", "fifth_sight", **IN_NUMPY),
    row(scores_rounded_before_float32, "hard", "fifth_sight", accumulate="float32",
        dtypes=("float32", "float16", "bfloat16")),
    row(products_overflow_in_float16, "hard", "fifth_sight", accumulate="float32", dtypes=("float32", "float16")),
    *(row(make, "hard", "fifth_sight") for make in (
        scale_of_the_values, default_scale_of_the_padded_head, scale_of_zero_is_none, scale_in_float16,
        late_heads_scaled_in_bfloat16, scale_lost_for_causal_groups, log_n_beyond_512, features_beyond_128,
        scores_in_tf32_when_aligned, float64_in_float32, scores_clamped_at_80, log2e_as_1_4427,
        weights_below_1e_4_dropped, denominator_plus_a_thousandth, maximum_before_the_scale, top_128_scores,
    )),
)  # fmt: skip
