"""Faults of attention to quantised keys and values, one each: a right one with one step replaced.

`build()` gives f(q, k, v, k_scale, v_scale, causal, scale). What has a scale of its own follows from the fault's place
in the lists at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.shared_maximum import causal, clamp_exponents, clamp_scores, weigh_below
from attention_core.faults.row import row

Attend = Callable[..., Tensor]
BLOCK = 16


def spread(scale: Tensor, x: Tensor) -> Tensor:
    """Scales of everything, of heads, of tokens or of blocks as factors of x (B, H, n, c)."""
    if scale.dim() == 3 and scale.shape[2] != x.shape[2]:
        scale = scale.repeat_interleave(BLOCK, 2)[:, :, : x.shape[2]]
    if not scale.dim():
        return scale
    return scale[..., None] if scale.dim() == 3 else scale[..., None, None]


def read(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
    """What stored numbers stand for."""
    return x.to(wide) * spread(scale.to(wide), x)


def share(x: Tensor, heads: int) -> Tensor:
    """Key heads, each as often as query heads share it."""
    return x.repeat_interleave(heads // x.shape[1], 1)


def attend(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> Tensor:
    """Plain attention, the queries the last tokens."""
    scores = q @ share(k, q.shape[1]).mT * scale
    if causal:
        n_q, n_kv = scores.shape[-2:]
        scores = scores.masked_fill(torch.ones(n_q, n_kv, dtype=torch.bool).triu(n_kv - n_q + 1), -torch.inf)
    return scores.softmax(-1) @ share(v, q.shape[1])


def build(read_key: Any = read, read_value: Any = read, attend: Any = attend) -> Attend:
    """Attention to quantised keys and values with some steps replaced; as it is, a right one."""

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(q.dtype, torch.float32)
        keys, values = read_key(k, k_scale, wide), read_value(v, v_scale, wide)
        out: Tensor = attend(q.to(wide), keys, values, causal, q.shape[-1] ** -0.5 if scale is None else scale)
        return out.to(q.dtype)

    return quantised


def plain() -> Attend:
    """Right: dequantised first."""
    return build()


def read_affine(x: Tensor, scale: Tensor, zero: Tensor, wide: torch.dtype) -> Tensor:
    """What stored numbers with a zero point stand for."""
    return (x.to(wide) - spread(zero.to(wide), x)) * spread(scale.to(wide), x)


def build_affine(read_affine: Any = read_affine) -> Attend:
    """Attention to keys and values with zero points; as it is, a right one."""

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, k_zero: Tensor, v_zero: Tensor,
        causal: bool = False,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(q.dtype, torch.float32)
        keys, values = read_affine(k, k_scale, k_zero, wide), read_affine(v, v_scale, v_zero, wide)
        return attend(q.to(wide), keys, values, causal, q.shape[-1] ** -0.5).to(q.dtype)

    return quantised


def zero_folded() -> Attend:
    """Right: a zero point is taken off the products with the stored numbers."""

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, k_zero: Tensor, v_zero: Tensor
    ) -> Tensor:
        wide = torch.promote_types(q.dtype, torch.float32)
        heads, q_wide, stored_k, stored_v = q.shape[1], q.to(wide), k.to(wide), v.to(wide)
        off = q_wide.sum(-1, keepdim=True) * share(spread(k_zero, k).expand(*k.shape[:3], 1).to(wide), heads).mT
        scores = (q_wide @ share(stored_k, heads).mT - off) * share(
            spread(k_scale, k).expand(*k.shape[:3], 1), heads
        ).mT
        weights = (scores.to(wide) * q.shape[-1] ** -0.5).softmax(-1)
        factor = share(spread(v_scale, v).expand(*v.shape[:3], 1).to(wide), heads)
        zero = share(spread(v_zero, v).expand(*v.shape[:3], 1).to(wide), heads)
        return (weights * factor.mT @ share(stored_v, heads) - weights @ (factor * zero)).to(q.dtype)

    return quantised


# --- scales that are left out, or are another's ---------------------------------------------


def scale_of_keys_ignored() -> Attend:
    """Scores of stored numbers (flashinfer-ai/flashinfer#4979: the scales of a ragged prefill are ignored)."""
    return build(read_key=lambda x, scale, wide: x.to(wide))


def scale_of_values_ignored() -> Attend:
    """Stored values are averaged (vllm-project/vllm PR51363: descales are dropped on the way to the kernel)."""
    return build(read_value=lambda x, scale, wide: x.to(wide))


def scale_of_keys_for_values() -> Attend:
    """One scale is handed on for both."""
    right = build()

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        return right(q, k, v, k_scale, k_scale, causal, scale)

    return quantised


def scale_applied_twice() -> Attend:
    """Keys are dequantised, and their scale multiplies the scores, too (vllm-project/vllm PR48016)."""
    return build(read_key=lambda x, scale, wide: read(x, scale * scale, wide))


def scale_of_values_in_the_normaliser() -> Attend:
    """Weights take the scale of their value before they are divided by their sum."""

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        ones = build()(q, k, torch.ones_like(v[..., :1]), k_scale, v_scale, causal, scale)
        return build()(q, k, v, k_scale, v_scale, causal, scale) / ones

    return quantised


def scale_of_the_neighbour_head() -> Attend:
    """The scales of keys are one head off."""
    return build(read_key=lambda x, scale, wide: read(x, scale.roll(1, -1), wide))


def scale_of_the_first_head() -> Attend:
    """One number is loaded for all heads (Dao-AILab/flash-attention#1699: what a scale is of)."""
    return build(read_value=lambda x, scale, wide: read(x, scale.flatten()[0], wide))


def scale_of_the_first_sequence() -> Attend:
    """The scales have a stride of 0 along the batch."""
    return build(read_key=lambda x, scale, wide: read(x, scale[:1].expand(scale.shape), wide))


def scale_of_the_query_head() -> Attend:
    """Key heads are shared in order, and their scales in turn."""

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        group = q.shape[1] // k.shape[1]
        keys = read(share(k, q.shape[1]), k_scale.repeat(1, group), torch.promote_types(q.dtype, torch.float32))
        return build(read_key=lambda x, s, wide: keys.to(wide))(q, k, v, k_scale, v_scale, causal, scale)

    return quantised


def scale_of_the_token_before() -> Attend:
    """The scales of tokens are one place off."""
    return build(read_value=lambda x, scale, wide: read(x, scale.roll(1, -1), wide))


def one_scale_for_two_tokens() -> Attend:
    """Scales are read as if they were of pairs of tokens."""
    return build(read_key=lambda x, s, wide: read(x, s[:, :, torch.arange(s.shape[2]) // 2 * 2], wide))


def last_block_with_the_scale_before() -> Attend:
    """A last block that is not full has the scale of the one before it (compare vllm-project/vllm#50749)."""

    def short(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        if x.shape[2] % BLOCK and scale.shape[2] > 1:
            scale = torch.cat([scale[:, :, :-1], scale[:, :, -2:-1]], 2)
        return read(x, scale, wide)

    return build(read_value=short)


def blocks_one_key_late() -> Attend:
    """A block begins one key after its first."""

    def late(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        block = (torch.arange(x.shape[2]) - 1).clamp(min=0) // BLOCK
        return read(x, scale[:, :, block], wide)

    return build(read_key=late)


def given_scale_for_that_of_keys() -> Attend:
    """A given scale of scores overwrites the usual one times that of keys (compare sgl-project/sglang PR18882)."""
    right = build()

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        return right(q, k, v, k_scale if scale is None else torch.ones_like(k_scale), v_scale, causal, scale)

    return quantised


def causality_dropped_for_stored_keys() -> Attend:
    """The path of quantised keys knows no mask."""
    return build(attend=lambda q, k, v, causal, scale: attend(q, k, v, False, scale))


def scales_of_the_first_call() -> Attend:
    """Scales are computed once and kept (compare vllm-project/vllm PR51091)."""
    kept: dict[Any, Tensor] = {}

    def first(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        return read(x, kept.setdefault((x.shape, wide), scale.clone()), wide)

    return build(read_key=first)


def scales_changed_in_place() -> Attend:
    """The scale of keys takes that of the scores in its own memory."""

    def quantised(q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool = False) -> Tensor:
        k_scale.mul_(q.shape[-1] ** -0.5)
        return build()(q, k, v, k_scale, v_scale, causal, 1.0)

    return quantised


def scale_of_queries_ignored() -> Attend:
    """A scale of queries is taken and not used."""
    right = build()

    def quantised(
        q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor | None = None, k_scale: Any = 1.0, v_scale: Any = 1.0,
        causal: bool = False,
    ) -> Tensor:  # fmt: skip
        return right(q, k, v, torch.as_tensor(k_scale), torch.as_tensor(v_scale), causal)

    return quantised


# --- scales and numbers that lose something -------------------------------------------------


def small_scales_raised() -> Attend:
    """Scales below 1/256 are raised to it (lablup/mlxcel PR717 raises those below 1)."""
    return build(read_value=lambda x, scale, wide: read(x, scale.clamp(min=1 / 256), wide))


def scales_in_bfloat16() -> Attend:
    """Scales are rounded to bfloat16."""
    return build(read_key=lambda x, scale, wide: read(x, scale.bfloat16(), wide))


def dequantised_to_bfloat16() -> Attend:
    """Dequantised values are rounded to bfloat16, whatever the query is."""
    return build(read_value=lambda x, scale, wide: read(x, scale, wide).bfloat16().to(wide))


def numbers_read_unsigned() -> Attend:
    """int8 is read as uint8."""
    return build(read_value=lambda x, scale, wide: read(x.view(torch.uint8), scale, wide))


def least_number_raised() -> Attend:
    """-128 counts as -127, as if the range were symmetric."""
    return build(read_key=lambda x, scale, wide: read(x.clamp(min=-127), scale, wide))


def numbers_doubled_in_int8() -> Attend:
    """A product with 2 that stays in int8 wraps around."""
    return build(read_key=lambda x, scale, wide: read(x * 2, scale / 2, wide))


def one_float8_read_as_the_other() -> Attend:
    """The bits of e4m3 are read as those of e5m2."""

    def other(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        return read(x.view(torch.float8_e5m2).to(wide).nan_to_num(0.0), scale, wide)

    return build(read_key=other)


def smallest_float8_flushed() -> Attend:
    """Numbers of float8 below its normal range count as 0."""

    def flushed(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        numbers = x.to(wide)
        return numbers.masked_fill(numbers.abs() < 2.0**-6, 0.0) * spread(scale.to(wide), x)

    return build(read_value=flushed)


def features_beyond_64_unscaled() -> Attend:
    """A second run over the features leaves their scale out."""

    def first(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        return torch.cat([read(x[..., :64], scale, wide), x[..., 64:].to(wide)], -1)

    return build(read_key=first)


def keys_beyond_128_with_the_first_scale() -> Attend:
    """A loop over tiles of keys does not move its pointer to the scales."""

    def still(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        n = torch.arange(scale.shape[2])
        return read(x, scale[:, :, n % 128], wide)

    return build(read_value=still)


def scales_read_in_order() -> Attend:
    """Scales are read as if their memory were whole (vllm-project/vllm#49716)."""

    def flat(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        whole = scale if scale.is_contiguous() else scale.as_strided(scale.shape, torch.empty(scale.shape).stride(), 0)
        return read(x, whole.nan_to_num(1.0), wide)

    return build(read_key=flat)


def numbers_read_in_order() -> Attend:
    """Stored keys are read as if their memory were whole."""

    def flat(x: Tensor, scale: Tensor, wide: torch.dtype) -> Tensor:
        whole = x if x.is_contiguous() else x.as_strided(x.shape, torch.empty(x.shape).stride(), 0)
        return read(whole, scale, wide)

    return build(read_key=flat)


def zero_point_ignored() -> Attend:
    """Numbers times scales, as if they were symmetric."""
    return build_affine(lambda x, scale, zero, wide: read(x, scale, wide))


def zero_point_not_scaled() -> Attend:
    """The zero point is taken off the product."""
    return build_affine(lambda x, scale, zero, wide: read(x, scale, wide) - spread(zero.to(wide), x))


def zero_point_in_int8() -> Attend:
    """The difference is computed in int8 and wraps around."""
    return build_affine(lambda x, scale, zero, wide: read(x - spread(zero, x).to(x.dtype), scale, wide))


def key_heads_of_groups_of_four_in_turn() -> Attend:
    """Query heads of groups of four and more take the key heads in turn."""

    def turned(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float) -> Tensor:
        if q.shape[1] >= 4 * k.shape[1]:
            k, v = (x.repeat(1, q.shape[1] // k.shape[1], 1, 1) for x in (k, v))
        return attend(q, k, v, causal, scale)

    return build(attend=turned)


def weighed(weigh: Callable[[Tensor, int], Tensor]) -> Attend:
    """Attention with other weights, which `weigh` gives for scores and the number of query heads of a key head."""

    def attended(q: Tensor, k: Tensor, v: Tensor, is_causal: bool, scale: float) -> Tensor:
        scores = q @ share(k, q.shape[1]).mT * scale
        scores = scores.masked_fill(causal(*scores.shape[-2:]), -torch.inf) if is_causal else scores
        return weigh(scores, q.shape[1] // k.shape[1]) @ share(v, q.shape[1])

    return build(attend=attended)


def one_maximum_for_a_group() -> Attend:
    """The query heads of a key head share one maximum: a head far below it loses its sum."""
    return weighed(lambda scores, group: weigh_below(scores, (), group))


def one_maximum_for_all_queries() -> Attend:
    """All queries of a head share one maximum: one far below it loses its sum."""
    return weighed(lambda scores, group: weigh_below(scores, (-2,)))


def exponents_clamped_at_eighty() -> Attend:
    """exp(max(s - top, -80)): far keys keep a weight of 2e-35 beside a first key whose value is 0."""
    return weighed(lambda scores, group: clamp_exponents(scores))


def scores_clamped_at_eighty() -> Attend:
    """Scores are cut to 80 on both sides."""
    return weighed(lambda scores, group: clamp_scores(scores))


GROUPS: tuple[tuple[dict[str, Any], tuple[Callable[[], Attend], ...]], ...] = (
    ({}, (
        scale_of_keys_ignored, scale_of_values_ignored, scale_of_keys_for_values, scale_applied_twice,
        given_scale_for_that_of_keys, causality_dropped_for_stored_keys, small_scales_raised, scales_in_bfloat16,
        numbers_read_unsigned, least_number_raised, numbers_doubled_in_int8, dequantised_to_bfloat16,
        features_beyond_64_unscaled, scales_of_the_first_call, scales_changed_in_place, numbers_read_in_order,
        scale_of_queries_ignored, key_heads_of_groups_of_four_in_turn,
        one_maximum_for_a_group, one_maximum_for_all_queries, exponents_clamped_at_eighty, scores_clamped_at_eighty,
    )),
    ({"stored": "float8_e4m3fn"}, (one_float8_read_as_the_other, smallest_float8_flushed)),
    ({"scales": "head"}, (
        scale_of_the_neighbour_head, scale_of_the_first_head, zero_point_ignored, zero_point_not_scaled,
        zero_point_in_int8,
    )),
    ({"scales": "sequence"}, (scale_of_the_first_sequence, scale_of_the_query_head)),
    ({"scales": "token"}, (
        scale_of_the_token_before, one_scale_for_two_tokens, scale_of_values_in_the_normaliser, scales_read_in_order,
        keys_beyond_128_with_the_first_scale,
    )),
    ({"scales": "block"}, (last_block_with_the_scale_before, blocks_one_key_late)),
)  # fmt: skip
"""What is declared of some faults, and these."""
FAULTY = {fault: declared for declared, faults in GROUPS for fault in faults}
ROWS = tuple(
    row(fault, "law", contract="quantised", accumulate="float32", parameters=declared)
    for fault, declared in FAULTY.items()
)
