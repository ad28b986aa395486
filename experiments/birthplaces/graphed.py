"""Training on a GPU whose steps are recorded once and replayed: the steps of `Trainer`, without waiting between them.

A small model's step is hundreds of kernels of a few microseconds each, and a processor takes longer to launch than a
GPU to compute them. A CUDA graph launches all of them at once. What is trained is the same: order of examples, batches,
loss, clipping, schedule and formulas of the optimizers are those of `finetune.training`; the last batch of an epoch is
filled up with examples that have no target, since a graph has fixed sizes. What a training has reached is kept every
few epochs and when its time is up, and gone on from; dropout draws other units from there on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from finetune.errors import BadInput
from finetune.models.gpt import GPT, at_least_single
from finetune.training import checkpoint
from finetune.training.config import TrainConfig
from finetune.training.optimizer import decay_groups, rate, split_groups
from finetune.training.train import multiplies_in_bfloat16, order

FIRST = 3
"""Steps that are taken before one is recorded: libraries choose their kernels, optimizers make their states."""


class BatchedMuon:
    """Muon's step for many matrices at a time, those of one shape as one batch; the formulas are torch's.

    Args: groups, as `torch.optim.Muon` takes them; rate, a tensor that holds the learning rate.
    Source: as `finetune.training.optimizer.MuonAndAdamW`.
    """

    def __init__(self, groups: list[dict[str, Any]], rate: Tensor) -> None:
        by_shape: dict[tuple[int, int, float], list[nn.Parameter]] = {}
        for group in groups:
            for weight in group["params"]:
                by_shape.setdefault((*weight.shape, group["weight_decay"]), []).append(weight)
        self.rate = rate
        self.parts = [
            (weights, torch.zeros(len(weights), m, k, device=rate.device), decay)
            for (m, k, decay), weights in by_shape.items()
        ]

    @torch.no_grad()
    def step(self) -> None:
        """One step of all matrices."""
        for weights, momentum, decay in self.parts:
            gradient = torch.stack([weight.grad for weight in weights if weight.grad is not None])
            momentum.lerp_(gradient, 0.05)
            update = orthogonal(gradient.lerp(momentum, 0.95)).to(gradient.dtype)
            update *= 0.2 * max(update.shape[1:]) ** 0.5 * self.rate
            torch._foreach_mul_(weights, 1.0 - self.rate * decay)
            torch._foreach_sub_(weights, list(update))


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices (count, m, k) with all singular values brought near 1 by five steps of Newton and Schulz in bfloat16."""
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if tall else x


def settings(recipe: TrainConfig) -> dict[str, Any]:
    """A recipe's fields that decide what is trained."""
    return {name: value for name, value in asdict(recipe).items() if name not in ("log_every", "save_every")}


class GraphedTraining:
    """A training of a GPT on a GPU, from its first step to its last.

    Args: model; source, whose x and y all have one width; recipe; device; path, of the checkpoint, from which it goes
        on where there is one.
    Raises: BadInput where the checkpoint is of another recipe.
    """

    def __init__(
        self, model: GPT, source: Any, recipe: TrainConfig, device: str = "cuda", path: Path | None = None
    ) -> None:
        self.model, self.source, self.recipe, self.path = model.to(device).train(), source, recipe, path
        self.device = torch.device(device)
        width = source.batch(0, np.zeros(1, np.int64))["x"].shape[1]
        self.x, self.y = (torch.zeros(recipe.batch_size, width, dtype=torch.int64, device=device) for _ in range(2))
        self.rate = torch.zeros((), device=device)
        groups = decay_groups(model, recipe.weight_decay)
        matrices, rest = split_groups(model, groups) if recipe.optimizer == "muon" else ([], groups)
        self.muon = BatchedMuon(matrices, self.rate)
        self.adamw = torch.optim.AdamW(
            rest, lr=self.rate, betas=recipe.betas, fused=True, capturable=self.device.type == "cuda"
        )
        self.half = recipe.precision == "bfloat16" or (
            recipe.precision == "auto" and multiplies_in_bfloat16(self.device)
        )
        self.loss = self.norm = torch.zeros((), device=device)
        self.tokens = self.steps = self.epoch = 0
        if path is not None and path.exists():
            self.go_on(path)
        self.begun = self.steps

    def optimizer_state(self) -> list[Any]:
        """What the optimizers keep: AdamW's of each parameter, and Muon's momenta."""
        parameters = [parameter for group in self.adamw.param_groups for parameter in group["params"]]
        adamw = [dict(self.adamw.state[parameter]) for parameter in parameters]
        return [adamw, [momentum for _, momentum, _ in self.muon.parts]]

    def keep(self) -> None:
        """Write what was reached, where there is a path."""
        if self.path is None:
            return
        place = {"epoch": self.epoch, "steps": self.steps, "tokens": self.tokens, "recipe": settings(self.recipe)}
        checkpoint.save(self.path, {**place, "model": self.model.state_dict(), "optimizer": self.optimizer_state()})

    @torch.no_grad()
    def go_on(self, path: Path) -> None:
        """Take up what was kept. Raises: BadInput where it is of another recipe."""
        kinds = {"epoch": int, "steps": int, "tokens": int, "recipe": dict, "model": dict, "optimizer": list}
        found = checkpoint.load_record(path, kinds, "the checkpoint of a recorded training")
        if found["recipe"] != settings(self.recipe):
            raise BadInput(f"{path}: the checkpoint is of another recipe: remove it, or give another --kept")
        self.model.load_state_dict(found["model"])
        adamw, momenta = found["optimizer"]
        parameters = [parameter for group in self.adamw.param_groups for parameter in group["params"]]
        for parameter, values in zip(parameters, adamw, strict=True):
            self.adamw.state[parameter] = {name: value.to(self.device) for name, value in values.items()}
        for (_, momentum, _), kept in zip(self.muon.parts, momenta, strict=True):
            momentum.copy_(kept)
        self.epoch, self.steps, self.tokens = found["epoch"], found["steps"], found["tokens"]

    def one_step(self) -> None:
        """Gradients of the batch in x and y, and a step of the optimizers."""
        for parameter in self.model.parameters():
            parameter.grad = None
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half, cache_enabled=False):
            logits = at_least_single(self.model(self.x))
            total = cross_entropy(logits.flatten(0, 1), self.y.flatten(), ignore_index=0, reduction="sum")
        self.loss = total / (self.y != 0).sum().clamp(min=1)
        self.loss.backward()  # type: ignore[no-untyped-call]
        bound = self.recipe.clip or torch.finfo(torch.float32).max
        self.norm = nn.utils.clip_grad_norm_(self.model.parameters(), bound)
        self.muon.step()
        self.adamw.step()
        self.loss, self.norm = self.loss.detach(), self.norm.detach()

    def batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor, int]]:
        """The batches of an epoch, on the device, and how many targets each has."""
        examples = order(self.recipe.seed, epoch, len(self.source))
        found = self.source.batch(epoch, examples)
        size, count = self.recipe.batch_size, len(examples)
        targets = np.add.reduceat((found["y"] != 0).sum(1).numpy(), range(0, count, size))
        spare = torch.zeros(-count % size, found["x"].shape[1], dtype=torch.int64)
        x, y = (torch.cat([found[name].to(torch.int64), spare]).to(self.device) for name in ("x", "y"))
        for number, tokens in enumerate(targets):
            yield x[number * size : (number + 1) * size], y[number * size : (number + 1) * size], int(tokens)

    def run(self, sink: Callable[[Mapping[str, Any]], None], until: float) -> bool:
        """Train to the last epoch, or until a moment; whether it came to its end."""
        if self.device.type != "cuda":
            return self.all_epochs(sink, until)
        # What is recorded must have run on the same stream before, and the default stream cannot be recorded.
        self.stream = torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            return self.all_epochs(sink, until)

    def all_epochs(self, sink: Callable[[Mapping[str, Any]], None], until: float) -> bool:
        """The same, on the stream that is set."""
        torch.manual_seed(self.recipe.seed + self.epoch)
        recipe, start, replay = self.recipe, time.perf_counter(), self.one_step
        for epoch in range(self.epoch, recipe.epochs):
            for x, y, tokens in self.batches(epoch):
                self.x.copy_(x)
                self.y.copy_(y)
                self.tokens += tokens
                factor = rate(self.tokens, recipe.warmup_tokens, recipe.final_tokens, recipe.floor, recipe.schedule)
                self.rate.fill_(recipe.learning_rate * factor)
                if self.steps == self.begun + FIRST and self.device.type == "cuda":
                    replay = self.record_step()
                replay()
                self.steps += 1
            loss = float(self.loss)
            sink(self.record(epoch, loss) | {"seconds": time.perf_counter() - start})
            if not np.isfinite(loss):
                raise ValueError(f"step {self.steps}: the loss is {loss}")
            self.epoch = epoch + 1
            over = time.time() > until
            if over or self.epoch % recipe.save_every == 0:
                self.keep()
            if over:
                break
        return self.epoch == recipe.epochs

    def record(self, epoch: int, loss: float) -> dict[str, Any]:
        """Where the training is, as `Trainer` tells it."""
        now = {"step": self.steps, "epoch": epoch, "tokens": self.tokens, "loss": loss}
        return {**now, "gradient_norm": float(self.norm), "learning_rate": float(self.rate)}

    def record_step(self) -> Callable[[], None]:
        """A step as one launch. Recording it computes nothing."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=self.stream):
            self.one_step()
        return graph.replay
