"""A tiny GPT with one part replaced, its training and its judging; what two variants share starts and goes alike.

A seed decides the start of the weights and the order of the data. The parts that variants share are made first, and
what replaces a part draws from a stream of its own: shared parts start from the same numbers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from finetune.data.running_text import RunningText
from finetune.errors import BadInput
from finetune.experiments.experiment import Setting
from finetune.experiments.texts import Text
from finetune.models.gpt import GPT, GPTConfig, initialise, mean_loss, next_token_loss
from finetune.training.config import TrainConfig
from finetune.training.processes import OneProcess
from finetune.training.train import Loss, Source, Trainer

Make = Callable[[GPTConfig], nn.Module]
HELD_OUT_STRETCHES = 192
"""Held-out stretches that a model is judged on, at most."""


def config_of(setting: Setting, tokens: int, **changes: Any) -> GPTConfig:
    """Return the sizes of the model of a setting, without dropout."""
    sizes = {name: getattr(setting, name) for name in ("block_size", "n_layer", "n_head", "n_embd", "initial")}
    return GPTConfig(tokens, dropout=0.0, **{**sizes, **changes})


def build(config: GPTConfig, seed: int, attention: Make | None = None) -> GPT:
    """Return a GPT whose blocks have the attention that `attention(config)` makes.

    Args:
        config: sizes.
        seed: of the start; parts other than the attention start alike whatever it is.
        attention: a maker, called once a block; None keeps the model's own.
    """
    torch.manual_seed(seed)
    model = GPT(config)
    if attention is not None:
        for number, block in enumerate(model.blocks):
            torch.manual_seed(1_000_003 * (seed + 1) + number)
            own = attention(config)
            own.apply(lambda module: initialise(module, config.initial))
            cast(Any, block).attn = own
    return model


def train_config(setting: Setting, seed: int, tokens_a_step: int) -> TrainConfig:
    """Return how a tiny model is trained: AdamW, a warm-up over a tenth of the steps, then a cosine to a tenth."""
    total = setting.steps * tokens_a_step
    return TrainConfig(
        epochs=10**6, batch_size=setting.batch_size, learning_rate=setting.learning_rate, seed=seed, log_every=1,
        warmup_tokens=total // 10, final_tokens=total,
    )  # fmt: skip


def train(
    model: nn.Module, source: Source, setting: Setting, seed: int, *, loss: Loss = next_token_loss,
    tokens_a_step: int | None = None, judge: Callable[[], float] | None = None, judgings: int = 6,
) -> dict[str, Any]:  # fmt: skip
    """Train a model for the steps of a setting.

    Args:
        model, source, loss: as a `Trainer` takes them.
        setting: steps, batch and rate.
        seed: of the order of the data.
        tokens_a_step: targets of a step; all places of all stretches unless given.
        judge: called `judgings` times at even distances, the end included; returns a loss on held-out data.
        judgings: see `judge`.
    Returns:
        train_curve and, with `judge`, held_out_curve, both [(step, loss)], and step_milliseconds, the median time of
        the processor a step. Once the loss is not finite, training ends, and `diverged` is the step.
    """
    tokens = setting.batch_size * setting.block_size if tokens_a_step is None else tokens_a_step
    records: list[Mapping[str, Any]] = []
    trainer = Trainer(
        model, loss, source, train_config(setting, seed, tokens), sinks=[records.append], team=OneProcess("cpu")
    )
    every = max(setting.steps // judgings, 1)
    held_out: list[tuple[int, float]] = []
    times: list[float] = []
    found: dict[str, Any] = {}
    while trainer.step < setting.steps:
        start, before = time.process_time(), trainer.step
        count = min(every, setting.steps - trainer.step)
        try:
            trainer.run(stop_after=count)
        except BadInput:  # the loss is not finite: a result, not an error of the caller
            found["diverged"] = trainer.step
            break
        times.append((time.process_time() - start) / max(trainer.step - before, 1))
        if judge is not None:
            held_out.append((trainer.step, judge()))
    found["train_curve"] = smooth([(int(r["step"]), float(r["loss"])) for r in records], every)
    found["held_out_curve"] = held_out
    found["step_milliseconds"] = 1e3 * sorted(times)[len(times) // 2] if times else math.nan
    return found


def smooth(curve: Sequence[tuple[int, float]], width: int) -> list[tuple[int, float]]:
    """Return the means of successive stretches of `width` points, at their last steps.

    >>> smooth([(1, 4.0), (2, 2.0), (3, 1.0), (4, 1.0)], 2)
    [(2, 3.0), (4, 1.0)]
    """
    parts = [curve[n : n + width] for n in range(0, len(curve), width)]
    return [(part[-1][0], sum(loss for _, loss in part) / len(part)) for part in parts]


def held_out_batches(text: Text, block: int, stretches: int = HELD_OUT_STRETCHES) -> list[dict[str, Tensor]]:
    """Return stretches of the held-out text beside one another, 64 a batch."""
    return RunningText(text.held_out, block).beside()[: max(stretches // 64, 1)]


def train_on_text(
    model: nn.Module, setting: Setting, seed: int, text: Text, *, block: int | None = None
) -> dict[str, Any]:
    """Train on stretches of a text and judge on its held-out end.

    Returns:
        what `train` does, with `perplexity` of the held-out text at the end and `train_perplexity`, that of the mean
        training loss over all steps.
    """
    length = setting.block_size if block is None else block
    judged = held_out_batches(text, length)
    source = RunningText(text.train, length, seed)
    found = train(model, source, setting, seed, tokens_a_step=setting.batch_size * length,
                  judge=lambda: mean_loss(model, judged))  # fmt: skip
    losses = [loss for _, loss in found["train_curve"]]
    diverged = "diverged" in found
    found["perplexity"] = math.nan if diverged else math.exp(found["held_out_curve"][-1][1])
    found["train_perplexity"] = math.nan if diverged else math.exp(sum(losses) / len(losses))
    found["parameters"] = sum(p.numel() for p in model.parameters())
    for name in ("train_curve", "held_out_curve"):
        found[name] = [(step, math.exp(min(loss, 50.0))) for step, loss in found[name]]
    return found
