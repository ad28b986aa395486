"""Faults of the fifth set in the other contracts, by somebody who had read neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are the faults counted then, on
the catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults import bias, fourth_sight_others, lse, position_table, rotary
from attention_core.faults.bases import reference
from attention_core.faults.mask_builder import positions
from attention_core.faults.multi_head import MultiHead
from attention_core.faults.row import row

# --- positions ------------------------------------------------------------------------------------


def negative_rows_of_a_table(x: Tensor, places: Tensor) -> Tensor:
    """A table of cosines is indexed by position: a negative one reads it from its end."""
    rows = int(places.abs().max()) + 1 if places.numel() else 1
    return rotary.correct(x, torch.where(places < 0, places + rows, places))


def pairs_at_half_the_exponent(x: Tensor, places: Tensor) -> Tensor:
    """Interleaved: the exponent of pair c is c/d, not 2c/d; right at d = 2."""
    d = x.shape[-1]
    angle = places[..., None] * 10000.0 ** (-torch.arange(d // 2) / d)
    cos, sin, wide = angle.cos(), angle.sin(), x.to(torch.promote_types(x.dtype, torch.float32))
    a, b = wide[..., 0::2], wide[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)


def rotated_in_place(x: Tensor, places: Tensor) -> Tensor:
    """The caller's tensor is overwritten where it asks for no gradient."""
    turned = rotary.correct(x, places)
    return turned if x.requires_grad else x.copy_(turned)


class _Forward(torch.autograd.Function):
    """A rotation whose backward is the rotation."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        return rotary.correct(x, places)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return rotary.correct(grad, ctx.saved_tensors[0]), None


def gradient_turned_forward(x: Tensor, places: Tensor) -> Tensor:
    """The backward turns the gradient forward, not back."""
    turned: Tensor = _Forward.apply(x, places)
    return turned


def positions_wrap_at_2048(x: Tensor, places: Tensor) -> Tensor:
    """Positions wrap at 2048, the table's size."""
    return rotary.correct(x, torch.where(places >= 2048, places % 2048, places))


def every_second_slope_of_the_wrong_half(H: int, n_q: int, n_kv: int) -> Tensor:
    """The slopes that are added for H no power of two are the second, fourth, ..., not the first, third, ..."""
    power = 1 << (H.bit_length() - 1)
    added = bias.slopes(2 * power)[1::2][: H - power]
    return bias.with_slopes(torch.cat([bias.slopes(power), added]), n_q, n_kv)


def distances_up_to_256(H: int, n_q: int, n_kv: int) -> Tensor:
    """Distances are clamped to 256."""
    return -bias.slopes(H)[:, None, None] * bias.distances(n_q, n_kv).clamp(max=256)


def table_of_512_rows_again(n: int, d: int) -> Tensor:
    """The table has 512 rows, which come again."""
    return position_table.correct(min(n, 512), d)[torch.arange(n) % 512]


# --- masks ----------------------------------------------------------------------------------------


def prefix_for_its_own_rows(n_q: int, n_kv: int, P: int, align: str = "top_left") -> Tensor:
    """The first P rows alone see the prefix.

    Bottom right is declared: more queries than keys.
    """
    (i, j), (own, _) = positions(n_q, n_kv, align), positions(n_q, n_kv, "top_left")
    return (j <= i) | ((own < P) & (j < P))


def far_edge_without_the_offset(n_q: int, n_kv: int, W: int, align: str = "top_left") -> Tensor:
    """The far edge of the window forgets the offset.

    Bottom right is declared: other numbers of queries than keys.
    """
    (i, j), (own, _) = positions(n_q, n_kv, align), positions(n_q, n_kv, "top_left")
    return (j <= i) & (own - j < W)


def lengths_raised_to_one(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    """A length of 0 is raised to 1 against NaN."""
    return fourth_sight_others.lengths_of_one_at_least(n_q, n_kv, lengths)


def segments_of_one_byte(n_q: int, n_kv: int, ids: Tensor) -> Tensor:
    """Ids are compared in one byte: those 256 apart are one segment."""
    ids = ids.to(torch.uint8)
    return ids[:, None, :n_q, None] == ids[:, None, None, :n_kv]


def wide_windows_hide_nothing(n_q: int, n_kv: int, W: int) -> Tensor:
    """A window as long as the keys is taken for no mask, so that later keys are seen."""
    i, j = positions(n_q, n_kv, "top_left")
    return ((j <= i) & (j > i - W)) | torch.tensor(n_kv <= W)


# --- modules --------------------------------------------------------------------------------------


class evaluation_still_drops(MultiHead):  # noqa: N801
    """Functional dropout without training=self.training: evaluation drops as well."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return torch.nn.functional.dropout(super().weights(s, allow), 0.1)


class open_by_mask_or_causality(MultiHead):  # noqa: N801
    """Mask and causality together are combined by or."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and is_causal:
            return attn_mask | torch.ones(n, n, dtype=torch.bool).tril()
        return super().allowed(n, attn_mask, is_causal, need_weights)


class masks_tiled_over_folded_heads(fourth_sight_others.masks_of_sequences_for_heads):  # noqa: N801
    """Heads are folded into the batch, and masks (B, 1, n, n) are repeated behind themselves."""


class merged_by_a_test_of_shapes(MultiHead):  # noqa: N801
    """Heads are merged without the transpose where there are as many tokens as heads."""

    def merge(self, x: Tensor) -> Tensor:
        return super().merge(x) if x.shape[1] != x.shape[2] else x.reshape(x.shape[0], x.shape[2], -1)


class squeezed_before_the_projection(MultiHead):  # noqa: N801
    """squeeze() before the output projection takes away a batch of one, and a single token."""

    def finish(self, x: Tensor) -> Tensor:
        return super().finish(x.squeeze())


class weights_by_the_scale_of_the_model(MultiHead):  # noqa: N801
    """The weights that are returned, not the output, are scaled by 1/sqrt(E)."""

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, need_weights: bool = False
    ) -> Any:
        found = super().forward(x, attn_mask, is_causal, need_weights)
        if not need_weights:
            return found
        q, k, _ = (self.split(part) for part in self.project(x))
        allow = self.allowed(x.shape[1], attn_mask, is_causal, need_weights)
        return found[0], self.weights(self.embed**-0.5 * q @ k.mT, allow)


# --- the log-sum-exp ------------------------------------------------------------------------------


def lse_gradient_is_zero() -> lse.Fault:
    """The backward ignores the gradient that comes in through the log-sum-exp."""
    return lse.build_lse(lambda s, raw: torch.logsumexp(s.detach(), -1) + 0.0 * raw.sum(-1))


def lse_of_dead_rows_is_minus_46() -> lse.Fault:
    """The log-sum-exp of a row without keys is log(1e-20), a guard against log 0."""
    return lse.build_lse(lambda s, raw: torch.logsumexp(s, -1).masked_fill((s == -math.inf).all(-1), math.log(1e-20)))


def lse_at_the_default_scale() -> lse.Fault:
    """The log-sum-exp is of scores at the default scale, whatever was given; the output is right."""
    kept: list[Tensor] = []

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        kept[:] = [reference.scores(query, key, None)]
        return reference.scores(query, key, scale)

    return lse.build_lse(lambda s, raw: torch.logsumexp(kept.pop() + (s - raw), -1), scores=scores)


def lse_of_groups_in_the_other_order() -> lse.Fault:
    """The log-sum-exp comes as (group, H_kv) where heads lie as (H_kv, group); the output is right."""
    kept = {"group": 1}

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        kept["group"] = heads // key.shape[-3]
        return reference.expand(key, value, heads)

    def swapped(s: Tensor, raw: Tensor) -> Tensor:
        return torch.logsumexp(s, -1).unflatten(-2, (-1, kept["group"])).transpose(-3, -2).flatten(-3, -2)

    return lse.build_lse(swapped, expand=expand)


MH: dict[str, Any] = {"direct": True, "contract": "multi-head"}
RO: dict[str, Any] = {"direct": True, "contract": "rotary", "dtypes": ("float32", "bfloat16", "float16")}
LSE: dict[str, Any] = {"contract": "attention-lse", "returns": "out,lse"}


def new(target: Any, **record: Any) -> Any:
    """A row of this file."""
    return row(target, "hard", "fifth_sight", **record)


def mask(target: Any, kind: str, **record: Any) -> Any:
    """A row of a mask builder."""
    return new(target, direct=True, contract="mask-builder", parameters={"kind": kind}, **record)


ROWS = (
    *(new(f, **RO) for f in (
        negative_rows_of_a_table, rotated_in_place, gradient_turned_forward, positions_wrap_at_2048,
    )),
    new(pairs_at_half_the_exponent, **RO, parameters={"pairing": "interleaved"}),
    *(new(f, direct=True, contract="bias") for f in (every_second_slope_of_the_wrong_half, distances_up_to_256)),
    new(table_of_512_rows_again, direct=True, contract="position-table"),
    mask(prefix_for_its_own_rows, "prefix", causal="bottom_right"),
    mask(far_edge_without_the_offset, "sliding_window", causal="bottom_right"),
    mask(wide_windows_hide_nothing, "sliding_window"),
    mask(lengths_raised_to_one, "padding"), mask(segments_of_one_byte, "segments"),
    *(new(c, **MH) for c in (
        evaluation_still_drops, open_by_mask_or_causality, masks_tiled_over_folded_heads, merged_by_a_test_of_shapes,
        squeezed_before_the_projection,
    )),
    new(weights_by_the_scale_of_the_model, **MH, parameters={"weights_flag": "need_weights"}),
    *(new(f, **LSE) for f in (
        lse_gradient_is_zero, lse_of_dead_rows_is_minus_46, lse_at_the_default_scale, lse_of_groups_in_the_other_order,
    )),
)  # fmt: skip
