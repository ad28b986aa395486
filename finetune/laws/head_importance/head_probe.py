"""What stands between measures of attention heads and their laws: known losses, a layer of attention, and a record.

Write `target = head_probe.make_target(gradient=..., prune=...)` beside your functions, and name `target`. It runs
beside the code under test; what should come out is worked out elsewhere, in NumPy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.conformance.worker.bound_parameters import leaves

Batch = dict[str, Tensor]
Measure = Callable[[Any, list[Batch], int, int], Any]
GIVEN: Mapping[str, int] = {"gradient": 4, "ablation": 4, "agreement": 2, "choose": 2, "gate": 3, "prune": 2}
"""The functions that may be given, and how many arguments each is called with."""
MAPS = ("query", "key", "value", "proj")
"""The linear maps of a layer."""


class NothingGiven(NotImplementedError):
    """The function that a law is about was not given."""


class KnownLosses(nn.Module):
    """Losses of texts whose dependence on the gates is known: loss_i(g) = c_i + <b_i, g> + q_i / 2 <w_i, g>^2.

    Its parameters, one of them frozen, multiply by 1 and are there to be left alone, and its dropout to be off.
    """

    def __init__(self, constants: Tensor, slopes: Tensor, bends: Tensor, directions: Tensor) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"drop": nn.Sequential(nn.Dropout(0.5)), "map": nn.Linear(1, 1)}).to(slopes.dtype)
        self.constants, self.slopes, self.bends, self.directions = constants, slopes, bends, directions
        self.calls = list[Tensor]()
        linear: Any = self.inner["map"]
        linear.bias.requires_grad_(False)
        with torch.no_grad():
            linear.weight.fill_(1.0)
            linear.bias.fill_(0.0)

    def forward(self, batch: Mapping[str, Tensor], gates: Tensor | None = None) -> Tensor:
        """The loss of each text of a batch, (B,), where head h of layer l is multiplied by gates[..., l, h]."""
        texts = batch["text"]
        modes = any(module.training for module in self.modules())
        self.calls.append(torch.tensor([modes, torch.is_grad_enabled(), len(texts)], dtype=torch.float64))
        slopes, directions = self.slopes[texts], self.directions[texts]
        g = torch.ones_like(slopes) if gates is None else gates.to(slopes.dtype).expand_as(slopes)
        along = (directions * g).sum((-2, -1))
        losses = self.constants[texts] + (slopes * g).sum((-2, -1)) + self.bends[texts] / 2 * along * along
        found: Tensor = self.inner["map"](losses[:, None])
        return found[:, 0]


class Layer(nn.Module):
    """Self-attention as a layer has it: the linear maps `query`, `key`, `value` and `proj`, and `n_head` heads.

    Head h owns the rows h d to (h + 1) d of the first three and these columns of `proj`; scores are divided by sqrt(d).
    """

    def __init__(self, weights: Mapping[str, tuple[Tensor, Tensor]], n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        for name, (weight, bias) in weights.items():
            linear = nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
            with torch.no_grad():
                linear.weight.copy_(weight)
                linear.bias.copy_(bias)
            self.add_module(name, linear)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, E) to (B, n, E); without heads what is left is the bias of `proj`."""
        B, n, _ = x.shape
        maps: list[Any] = [getattr(self, name) for name in MAPS]
        if self.n_head == 0:
            bias: Tensor = maps[3].bias
            return bias.expand(B, n, -1)
        q, k, v = (m(x).reshape(B, n, self.n_head, -1).transpose(1, 2) for m in maps[:3])
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        joined = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(B, n, -1)
        found: Tensor = maps[3](joined)
        return found


def make_target(
    *, gradient: Measure | None = None, ablation: Measure | None = None,
    agreement: Callable[[Tensor, Tensor], Any] | None = None, choose: Callable[[Tensor, int], Any] | None = None,
    gate: Callable[[Any, Tensor, Tensor], Any] | None = None,
    prune: Callable[[Any, list[int]], Any] | None = None,
) -> Callable[..., tuple[Tensor, ...]]:  # fmt: skip
    """What `--contract head-importance` grades: those of six functions that you have.

    Args:
        gradient: `gradient(model, batches, layers, heads)` gives the importance of each head, (layers, heads): the mean
            over all texts of |d loss_i / d gate| with every gate at 1. `model(batch, gates)` gives the loss of each
            text of a batch, (B,); gates are (layers, heads), or (B, layers, heads) for gates of each text's own, and
            left out they are 1. A batch is {"text": (B,)}; batches may have different sizes.
        ablation: `ablation(model, batches, layers, heads)` gives the mean over all texts of how much the loss rises
            when the head alone is taken out, loss_i(its gate 0, all others 1) - loss_i(all 1).
        agreement: `agreement(first, second)` gives Spearman's rank correlation of two importances (layers, heads).
        choose: `choose(importance, count)` gives the pairs (layer, head) of the `count` least important heads.
        gate: `gate(layer, x, gates)` gives what the layer makes of x (B, n, E) when what head h hands to `proj` is
            multiplied by gates[h], and leaves the layer as it was. A layer has `query`, `key`, `value`, `proj`
            (nn.Linear) and `n_head`; head h owns rows h d to (h + 1) d of the first three and these columns of `proj`.
        prune: `prune(layer, heads)` gives the layer without these heads, or changes it in place and returns None.
    Returns: a function of arrays, to be named as the target.
    Raises: ValueError where nothing is given.
    Example: target = make_target(prune=prune); `attention-core verify --contract head-importance my.py:target`.
    """
    given: dict[str, Any] = {
        "gradient": gradient, "ablation": ablation, "agreement": agreement, "choose": choose, "gate": gate,
        "prune": prune,
    }  # fmt: skip
    given = {name: function for name, function in given.items() if function is not None}
    if not given:
        raise ValueError(f"make_target() was given no function: name one of {', '.join(GIVEN)}")

    def run(kind: str, *arrays: Any, **settings: Any) -> tuple[Tensor, ...]:
        if kind not in given:
            raise NothingGiven(f"no {kind} was given to make_target()")
        return RUNS[kind](given[kind], *arrays, **settings)

    for name, function in given.items():
        leaves(run, function, GIVEN[name])
    return run


def run_measure(
    measure: Measure, constants: Tensor, slopes: Tensor, bends: Tensor, directions: Tensor,
    batches: Sequence[Sequence[int]], training: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """A measure taken twice: both results, the calls of the model, and what was changed."""
    model = KnownLosses(constants, slopes, bends, directions)
    model.train(training)
    before = [(p.detach().clone(), p.requires_grad) for p in model.parameters()]
    results, facts = list[Tensor](), list[Tensor]()
    for _ in range(2):
        made = [{"text": torch.tensor([int(n) for n in numbers], dtype=torch.int64)} for numbers in batches]
        with torch.enable_grad():
            value = measure(model, made, *slopes.shape[1:])
        results.append(torch.as_tensor(value).detach().to(torch.float64))
        kept = all(b["text"].tolist() == [int(n) for n in numbers] for b, numbers in zip(made, batches, strict=True))
        same = all(
            torch.equal(p, old) and p.requires_grad == asks
            for p, (old, asks) in zip(model.parameters(), before, strict=True)
        )
        facts.append(torch.tensor([kept, same], dtype=torch.float64))
    calls = torch.stack(model.calls) if model.calls else torch.zeros(0, 3, dtype=torch.float64)
    return (*results, calls, torch.stack(facts))


def run_agreement(agreement: Callable[[Tensor, Tensor], Any], first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
    """The agreement of two importances, as one number."""
    return (torch.as_tensor(agreement(first, second)).detach().to(torch.float64).reshape(1),)


def run_choice(choose: Callable[[Tensor, int], Any], importance: Tensor, count: int) -> tuple[Tensor, ...]:
    """The heads that were chosen, as rows of layer and head."""
    rows = [[int(n) for n in pair] for pair in choose(importance, count)]
    return (torch.tensor(rows, dtype=torch.int64).reshape(-1, 2),)


def run_gate(
    gate: Callable[[Any, Tensor, Tensor], Any], x: Tensor, gates: Tensor, *weights: Tensor, heads: int
) -> tuple[Tensor, ...]:
    """The output of a gated layer, and what the layer gives afterwards without gates."""
    layer = layer_of(weights, heads)
    with torch.no_grad():
        return gate(layer, x, gates), layer(x)


def run_prune(
    prune: Callable[[Any, list[int]], Any], x: Tensor, *weights: Tensor, heads: int, gone: Sequence[Sequence[int]],
    frozen: Sequence[str] = (),
) -> tuple[Tensor, ...]:  # fmt: skip
    """The output of a layer without heads, taken out list by list; its numbers; trained ones, and their gradients."""
    layer: Any = layer_of(weights, heads)
    for name in frozen:
        getattr(layer, name).requires_grad_(False)
    for chosen in gone:
        found = prune(layer, [int(head) for head in chosen])
        layer = layer if found is None else found
    with torch.enable_grad():
        y = layer(x)
        trained = [p for p in layer.parameters() if p.requires_grad]
        if trained and y.requires_grad:
            y.square().sum().backward()
    count = sum(p.numel() for p in layer.parameters())
    reached = sum(p.numel() for p in trained if p.is_leaf and p.grad is not None and bool(p.grad.isfinite().all()))
    facts = [count, sum(p.numel() for p in trained), reached]
    return y.detach(), torch.tensor(facts, dtype=torch.float64)


def layer_of(weights: Sequence[Tensor], heads: int) -> Layer:
    """The layer of drawn weights, which it does not share with the caller."""
    pairs = zip(weights[::2], weights[1::2], strict=True)
    return Layer(dict(zip(MAPS, copy.deepcopy(list(pairs)), strict=True)), heads)


RUNS: Mapping[str, Callable[..., tuple[Tensor, ...]]] = {
    "gradient": run_measure, "ablation": run_measure, "agreement": run_agreement, "choose": run_choice,
    "gate": run_gate, "prune": run_prune,
}  # fmt: skip
