"""Faults of the scores: their scale, and the product of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.arrays import by_numpy
from attention_core.faults.bases.inputs import Attention, Given, around
from attention_core.faults.bases.reference import build
from attention_core.faults.row import rows


def _default(scale: Callable[[int], float]) -> Attention:
    return build(scores=lambda q, k, s: reference.scores(q, k, scale(q.shape[-1]) if s is None else s))


def scale_of_the_padded_head() -> Attention:
    """The default scale is that of the head size rounded up to a multiple of 8: right on aligned sizes."""
    return _default(lambda d: 1 / math.sqrt(-(-d // 8) * 8))


def scale_by_integer_root() -> Attention:
    """The default scale is 1/isqrt(d): right where d is a square."""
    return _default(lambda d: 1 / math.isqrt(d))


def scale_in_half_precision() -> Attention:
    """The default scale is stored in bfloat16: right where d is a power of four, 2e-3 off elsewhere."""
    return _default(lambda d: float(torch.tensor(1 / math.sqrt(d)).bfloat16()))


def scale_of_one_is_no_scale() -> Attention:
    """`if scale and scale != 1.0`: a scale of exactly 1 is replaced by the default."""
    return build(scores=lambda q, k, s: reference.scores(q, k, None if s == 1.0 else s))


def scale_without_its_sign() -> Attention:
    """The scale's logarithm is passed on, and with it its sign is lost."""
    return build(scores=lambda q, k, s: reference.scores(q, k, None if s is None else abs(s)))


def query_scaled_in_its_dtype() -> Any:
    """The query is scaled before the product and stored in two bytes again: head sizes 4, 16, 64 hide it."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        if query.element_size() > 2:
            return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return reference.correct(query * scale, key, value, attn_mask, 0.0, is_causal, 1.0, enable_gqa)

    return attention


def scale_of_the_value_width() -> Any:
    """The default scale is 1/sqrt(d_v): right as long as values are as wide as keys."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        scale = max(value.shape[-1], 1) ** -0.5 if scale is None else scale
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def bias_scaled_in_decoding() -> Any:
    """The decoding kernel adds the bias before it scales: it counts 1/sqrt(d) times (tenstorrent/tt-metal PR56406).

    One query and a float mask with finite entries; a head of one feature, or a scale of 1, hides it.
    """

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if attn_mask is not None and attn_mask.dtype != torch.bool and query.shape[-2] == 1:
            factor = query.shape[-1] ** -0.5 if scale is None else scale
            attn_mask = torch.where(attn_mask.isinf(), attn_mask, factor * attn_mask)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


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


ROWS = (
    *rows(
        "hard_inputs", scale_of_the_padded_head, scale_by_integer_root, scale_in_half_precision,
        scale_of_one_is_no_scale, scale_without_its_sign, accumulate="float32",
    ),
    *rows("first_sight", query_scaled_in_its_dtype, accumulate="float32"),
    *rows("second_sight", scale_of_the_value_width, accumulate="float32"),
    *rows("third_sight", bias_scaled_in_decoding, accumulate="float32"),
    *rows(
        "fifth_sight", scale_of_the_values, default_scale_of_the_padded_head, scale_of_zero_is_none,
        scale_in_float16, late_heads_scaled_in_bfloat16, scale_lost_for_causal_groups, log_n_beyond_512,
        scores_in_tf32_when_aligned, float64_in_float32,
    ),
    *rows("fifth_sight", bias_scaled_with_the_scores, array="numpy", gradients=False, layout="bnhd"),
    *rows(
        "fifth_sight", scores_rounded_before_float32, accumulate="float32",
        dtypes=("float32", "float16", "bfloat16"),
    ),
    *rows("fifth_sight", products_overflow_in_float16, accumulate="float32", dtypes=("float32", "float16")),
    *rows("fifth_sight", float64_of_a_square_root, array="numpy", gradients=False),
)  # fmt: skip
