"""Faults of the fourth set in the backward and in dropout, by somebody who had seen neither the laws nor the faults.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are what they were then, on the
catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import backward, reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash
from attention_core.faults.row import row

# --- backward -------------------------------------------------------------------------------------


class backward_aligned_top_left(Flash):  # noqa: N801
    """The forward is causal from the last key, the backward from the first (xlite-dev/ffpa-attn PR300).

    Bottom right is declared: gradients of causal calls with another number of keys than of queries.
    """

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + n_kv - n_q

    def backward_causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return super().causal(start, stop, n_q, n_kv)


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


class mask_gradient_times_the_scale(Flash):  # noqa: N801
    """The gradient of a mask is multiplied by the scale, which the mask never was (dQ's factor taken too early).

    A float mask that asks for a gradient; a scale of 1 hides it.
    """

    def backward_scale(self, d: int, scale: float | None) -> float:
        self.factor = super().backward_scale(d, scale)
        return self.factor

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        return self.factor * super().d_mask(ds, mask)


class cotangent_by_the_strides_of_the_output(Flash):  # noqa: N801
    """The backward reads the incoming gradient with the output's strides (ROCm/aotriton#236).

    A gradient that lies otherwise, as after out.transpose(1, 2).
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        *before, out, lse, c = saved
        if c.untyped_storage().nbytes() // c.element_size() - c.storage_offset() >= c.numel():
            c = torch.as_strided(c, c.shape, out.stride())
        return super().backward(*before, out, lse, c)  # type: ignore[call-arg]


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


# --- dropout --------------------------------------------------------------------------------------


def dropout_before_the_sum() -> Any:
    """Weights are dropped before they are divided by their sum, which runs over the kept ones (textbook slip).

    dropout_p > 0, in the mean over many calls.
    """

    def drop(p: Tensor, rate: float) -> Tensor:
        if rate <= 0:
            return p
        kept = reference.drop(p, rate)
        z = kept.sum(-1, keepdim=True)
        return kept / z.masked_fill(z == 0, 1.0)

    return build(drop=drop)


class _Redrawn(torch.autograd.Function):
    """dropout(p) @ v; its backward drops by a mask drawn then."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, v: Tensor, rate: float) -> Tensor:
        ctx.save_for_backward(p, v)
        ctx.rate = rate
        return reference.drop(p, rate) @ v

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        p, v = ctx.saved_tensors
        kept = reference.drop(torch.ones_like(p), ctx.rate)
        return grad @ v.mT * kept, (p * kept).mT @ grad, None


def recomputed_with_a_new_dropout_mask() -> Any:
    """The backward computes the weights again, without the generator's state: another dropout mask (checkpointing).

    Gradients with dropout_p > 0; outputs are right.
    """
    rates: list[float] = []

    def drop(p: Tensor, rate: float) -> Tensor:
        rates[:] = [rate]
        return p

    return build(drop=drop, combine=lambda p, value: _Redrawn.apply(p, value, rates.pop()))


ROWS = (
    row(backward_aligned_top_left, "hard", "fourth_sight", causal="bottom_right"),
    row(mask_gradient_times_the_scale, "hard", "fourth_sight", mask_gradient=True),
    row(saved_weights_are_constants, "hard", "fourth_sight", second_gradients=True),
    *(row(make, "hard", "fourth_sight") for make in (
        groups_averaged_in_the_backward, cotangent_by_the_strides_of_the_output, dead_rows_patched_behind_the_softmax,
        dropout_before_the_sum, recomputed_with_a_new_dropout_mask,
    )),
)  # fmt: skip
