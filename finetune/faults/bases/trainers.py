"""Correct trainers: one loop in minGPT's style, and others.

Every target is `probe.make_target` of a function `train(model, loss, examples, config)`. `Loop` is cut into steps.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from finetune.laws.trainer import probe

MATRICES = (nn.Linear, nn.Conv1d)


class Loop:
    """The assignment's trainer with a token count, parts of batches, and AdamW of torch."""

    def __init__(self, model: nn.Module, loss: Any, examples: Any, config: Any) -> None:
        self.model, self.loss, self.examples, self.config = model, loss, examples, config
        self.tokens = 0
        self.generator = torch.Generator()

    # --- before

    def checked(self) -> None:
        c = self.config
        if c.final_tokens is not None and c.warmup_tokens >= c.final_tokens:
            raise ValueError("the warm-up ends after the schedule")

    def seeded(self) -> None:
        torch.manual_seed(self.config.seed)
        self.generator.manual_seed(self.config.seed)

    def decays(self, module: nn.Module, name: str) -> bool:
        return isinstance(module, MATRICES) and name == "weight"

    def parameters(self) -> list[nn.Parameter]:
        return [p for p in self.model.parameters() if p.requires_grad]

    def optimizer(self) -> torch.optim.Optimizer:
        chosen = {
            id(p) for m in self.model.modules() for n, p in m.named_parameters(recurse=False) if self.decays(m, n)
        }
        groups = [
            {"params": [p for p in self.parameters() if (id(p) in chosen) is with_decay], "weight_decay": decay}
            for with_decay, decay in ((True, self.config.weight_decay), (False, 0.0))
        ]
        return self.built([g for g in groups if g["params"]])

    def built(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups, lr=self.config.learning_rate, betas=tuple(self.config.betas))

    # --- data

    def order(self, epoch: int) -> list[int]:
        return torch.randperm(len(self.examples), generator=self.generator).tolist()

    def batches(self, epoch: int) -> Iterator[list[int]]:
        order, size = self.order(epoch), self.config.batch_size
        yield from (order[i : i + size] for i in range(0, len(order), size))

    def parts(self, batch: list[int]) -> list[list[int]]:
        count = min(self.config.accumulate, len(batch))
        return [batch[i::count] for i in range(count)]

    def collated(self, numbers: list[int]) -> dict[str, Tensor]:
        items = [self.examples[i] for i in numbers]
        return {key: torch.stack([item[key] for item in items]) for key in items[0]}

    # --- a step

    def backward(self, batch: list[int]) -> int:
        """Gradients of the summed loss of a batch, in parts; the number of its targets."""
        count = 0
        for part in self.parts(batch):
            total, tokens = self.loss(self.model, self.collated(part))
            total.backward()
            count += int(tokens)
        return count

    def divided(self, count: int) -> None:
        for p in self.parameters():
            if p.grad is not None:
                p.grad /= max(count, 1)

    def clipped(self) -> None:
        nn.utils.clip_grad_norm_(self.parameters(), self.config.clip)

    def counted(self, batch: list[int], count: int) -> int:
        return count

    def rate(self) -> float:
        c = self.config
        if self.tokens < c.warmup_tokens:
            return self.tokens / max(1, c.warmup_tokens)
        if c.final_tokens is None:
            return 1.0
        return max(c.floor, self.curve((self.tokens - c.warmup_tokens) / max(1, c.final_tokens - c.warmup_tokens)))

    def curve(self, progress: float) -> float:
        return 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))

    def set_rate(self, optimizer: torch.optim.Optimizer) -> None:
        for group in optimizer.param_groups:
            group["lr"] = self.config.learning_rate * self.rate()

    def step(self, optimizer: torch.optim.Optimizer, batch: list[int]) -> None:
        optimizer.zero_grad()
        count = self.backward(batch)
        self.divided(count)
        self.clipped()
        self.tokens += self.counted(batch, count)
        self.set_rate(optimizer)
        optimizer.step()

    def in_training(self) -> None:
        self.model.train()

    def run(self) -> None:
        self.checked()
        self.seeded()
        optimizer = self.optimizer()
        self.in_training()
        for epoch in range(self.config.epochs):
            for batch in self.batches(epoch):
                self.step(optimizer, batch)


def make_target(loop: type[Loop]) -> Any:
    """The target of one loop, under its name."""

    def train(model: nn.Module, loss: Any, examples: Any, config: Any) -> None:
        loop(model, loss, examples, config).run()

    made = probe.make_target(train)
    made.__name__, made.__qualname__, made.__doc__, made.__module__ = (
        loop.__name__,
        loop.__name__,
        loop.__doc__,
        __name__,
    )
    return made


class AsADataset(Dataset[Any]):
    """The examples as torch's loader wants them."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, number: int) -> Any:
        return self.examples[number]


class WithALoader(Loop):
    """torch's DataLoader, LambdaLR, zeroing after the step, decay by the number of axes, a warning in place of an
    error.
    """

    def checked(self) -> None:
        try:
            super().checked()
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)

    def decays(self, module: nn.Module, name: str) -> bool:
        return dict(module.named_parameters(recurse=False))[name].dim() >= 2

    def run(self) -> None:
        c = self.config
        self.checked()
        torch.manual_seed(c.seed)
        optimizer = self.optimizer()
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: self.rate())
        loader = DataLoader(AsADataset(self.examples), c.batch_size, shuffle=True)
        self.model.train()
        for _ in range(c.epochs):
            for batch in loader:
                count = int((batch["y"] != 0).sum())
                size = -(-len(batch["x"]) // c.accumulate)
                for start in range(0, len(batch["x"]), size):
                    part = {k: v[start : start + size] for k, v in batch.items()}
                    total, _tokens = self.loss(self.model, part)
                    (total / max(count, 1)).backward()
                self.clipped()
                self.tokens += count
                scheduler.step()
                optimizer.step()
                optimizer.zero_grad()


class ByHand(Loop):
    """AdamW in a few lines of its own, decay after the step, and a rate that is scaled to its floor."""

    def curve(self, progress: float) -> float:
        floor: float = self.config.floor
        return floor + (1 - floor) * super().curve(progress)

    def run(self) -> None:
        c = self.config
        self.checked()
        self.seeded()
        self.model.train()
        named = [(self.decays(m, n), p) for m in self.model.modules() for n, p in m.named_parameters(recurse=False)]
        state = [(decay, p, torch.zeros_like(p), torch.zeros_like(p)) for decay, p in named if p.requires_grad]
        t = 0
        for epoch in range(c.epochs):
            for batch in self.batches(epoch):
                t += 1
                for _, p, _, _ in state:
                    p.grad = torch.zeros_like(p)
                count = self.backward(batch)
                self.divided(count)
                norm = math.sqrt(sum(float((p.grad.double() ** 2).sum()) for _, p, _, _ in state if p.grad is not None))
                self.tokens += count
                lr = c.learning_rate * self.rate()
                with torch.no_grad():
                    for decay, p, m, v in state:
                        assert p.grad is not None
                        g = p.grad * min(1.0, c.clip / norm if norm else 1.0)
                        m.lerp_(g, 1 - c.betas[0])
                        v.mul_(c.betas[1]).add_((1 - c.betas[1]) * g * g)
                        step = m / (1 - c.betas[0] ** t) / ((v / (1 - c.betas[1] ** t)).sqrt() + 1e-8)
                        p.sub_(lr * (step + (c.weight_decay * p if decay else 0.0)))


DECLARED: dict[str, dict[str, Any]] = {"WithALoader": {"decay": "dims"}, "ByHand": {"cosine": "scaled"}}

CORRECT = tuple(make_target(loop) for loop in (Loop, WithALoader, ByHand))
