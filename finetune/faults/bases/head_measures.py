"""Right ways to measure and prune attention heads, from whose classes the faults are made.

Every target is `head_probe.make_target` of the functions of a class.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from finetune.laws.head_importance import head_probe

FUNCTIONS = ("gradient", "ablation", "agreement", "choose", "gate", "prune")


class Plain:
    """What a user writes: gates of each text's own, one head taken out at a time, ranks, a hook, smaller maps."""

    def gradient(self, model: Any, batches: Any, layers: int, heads: int) -> Any:
        self.still(model)
        return self.mean([self.slopes(model, batch, layers, heads) for batch in batches])

    def still(self, model: Any) -> None:
        model.eval()

    def slopes(self, model: Any, batch: Any, layers: int, heads: int) -> Tensor:
        """(B, L, H): how much each text counts."""
        gates = torch.ones(len(batch["text"]), layers, heads, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(model(batch, gates).sum(), gates)
        return self.size(slope)

    def size(self, slope: Tensor) -> Tensor:
        return slope.abs()

    def mean(self, found: list[Tensor]) -> Tensor:
        return torch.cat(found).mean(0)

    def ablation(self, model: Any, batches: Any, layers: int, heads: int) -> Any:
        self.still(model)
        with torch.no_grad():
            return self.mean([self.rises(model, batch, layers, heads) for batch in batches])

    def rises(self, model: Any, batch: Any, layers: int, heads: int) -> Tensor:
        """(B, L, H): how much the loss of each text rises without each head."""
        plain, found = model(batch), torch.zeros(len(batch["text"]), layers, heads, dtype=torch.float64)
        for layer in range(layers):
            for head in range(heads):
                found[:, layer, head] = self.rise(model(batch, self.gates(layers, heads, layer, head)), plain)
        return found

    def gates(self, layers: int, heads: int, layer: int, head: int) -> Tensor:
        gates = torch.ones(layers, heads, dtype=torch.float64)
        gates[layer, head] = 0
        return gates

    def rise(self, without: Tensor, plain: Tensor) -> Tensor:
        return without - plain

    def agreement(self, first: Tensor, second: Tensor) -> Any:
        a, b = (self.ranks(side.reshape(-1).double()) for side in (first, second))
        return torch.corrcoef(torch.stack([a, b]))[0, 1]

    def ranks(self, values: Tensor) -> Tensor:
        below, equal = values[None] < values[:, None], values[None] == values[:, None]
        return below.sum(1) + (equal.sum(1) + 1) / 2

    def choose(self, importance: Tensor, count: int) -> Any:
        order = torch.argsort(self.key(importance).reshape(-1))[:count]
        return [divmod(int(n), importance.shape[1]) for n in order]

    def key(self, importance: Tensor) -> Tensor:
        return importance

    def gate(self, layer: Any, x: Tensor, gates: Tensor) -> Tensor:
        def multiply(_: Any, inputs: Any) -> Any:
            return (self.scaled(inputs[0].unflatten(-1, (layer.n_head, -1)), gates).flatten(-2),)

        handle = layer.proj.register_forward_pre_hook(multiply)
        try:
            return layer(x)
        finally:
            self.end(handle)

    def scaled(self, joined: Tensor, gates: Tensor) -> Tensor:
        """(B, n, H, d) under the gates."""
        return joined * gates[:, None]

    def end(self, handle: Any) -> None:
        handle.remove()

    def prune(self, layer: Any, heads: list[int]) -> Any:
        gone = self.named(layer, heads)
        kept = [h for h in range(layer.n_head) if h not in gone]
        d = layer.query.out_features // layer.n_head
        rows = torch.tensor([h * d + i for h in kept for i in range(d)], dtype=torch.int64)
        made = copy.deepcopy(layer)
        for name in ("query", "key", "value"):
            setattr(made, name, self.smaller(getattr(layer, name), rows, 0))
        made.proj = self.smaller(layer.proj, rows, 1)
        made.n_head = len(kept)
        return made

    def named(self, layer: Any, heads: list[int]) -> set[int]:
        if not set(heads) <= set(range(layer.n_head)):
            raise ValueError(f"a layer of {layer.n_head} heads has no heads {heads}")
        return set(heads)

    def smaller(self, linear: Any, rows: Tensor, axis: int) -> nn.Linear:
        weight = linear.weight.detach().index_select(axis, rows)
        made = nn.Linear(1, 1)
        made.out_features, made.in_features = weight.shape
        made.weight = nn.Parameter(weight.clone(), requires_grad=linear.weight.requires_grad)
        bias = linear.bias.detach() if axis == 1 else linear.bias.detach()[rows]
        made.bias = nn.Parameter(bias.clone(), requires_grad=linear.bias.requires_grad)
        return made


def make_target(kind: type[Any], module: str = __name__) -> Any:
    """The target of one, under its name and that of the file that has it."""
    made = kind()
    target = head_probe.make_target(**{name: getattr(made, name) for name in FUNCTIONS if hasattr(made, name)})
    target.__name__ = target.__qualname__ = kind.__name__
    target.__doc__, target.__module__ = kind.__doc__, module
    return target


# --- correct ------------------------------------------------------------------------


class TextByText(Plain):
    """One backward pass for each text through gates that all share, zeroed before each; sums of losses for ablation."""

    def slopes(self, model: Any, batch: Any, layers: int, heads: int) -> Tensor:
        gates = torch.ones(layers, heads, requires_grad=True)
        found: list[Tensor] = []
        for number in range(len(batch["text"])):
            gates.grad = None
            model({"text": batch["text"][number : number + 1]}, gates).sum().backward()
            assert gates.grad is not None
            found.append(gates.grad.abs())
        return torch.stack(found)

    def ablation(self, model: Any, batches: Any, layers: int, heads: int) -> Any:
        model.eval()
        count = sum(len(batch["text"]) for batch in batches)
        with torch.no_grad():
            plain = sum(float(model(batch).double().sum()) for batch in batches)
            rows = [
                [sum(float(model(batch, self.gates(layers, heads, layer, head)).double().sum()) for batch in batches)
                 for head in range(heads)]
                for layer in range(layers)
            ]  # fmt: skip
        return ((torch.tensor(rows, dtype=torch.float64) - plain) / count).numpy()


class InPlace(Plain):
    """Values weighed by gates before the product with the weights, which comes to the same; pruning in place."""

    def gate(self, layer: Any, x: Tensor, gates: Tensor) -> Tensor:
        H = layer.n_head
        q, k, v = (m(x).unflatten(-1, (H, -1)).transpose(1, 2) for m in (layer.query, layer.key, layer.value))
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)
        return layer.proj((weights @ (v * gates[:, None, None])).transpose(1, 2).flatten(2))

    def prune(self, layer: Any, heads: list[int]) -> Any:
        made = super().prune(layer, heads)
        for name in ("query", "key", "value", "proj", "n_head"):
            setattr(layer, name, getattr(made, name))


class PruningAlone:
    """Nothing but a pruning."""

    prune = Plain.prune
    named = Plain.named
    smaller = Plain.smaller


CORRECT_KINDS: tuple[type[Any], ...] = (Plain, TextByText, InPlace, PruningAlone)
CORRECT = tuple(make_target(kind) for kind in CORRECT_KINDS)
targets = SimpleNamespace(**{target.__name__: target for target in CORRECT})
"""What is graded, by name: `finetune.faults.bases.head_measures:targets.Plain`."""
