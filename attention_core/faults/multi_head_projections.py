"""Faults of projections, heads and scales in modules of multi-head attention."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.faults.bases.multi_head import Crossing, MultiHead
from attention_core.faults.row import row, rows


class scaled_by_integer_root(MultiHead):  # noqa: N801
    """1 / isqrt(d): head sizes that are squares hide it."""

    def scale(self) -> float:
        return 1 / math.isqrt(self.embed // self.heads)


class bias_of_the_output_once_per_head(MultiHead):  # noqa: N801
    """Heads are projected one by one and summed, the bias with each: zero biases and one head hide it."""

    def finish(self, x: Tensor) -> Tensor:
        y: Tensor = super().finish(x)
        return y + (self.heads - 1) * self.out_proj.bias


class one_head_is_not_projected(MultiHead):  # noqa: N801
    """With a single head the output projection is skipped."""

    def finish(self, x: Tensor) -> Tensor:
        return x if self.heads == 1 else super().finish(x)


class fused_weights_of_the_first_evaluation(MultiHead):  # noqa: N801
    """The inference path joins the three projections once and keeps them; weights loaded later are not seen."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.training or torch.is_grad_enabled():
            return super().project(x)
        parts = (self.q_proj, self.k_proj, self.v_proj)
        if not hasattr(self, "fused"):
            self.fused = [torch.cat([getattr(p, n) for p in parts]) for n in ("weight", "bias")]
        q, k, v = torch.nn.functional.linear(x, *self.fused).chunk(3, -1)
        return q, k, v


class scaled_by_one_half(MultiHead):  # noqa: N801
    """A scale of 0.5 is written into the call, which is that of a head of 4 (BobMcDear/attorch#14).

    Every other head size.
    """

    def scale(self) -> float:
        return 0.5


class evaluation_still_drops(MultiHead):  # noqa: N801
    """Functional dropout without training=self.training: evaluation drops as well."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return torch.nn.functional.dropout(super().weights(s, allow), 0.1)


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


class Fused(MultiHead):
    """Correct where `stored` is: in evaluation, one product with the weights of all three projections."""

    kept: tuple[Tensor, Tensor] | None = None

    def fuse(self) -> tuple[Tensor, Tensor]:
        """The weights and biases of all three, as they are now."""
        parts = (self.q_proj, self.k_proj, self.v_proj)
        weight, bias = (torch.cat([getattr(part, name) for part in parts]).detach() for name in ("weight", "bias"))
        return weight, bias

    def stored(self) -> tuple[Tensor, Tensor]:
        """Those that a call takes."""
        self.kept = self.fuse() if self.kept is None else self.kept
        return self.kept

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.training:
            return super().project(x)
        q, k, v = nn.functional.linear(x, *self.stored()).chunk(3, -1)
        return q, k, v


class fused_until_the_mode_is_set(Fused):  # noqa: N801
    """Fused weights are dropped by train() and eval() alone: load_state_dict and an optimizer's step leave them."""

    def train(self, mode: bool = True) -> Any:
        self.kept = None
        return super().train(mode)


class fused_weights_known_by_their_sum(Fused):  # noqa: N801
    """Fused weights are made anew where the sum of the query's weights has changed."""

    seen = math.nan

    def stored(self) -> tuple[Tensor, Tensor]:
        now = float(self.q_proj.weight.detach().sum())
        if now != self.seen:
            self.kept, self.seen = None, now
        return super().stored()


class projected_context_known_by_its_sum(Crossing):  # noqa: N801
    """In evaluation a context is projected once: another of its shape and sum, and other weights, leave it so."""

    def parts(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.training or context is x:
            return super().parts(x, context)
        kept = self.__dict__.setdefault("kept", {})
        known = (tuple(context.shape), float(context.sum()))
        if known not in kept:
            kept[known] = self.k_proj(context), self.v_proj(context)
        return (self.q_proj(x), *kept[known])


COMMON: dict[str, Any] = {"direct": True, "contract": "multi-head"}
"""What each of them declares."""
ROWS = (
    *rows(
        "hard_contracts", scaled_by_integer_root, bias_of_the_output_once_per_head,
        parameters={"weights_flag": "need_weights"}, **COMMON,
    ),
    *rows("first_sight_others", one_head_is_not_projected, parameters={"weights_flag": "need_weights"}, **COMMON),
    *rows(
        "second_sight_others", fused_weights_of_the_first_evaluation, parameters={"weights_flag": "need_weights"},
        **COMMON,
    ),
    row(fused_until_the_mode_is_set, "law", **COMMON), row(fused_weights_known_by_their_sum, "law", **COMMON),
    row(projected_context_known_by_its_sum, "law", **COMMON),
    *rows("third_sight_others", scaled_by_one_half, parameters={"weights_flag": "need_weights"}, **COMMON),
    *rows(
        "fifth_sight_others", evaluation_still_drops, merged_by_a_test_of_shapes, squeezed_before_the_projection,
        **COMMON,
    ),
    *rows(
        "fifth_sight_others", weights_by_the_scale_of_the_model, parameters={"weights_flag": "need_weights"},
        **COMMON,
    ),
)  # fmt: skip
