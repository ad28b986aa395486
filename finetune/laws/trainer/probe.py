"""What stands between a trainer and its laws: a model of known gradients, and a record of what was done with it.

Write `target = probe.make_target(train)` beside your function `train(model, loss, examples, config)`, and name
`target`. It runs beside the code under test; what should come out is worked out elsewhere, in NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from attention_core.conformance.worker.bound_parameters import leaves
from finetune.laws.trainer.probe_layout import FROZEN, LAYOUT, LENGTH

Train = Callable[[nn.Module, Callable[[nn.Module, Mapping[str, Tensor]], tuple[Tensor, Tensor]], Any, Any], object]


class Table(nn.Module):
    """A bare parameter of two axes, as positions are kept; no name shows that it does not multiply anything."""

    def __init__(self, n: int, width: int) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.zeros(n, width))


class Probe(nn.Module):
    """A model whose output for example i is <G_i, theta>, so that its gradient is G_i, whatever the weights.

    Its modules are those of a small transformer, under names that tell nothing; one of them is frozen.
    """

    def __init__(self, gradients: Tensor, start: Tensor) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Embedding(5, 3), Table(4, 3), nn.LayerNorm(3)
        self.d = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 3, bias=False))
        self.e, self.f = nn.Conv1d(3, 2, 2), nn.Linear(3, 3)
        self.f.requires_grad_(False)
        self.gradients: Tensor
        self.register_buffer("gradients", gradients, persistent=False)  # goes along to another device
        self.to(start.dtype)
        with torch.no_grad():
            place = 0
            for parameter in self.parameters():
                parameter.copy_(start[place : place + parameter.numel()].view_as(parameter))
                place += parameter.numel()

    def flat(self) -> Tensor:
        """All parameters in one row, in the order of the layout."""
        return torch.cat([p.reshape(-1) for p in self.parameters()])

    def forward(self, x: Tensor) -> Tensor:
        """One number for each example; x (B, n) holds the number of the example in its first place."""
        return self.gradients[x[:, 0]] @ self.flat()


class Examples:
    """A data set: item i is {"x": (n,), "y": (n,)} of whole numbers; a target of 0 is padding."""

    def __init__(self, tokens: Tensor) -> None:
        self.x = torch.arange(len(tokens))[:, None].repeat(1, LENGTH)
        self.y = (torch.arange(LENGTH) < tokens[:, None]).to(torch.int64)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, number: int) -> dict[str, Tensor]:
        if not 0 <= number < len(self):  # the end of a loop over it
            raise IndexError(number)
        return {"x": self.x[number], "y": self.y[number]}


class Record:
    """The loss that a trainer is given: the summed loss of a batch and the number of its targets, and what was seen.

    Calls that ask for no gradient, to evaluate, are not recorded.
    """

    def __init__(self, probe: Probe) -> None:
        self.probe, self.calls = probe, list[tuple[Tensor, Tensor, Tensor]]()

    def __call__(self, model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        if torch.is_grad_enabled():
            seen = torch.zeros(len(self.probe.gradients), dtype=torch.int64)
            seen.index_add_(0, batch["x"][:, 0].cpu(), torch.ones(len(batch["x"]), dtype=torch.int64))
            state = torch.tensor([float(self.probe.training), float(torch.rand(()))])
            self.calls.append((self.probe.flat().detach().cpu().clone(), seen, state))
        return model(batch["x"]).sum(), (batch["y"] != 0).sum()


def make_target(train: Train) -> Callable[..., tuple[Tensor, ...]]:
    """What `--contract trainer` grades: `train` put to a model with known gradients.

    Args:
        train: `train(model, loss, examples, config)` trains the model in place. `loss(model, batch)` gives the summed
            loss of a batch {"x": (B, n), "y": (B, n)} and the number of its targets; `examples` has a length and items
            {"x": (n,), "y": (n,)}, where y = 0 is padding; `config` has epochs, batch_size, accumulate (parts that a
            batch is computed in), learning_rate, betas, weight_decay, clip, warmup_tokens, final_tokens (None: the
            rate stays), floor and seed.
    Returns: a function of arrays, to be named as the target.
    Example: target = make_target(my_train); `attention-core verify --contract trainer my.py:target`.
    """

    def run(gradients: Tensor, tokens: Tensor, start: Tensor, **config: Any) -> tuple[Tensor, ...]:
        probe = Probe(gradients, start)
        assert {n: tuple(p.shape) for n, p in probe.named_parameters()} == LAYOUT
        assert {n for n, p in probe.named_parameters() if not p.requires_grad} == FROZEN
        record = Record(probe)
        probe.eval()
        with torch.enable_grad(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            train(probe, record, Examples(tokens), SimpleNamespace(**config))
        snapshots = [flat for flat, _, _ in record.calls] + [probe.flat().detach().cpu().clone()]
        seen = torch.stack([s for _, s, _ in record.calls]) if record.calls else torch.zeros(0, len(gradients))
        modes = torch.stack([t for _, _, t in record.calls]) if record.calls else torch.zeros(0, 2)
        return torch.stack(snapshots), seen, modes, torch.tensor([len(caught)])

    leaves(run, train, 4)
    return run
