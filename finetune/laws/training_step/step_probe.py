"""What stands between a training step and its laws: a model of known gradients, SGD with momentum, and a record.

Write `target = step_probe.make_target(step, evaluate)` beside your functions, and name `target`. It runs beside
the code under test; what should come out is worked out elsewhere, in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.conformance.worker.bound_parameters import leaves
from finetune.laws.trainer.probe import Examples, Probe
from finetune.laws.trainer.probe_layout import MOMENTUM

Batch = dict[str, Tensor]
Loss = Callable[[nn.Module, Mapping[str, Tensor]], tuple[Tensor, Tensor]]
Step = Callable[[nn.Module, torch.optim.Optimizer, Loss, list[Batch], float], object]
Evaluate = Callable[[nn.Module, Loss, list[Batch]], object]


class NothingToEvaluate(NotImplementedError):
    """No function that evaluates was given."""


class Watched:
    """The loss that a step is given: the summed loss of a batch and the number of its targets; and what was seen."""

    def __init__(self, probe: Probe) -> None:
        self.probe, self.event = probe, 0
        self.seen, self.told = list[Tensor](), list[Tensor]()

    def __call__(self, model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        seen = torch.zeros(len(self.probe.gradients), dtype=torch.int64)
        seen.index_add_(0, batch["x"][:, 0].cpu(), torch.ones(len(batch["x"]), dtype=torch.int64))
        modes = [module.training for module in self.probe.modules()]
        self.seen.append(seen)
        state = [self.event, all(modes), any(modes), torch.is_grad_enabled(), float(torch.rand(()))]
        self.told.append(torch.tensor(state, dtype=torch.float64))
        return model(batch["x"]).sum(), (batch["y"] != 0).sum()


class Before:
    """What a probe and its batches were before a call, to be compared with what they are after it."""

    def __init__(self, probe: Probe, batches: list[Batch]) -> None:
        self.probe, self.batches = probe, batches
        self.asking = [p.requires_grad for p in probe.parameters()]
        self.gradients = row_of_gradients(probe)
        self.copies = [{k: v.clone() for k, v in batch.items()} for batch in batches]

    def facts(self, value: Any, steps: int) -> Tensor:
        """The result of a call, how many steps it made, and what it left as it was, as one row of numbers."""
        same = [torch.equal(b[k], c[k]) for b, c in zip(self.batches, self.copies, strict=True) for k in c]
        parameters = list(self.probe.parameters())
        frozen = sum(p.grad is not None and bool(p.grad.any()) for p in parameters if not p.requires_grad)
        return torch.tensor(
            [number_of(value), isinstance(value, Tensor) and value.requires_grad, steps, all(same),
             torch.equal(self.gradients, row_of_gradients(self.probe)), frozen, value is not None,
             self.asking == [p.requires_grad for p in parameters]],
            dtype=torch.float64,
        )  # fmt: skip


def make_target(step: Step, evaluate: Evaluate | None = None) -> Callable[..., tuple[Tensor, ...]]:
    """What `--contract training-step` grades: `step` (and `evaluate`) put to a model with known gradients.

    Args:
        step: `step(model, optimizer, loss, batches, clip)` makes one step of the optimizer for several batches that
            together are one, and may return the mean loss over their targets. `loss(model, batch)` gives the summed
            loss of a batch {"x": (B, n), "y": (B, n)} and the number of its targets; y = 0 is padding. `clip` is the
            largest norm of all gradients together.
        evaluate: `evaluate(model, loss, batches)` returns the mean loss over the targets of all batches; None for none.
    Returns: a function of arrays, to be named as the target.
    Example: target = make_target(my_step); `attention-core verify --contract training-step my.py:target`.
    """

    def run(
        gradients: Tensor, tokens: Tensor, start: Tensor, events: Sequence[Any], learning_rate: float, clip: float,
        training: bool,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        probe = Probe(gradients, start)
        probe.train(training)
        own = list(probe.parameters())  # in two groups, as optimizers have that decay some parameters alone
        groups = [{"params": own[: len(own) // 2]}, {"params": own[len(own) // 2 :]}]
        optimizer = torch.optim.SGD(groups, lr=learning_rate, momentum=MOMENTUM)
        loss, steps, examples = Watched(probe), list[int](), Examples(tokens)
        optimizer.register_step_post_hook(lambda *_: steps.append(loss.event))
        rows, facts = [probe.flat().detach().clone()], list[Tensor]()
        for number, (kind, batches) in enumerate(events):
            loss.event = number
            given = [collate(examples, numbers) for numbers in batches]
            before = Before(probe, given)
            with torch.enable_grad():
                if kind == "step":
                    value = step(probe, optimizer, loss, given, clip)
                elif evaluate is None:
                    raise NothingToEvaluate("no evaluate was given to make_target()")
                else:
                    value = evaluate(probe, loss, given)
            rows.append(probe.flat().detach().clone())
            facts.append(before.facts(value, steps.count(number)))
        none = torch.zeros(0, len(gradients)), torch.zeros(0, 5)
        seen, states = (torch.stack(loss.seen), torch.stack(loss.told)) if loss.seen else none
        return torch.stack(rows), seen, states, torch.stack(facts)

    leaves(run, step, 5)
    if evaluate is not None:
        leaves(run, evaluate, 3)
    return run


def collate(examples: Examples, numbers: Sequence[int]) -> Batch:
    """The examples of these numbers as a batch of its own memory."""
    items = [examples[number] for number in numbers]
    return {key: torch.stack([item[key] for item in items]) for key in items[0]}


def row_of_gradients(model: nn.Module) -> Tensor:
    """All gradients in one row; what is none is 0."""
    return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in model.parameters()])


def number_of(value: object) -> float:
    """What a step or an evaluation returned, as a number; NaN for None."""
    if value is None:
        return float("nan")
    return float(value.detach() if isinstance(value, Tensor) else value)  # type: ignore[arg-type]  # or it raises
