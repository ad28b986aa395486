"""Our measures of attention heads, our gates and our pruning behind the face that `--contract head-importance` wants.

`attention-core verify --contract head-importance finetune.contract_adapters.own_heads:heads` grades them as it grades
anyone's.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from finetune.classification import head_importance as ours
from finetune.laws.head_importance import head_probe
from finetune.models.classifier import Classifier
from finetune.models.encoder import Encoder, EncoderConfig

MAPS = ("query", "key", "value", "proj")


def gradient(model: Any, batches: list[dict[str, Tensor]], layers: int, heads: int) -> Any:
    """Importance by the gradients of gates."""
    return ours.slopes(model, model, batches, (layers, heads)).mean(0)


def ablation(model: Any, batches: list[dict[str, Tensor]], layers: int, heads: int) -> Any:
    """Importance by ablation."""
    return ours.rises(model, model, batches, (layers, heads)).mean(0)


def agreement(first: Tensor, second: Tensor) -> float:
    """The rank correlation of two importances, of one text each; the interval is not judged."""
    a, b = (side.double().numpy()[None] for side in (first, second))
    return ours.agreement(a, b, resamples=1)[0]


def choose(importance: Tensor, count: int) -> list[tuple[int, int]]:
    """The least important heads of all layers."""
    return ours.least_important(importance.double().numpy(), count)


class Attention(nn.Module):
    """The attention of a classifier of one layer, as a layer of the contract: x to y, nothing else."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        block: Any = classifier.encoder.blocks[0]  # type: ignore[index]  # an Encoder, see `classifier_of`
        self.attention = block.attn
        self.whole = [classifier]  # in a list, so that its other parameters do not count as those of the layer

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, E) to (B, n, E)."""
        found: Tensor = self.attention(x, None, None)
        return found


def classifier_of(layer: Any) -> Classifier:
    """A classifier of one layer, whose attention is the given one."""
    if isinstance(layer, Attention):
        return layer.whole[0]
    E = layer.proj.out_features
    made = Classifier(Encoder(EncoderConfig(2, 2, 1, layer.n_head, E, 1, attention_dropout=0.0)), 2)
    block: Any = made.encoder.blocks[0]  # type: ignore[index]
    for name in MAPS:
        setattr(block.attn, name, getattr(layer, name))
    return made


def gate(layer: Any, x: Tensor, gates: Tensor) -> Tensor:
    """The output of a layer under gates."""
    classifier = classifier_of(layer)
    with torch.no_grad(), ours.gate_heads(classifier, gates[None, None]):
        found: Tensor = Attention(classifier)(x)
    return found


def prune(layer: Any, heads: list[int]) -> Attention:
    """A layer without some heads."""
    return Attention(ours.without_heads(classifier_of(layer), [(0, head) for head in heads]))


heads = head_probe.make_target(
    gradient=gradient, ablation=ablation, agreement=agreement, choose=choose, gate=gate, prune=prune
)
"""To be graded: `attention-core verify --contract head-importance finetune.contract_adapters.own_heads:heads`."""
