"""Faults of the backward pass of multi-head modules, one each: every output is right.

`instead(value, other)` has the numbers of one and the gradient of the other.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.faults.bases.multi_head import Apart, Crossing, MultiHead
from attention_core.faults.row import row


class _Instead(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, value: Tensor, other: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(_: Any, down: Tensor) -> tuple[None, Tensor]:
        return None, down


def instead(value: Tensor, other: Tensor) -> Tensor:
    """The numbers of one tensor, and the gradient of another of its shape."""
    found: Tensor = _Instead.apply(value.detach(), other)
    return found


def linear(x: Tensor, layer: nn.Linear, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """A layer with other tensors in the place of its weight or bias."""
    return nn.functional.linear(x, layer.weight if weight is None else weight, layer.bias if bias is None else bias)


class weight_gradient_of_one_text(MultiHead):  # noqa: N801
    """The gradient of the output projection's weight is that of the first sequence alone; inputs get theirs."""

    def finish(self, x: Tensor) -> Tensor:
        y = super().finish(x)
        first = linear(x[:1], self.out_proj)
        others = linear(x[1:], self.out_proj, self.out_proj.weight.detach())
        return instead(y, torch.cat([first, others]))


class input_gradient_without_keys(MultiHead):  # noqa: N801
    """Keys are projected from a detached input: their weights train, the layers below miss a part."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(x), self.k_proj(x.detach()), self.v_proj(x)


class keys_detached(MultiHead):  # noqa: N801
    """Keys carry no gradient at all: k_proj never trains."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().project(x)
        return q, k.detach(), v


class scale_lost_backwards(MultiHead):  # noqa: N801
    """The backward of the scaled scores is that of the unscaled ones."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return super().weights(instead(s, s / self.scale()), allow)


class weights_detached_from_their_sum(MultiHead):  # noqa: N801
    """The softmax divides by a detached sum: the normaliser's part of the gradient is missing."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        p = super().weights(s, allow)
        shifted = s.masked_fill(~allow, -math.inf)
        exponentials = (shifted - shifted.amax(-1, keepdim=True).detach()).exp()
        return instead(p, exponentials / exponentials.sum(-1, keepdim=True).detach())


class bias_gradient_averaged(MultiHead):  # noqa: N801
    """The output's bias gets the mean over the sequences in place of their sum."""

    def finish(self, x: Tensor) -> Tensor:
        return instead(super().finish(x), linear(x, self.out_proj, bias=self.out_proj.bias / len(x)))


class output_bias_frozen_by_hand(MultiHead):  # noqa: N801
    """The output's bias is added as a detached number, though it asks for gradients."""

    def finish(self, x: Tensor) -> Tensor:
        return linear(x, self.out_proj, bias=self.out_proj.bias.detach())


class masked_scores_pass_gradients(MultiHead):  # noqa: N801
    """The backward takes the weights of a call without any mask."""

    def weights(self, s: Tensor, allow: Tensor) -> Tensor:
        return instead(super().weights(s, allow), s.softmax(-1))


class last_head_without_gradient(MultiHead):  # noqa: N801
    """What the last of several heads gives is detached."""

    def merge(self, x: Tensor) -> Tensor:
        return super().merge(torch.cat([x[:, :1], x[:, 1:-1], x[:, 1:][:, -1:].detach()], dim=1))


class backward_in_half_precision(MultiHead):  # noqa: N801
    """The cotangent of the heads passes through bfloat16."""

    def merge(self, x: Tensor) -> Tensor:
        y = super().merge(x)
        return instead(y, y.bfloat16().float())


class backward_wrong_in_training_alone(MultiHead):  # noqa: N801
    """A fused path of training forgets the keys' part; evaluation differentiates right."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.q_proj(x), self.k_proj(x.detach() if self.training else x), self.v_proj(x)


class context_without_gradient(Crossing):  # noqa: N801
    """A context is detached: an encoder in front of it does not train."""

    def parts(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().parts(x, context if context is x else context.detach())


class value_gradient_through_the_key(Apart):  # noqa: N801
    """The gradient of the value's projection goes to the key where both have one shape."""

    def read(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().read(key, value)
        return k, instead(v, self.v_proj(key)) if key.shape == value.shape else v


class frozen_keys(MultiHead):  # noqa: N801
    """Correct: the projection of keys is frozen, as its parameters say."""

    def build(self) -> None:
        super().build()
        self.k_proj.requires_grad_(False)


class recomputed(MultiHead):  # noqa: N801
    """Correct: the attention is computed again in the backward pass, from stored queries, keys and values."""

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Any:  # type: ignore[override]
        """Checkpointed."""
        whole = super().forward
        return torch.utils.checkpoint.checkpoint(lambda t: whole(t, attn_mask, is_causal), x, use_reentrant=False)


FAULTY = (
    weight_gradient_of_one_text, input_gradient_without_keys, keys_detached, scale_lost_backwards,
    weights_detached_from_their_sum, bias_gradient_averaged, output_bias_frozen_by_hand, masked_scores_pass_gradients,
    last_head_without_gradient, backward_in_half_precision, backward_wrong_in_training_alone,
    context_without_gradient, value_gradient_through_the_key,
)  # fmt: skip
"""Each gives the right output in every call."""
RIGHT = (frozen_keys, recomputed)
ROWS = tuple(row(fault, "law", direct=True, contract="multi-head") for fault in FAULTY)
