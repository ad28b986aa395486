"""Experiment: what one layer of a synthesizer cannot do: look for a token by what it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from finetune.experiments.attention import PluggedAttention
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.tasks import Lookup
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, train
from finetune.models.gpt import GPTConfig, SynthesizedAttention, next_token_loss

KEYS, LETTERS = 8, 8
JUDGED = 2048


def attention(variant: str, config: GPTConfig) -> nn.Module:
    """Return a block's attention: scaled dot products, or a synthesizer."""
    if variant.startswith("dot"):
        return PluggedAttention(config)
    return SynthesizedAttention(config.n_embd, config.n_head, config.block_size, "per_head")


@torch.no_grad()
def accuracy(model: nn.Module, batch: dict[str, torch.Tensor]) -> float:
    """Return the share of right answers at the last place."""
    return float((model(batch["x"])[:, -1].argmax(-1) == batch["y"][:, -1]).float().mean())


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model on the task and count its right answers on fresh sequences."""
    task = Lookup(KEYS, LETTERS, seed)
    layers = int(variant.split(", ")[1][0])
    config = config_of(setting, task.kinds, block_size=KEYS + 1, n_layer=layers)
    model = build(config, seed, lambda config: attention(variant, config))
    fresh = Lookup(KEYS, LETTERS, 10_000 + seed).batch(0, torch.arange(JUDGED).numpy())

    def judge() -> float:
        with torch.no_grad():
            loss, count = next_token_loss(model, fresh)
        return float(loss / count)

    found = train(model, task, setting, seed, tokens_a_step=setting.batch_size, judge=judge)
    found["accuracy"] = accuracy(model.eval(), fresh)
    found["loss"] = found["held_out_curve"][-1][1] if found["held_out_curve"] else None
    found["parameters"] = sum(p.numel() for p in model.parameters())
    return found


EXPERIMENT = Experiment(
    name="synthesizer_limit",
    title="What one layer of a synthesizer cannot do",
    question="Can a synthesizer find a token by its content?",
    background=(
        "Source 003 (question 2(g)ii) asks what a synthesizer layer cannot do. Its scores depend on the asking "
        "token and on places, not on the other tokens: when two of these change places, its weights stay where "
        "they were (`derivations/synthesizer.md`, where the step synthesizer-follows is refuted). The task needs "
        f"weights that move along: {KEYS} pairs of a key and a letter in random order, then one of the keys; the "
        f"answer is its letter. Guessing gives 1 in {LETTERS}. Values that are added up can still carry some of "
        "the pairs to the network after the attention, so a synthesizer gets beyond guessing."
    ),
    variants={
        "dot product, 1 layer": "scaled dot products",
        "synthesizer, 1 layer": "scores of the asking token for places",
        "dot product, 2 layers": "scaled dot products",
        "synthesizer, 2 layers": "scores of the asking token for places",
    },
    baseline="dot product, 1 layer",
    measures=(
        Measure("accuracy", "right answers", digits=3),
        Measure("loss", "loss, nats", digits=3),
        Measure("parameters", "parameters", compared=False, digits=0),
    ),
    claims=(
        Claim("one layer of a synthesizer finds fewer letters than one of dot products", "accuracy",
              "synthesizer, 1 layer", "dot product, 1 layer", margin=0.02, source="source 003, question 2(g)ii"),
        Claim("a second layer helps the synthesizer", "accuracy", "synthesizer, 2 layers", "synthesizer, 1 layer",
              "higher", 0.02),
        Claim("two layers of a synthesizer are as good as one of dot products", "accuracy", "synthesizer, 2 layers",
              "dot product, 1 layer", "same", 0.02),
    ),
    run=run,
    setting=Setting(steps=400, batch_size=64, n_embd=48, learning_rate=1e-2),
    curve=("held_out_curve", "step", "loss, nats"),
    code=(Lookup,),
    uses_text=False,
)  # fmt: skip
