"""Faults of sigmoid and differential attention, one each: the plain computation with one step replaced.

`sigmoid()` gives f(query, key, value, attn_mask, is_causal, scale, bias), `differential()` f(q1, k1, q2, k2, v, lam,
attn_mask, is_causal, scale), `joined()` the same of one array of heads for both maps, `normed()` that with a norm of
each head.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row

Attend = Callable[..., Any]


# --- steps -----------------------------------------------------------------------------


def see(scores: Tensor, attn_mask: Tensor | None, is_causal: bool) -> Tensor:
    """The pairs that are attended, bool (n_q, n_kv)."""
    pairs = torch.ones(scores.shape[-2:], dtype=torch.bool)
    pairs = pairs.tril() if is_causal else pairs
    return pairs if attn_mask is None else pairs & attn_mask


def weigh(scores: Tensor, pairs: Tensor) -> Tensor:
    """Softmax over the pairs; 0 in a row without any."""
    dead = ~pairs.any(-1, keepdim=True)
    return scores.masked_fill(~pairs, -torch.inf).masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)


STEPS: dict[str, Callable[..., Any]] = {
    "see": see, "weigh": weigh, "read": lambda x: x, "scaled": lambda scale, d: d**-0.5 if scale is None else scale,
    "bias": lambda bias, scores: -math.log(scores.shape[-1]) if bias is None else bias,
    "sigmoid": lambda scores, pairs: scores.sigmoid() * pairs,
    "score": lambda q, k, scale, bias: q @ k.mT * scale + bias,
    "join": lambda one, two, lam, v: (one - lam * two) @ v, "see2": see, "split": lambda x: (x[:, 0::2], x[:, 1::2]),
    "share": lambda x, heads: x.repeat_interleave(heads // x.shape[1], 1), "learn": lambda x: x,
    "pass": lambda q, factor: q, "second": lambda q, lam: q, "rms": lambda x: (x**2).mean(-1, keepdim=True),
    "root": lambda square, eps: (square + eps).sqrt(), "factor": lambda init: 1 - init,
    "grow": lambda x, weight: x * weight,
}  # fmt: skip


def sigmoid(**replaced: Callable[..., Any]) -> Attend:
    """Sigmoid attention, with some steps replaced."""
    step = STEPS | replaced

    def attend(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, bias: float | Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(query.dtype, torch.float32)
        q, k, v = (step["read"](x).to(wide) for x in (query, key, value))
        q, bias = step["pass"](q, step["scaled"](scale, q.shape[-1])), step["learn"](bias)
        k, v = (step["share"](x, q.shape[1]) for x in (k, v))
        plain = q @ k.mT
        scores = step["score"](q, k, step["scaled"](scale, q.shape[-1]), step["bias"](bias, plain))
        weights = step["sigmoid"](scores, step["see"](scores, attn_mask, is_causal))
        return (weights @ v).to(query.dtype)

    return attend


def differential(**replaced: Callable[..., Any]) -> Attend:
    """Differential attention of two queries and two keys, with some steps replaced."""
    step = STEPS | replaced

    def attend(
        q1: Tensor, k1: Tensor, q2: Tensor, k2: Tensor, v: Tensor, lam: float | Tensor, attn_mask: Tensor | None = None,
        is_causal: bool = False, scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(q1.dtype, torch.float32)
        first, key1, second, key2, value = (step["read"](x).to(wide) for x in (q1, k1, q2, k2, v))
        key1, key2, value = (step["share"](x, first.shape[1]) for x in (key1, key2, value))
        factor, lam = step["scaled"](scale, q1.shape[-1]), step["learn"](lam)
        first, second = step["pass"](first, factor), step["second"](second, lam)
        one, two = first @ key1.mT * factor, second @ key2.mT * factor
        pairs, others = step["see"](one, attn_mask, is_causal), step["see2"](two, attn_mask, is_causal)
        out: Tensor = step["join"](step["weigh"](one, pairs), step["weigh"](two, others), lam, value)
        return out.to(q1.dtype)

    return attend


def joined(**replaced: Callable[..., Any]) -> Attend:
    """Differential attention of queries and keys whose neighbouring heads are those of the two maps."""
    step = STEPS | replaced

    def attend(
        query: Tensor, key: Tensor, value: Tensor, lam: float | Tensor, is_causal: bool = False,
        scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        (q1, q2), (k1, k2) = step["split"](query), step["split"](key)
        out: Tensor = differential(**replaced)(q1, k1, q2, k2, value, lam, None, is_causal, scale)
        return out

    return attend


def normed(**replaced: Callable[..., Any]) -> Attend:
    """Differential attention of joined heads whose outputs are divided by their root mean square."""
    step = STEPS | replaced

    def attend(
        query: Tensor, key: Tensor, value: Tensor, lam: float, norm_weight: Tensor, eps: float = 1e-5,
        lambda_init: float = 0.2, is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        wide = torch.promote_types(query.dtype, torch.float32)
        out = joined(**replaced)(query.to(wide), key.to(wide), value.to(wide), lam, is_causal)
        if "back" in step:
            normal: Tensor = _Norm.apply(out, norm_weight.to(wide), eps, 1 - lambda_init, step["back"])
            return normal.to(query.dtype)
        out = step["grow"](out / step["root"](step["rms"](out), eps), norm_weight.to(wide))
        return (step["factor"](lambda_init) * out).to(query.dtype)

    return attend


class _Change(torch.autograd.Function):
    """The identity, with a gradient that is changed."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.change = change
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return ctx.change(grad), None


def change_gradient(x: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same array, or number, whose gradient passes through a function."""
    return _Change.apply(x, change) if isinstance(x, Tensor) else x


class _Norm(torch.autograd.Function):
    """The norm of each head by root mean square, with gradients of one's own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float, factor: float, back: Callable[..., Any]) -> Tensor:
        """Normalise, and keep how to go back."""
        ctx.save_for_backward(x, weight)
        ctx.given, ctx.back = (eps, factor), back
        return factor * weight * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """The gradients of the outputs and of the weight."""
        return (*ctx.back(grad, *ctx.saved_tensors, *ctx.given), None, None, None)


def norm_backward(
    grad: Tensor, x: Tensor, weight: Tensor, eps: float, factor: float, *, projected: bool = True,
    total: Callable[[Tensor], Tensor] = lambda terms: terms.sum((0, 1, 2)),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Right gradients of the norm by its input and its weight, unless something is left out."""
    root = ((x**2).mean(-1, keepdim=True) + eps).sqrt()
    up, z = factor * weight * grad, x / root
    return (up - z * (up * z).mean(-1, keepdim=True) * projected) / root, total(factor * grad * z)


class _Sigmoid(torch.autograd.Function):
    """Sigmoids with a slope of one's own, of the weights and their gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, pairs: Tensor, slope: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        weights = scores.sigmoid() * pairs
        ctx.save_for_backward(weights)
        ctx.slope = slope
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (weights,) = ctx.saved_tensors
        return ctx.slope(weights, grad), None, None


class _Share(torch.autograd.Function):
    """Key heads for every query head, whose gradient is that of the first head of a group."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, heads: int) -> Tensor:
        ctx.group = heads // x.shape[1]
        return x.repeat_interleave(ctx.group, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad[:, :: ctx.group], None


# --- sigmoid attention -----------------------------------------------------------------


def softmax_in_place_of_sigmoid() -> Attend:
    """The weights of a row are normalised."""
    return sigmoid(sigmoid=weigh)


def bias_left_out() -> Attend:
    """Scores have no bias unless one is given."""
    return sigmoid(bias=lambda bias, scores: bias or 0.0)


def bias_of_the_other_sign() -> Attend:
    """The logarithm of the number of keys is added, and not subtracted."""
    return sigmoid(bias=lambda bias, scores: math.log(scores.shape[-1]) if bias is None else bias)


def bias_of_the_number_of_queries() -> Attend:
    """The bias is that of as many keys as there are queries."""
    return sigmoid(bias=lambda bias, scores: -math.log(scores.shape[-2]) if bias is None else bias)


def given_bias_of_zero_taken_for_none() -> Attend:
    """`bias or -log(n)`."""
    return sigmoid(bias=lambda bias, scores: bias or -math.log(scores.shape[-1]))


def bias_is_scaled() -> Attend:
    """The bias is added before scores are scaled."""
    return sigmoid(score=lambda q, k, scale, bias: (q @ k.mT + bias) * scale)


def masked_scores_are_zero() -> Attend:
    """Masked scores are set to 0, whose sigmoid is a half."""
    return sigmoid(sigmoid=lambda scores, pairs: torch.where(pairs, scores, 0.0).sigmoid())


def weights_divided_by_the_number_of_keys() -> Attend:
    """Weights are divided by the number of keys beside their bias."""
    return sigmoid(sigmoid=lambda scores, pairs: scores.sigmoid() * pairs / scores.shape[-1])


def exponential_of_large_scores() -> Attend:
    """e^s / (1 + e^s) is inf / inf for large scores."""
    return sigmoid(sigmoid=lambda scores, pairs: scores.exp() / (1 + scores.exp()) * pairs)


def keys_behind_the_first_block_left_out() -> Attend:
    """The first 128 keys are attended to."""
    return sigmoid(see=lambda scores, mask, causal: see(scores, mask, causal) & (torch.arange(scores.shape[-1]) < 128))


def scale_taken_for_none_where_it_is_zero() -> Attend:
    """`scale or d**-0.5`."""
    return sigmoid(scaled=lambda scale, d: scale or d**-0.5)


def queries_read_in_order() -> Attend:
    """Arrays that are views are read as if they were whole."""

    def flat(x: Tensor) -> Tensor:
        if x.is_contiguous():
            return x
        return x.as_strided(x.shape, torch.empty(x.shape).stride(), 0).nan_to_num(0.0)

    return sigmoid(read=flat)


# --- differential attention ------------------------------------------------------------


def first_map_alone() -> Attend:
    """The second map is not subtracted."""
    return differential(join=lambda one, two, lam, v: one @ v)


def maps_are_added() -> Attend:
    """The second map is added."""
    return differential(join=lambda one, two, lam, v: (one + lam * two) @ v)


def lambda_not_read() -> Attend:
    """The second map is subtracted as it is."""
    return differential(join=lambda one, two, lam, v: (one - two) @ v)


def difference_is_normalised_again() -> Attend:
    """Rows of the difference are divided by their sum, 1 - lambda, where that is not 0."""
    return differential(join=lambda one, two, lam, v: (one - lam * two) @ v / ((1 - lam) or 1.0))


def negative_weights_are_cut_off() -> Attend:
    """Weights of the difference below 0 are set to 0."""
    return differential(join=lambda one, two, lam, v: (one - lam * two).relu() @ v)


def second_map_sees_later_keys() -> Attend:
    """The second map has the mask, and no causality."""
    return differential(see2=lambda scores, mask, causal: see(scores, mask, False))


def second_map_sees_masked_keys() -> Attend:
    """The second map has causality, and no mask."""
    return differential(see2=lambda scores, mask, causal: see(scores, None, causal))


def rows_without_a_key_are_nan() -> Attend:
    """A softmax over -inf alone."""
    return differential(weigh=lambda scores, pairs: scores.masked_fill(~pairs, -torch.inf).softmax(-1))


def maximum_of_both_maps() -> Attend:
    """No maximum is subtracted before exp."""

    def plain(scores: Tensor, pairs: Tensor) -> Tensor:
        grown = scores.exp() * pairs
        total = grown.sum(-1, keepdim=True)
        return grown / torch.where(total == 0, 1.0, total)

    return differential(weigh=plain)


def halves_taken_for_neighbours() -> Attend:
    """The first half of the heads is taken for the first map."""
    return joined(split=lambda x: x.chunk(2, 1))


# --- shared key heads, norms, gradients --------------------------------------------------


def key_heads_are_taken_in_turn() -> Attend:
    """Query head h attends to key head h mod H_kv."""
    return sigmoid(share=lambda x, heads: x.repeat(1, heads // x.shape[1], 1, 1))


def first_key_head_for_all() -> Attend:
    """Where there are fewer key heads, all query heads attend to the first."""
    return differential(share=lambda x, heads: x if heads == x.shape[1] else x[:, :1].expand(-1, heads, -1, -1))


def norm_over_all_heads() -> Attend:
    """The mean square is that of all heads of a token."""
    return normed(rms=lambda x: (x**2).mean((1, 3), keepdim=True))


def norm_left_out() -> Attend:
    """Outputs are scaled, and not normalised."""
    return normed(root=lambda square, eps: 1.0)


def mean_is_subtracted() -> Attend:
    """The norm is by the variance about the mean, and not by the mean square."""
    return normed(rms=lambda x: x.var(-1, keepdim=True, unbiased=False))


def epsilon_beside_the_root() -> Attend:
    """Epsilon is added to the root, and not to the mean square."""
    return normed(root=lambda square, eps: square.sqrt() + eps)


def weight_of_the_norm_left_out() -> Attend:
    """The norm has no weights."""
    return normed(grow=lambda x, weight: x)


def lambda_init_not_applied() -> Attend:
    """Normalised heads are not multiplied by 1 - lambda_init."""
    return normed(factor=lambda init: 1.0)


def slope_of_the_softmax() -> Attend:
    """The gradient of a weight takes off the row's mean, as that of a softmax."""

    def slope(p: Tensor, g: Tensor) -> Tensor:
        return p * (g - (p * g).sum(-1, keepdim=True))

    return sigmoid(sigmoid=lambda scores, pairs: _Sigmoid.apply(scores, pairs, slope))


def slope_without_the_complement() -> Attend:
    """The slope is p, and not p (1 - p)."""
    return sigmoid(sigmoid=lambda s, pairs: _Sigmoid.apply(s, pairs, lambda p, g: p * g))


def query_gradient_without_the_scale() -> Attend:
    """The gradient of the query is not scaled."""
    return differential(**{"pass": lambda q, factor: change_gradient(q, lambda g: g / factor)})


def key_gradient_of_the_first_head_of_a_group() -> Attend:
    """The gradient of a key head is that of one of its query heads."""
    return sigmoid(share=_Share.apply)


def second_query_gradient_without_lambda() -> Attend:
    """The gradient of the second query is that of the output, and not of -lambda times it."""
    return differential(second=lambda q, lam: change_gradient(q, lambda g: -g / lam))


def gradient_of_lambda_of_the_other_sign() -> Attend:
    """The gradient of lambda is <o_2, dO>."""
    return differential(learn=lambda lam: change_gradient(lam, lambda g: -g))


def gradient_of_lambda_dropped() -> Attend:
    """Lambda is read as a number."""
    return differential(learn=lambda lam: lam.detach() if isinstance(lam, Tensor) else lam)


def gradient_of_the_bias_dropped() -> Attend:
    """The bias is read as a number."""
    return sigmoid(learn=lambda bias: bias.detach() if isinstance(bias, Tensor) else bias)


def gradient_of_the_bias_halved() -> Attend:
    """The gradient of the bias is half of the sum."""
    return sigmoid(learn=lambda bias: change_gradient(bias, lambda g: g / 2))


def gradient_of_the_norm_without_its_projection() -> Attend:
    """The gradient of the norm takes the root for a constant."""
    return normed(back=partial(norm_backward, projected=False))


def gradient_of_the_norm_without_epsilon() -> Attend:
    """The gradient of the norm divides by the root mean square without epsilon."""
    return normed(back=lambda grad, x, weight, eps, factor: norm_backward(grad, x, weight, 1e-12, factor))


def gradient_of_the_norm_without_the_factor() -> Attend:
    """The gradient of the norm is not multiplied by 1 - lambda_init."""
    return normed(back=lambda grad, x, weight, eps, factor: norm_backward(grad, x, weight, eps, 1.0))


def gradient_of_the_norm_weight_over_one_head() -> Attend:
    """The gradient of the norm's weight, which all heads share, is that of the first head."""
    return normed(back=partial(norm_backward, total=lambda terms: terms[:, :1].sum((0, 1, 2))))


def gradient_of_the_norm_weight_over_features() -> Attend:
    """The gradient of the norm's weight is summed over the features as well, and divided among them."""

    def total(terms: Tensor) -> Tensor:
        return terms.mean(-1, keepdim=True).sum((0, 1, 2)).expand(terms.shape[-1])

    return normed(back=partial(norm_backward, total=total))


FAULTY = (
    softmax_in_place_of_sigmoid, bias_left_out, bias_of_the_other_sign, bias_of_the_number_of_queries,
    given_bias_of_zero_taken_for_none, bias_is_scaled, masked_scores_are_zero, weights_divided_by_the_number_of_keys,
    exponential_of_large_scores, keys_behind_the_first_block_left_out, scale_taken_for_none_where_it_is_zero,
    queries_read_in_order, first_map_alone, maps_are_added, lambda_not_read, difference_is_normalised_again,
    negative_weights_are_cut_off, second_map_sees_later_keys, second_map_sees_masked_keys, rows_without_a_key_are_nan,
    maximum_of_both_maps, halves_taken_for_neighbours, key_heads_are_taken_in_turn, first_key_head_for_all,
    norm_over_all_heads, norm_left_out, mean_is_subtracted, epsilon_beside_the_root, weight_of_the_norm_left_out,
    lambda_init_not_applied, slope_of_the_softmax, slope_without_the_complement, query_gradient_without_the_scale,
    key_gradient_of_the_first_head_of_a_group, second_query_gradient_without_lambda,
    gradient_of_lambda_of_the_other_sign, gradient_of_lambda_dropped, gradient_of_the_bias_dropped,
    gradient_of_the_bias_halved, gradient_of_the_norm_without_its_projection, gradient_of_the_norm_without_epsilon,
    gradient_of_the_norm_without_the_factor, gradient_of_the_norm_weight_over_one_head,
    gradient_of_the_norm_weight_over_features,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="variant-attention", accumulate="float32") for fault in FAULTY)
