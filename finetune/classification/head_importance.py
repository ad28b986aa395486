"""How much a classifier needs each attention head: by ablation, by the gradient of a gate, and by taking heads out.

A gate multiplies what a head hands to the output projection: 1 leaves the model as it is, 0 takes the head out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor, nn

from finetune.classification.scores import evaluating
from finetune.errors import BadInput
from finetune.models.classifier import TEXTS, Classifier
from finetune.models.encoder import Encoder, SelfAttention

Batch = Mapping[str, Tensor]
Head = tuple[int, int]
"""Layer and number of a head, both from 0."""
GatedLosses = Callable[[Batch, Tensor], Tensor]
"""Of a batch and gates (B, L, H) or (1, L, H): the loss of each text."""
RESAMPLES = 2000


def attentions(classifier: Classifier) -> list[SelfAttention]:
    """The attention of each layer. Raises: BadInput for an encoder that is not ours, or one that lost whole layers."""
    if not isinstance(classifier.encoder, Encoder):
        raise BadInput("heads are gated in our own encoder: train with --backend own")
    found: list[Any] = [block.attn for block in classifier.encoder.blocks]
    if not all(isinstance(attention, SelfAttention) for attention in found):
        raise BadInput("a layer without heads has no gates")
    return found


@contextmanager
def gate_heads(classifier: Classifier, gates: Float[Tensor, "#B L H"]) -> Iterator[None]:
    """Within, head h of layer l of text b is multiplied by gates[b, l, h] (one row of gates serves all texts)."""

    def hook(layer: int, heads: int) -> Callable[[nn.Module, tuple[Tensor]], tuple[Tensor]]:
        def multiply(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
            B, n, E = inputs[0].shape
            cut = inputs[0].reshape(B, n, heads, E // heads)
            return ((cut * gates[:, None, layer, :, None]).flatten(2),)

        return multiply

    handles = [
        attention.proj.register_forward_pre_hook(hook(layer, attention.n_head))
        for layer, attention in enumerate(attentions(classifier))
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def example_losses(classifier: Classifier, batch: Batch) -> Float[Tensor, " B"]:
    """The negative log-likelihood of each text of a batch, in nats."""
    logits: Tensor = classifier(**{name: batch[name] for name in TEXTS if name in batch})
    return nn.functional.cross_entropy(logits, batch["labels"], reduction="none")


def gate_gradients(classifier: Classifier, batches: Iterable[Batch]) -> npt.NDArray[np.float64]:
    """The size of each text's slope along each gate, |d loss_i / d g_lh| at g = 1: `slopes` of a classifier.

    Args: classifier; batches, with labels. Returns: (examples, L, H).
    """
    return slopes(classifier, partial(gated_losses, classifier), batches, shape_of(classifier))


def ablation_losses(classifier: Classifier, batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """How much each text's loss rises when a head is taken out: `rises` of a classifier.

    Args: classifier; batches, with labels. Returns: (examples, L, H).
    """
    return rises(classifier, partial(gated_losses, classifier), batches, shape_of(classifier))


def gated_losses(classifier: Classifier, batch: Batch, gates: Float[Tensor, "#B L H"]) -> Float[Tensor, " B"]:
    """The loss of each text with gates on the heads."""
    with gate_heads(classifier, gates):
        return example_losses(classifier, batch)


def shape_of(classifier: Classifier) -> tuple[int, int]:
    """Layers, and heads of a layer. Raises: BadInput as `attentions` does."""
    found = attentions(classifier)
    return len(found), found[0].n_head


def slopes(
    model: nn.Module, losses: GatedLosses, batches: Iterable[Batch], shape: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """The size of each text's slope along each gate, |d loss_i / d g_lh| at g = 1.

    Every text has gates of its own, so one backward pass gives all slopes and nothing adds up between texts or batches:
    a well-known script keeps the gradients of earlier batches in the same gates, and ranks by their running sum.

    Args: model, in evaluation mode meanwhile; losses, of each text of a batch under gates; batches; shape, (L, H).
    Returns: (examples, L, H).
    Source: Michel et al. (2019), "Are sixteen heads really better than one?", equation 2.
    """
    found = []
    with evaluating(model):
        for batch in batches:
            with torch.enable_grad():
                gates = torch.ones(count_of(batch), *shape, requires_grad=True)
                (slope,) = torch.autograd.grad(losses(batch, gates).sum(), gates)
            found.append(slope.abs().double().numpy())
    return np.concatenate(found)


def rises(
    model: nn.Module, losses: GatedLosses, batches: Sequence[Batch], shape: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """How much each text's loss rises when a head is taken out, loss_i(g_lh = 0) - loss_i(g = 1).

    Args: model, losses, batches, shape: as for `slopes`. Returns: (examples, L, H).
    Source: Michel et al. (2019), section 3.2.
    """
    with evaluating(model):
        plain = [losses(batch, torch.ones(1, *shape)).double() for batch in batches]
        found = np.zeros((sum(map(len, plain)), *shape))
        for layer, head in np.ndindex(*shape):
            gates = torch.ones(1, *shape)
            gates[0, layer, head] = 0
            without = [losses(batch, gates).double() for batch in batches]
            found[:, layer, head] = torch.cat([a - b for a, b in zip(without, plain, strict=True)]).numpy()
    return found


def count_of(batch: Batch) -> int:
    """The number of texts in a batch."""
    return len(next(iter(batch.values())))


def ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The rank of each value from 1, the mean rank where several are equal.

    >>> ranks(np.array([5.0, 1.0, 5.0]))
    array([2.5, 1. , 2.5])
    """
    order = np.sort(values)
    return (np.searchsorted(order, values, "left") + np.searchsorted(order, values, "right") + 1) / 2


def rank_correlation(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    """Spearman's correlation: that of the ranks; nan where one side has equal values alone.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 8.0, 9.0]))
    1.0
    """
    a, b = (ranks(side) - (len(side) + 1) / 2 for side in (first, second))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else float("nan")


def agreement(
    slopes: npt.NDArray[np.float64], rises: npt.NDArray[np.float64], seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, tuple[float, float]]:
    """How far both measures rank the heads alike: Spearman's correlation of their means, with a 95 % interval.

    The interval is the bootstrap's, over examples; both measures are drawn again with the same examples.

    Args: slopes, rises, (examples, L, H); seed, resamples, of the draws.
    """
    a, b = (each.reshape(len(each), -1) for each in (slopes, rises))
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        weights = np.bincount(generator.integers(len(a), size=len(a)), minlength=len(a)) / len(a)
        drawn.append(rank_correlation(weights @ a, weights @ b))
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return rank_correlation(a.mean(0), b.mean(0)), (float(low), float(high))


def least_important(importance: npt.NDArray[np.float64], count: int) -> list[Head]:
    """The heads with the smallest importance (L, H), of equal ones the first."""
    order = np.argsort(importance.reshape(-1), kind="stable")[:count]
    return [(int(n) // importance.shape[1], int(n) % importance.shape[1]) for n in order]


class NoHeads(nn.Module):
    """What a layer of attention gives when all of its heads are gone: the bias of its output projection."""

    def __init__(self, bias: Tensor) -> None:
        super().__init__()
        self.bias = nn.Parameter(bias.detach().clone(), requires_grad=bias.requires_grad)

    def forward(self, x: Float[Tensor, "B n E"], mask: Any, past: Any) -> Float[Tensor, "B n E"]:
        """The bias at every token."""
        return self.bias.expand_as(x)


def without_heads(classifier: Classifier, heads: Iterable[Head]) -> Classifier:
    """A copy of a classifier whose projections lack the rows and columns of some heads: smaller, and faster.

    Its outputs are those with the gates of these heads at 0.

    Raises: BadInput for a head that is not there.
    """
    made = copy.deepcopy(classifier)
    by_layer: dict[int, set[int]] = {}
    for layer, head in heads:
        by_layer.setdefault(layer, set()).add(head)
    layers = attentions(made)
    for layer, gone in by_layer.items():
        if layer >= len(layers) or not gone <= set(range(layers[layer].n_head)):
            raise BadInput(f"layer {layer} has no heads {sorted(gone)}")
        block: Any = made.encoder.blocks[layer]  # type: ignore[index]  # an Encoder: `attentions` saw it
        block.attn = _keep(layers[layer], [h for h in range(layers[layer].n_head) if h not in gone])
    return made


def _keep(attention: SelfAttention, kept: Sequence[int]) -> nn.Module:
    if not kept:
        return NoHeads(attention.proj.bias)
    width = attention.query.out_features // attention.n_head
    rows = torch.cat([torch.arange(h * width, (h + 1) * width) for h in kept])
    for name in ("query", "key", "value"):
        setattr(attention, name, _linear(getattr(attention, name), rows, slice(None)))
    attention.proj = _linear(attention.proj, slice(None), rows)
    attention.n_head = len(kept)
    return attention


def _linear(linear: nn.Linear, rows: Any, columns: Any) -> nn.Linear:
    weight = linear.weight.detach()[rows][:, columns]
    made = nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype, device=weight.device)
    with torch.no_grad():
        made.weight.copy_(weight)
        made.bias.copy_(linear.bias.detach()[rows])
    made.weight.requires_grad_(linear.weight.requires_grad)
    made.bias.requires_grad_(linear.bias.requires_grad)
    return made


@dataclass(frozen=True)
class Importance:
    """Both measures of a classifier's heads on some texts.

    Args: slopes, mean |d loss / d gate| (L, H); rises, mean rise of the loss without the head (L, H); correlation, of
        their ranks, with interval; examples, how many texts.
    """

    slopes: npt.NDArray[np.float64]
    rises: npt.NDArray[np.float64]
    correlation: float
    interval: tuple[float, float]
    examples: int


def importance_of(classifier: Classifier, batches: Sequence[Batch]) -> Importance:
    """Measure both. Args: classifier, in any mode; batches, with labels."""
    slopes, rises = gate_gradients(classifier, batches), ablation_losses(classifier, batches)
    correlation, interval = agreement(slopes, rises)
    return Importance(slopes.mean(0), rises.mean(0), correlation, interval, len(slopes))
