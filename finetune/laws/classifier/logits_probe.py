"""What may stand between a classifier and its laws: logits from any model of transformers, and the gradients of a loss.

It runs on the side of the code under test; what should come out is worked out elsewhere, in NumPy.
"""

from __future__ import annotations

import inspect
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


def graded(make: Callable[[int, int, int], nn.Module]) -> type[nn.Module]:
    """What `--contract classifier` grades, around a function that builds a model.

    Arguments that the model does not take are left out; logits are its result, the first of a tuple, or `.logits`.

    Args: make: `(vocab_size, length, classes) -> model`, a small one.
    Returns: a class, to be named as the target.
    Example: target = graded(lambda V, n, C: BertForSequenceClassification(BertConfig(vocab_size=V, ..., num_labels=C)))
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


def logits_of(found: Any) -> Tensor:
    """The logits in what a model returned."""
    if isinstance(found, Mapping):
        return cast(Tensor, found["logits"])
    first = found[0] if isinstance(found, tuple) else found
    return cast(Tensor, getattr(first, "logits", first))
