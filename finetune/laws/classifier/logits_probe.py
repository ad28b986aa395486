"""What may stand between a classifier and its laws: logits from any model of transformers, and the gradients of a loss.

It runs on the side of the code under test; what should come out is worked out elsewhere, in NumPy.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

FROZEN, WITHOUT, WITH = -1, 0, 1
"""Of a parameter: it asks for no gradient, it got none, it got one."""


class Gradients:
    """Beside `nn.Module`: the gradients of all parameters, for laws that look at them."""

    def gradients(self, labels: Tensor, **batch: Tensor) -> tuple[Tensor, Tensor]:
        """Those of the summed cross entropy of a batch: all numbers in a row (0 where there is none), a flag for each.

        Args: labels (B,), int64; batch, what the model is called with. Example: flat, flags = model.gradients(y, **x).
        """
        model = cast(nn.Module, self)
        parameters = list(model.parameters())
        with torch.enable_grad():
            model.zero_grad(set_to_none=True)
            logits = cast(Tensor, model(**batch))
            if logits.requires_grad:
                loss = nn.functional.cross_entropy(logits, labels, reduction="sum")
                loss.backward()  # type: ignore[no-untyped-call]
        found = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flags = [FROZEN if not p.requires_grad else WITHOUT if p.grad is None else WITH for p in parameters]
        model.zero_grad(set_to_none=True)
        return torch.cat([g.detach().reshape(-1) for g in found]), torch.tensor(flags)


def make_target(make: Callable[[int, int, int], nn.Module]) -> type[nn.Module]:
    """What `--contract classifier` grades, around a function that builds a model.

    Arguments that the model does not take are left out; logits are its result, the first of a tuple, or `.logits`.

    Args: make: `(vocab_size, length, classes) -> model`, a small one.
    Returns: a class, to be named as the target.
    Example: target = make_target(lambda V, n, C: BertForSequenceClassification(BertConfig(V, num_labels=C)))
    """

    class Graded(Gradients, nn.Module):
        """The model that `make` builds."""

        def __init__(self, vocab_size: int, length: int, classes: int) -> None:
            super().__init__()
            self.model = make(vocab_size, length, classes)
            known = inspect.signature(self.model.forward).parameters.values()
            self.takes = {p.name for p in known}
            self.takes_all = any(p.kind is p.VAR_KEYWORD for p in known)

        def forward(self, **batch: Tensor) -> Tensor:
            """Logits (B, classes)."""
            known = {n: v for n, v in batch.items() if self.takes_all or n in self.takes}
            return logits_of(self.model(**known))

    return Graded


def make_target_by_name(build: Callable[[str], nn.Module], *, outputs: int = 2, prefix: int = 0) -> type[nn.Module]:
    """What `--contract classifier` grades, around a class of fixed outputs that loads its encoder by name.

    A small BERT of transformers is drawn and saved in a folder, whose name the class is given in the place of
    `distilbert-base-uncased` and the like. Laws ask for other numbers of classes: so many models as are needed stand
    side by side, each with an encoder of its own, and their logits are put together.

    Args: build: `folder -> model`; outputs: its classes; prefix: the places that it puts before a text.
    Returns: a class, to be named as the target.
    Raises: ValueError where a model has other numbers of logits than `outputs`.
    Example: target = make_target_by_name(lambda name: CustomModel(name, type="prefix"), prefix=128)
    Source: the skeleton of source 000, section 3.2.
    """

    def make(vocab_size: int, length: int, classes: int) -> nn.Module:
        return SideBySide(build, outputs, (vocab_size, length + prefix, classes))

    return make_target(make)


class SideBySide(nn.Module):
    """Models of a fixed number of classes, as many as reach a wanted one, on small encoders that are drawn here."""

    def __init__(self, build: Callable[[str], nn.Module], outputs: int, sizes: tuple[int, int, int]) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        vocab_size, positions, self.classes = sizes
        self.outputs = outputs
        config = BertConfig(
            vocab_size=vocab_size, max_position_embeddings=positions, hidden_size=16, num_hidden_layers=2,
            num_attention_heads=2, intermediate_size=32,
        )  # fmt: skip
        models = []
        for _ in range(-(-self.classes // outputs)):
            with tempfile.TemporaryDirectory() as folder:
                BertModel(config).save_pretrained(folder)
                models.append(build(folder))
        self.models = nn.ModuleList(models)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Logits (B, classes)."""
        found = [logits_of(model(input_ids=input_ids, attention_mask=attention_mask)) for model in self.models]
        for logits in found:
            if logits.shape != (len(input_ids), self.outputs):
                raise ValueError(
                    f"the model gives {tuple(logits.shape)}, but should give {(len(input_ids), self.outputs)}"
                )
        together = torch.cat(found, -1) / len(found)
        kept, rest = together[:, : self.classes], together[:, self.classes :]
        # Sums are kept: where every model gives probabilities, which the laws refuse, the whole does as well.
        return torch.cat((kept[:, :-1], kept[:, -1:] + rest.sum(-1, keepdim=True)), -1)


def logits_of(found: Any) -> Tensor:
    """The logits in what a model returned."""
    if isinstance(found, Mapping):
        return cast(Tensor, found["logits"])
    first = found[0] if isinstance(found, tuple) else found
    return cast(Tensor, getattr(first, "logits", first))
