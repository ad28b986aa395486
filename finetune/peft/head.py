"""Tuning of parts that are there already: the head alone, or the head and the vectors that are added.

Head tuning freezes everything but the head: the base has no gradient, and keeps nothing for a backward pass. Bias-
only tuning trains the biases, too; every matrix stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from finetune.errors import BadInput
from finetune.peft.files import Saved
from finetune.peft.model_parts import head_of
from finetune.peft.protocol import Adapter, Method


@dataclass(frozen=True)
class Bias(Method):
    """Train the parameters called `bias` (those of norms too), and the head.

    An encoder of ours has (7 d + h) L + d of them: query, key, value, projection, two norms and the end of the
    feed-forward part with d in each layer, its middle with h, and the norm of the embeddings.

    Source: Ben Zaken et al., "BitFit" (2022).
    """

    name = "bias"
    peft_types = ("FINETUNE_BIAS",)  # no word of the library's

    def inject(self, model: nn.Module) -> Adapter:
        """Freeze all but the biases. Raises: BadInput for a model without any."""
        head = head_of(model)
        found = [n for n, _ in model.named_parameters() if n.rpartition(".")[2] == "bias" and n not in head]
        if not found:
            raise BadInput(f"{type(model).__name__} has no biases")
        return Adapter(model, self, head, inner=found)

    @classmethod
    def of_config(cls, saved: Saved, model: nn.Module) -> Bias:
        """There are no options."""
        return cls()


@dataclass(frozen=True)
class Head(Method):
    """Train the head: classes (d + 1) parameters, 2 d + 2 for two classes.

    Source: the assignment of Johns Hopkins' CS 601.471, section 3.2 ("head-tuning").
    """

    name = "head"
    peft_types = ("FINETUNE_HEAD",)  # no word of the library's

    def inject(self, model: nn.Module) -> Adapter:
        """Freeze the backbone. Raises: BadInput for a model without a head of its own."""
        head = head_of(model)
        if not head:
            raise BadInput(f"{type(model).__name__} has no head that could be trained: put a Classifier around it")
        return Adapter(model, self, head)

    @classmethod
    def of_config(cls, saved: Saved, model: nn.Module) -> Head:
        """There are no options."""
        return cls()
