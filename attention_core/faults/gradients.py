"""Faulty gradients: the forward is right, one step of the hand-written backward is not.

Only the derivatives show these faults.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import backward, reference
from attention_core.faults.bases.backward import (
    Masked,
    build_backward,
    d_key,
    d_mask,
    d_query,
    d_scores,
    d_weights,
    over_group,
    probabilities,
)
from attention_core.faults.bases.reference import build
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


def stale_first_chunk() -> Fault:
    """The backward over chunks of keys reads the values of chunk 0 for all (huggingface/diffusers#14265)."""
    chunk = 4
    return build_backward(d_weights=lambda c, v: d_weights(c, v[..., torch.arange(v.shape[-2]) % chunk, :]))


def uninitialised_query_gradient() -> Fault:
    """For a zero cotangent dQ is what memory held (erfanzar/jax-flash-attn2#1); here a constant."""

    def faulty(ds: Tensor, key: Tensor, scale: float) -> Tensor:
        return d_query(ds, key, scale) + (0.0 if bool(ds.any()) else 2.0**-10)

    return build_backward(d_query=faulty)


def nan_with_bias_and_causal() -> Fault:
    """NaN in the last row when a bias and a mask meet at an unaligned length (pytorch/pytorch#153799)."""

    def faulty(query: Tensor, key: Tensor, mask: Masked, causal: Masked, scale: float) -> Tensor:
        p = probabilities(query, key, mask, causal, scale)
        if mask is not None and mask.is_floating_point() and causal is not None and key.shape[-2] % 8:
            last = torch.arange(p.shape[-2]) == p.shape[-2] - 1
            p = p.masked_fill(last[:, None], math.nan)
        return p

    return build_backward(probabilities=faulty)


def value_gradient_of_head_size() -> Fault:
    """dV has room for d columns only: those beyond are lost where d_v > d (pytorch/pytorch#110832)."""

    class Cut(torch.autograd.Function):
        """Passes values on, and of their gradient the first d columns."""

        @staticmethod
        def forward(ctx: Any, value: Tensor, d: int) -> Tensor:
            ctx.d = d
            return value.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Any:
            return gradient * (torch.arange(gradient.shape[-1]) < ctx.d), None

    right = build_backward()

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        cut: Tensor = Cut.apply(value, query.shape[-1])
        return right(query, key, cut, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def key_without_scale() -> Fault:
    """dK forgets the scale: gradients of two inputs out of three are right."""
    return build_backward(d_key=lambda ds, q, scale: d_key(ds, q, 1.0))


def key_of_scores_not_transposed() -> Fault:
    """dK uses dS where dS^T belongs; only square problems hide the shape."""

    def faulty(ds: Tensor, query: Tensor, scale: float) -> Tensor:
        square = ds.shape[-1] == ds.shape[-2]
        return scale * ds @ query if square else d_key(ds, query, scale)

    return build_backward(d_key=faulty)


def value_of_first_group_member() -> Fault:
    """With shared key heads, the gradient of the group is that of its first query head."""

    def faulty(x: Tensor, heads: int) -> Tensor:
        return x.reshape(*x.shape[:-3], heads, x.shape[-3] // heads, *x.shape[-2:])[..., 0, :, :]

    return build_backward(over_group=faulty)


def group_mean() -> Fault:
    """With shared key heads, the gradients of the group are averaged, not summed."""

    def faulty(x: Tensor, heads: int) -> Tensor:
        return over_group(x, heads) * heads / x.shape[-3]

    return build_backward(over_group=faulty)


def without_row_sum() -> Fault:
    """The softmax Jacobian lacks its rank-one part: dS = P dP."""
    return build_backward(d_scores=lambda p, dp: p * dp)


def key_detached() -> Fault:
    """The key is detached on the way: it gets no gradient."""
    return reference.build(scores=lambda q, k, scale: reference.scores(q, k.detach(), scale))


def backward_without_mask() -> Fault:
    """The recomputed weights of the backward forget every mask."""
    return build_backward(probabilities=lambda q, k, *rest: probabilities(q, k, None, None, rest[-1]))


def backward_without_causal() -> Fault:
    """The recomputed weights of the backward keep the mask and forget causality."""
    return build_backward(probabilities=lambda q, k, *rest: probabilities(q, k, rest[0], None, rest[-1]))


def mask_not_summed() -> Fault:
    """The mask's gradient is averaged over broadcast axes, as `mean` would."""

    def faulty(ds: Tensor, mask: Tensor) -> Tensor:
        return d_mask(ds, mask) * mask.numel() / max(ds.numel(), 1)

    return build_backward(d_mask=faulty)


def mask_gradient_of_sixteen_rows() -> Fault:
    """The gradient of a mask that all rows share is summed over the first 16 of them."""

    def faulty(ds: Tensor, mask: Tensor) -> Tensor:
        shared = mask.dim() < 2 or mask.shape[-2] == 1
        return d_mask(ds[..., :16, :] if shared else ds, mask)

    return build_backward(d_mask=faulty)


def mask_gradient_scaled() -> Fault:
    """The mask's gradient is scaled like the scores, though the bias is added after scaling."""
    return build_backward(d_mask=lambda ds, mask: 0.5 * d_mask(ds, mask))


def mask_gradient_nan_at_masked() -> Fault:
    """The mask's gradient is 0 * -inf at masked pairs."""
    return build_backward(d_mask=lambda ds, mask: d_mask(ds + 0 * mask.to(ds.dtype), mask))


def gradients_in_order_of_asking() -> Fault:
    """Gradients are handed over by counting the inputs that ask, not by their place."""

    def faulty(asked: tuple[bool, ...], found: list[Tensor | None]) -> list[Tensor | None]:
        packed = [g for wanted, g in zip(asked, found, strict=True) if wanted]
        return packed + [None] * (len(found) - len(packed))

    return build_backward(hand_over=faulty)


def clipped_gradient() -> Fault:
    """The scores' gradient is clipped, as a guard against overflow that real training reaches."""
    return build_backward(d_scores=lambda p, dp: d_scores(p, dp).clamp(-0.25, 0.25))


def query_gradient_of_next_row() -> Fault:
    """The rows of dQ are stored one place further on."""
    return build_backward(d_query=lambda ds, key, scale: d_query(ds, key, scale).roll(1, -2))


def weights_constant_in_backward() -> Fault:
    """The backward holds the weights as constants: first derivatives are right, second ones are not."""
    return build_backward(probabilities=lambda *a: probabilities(*a).detach())


def causal_lost_in_training() -> Fault:
    """The path that keeps a graph drops is_causal (compare pytorch/pytorch#99282: the weights path did)."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        causal = is_causal and not query.requires_grad
        return reference.correct(query, key, value, attn_mask, 0.0, causal, scale, enable_gqa)

    return attention


class _Narrow:
    """`build_backward` whose step `name` adds up its parts one after the other, in the dtype of the query.

    `parts` are the terms of the sum, along their first axis.
    """

    def __init__(self, name: str, parts: Callable[..., Tensor]) -> None:
        self.parts, self.dtype = parts, torch.float32
        self.right = build_backward(**{name: self.added})

    def added(self, *terms: Any) -> Tensor:
        parts = self.parts(*terms).to(self.dtype)
        total = torch.zeros(parts.shape[1:], dtype=self.dtype)
        for part in parts:
            total = total + part
        return total.to(torch.promote_types(self.dtype, torch.float32))

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.dtype = query.dtype
        return self.right(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)


def _rows_outside(x: Tensor, y: Tensor) -> Tensor:
    """The parts of x^T y, (n, ..., a, b) for x (..., n, a) and y (..., n, b)."""
    return x.movedim(-2, 0)[..., :, None] * y.movedim(-2, 0)[..., None, :]


def value_gradient_added_in_its_dtype() -> Fault:
    """dV is added up row by row, by atomics in the input's dtype."""
    return _Narrow("d_value", _rows_outside)


def key_gradient_added_in_its_dtype() -> Fault:
    """dK is added up row by row, by atomics in the input's dtype."""
    return _Narrow("d_key", lambda ds, query, scale: _rows_outside(scale * ds, query))


def query_gradient_added_in_its_dtype() -> Fault:
    """dQ is added up key by key, by atomics in the input's dtype."""
    return _Narrow("d_query", lambda ds, key, scale: _rows_outside(scale * ds.mT, key))


def mask_gradient_added_in_its_dtype() -> Fault:
    """The gradient of a mask shared by rows is added up row by row in the input's dtype."""

    def parts(ds: Tensor, mask: Tensor) -> Tensor:
        axes = [axis for axis, n in enumerate((1,) * (ds.dim() - mask.dim()) + mask.shape) if n != ds.shape[axis]]
        flat = ds.movedim(axes, [*range(len(axes))]).flatten(0, len(axes) - 1) if axes else ds[None]
        return flat.reshape(-1, *mask.shape)

    return _Narrow("d_mask", parts)


def maximum_kept_in_half_the_gradient() -> Any:
    """The maximum is a constant in the sum and a variable in the output: forward right, gradients not."""

    def weights(s: Tensor) -> Tensor:
        if not s.shape[-1]:
            return s
        top = s.amax(-1, keepdim=True)
        top = torch.where(top == -math.inf, 0.0, top)
        total = torch.exp(s - top.detach()).sum(-1, keepdim=True)
        return torch.exp(s - top) / total.masked_fill(total == 0, 1.0)

    return build(weights=weights)


class _Grouped(torch.autograd.Function):
    """A key head for each query head; its gradient is the mean over the group."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: int) -> Tensor:
        ctx.group = group
        return x.repeat_interleave(group, -3)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad.unflatten(-3, (-1, ctx.group)).mean(-3), None


def groups_averaged_in_the_backward() -> Any:
    """dK and dV of the query heads of a group are averaged, not summed (textbook slip).

    Gradients with fewer key heads than query heads.
    """

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group = heads // key.shape[-3]
        return _Grouped.apply(key, group), _Grouped.apply(value, group)

    return build(expand=expand)


def dead_rows_patched_behind_the_softmax() -> Any:
    """Rows without keys are zeroed behind a softmax of an additive mask: their gradients are NaN
    (Xilinx/brevitas PR1591).

    Gradients, and a row without keys.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=s.dtype).masked_fill(~mask, -math.inf)
        return reference.bias(s, mask, causal)

    def weights(s: Tensor) -> Tensor:
        p = s.softmax(-1)
        return torch.where((s == -math.inf).all(-1, keepdim=True), torch.zeros_like(p), p)

    return build(bias=bias, weights=weights)


def saved_weights_are_constants() -> Any:
    """The weights that the forward saved are constants to autograd: second derivatives are wrong (a common slip).

    Second derivatives are declared.
    """
    return backward.build_backward(probabilities=lambda *given: backward.probabilities(*given).detach())


def key_gradient_by_the_default_scale() -> Any:
    """dK takes 1/sqrt(d) though a scale was given."""
    return build_backward(d_key=lambda ds, q, scale: backward.d_key(ds, q, q.shape[-1] ** -0.5))


def groups_summed_along_the_other_axis() -> Any:
    """Gradients of keys and values are summed over (group, H_kv) where heads lie as (H_kv, group)."""
    return build_backward(over_group=lambda x, heads: x.unflatten(-3, (x.shape[-3] // heads, heads)).sum(-4))


def no_gradient_without_that_of_the_query() -> Any:
    """The backward returns early where the query asks for no gradient: keys and values trained alone get none."""

    def hand_over(asked: tuple[bool, ...], found: list[Tensor | None]) -> list[Tensor | None]:
        return backward.hand_over(asked, found) if asked[0] else [None] * len(found)

    return build_backward(hand_over=hand_over)


def saved_weights_do_not_move() -> Any:
    """The backward works on saved weights: its own derivative takes them for constants.

    Second derivatives are declared.
    """
    return saved_weights_are_constants()


def backward_from_the_last_key() -> Any:
    """The backward computes the weights again with causality from the last key, the forward's is from the first.

    Causal, and more keys than queries.
    """

    def probabilities(q: Tensor, k: Tensor, mask: Tensor | None, causal: Tensor | None, scale: float) -> Tensor:
        if causal is not None:
            causal = torch.ones_like(causal).tril(max(0, k.shape[-2] - q.shape[-2]))
        return backward.probabilities(q, k, mask, causal, scale)

    return build_backward(probabilities=probabilities)


def backward_without_finite_bias() -> Any:
    """The backward computes the weights again from what a float mask hides, without its finite part."""

    def probabilities(q: Tensor, k: Tensor, mask: Tensor | None, causal: Tensor | None, scale: float) -> Tensor:
        if mask is not None and mask.is_floating_point():
            mask = mask != -math.inf
        return backward.probabilities(q, k, mask, causal, scale)

    return build_backward(probabilities=probabilities)


ROWS = (
    *rows("first_sight", maximum_kept_in_half_the_gradient, accumulate="float32"),
    *rows("fourth_sight_backward", groups_averaged_in_the_backward, dead_rows_patched_behind_the_softmax),
    *rows("fourth_sight_backward", saved_weights_are_constants, second_gradients=True),
    *rows(
        "fifth_sight_backward", key_gradient_by_the_default_scale, groups_summed_along_the_other_axis,
        no_gradient_without_that_of_the_query, backward_from_the_last_key, backward_without_finite_bias,
    ),
    *rows("fifth_sight_backward", saved_weights_do_not_move, second_gradients=True),
)  # fmt: skip
