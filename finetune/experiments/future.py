"""What a prediction owes to tokens that it should not see: measured by exchanging them, or by taking them away."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

Model = nn.Module | Callable[[Tensor], Tensor]


def losses_at(model: Model, x: Int[Tensor, "B n"], y: Int[Tensor, "B n"]) -> Float[Tensor, "B n"]:
    """Return the loss of each place, in nats."""
    logits = model(x)
    return cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view(y.shape)


@torch.no_grad()
def effect_of_later_token(model: Model, x: Int[Tensor, "B n"], y: Int[Tensor, "B n"]) -> float:
    """Return how much the losses before a place change, at most, if the token of that place is exchanged.

    For the places j in {1, n/2, n - 1} the token is replaced by that of the next stretch; the largest |change| over all
    i < j. A causal model has 0, to the bit: the same sums of the same numbers.
    """
    before, largest = losses_at(model, x, y), 0.0
    for j in {1, x.shape[1] // 2, x.shape[1] - 1}:
        other = x.clone()
        other[:, j] = x[:, j].roll(1)
        largest = max(largest, float((losses_at(model, other, y) - before)[:, :j].abs().max()))
    return largest


@torch.no_grad()
def gain_from_future(model: Model, x: Int[Tensor, "B n"], y: Int[Tensor, "B n"], every: int = 4) -> float:
    """Return the mean of loss(i, with another future) - loss(i): what the true future is worth, in nats a token.

    Args:
        model: token ids to logits.
        x, y: tokens and targets; what comes after place i is replaced by that of the next stretch.
        every: distance of the places that are looked at.
    """
    true, other, gains = losses_at(model, x, y), x.roll(1, dims=0), []
    for i in range(every // 2, x.shape[1] - 1, every):
        mixed = torch.cat([x[:, : i + 1], other[:, i + 1 :]], dim=1)
        gains.append((losses_at(model, mixed, y) - true)[:, i].mean())
    return float(torch.stack(gains).mean())


@torch.no_grad()
def loss_without_future(model: Model, x: Int[Tensor, "B n"], y: Int[Tensor, "B n"]) -> float:
    """Return the mean loss if each token is predicted from those before it alone, as when the model writes.

    Each place is the last one of a call of its own. For a causal model it is the usual loss.
    """
    parts = [losses_at(model, x[:, : i + 1], y[:, : i + 1])[:, -1].mean() for i in range(x.shape[1])]
    return float(torch.stack(parts).mean())
