"""Faults of the fifth set in the backward and in dropout, by somebody who had read neither the laws nor the faults.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are the faults counted then, on
the catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults import fourth_sight_backward
from attention_core.faults.bases import backward
from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash
from attention_core.faults.fifth_sight import around
from attention_core.faults.row import row

# --- backward -------------------------------------------------------------------------------------


def key_gradient_by_the_default_scale() -> Any:
    """dK takes 1/sqrt(d) though a scale was given."""
    return build_backward(d_key=lambda ds, q, scale: backward.d_key(ds, q, q.shape[-1] ** -0.5))


def groups_summed_along_the_other_axis() -> Any:
    """Gradients of keys and values are summed over (group, H_kv) where heads lie as (H_kv, group)."""
    return build_backward(over_group=lambda x, heads: x.unflatten(-3, (x.shape[-3] // heads, heads)).sum(-4))


class cotangent_read_as_contiguous(Flash):  # noqa: N801
    """The incoming gradient is read from its storage's start as if it were contiguous.

    A gradient that lies otherwise, as after out.transpose(1, 2).
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        *before, c = saved
        if not c.is_contiguous() and c.untyped_storage().nbytes() >= c.numel() * c.element_size():
            c = c.as_strided(c.shape, torch.empty(c.shape, device="meta").stride(), 0)
        return super().backward(*before, c)  # type: ignore[call-arg]


def no_gradient_without_that_of_the_query() -> Any:
    """The backward returns early where the query asks for no gradient: keys and values trained alone get none."""

    def hand_over(asked: tuple[bool, ...], found: list[Tensor | None]) -> list[Tensor | None]:
        return backward.hand_over(asked, found) if asked[0] else [None] * len(found)

    return build_backward(hand_over=hand_over)


def saved_weights_do_not_move() -> Any:
    """The backward works on saved weights: its own derivative takes them for constants.

    Second derivatives are declared.
    """
    return fourth_sight_backward.saved_weights_are_constants()


class mask_gradient_of_the_first_head(Flash):  # noqa: N801
    """The gradient of a mask that is broadcast over heads is that of the first head."""

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        first = mask.dim() >= 3 and mask.shape[-3] == 1
        return super().d_mask(ds[..., :1, :, :] if first else ds, mask)


class delta_from_an_output_of_two_bytes(Flash):  # noqa: N801
    """D = rowsum(dO o) takes the output rounded to bfloat16.

    float32 between is declared; gradients of float32 and float16.
    """

    def saved_output(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        return out.bfloat16()


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


# --- dropout --------------------------------------------------------------------------------------


def kept(p: Tensor, keep: Tensor, rate: float) -> Tensor:
    """What is kept, over 1 - rate."""
    return p * keep / (1 - rate) if rate < 1 else p * 0.0


def dropping(draw: Any) -> Any:
    """Attention whose dropout keeps what `draw(weights, rate)` says."""
    return build(drop=lambda p, rate: kept(p, draw(p, rate), rate) if rate > 0 else p)


def kept_weights_over_the_rate() -> Any:
    """What is kept is divided by p, not by 1 - p: right at p = 0.5."""
    return build(drop=lambda p, rate: p * (torch.rand_like(p) >= rate) / rate if rate > 0 else p)


def one_dropout_for_all_heads() -> Any:
    """One dropout mask is drawn for all heads."""
    return dropping(lambda p, rate: torch.rand_like(p[..., :1, :, :]) >= rate)


def dropout_seeded_in_every_call() -> Any:
    """The generator is seeded in every call: each drops the same."""
    return dropping(lambda p, rate: torch.rand(p.shape, generator=torch.Generator().manual_seed(42)) >= rate)


def dropout_in_sixteenths() -> Any:
    """The rate is rounded to sixteenths (random numbers of four bits), and what is kept is scaled by the given one."""
    return dropping(lambda p, rate: torch.randint(0, 16, p.shape) >= round(16 * rate))


def dropout_again_every_16_rows() -> Any:
    """Every tile of 16 query rows drops the same (the generator's offset does not move on)."""

    def draw(p: Tensor, rate: float) -> Tensor:
        keep = torch.rand(*p.shape[:-2], min(16, p.shape[-2]), p.shape[-1]) >= rate
        return keep[..., torch.arange(p.shape[-2]) % 16, :]

    return dropping(draw)


def default_scale_under_dropout() -> Any:
    """The path with dropout takes the default scale, whatever was given."""
    return around(lambda a: {"scale": None} if a["dropout_p"] > 0 else {})


def causality_lost_with_dropout_and_mask() -> Any:
    """With dropout and a mask together, causality is forgotten; each two of the three are right."""
    return around(lambda a: {"is_causal": False} if a["dropout_p"] > 0 and a["attn_mask"] is not None else {})


def backward_draws_its_own_dropout() -> Any:
    """The backward draws a new dropout mask, not the forward's."""
    return fourth_sight_backward.recomputed_with_a_new_dropout_mask()


ROWS = (
    row(saved_weights_do_not_move, "hard", "fifth_sight", second_gradients=True),
    row(mask_gradient_of_the_first_head, "hard", "fifth_sight", mask_gradient=True),
    row(delta_from_an_output_of_two_bytes, "hard", "fifth_sight", accumulate="float32",
        dtypes=("float16", "bfloat16", "float32")),
    *(row(make, "hard", "fifth_sight") for make in (
        key_gradient_by_the_default_scale, groups_summed_along_the_other_axis, cotangent_read_as_contiguous,
        no_gradient_without_that_of_the_query, backward_from_the_last_key, backward_without_finite_bias,
        kept_weights_over_the_rate, one_dropout_for_all_heads, dropout_seeded_in_every_call, dropout_in_sixteenths,
        dropout_again_every_16_rows, default_scale_under_dropout, causality_lost_with_dropout_and_mask,
        backward_draws_its_own_dropout,
    )),
)  # fmt: skip
