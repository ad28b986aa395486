"""Faults of attention with a window, a soft cap, sinks, ALiBi and key lengths, one each, and correct functions.

`build` makes a right function of all of these from steps; a fault replaces one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.row import row
from attention_core.faults.variant_attention import change_gradient

Attention = Callable[..., Any]
Sides = tuple[int, int]
NONE: Sides = (-1, -1)


# --- steps --------------------------------------------------------------------------------------------------------


def in_window(n_q: int, n_kv: int, sides: Sides) -> Tensor:
    """Which key lies in the window of a query; query 0 stands at key 0."""
    i, j = torch.arange(n_q)[:, None], torch.arange(n_kv)
    left, right = sides
    allow = torch.ones(n_q, n_kv, dtype=torch.bool)
    if left >= 0:
        allow &= j >= i - left
    if right >= 0:
        allow &= j <= i + right
    return allow


def in_lengths(n_kv: int, lengths: Tensor) -> Tensor:
    """Which key counts in each sequence, (B, 1, 1, n_kv)."""
    return torch.arange(n_kv) < lengths[:, None, None, None]


def cap(s: Tensor, c: float | None) -> Tensor:
    """c tanh(s / c)."""
    return s if c is None else c * torch.tanh(s / c)


def distance(n_q: int, n_kv: int) -> Tensor:
    """|i - j|."""
    return (torch.arange(n_q)[:, None] - torch.arange(n_kv)).abs()


def hide(s: Tensor, allow: Tensor) -> Tensor:
    """Scores of keys that do not count are -inf."""
    return s.masked_fill(~allow, -math.inf)


def normalise(s: Tensor, sinks: Tensor | None) -> Tensor:
    """Softmax over the keys and the head's sink, without the sink's weight."""
    if sinks is None:
        return reference.weights(s)
    column = sinks.to(s.dtype)[:, None, None].expand(*s.shape[:-1], 1)
    return reference.weights(torch.cat([s, column], -1))[..., :-1]


def order(s: Tensor, bias: Callable[[Tensor], Tensor], capped: Callable[[Tensor], Tensor]) -> Tensor:
    """The cap comes before whatever is added or masked."""
    return bias(capped(s))


STEPS: dict[str, Callable[..., Any]] = {
    "in_window": in_window, "in_lengths": in_lengths, "cap": cap, "distance": distance, "hide": hide,
    "normalise": normalise, "order": order, "after": lambda p, allow: p, "slopes": lambda slopes: slopes,
    "spread": lambda slopes, s: slopes[:, None, None],
}  # fmt: skip


def build(**changed: Callable[..., Any]) -> Attention:
    """Attention with every feature, its window of (left, right) keys, with some steps replaced."""
    assert changed.keys() <= STEPS.keys()
    step = STEPS | changed

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False, window_size: Sides = NONE, softcap: float | None = None,
        sinks: Tensor | None = None, alibi_slopes: Tensor | None = None, key_lengths: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        wide = torch.promote_types(query.dtype, torch.float32)
        q, (k, v) = query.to(wide), (x.to(wide) for x in reference.expand(key, value, query.shape[-3]))
        n_q, n_kv = q.shape[-2], k.shape[-2]
        causal = reference.causal_allowed(n_q, n_kv) if is_causal else None
        allow = step["in_window"](n_q, n_kv, window_size)
        if key_lengths is not None:
            allow = allow & step["in_lengths"](n_kv, key_lengths)

        def bias(s: Tensor) -> Tensor:
            if alibi_slopes is not None:
                slopes = step["spread"](step["slopes"](alibi_slopes).to(wide), s)
                s = s - slopes * step["distance"](n_q, n_kv)
            return reference.bias(s, attn_mask, causal)

        s = step["order"](reference.scores(q, k, scale), bias, lambda s: step["cap"](s, softcap))
        p = step["after"](step["normalise"](step["hide"](s, allow), sinks), allow)
        return (p @ v).to(query.dtype)

    return attention


class _Forward(torch.autograd.Function):
    """The first output, with the gradients of the second."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor) -> Tensor:
        return first.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        return None, grads[0]


def _without_backward(*features: str) -> Attention:
    """A right forward pass; the backward pass is that without some features."""
    right = build()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False, window_size: Sides = NONE, softcap: float | None = None,
        sinks: Tensor | None = None, alibi_slopes: Tensor | None = None, key_lengths: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        given = {
            "window_size": window_size, "softcap": softcap, "sinks": sinks, "alibi_slopes": alibi_slopes,
            "key_lengths": key_lengths,
        }  # fmt: skip
        how = (query, key, value, attn_mask, is_causal, scale, enable_gqa)
        kept = {name: value for name, value in given.items() if name not in features}
        out: Tensor = _Forward.apply(right(*how, **given).detach(), right(*how, **kept))
        return out

    return attention


# --- correct ------------------------------------------------------------------------------------------------------


def _by_number(allowed: Callable[[Tensor, int], Tensor], *, causal: bool = False) -> Attention:
    """Attention with a window that is a whole number; `allowed` says of i - j whether it lies in it."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, sliding_window: int | None = None
    ) -> Tensor:
        n_q, n_kv = query.shape[-2], key.shape[-2]
        behind = torch.arange(n_q)[:, None] - torch.arange(n_kv)
        allow = torch.ones(n_q, n_kv, dtype=torch.bool)
        if is_causal:
            allow &= behind >= 0
        if sliding_window is not None:
            allow &= allowed(behind, sliding_window)
        return reference.correct(query, key, value, allow)

    return attention


def last_keys() -> Attention:
    """W keys up to the query's own, as in Mistral."""
    return _by_number(lambda behind, W: (behind >= 0) & (behind < W))


def keys_before() -> Attention:
    """W keys before the query's own, which it sees too."""
    return _by_number(lambda behind, W: (behind >= 0) & (behind <= W))


def last_keys_and_later() -> Attention:
    """W keys up to the query's own, and all later ones unless it is causal."""
    return _by_number(lambda behind, W: behind < W)


def keys_before_and_later() -> Attention:
    """W keys before the query's own, its own, and all later ones unless it is causal."""
    return _by_number(lambda behind, W: behind <= W)


def keys_within() -> Attention:
    """Keys less than W away."""
    return _by_number(lambda behind, W: behind.abs() < W)


def keys_around() -> Attention:
    """Keys at most W away."""
    return _by_number(lambda behind, W: behind.abs() <= W)


CORRECT: dict[Callable[[], Attention], str] = {
    build: "sides", last_keys: "last", keys_before: "before", last_keys_and_later: "last_and_later",
    keys_before_and_later: "before_and_later", keys_within: "within", keys_around: "around",
}  # fmt: skip
"""Correct functions and what their window is given as."""


def by_a_further_key() -> Attention:
    """A sink as transformers' gpt-oss has it: the largest score is taken off, and the sink's column is cut."""

    def further(s: Tensor, sinks: Tensor | None) -> Tensor:
        if sinks is None:
            return reference.weights(s)
        column = sinks.to(s.dtype).reshape(1, -1, 1, 1).expand(s.shape[0], -1, s.shape[-2], -1)
        combined = torch.cat([s, column], -1)
        return torch.softmax(combined - combined.max(-1, keepdim=True).values, -1)[..., :-1]

    return build(normalise=further)


def sink_by_the_log_sum_exp() -> Attention:
    """A sink as a factor of the output without it, sigmoid(lse - sink)."""

    def afterwards(s: Tensor, sinks: Tensor | None) -> Tensor:
        if sinks is None:
            return reference.weights(s)
        dead = (s == -math.inf).all(-1, keepdim=True)
        lse = torch.logsumexp(s.masked_fill(dead, 0.0), -1, keepdim=True)
        return reference.weights(s) * torch.sigmoid(lse - sinks.to(s.dtype)[:, None, None])

    return build(normalise=afterwards)


CORRECT[by_a_further_key] = CORRECT[sink_by_the_log_sum_exp] = "sides"


# --- faulty: kept of an earlier call ------------------------------------------------------------------------------


def _kept(key: Callable[..., Any], step: Callable[..., Any]) -> Callable[..., Any]:
    """A step whose result is remembered by a key of its arguments."""
    found: dict[Any, Any] = {}

    def remembered(*given: Any) -> Any:
        if key(*given) not in found:
            found[key(*given)] = step(*given)
        return found[key(*given)]

    return remembered


def window_kept_by_shape() -> Attention:
    """The mask of a window is remembered by the lengths, and not by the window."""
    return build(in_window=_kept(lambda n_q, n_kv, sides: (n_q, n_kv, sides == NONE), in_window))


def cap_kept_by_shape() -> Attention:
    """The cap is remembered by the shape of the scores."""
    kept = _kept(lambda shape, c: (shape, c is None), lambda shape, c: c)
    return build(cap=lambda s, c: cap(s, kept(s.shape, c)))


def sinks_kept_by_shape() -> Attention:
    """The sinks are remembered by the shape of the scores."""
    kept = _kept(lambda shape, sinks: (shape, sinks is None), lambda shape, sinks: sinks)
    return build(normalise=lambda s, sinks: normalise(s, kept(s.shape, sinks)))


def slopes_kept_by_shape() -> Attention:
    """The slopes are remembered by their number."""
    return build(slopes=_kept(lambda slopes: slopes.shape, lambda slopes: slopes))


def lengths_kept_by_shape() -> Attention:
    """Which keys count is remembered by the number of keys and sequences."""
    return build(in_lengths=_kept(lambda n_kv, lengths: (n_kv, lengths.shape), in_lengths))


# --- faulty: a window ---------------------------------------------------------------------------------------------


def window_ignored() -> Attention:
    """The window is accepted and ignored (jax-ml/jax#32300)."""
    return build(in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, NONE))


def window_one_key_wider() -> Attention:
    """The window holds one key more on its left (huggingface/transformers#39408, zml/zml PR763)."""
    return build(in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, (sides[0] + (sides[0] >= 0), sides[1])))


def window_one_key_narrower() -> Attention:
    """The window's number counts the query's own key, which sides do not."""
    return build(in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, (max(sides[0] - 1, -1), sides[1])))


def window_right_one_short() -> Attention:
    """The right side of the window is one key short (huggingface/transformers PR47010)."""
    return build(
        in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, (sides[0], sides[1] - 1 if sides[1] > 0 else sides[1]))
    )


def window_on_the_other_side() -> Attention:
    """Left and right are taken for each other."""
    return build(in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, sides[::-1]))


def window_right_side_dropped() -> Attention:
    """The right side of the window is ignored: later keys are seen."""
    return build(in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, (sides[0], -1)))


def window_from_the_last_key() -> Attention:
    """The window is aligned to the last key although causality is to the first."""

    def shifted(n_q: int, n_kv: int, sides: Sides) -> Tensor:
        i, j = torch.arange(n_q)[:, None] + n_kv - n_q, torch.arange(n_kv)
        left = j >= i - sides[0] if sides[0] >= 0 else torch.ones(n_q, n_kv, dtype=torch.bool)
        return left & (j <= i + sides[1]) if sides[1] >= 0 else left

    return build(in_window=shifted)


def window_after_the_softmax() -> Attention:
    """Weights outside of the window are set to 0 after the softmax, whose normaliser has seen them."""
    return build(hide=lambda s, allow: s, after=lambda p, allow: p * allow)


def window_weakens() -> Attention:
    """Scores outside of the window are lowered by 30 in place of -inf."""
    return build(hide=lambda s, allow: s - 30.0 * ~allow)


def window_of_zero_is_none() -> Attention:
    """A side of 0 keys is read as no side at all."""
    return build(in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, (sides[0] or -1, sides[1] or -1)))


def window_at_most_32() -> Attention:
    """A window of more than 32 keys is cut to 32, and so is that of all keys."""
    return build(in_window=lambda n_q, n_kv, sides: in_window(n_q, n_kv, (min(sides[0], 32), min(sides[1], 32))))


def backward_without_the_window() -> Attention:
    """The forward pass heeds the window, the backward pass does not."""
    return _without_backward("window_size")


WINDOWS: tuple[Callable[[], Attention], ...] = (
    window_ignored, window_one_key_wider, window_one_key_narrower, window_right_one_short, window_on_the_other_side,
    window_right_side_dropped, window_from_the_last_key, window_after_the_softmax, window_weakens,
    window_of_zero_is_none, window_at_most_32, backward_without_the_window, window_kept_by_shape,
)  # fmt: skip


# --- faulty: a soft cap -------------------------------------------------------------------------------------------


def cap_ignored() -> Attention:
    """The cap is accepted and ignored (vllm-project/vllm-metal#665)."""
    return build(cap=lambda s, c: s)


def cap_after_the_mask() -> Attention:
    """The cap comes after the mask, so that masked scores become -c (onnx/onnx#7865)."""
    return build(order=lambda s, bias, capped: capped(bias(s)))


def cap_clips() -> Attention:
    """Scores are cut off at the cap in place of tanh."""
    return build(cap=lambda s, c: s if c is None else s.clamp(-c, c))


def cap_not_multiplied_back() -> Attention:
    """tanh(s / c) is not multiplied by the cap."""
    return build(cap=lambda s, c: s if c is None else torch.tanh(s / c))


def cap_of_50_at_most() -> Attention:
    """A cap above 50 is taken for 50."""
    return build(cap=lambda s, c: cap(s, None if c is None else min(c, 50.0)))


def cap_of_the_shifted_scores() -> Attention:
    """The row's largest score is taken off before the cap, which is not linear."""
    return build(cap=lambda s, c: s if c is None else cap(s - s.amax(-1, keepdim=True), c))


def backward_without_the_cap() -> Attention:
    """The backward pass has the capped weights and leaves out the cap's slope."""

    def straight(s: Tensor, c: float | None) -> Tensor:
        if c is None:
            return s
        out: Tensor = _Forward.apply(cap(s, c).detach(), s)
        return out

    return build(cap=straight)


CAPS: tuple[Callable[[], Attention], ...] = (
    cap_ignored, cap_after_the_mask, cap_clips, cap_not_multiplied_back, cap_of_50_at_most, cap_of_the_shifted_scores,
    backward_without_the_cap, cap_kept_by_shape,
)  # fmt: skip


# --- faulty: sinks ------------------------------------------------------------------------------------------------


def sink_ignored() -> Attention:
    """The sinks are accepted and ignored."""
    return build(normalise=lambda s, sinks: reference.weights(s))


def sink_of_the_first_head() -> Attention:
    """Every head has the first head's sink."""
    return build(normalise=lambda s, sinks: normalise(s, None if sinks is None else sinks[:1].expand_as(sinks)))


def sink_subtracted() -> Attention:
    """The sink has the other sign."""
    return build(normalise=lambda s, sinks: normalise(s, None if sinks is None else -sinks))


def sink_beside_the_maximum() -> Attention:
    """The largest score is taken off the keys' scores alone, and not off the sink (PaddlePaddle/PaddleFleet PR1439)."""

    def uneven(s: Tensor, sinks: Tensor | None) -> Tensor:
        if sinks is None:
            return reference.weights(s)
        m = s.amax(-1, keepdim=True).masked_fill((s == -math.inf).all(-1, keepdim=True), 0.0)
        return normalise(s - m, sinks)

    return build(normalise=uneven)


def sink_spread_over_the_keys() -> Attention:
    """The sink's weight is given back to the keys: the rows are normalised again."""

    def again(s: Tensor, sinks: Tensor | None) -> Tensor:
        p = normalise(s, sinks)
        total = p.sum(-1, keepdim=True)
        return p / total.masked_fill(total == 0, 1.0)

    return build(normalise=again)


def sink_of_minus_20_at_least() -> Attention:
    """A sink below -20 counts as -20."""
    return build(normalise=lambda s, sinks: normalise(s, None if sinks is None else sinks.clamp(min=-20.0)))


def sink_without_a_gradient() -> Attention:
    """The sinks get no gradient (Dao-AILab/flash-attention#1973)."""
    return build(normalise=lambda s, sinks: normalise(s, None if sinks is None else sinks.detach()))


def sink_gradient_with_the_other_sign() -> Attention:
    """The gradient of the sinks has the other sign."""

    def turned(s: Tensor, sinks: Tensor | None) -> Tensor:
        return normalise(s, None if sinks is None else 2 * sinks.detach() - sinks)

    return build(normalise=turned)


def backward_without_the_sink() -> Attention:
    """The backward pass has the weights of the keys alone."""
    return _without_backward("sinks")


SINKS: tuple[Callable[[], Attention], ...] = (
    sink_ignored, sink_of_the_first_head, sink_subtracted, sink_beside_the_maximum, sink_spread_over_the_keys,
    sink_of_minus_20_at_least, sink_without_a_gradient, sink_gradient_with_the_other_sign, backward_without_the_sink,
    sinks_kept_by_shape,
)  # fmt: skip


# --- faulty: ALiBi ------------------------------------------------------------------------------------------------


def slopes_ignored() -> Attention:
    """The slopes are accepted and ignored."""
    return build(slopes=torch.zeros_like)


def slopes_with_the_other_sign() -> Attention:
    """Scores grow with the distance."""
    return build(slopes=lambda slopes: -slopes)


def slopes_of_the_heads_in_reverse() -> Attention:
    """Heads have each other's slopes."""
    return build(slopes=lambda slopes: slopes.flip(0))


def slopes_by_the_signed_distance() -> Attention:
    """Later keys get a bonus in place of a penalty: the distance has a sign."""
    return build(distance=lambda n_q, n_kv: torch.arange(n_q)[:, None] - torch.arange(n_kv))


def slopes_from_the_last_key() -> Attention:
    """Distances are counted with the last query at the last key, although the first is at the first."""
    return build(distance=lambda n_q, n_kv: (torch.arange(n_q)[:, None] + n_kv - n_q - torch.arange(n_kv)).abs())


def positions_of_the_inputs_dtype() -> Attention:
    """Positions are bfloat16, as the inputs of many models: wrong from position 257 on."""

    def counted(n_q: int, n_kv: int) -> Tensor:
        return (torch.arange(n_q).bfloat16()[:, None] - torch.arange(n_kv).bfloat16()).abs().long()

    return build(distance=counted)


def slope_of_zero_is_the_usual_one() -> Attention:
    """A slope of 0 is taken for one that was not given."""
    return build(slopes=lambda slopes: torch.where(slopes == 0, 0.5, slopes))


def backward_without_slopes() -> Attention:
    """The backward pass has the weights without distances."""
    return _without_backward("alibi_slopes")


def gradient_of_slopes_of_the_other_sign() -> Attention:
    """The gradient of the slopes is that of the bias, which falls by them."""
    return build(slopes=lambda slopes: change_gradient(slopes, lambda g: -g))


def gradient_of_slopes_of_all_heads() -> Attention:
    """Every slope gets the sum over all heads."""
    return build(slopes=lambda slopes: change_gradient(slopes, lambda g: g.sum().expand_as(g)))


def gradient_of_slopes_of_the_first_sequence() -> Attention:
    """The gradient of the slopes is not summed over the batch."""

    def spread(slopes: Tensor, s: Tensor) -> Tensor:
        wide = slopes[:, None, None].expand(*s.shape[:-2], 1, 1)
        return torch.cat([wide[:1], wide[1:].detach()]) if s.ndim > 3 else wide

    return build(spread=spread)


def gradient_of_slopes_dropped() -> Attention:
    """Slopes that are learned are read as constants."""
    return build(slopes=lambda slopes: slopes.detach())


SLOPES: tuple[Callable[[], Attention], ...] = (
    slopes_ignored, slopes_with_the_other_sign, slopes_of_the_heads_in_reverse, slopes_by_the_signed_distance,
    slopes_from_the_last_key, slope_of_zero_is_the_usual_one, backward_without_slopes, slopes_kept_by_shape,
    positions_of_the_inputs_dtype, gradient_of_slopes_of_the_other_sign, gradient_of_slopes_of_all_heads,
    gradient_of_slopes_of_the_first_sequence,
)  # fmt: skip


# --- faulty: key lengths ------------------------------------------------------------------------------------------


def lengths_ignored() -> Attention:
    """The lengths are accepted and ignored."""
    return build(in_lengths=lambda n_kv, lengths: in_lengths(n_kv, torch.full_like(lengths, n_kv)))


def one_key_beyond_the_length() -> Attention:
    """The key behind the last one counts as well."""
    return build(in_lengths=lambda n_kv, lengths: in_lengths(n_kv, lengths + 1))


def last_key_never_counted() -> Attention:
    """The last key of a sequence does not count where there are others."""
    return build(in_lengths=lambda n_kv, lengths: in_lengths(n_kv, torch.where(lengths > 1, lengths - 1, lengths)))


def length_of_the_first_sequence() -> Attention:
    """Every sequence has the first one's length."""
    return build(in_lengths=lambda n_kv, lengths: in_lengths(n_kv, lengths[:1].expand_as(lengths)))


def lengths_count_from_the_end() -> Attention:
    """The last keys count in place of the first: padding is taken to stand on the left."""
    return build(in_lengths=lambda n_kv, lengths: in_lengths(n_kv, lengths).flip(-1))


def keys_beyond_a_length_weigh_little() -> Attention:
    """Keys behind the last one keep a weight of e^-30: their scores are lowered, not hidden."""
    return build(hide=lambda s, allow: s - 30.0 * ~allow)


def backward_without_lengths() -> Attention:
    """The backward pass has the weights of all keys."""
    return _without_backward("key_lengths")


LENGTHS: tuple[Callable[[], Attention], ...] = (
    lengths_ignored, one_key_beyond_the_length, last_key_never_counted, length_of_the_first_sequence,
    lengths_count_from_the_end, keys_beyond_a_length_weigh_little, backward_without_lengths,
    lengths_kept_by_shape,
)  # fmt: skip

FAULTY = (*WINDOWS, *CAPS, *SINKS, *SLOPES, *LENGTHS)
LEARNED = row(gradient_of_slopes_dropped, "law", parameters={"learned": "alibi_slopes"})
ROWS = (*(row(fault, "law") for fault in FAULTY), LEARNED)
