"""What a classifier is trained on: cross-entropy with smoothed labels and weights of classes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from finetune.errors import BadInput
from finetune.models.gpt import at_least_single


def class_weights(wish: str | None, counts: Sequence[int]) -> list[float] | None:
    """The weight of each class, with mean 1 over the training examples.

    "balanced" gives each class the same total, w_c = N / (C n_c); numbers a_c give w_c = a_c N / sum_k a_k n_k.
    With mean 1 the loss keeps its size, so that a learning rate means the same with weights and without.

    Args: wish: None or "none", "balanced", or numbers separated by commas in the order of the classes; counts: training
        examples of each class.
    Raises: BadInput where a number is not positive, there are too few or too many, or a class to balance is empty.

    >>> class_weights("balanced", [30, 10])
    [0.666..., 2.0]
    >>> class_weights("1,3", [30, 10])
    [0.666..., 2.0]
    """
    if wish is None or wish == "none":
        return None
    if wish == "balanced":
        if not all(counts):
            raise BadInput("class_weights balanced: a class has no training example, and no weight makes up for it")
        given = [1 / count for count in counts]
    else:
        try:
            given = [float(part) for part in wish.split(",")]
        except ValueError:
            given = []
        if not given or not all(0 < number < float("inf") for number in given):
            raise BadInput(f"class_weights are balanced, none, or positive numbers such as 1,2.5, got {wish!r}")
        if len(given) != len(counts):
            raise BadInput(f"class_weights names {len(given)} weights for {len(counts)} classes")
    scale = sum(counts) / sum(a * n for a, n in zip(given, counts, strict=True))
    return [a * scale for a in given]


def training_losses(
    logits: Float[Tensor, "batch classes"], labels: Int[Tensor, " batch"], smoothing: float = 0.0,
    weights: Sequence[float] | None = None,
) -> Float[Tensor, " batch"]:  # fmt: skip
    """The loss of each example.

    w_y (-(1 - s) log p_y - s / C sum_c log p_c): the true class keeps 1 - s, and s is spread over all classes.

    Args: logits; labels; smoothing, s from 0 to below 1; weights, of the classes, None for 1.
    Source: Szegedy et al. (2016), "Rethinking the Inception architecture", section 7. torch's `cross_entropy` weighs
        the smoothed part by the weight of each class in it; here an example has one weight, that of its own class.

    >>> training_losses(torch.zeros(1, 4), torch.tensor([2]), smoothing=0.1)
    tensor([1.3863])
    """
    logs = torch.log_softmax(at_least_single(logits), -1)
    losses = -logs.gather(-1, labels[:, None])[:, 0]
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing * logs.mean(-1)
    if weights is not None:
        losses = losses * torch.tensor(weights, dtype=losses.dtype, device=losses.device)[labels]
    return losses
