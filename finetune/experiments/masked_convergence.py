"""Experiment: masked against left-to-right language modelling, and how many steps each needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from finetune.data.running_text import RunningText
from finetune.experiments.attention import PluggedAttention, ScoredMix, causal_softmax
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.scores import ScaledDot
from finetune.experiments.tasks import MaskedText
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, held_out_batches, train

SHARES = {"masked, 15 %": 0.15, "masked, 40 %": 0.4}
JUDGINGS = 20
SHARE_OF_GAIN = 0.9


def full_softmax(scores: Tensor) -> Tensor:
    """Return the softmax over all tokens, earlier and later: an encoder's weights."""
    return torch.softmax(scores, dim=-1)


def loss_of_targets(model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the summed loss and the number of targets; unlike a causal model an encoder sees the whole stretch."""
    wanted = batch["y"] != 0
    return cross_entropy(model(batch["x"])[wanted], batch["y"][wanted], reduction="sum"), wanted.sum()


def unigram_loss(text: Text) -> float:
    """Return the loss of a model that knows how frequent each token is, and nothing else, on the held-out text."""
    counts = np.bincount(text.train, minlength=text.tokens) + 1.0
    return float(-np.log(counts / counts.sum())[text.held_out].mean())


def steps_to_gain(curve: list[tuple[int, float]], start: float, share: float = SHARE_OF_GAIN) -> float:
    """Return the step by which a loss has fallen by a share of the way from `start` to its lowest value.

    Between two judgings the loss is taken to fall in a straight line. NaN if it never falls below `start`.

    >>> steps_to_gain([(10, 3.0), (20, 2.0), (30, 1.0)], 3.0, 0.75)
    25.0
    """
    lowest = min((loss for _, loss in curve), default=math.inf)
    if not lowest < start:
        return math.nan
    goal, before = start - share * (start - lowest), (0, max(start, curve[0][1]))
    for step, loss in curve:
        if loss <= goal:
            return before[0] + (step - before[0]) * (before[1] - goal) / max(before[1] - loss, 1e-12)
        before = (step, loss)
    return math.nan


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model on its own objective, and judge it on that."""
    share = SHARES.get(variant)
    weigh = causal_softmax if share is None else full_softmax
    config = config_of(setting, text.tokens)
    model = build(config, seed, lambda config: PluggedAttention(config, ScoredMix(ScaledDot(), weigh)))
    stretches = RunningText(text.train, setting.block_size, seed)
    source: Any = stretches if share is None else MaskedText(stretches, share, seed)
    judged: Any = held_out_batches(text, setting.block_size)
    if share is not None:
        masks = MaskedText(stretches, share, 10_000)  # the same held-out masks for every seed
        judged = [masks.mask(b["x"], n, np.arange(len(b["x"]))) for n, b in enumerate(judged)]

    @torch.no_grad()
    def judge() -> float:
        parts = [loss_of_targets(model, batch) for batch in judged]
        return float(sum(loss for loss, _ in parts) / sum(count for _, count in parts))

    targets = setting.batch_size * setting.block_size * (share or 1)
    found = train(model, source, setting, seed, loss=loss_of_targets, tokens_a_step=round(targets), judge=judge,
                  judgings=JUDGINGS)  # fmt: skip
    curve, start = found["held_out_curve"], unigram_loss(text)
    found["perplexity"] = math.exp(curve[-1][1]) if "diverged" not in found else None
    halfway = [loss for step, loss in curve if step <= max(setting.steps // 2, curve[0][0])]
    found["gain_halfway"] = start - halfway[-1] if halfway else None
    found["steps_to_gain"] = steps_to_gain(curve, start)
    for name in ("train_curve", "held_out_curve"):
        found[name] = [(step, math.exp(min(loss, 50.0))) for step, loss in found[name]]
    return found


LEFT = "left to right"
EXPERIMENT = Experiment(
    name="masked_convergence",
    title="Masked or left to right: which needs more steps?",
    question="Does a masked language model need fewer steps to converge than one that reads left to right?",
    background=(
        "Source 004 (question 9) answers: fewer, because it sees both sides. But a step of it has targets at the "
        "masked places alone. All three models are the same but for the weights of later tokens; each is judged "
        "on its own objective, on held-out text. The gain halfway is how many nats a target the model is below "
        "the frequencies of single tokens after half of the steps; the last column is the step by which "
        f"{SHARE_OF_GAIN:.0%} of a model's own whole gain was made. The two objectives differ: a lower perplexity "
        "of masked tokens does not make a better model of text. A curve that still lies flat near the frequencies of "
        "single tokens is that of a run of this length, and does not say where a longer one ends."
    ),
    variants={
        LEFT: "a causal softmax; every place is a target",
        **{name: f"a full softmax; {share:.0%} of the places are masked, and are the targets"
           for name, share in SHARES.items()},
    },
    baseline=LEFT,
    measures=(
        Measure("perplexity", "held-out perplexity, own objective", ratio=True),
        Measure("gain_halfway", "gain halfway, nats", digits=3),
        Measure("steps_to_gain", f"steps to {SHARE_OF_GAIN:.0%} of the gain", ratio=True, digits=0),
    ),
    claims=(
        Claim("a masked model (15 %) has gained more halfway", "gain_halfway", "masked, 15 %", LEFT, "higher", 0.02,
              source="source 004, question 9"),
        Claim("a masked model (40 %) has gained more halfway", "gain_halfway", "masked, 40 %", LEFT, "higher", 0.02,
              source="source 004, question 9"),
        Claim("a masked model (15 %) needs fewer steps for its own gain", "steps_to_gain", "masked, 15 %", LEFT,
              "lower", 0.05, source="source 004, question 9"),
        Claim("masking more gains more by the same step", "gain_halfway", "masked, 40 %", "masked, 15 %", "higher",
              0.02),
    ),
    run=run,
    setting=Setting(),
    curve=("held_out_curve", "step", "held-out perplexity, own objective"),
    code=(MaskedText,),
)  # fmt: skip
