"""Experiment: positions beyond the training length."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor, nn

from attention_core.modules.positions import alibi_bias, sinusoidal
from finetune.experiments.attention import PluggedAttention, ScoredMix
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.future import losses_at
from finetune.experiments.scores import Keys, Queries, ScaledDot, Scores
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, held_out_batches, train_on_text
from finetune.models.gpt import GPT, GPTConfig

LONGER = 4
"""Judged stretches are so many times as long as those of training."""
BINS = 16


class AlibiScore(nn.Module):
    """s_ij = q_i . k_j / sqrt(d) - m_h |i - j|: a penalty by distance, with a slope for each head."""

    def forward(self, query: Queries, key: Keys) -> Scores:
        """Return the scores."""
        bias = alibi_bias(query.shape[1], query.shape[2], key.shape[2])
        scores: Tensor = ScaledDot()(query, key) + bias
        return scores


def attention(variant: str, config: GPTConfig) -> nn.Module:
    """Return a block's attention; positions stand in it for "rotary" and "ALiBi" alone."""
    mix = ScoredMix(AlibiScore()) if variant == "ALiBi" else None
    return PluggedAttention(config, mix, rotated=variant == "rotary")


def position_table(variant: str, config: GPTConfig) -> nn.Parameter | None:
    """Return what is added to the tokens: a table that is trained, sines and cosines, or nothing.

    The sines are as large as the tokens at the start, which are smaller here than in the paper.
    """
    if variant == "learned":
        return nn.Parameter(torch.zeros(1, config.block_size, config.n_embd))
    if variant == "sinusoidal":
        table = sinusoidal(config.block_size, config.n_embd)[None] * config.initial * math.sqrt(2)
        return nn.Parameter(table, requires_grad=False)
    return None


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train on short stretches, and judge by position on stretches four times as long."""
    config = config_of(setting, text.tokens, block_size=LONGER * setting.block_size)
    model = build(config, seed, lambda config: attention(variant, config))
    cast(Any, model).pos_emb = position_table(variant, config)
    found = train_on_text(model, setting, seed, text)
    losses = losses_by_position(model, text, config.block_size)
    n = setting.block_size
    within, beyond = float(losses[n // 2 : n].mean()), float(losses[n:].mean())
    found["within"], found["beyond"] = math.exp(within), math.exp(min(beyond, 50))
    found["growth"] = math.exp(min(beyond - within, 50))
    bins = losses.view(BINS, -1).mean(1).exp()
    width = config.block_size // BINS
    found["by_position"] = [(width * (number + 1), float(value)) for number, value in enumerate(bins)]
    return found


@torch.no_grad()
def losses_by_position(model: GPT, text: Text, length: int) -> Tensor:
    """Return the mean loss at each position of long stretches of the held-out text."""
    model.eval()
    batches = held_out_batches(text, length, 128)
    return torch.stack([losses_at(model, batch["x"], batch["y"]).mean(0) for batch in batches]).mean(0)


EXPERIMENT = Experiment(
    name="position_encodings",
    title="Positions beyond the training length",
    question="Which encodings of positions still serve on sequences longer than those of training?",
    background=(
        "Source 001 (section 2.2) expects minGPT's learned positions to do poorly beyond the length of training, "
        "and asks whether sines do better; source 004 (question 4) describes the learned table. All models are "
        f"trained on short stretches and judged on stretches {LONGER} times as long. The table has rows for all "
        "of them, but those beyond the training length were never trained and are still 0, as minGPT starts "
        "them. Within is the second half of the training length; beyond is all that follows."
    ),
    variants={
        "learned": "a trained table, added to the tokens",
        "sinusoidal": "sines and cosines, added to the tokens",
        "rotary": "queries and keys are turned by their positions",
        "ALiBi": "a penalty on scores that grows with distance",
        "none": "no positions: only the causal mask tells them apart",
    },
    baseline="learned",
    measures=(
        Measure("beyond", "perplexity beyond", ratio=True),
        Measure("within", "perplexity within", ratio=True),
        Measure("growth", "beyond / within", ratio=True, compared=False, digits=3),
    ),
    claims=(
        Claim("learned positions do poorly beyond the training length", "growth", "learned", None, "higher", 0.02,
              source="source 001"),
        Claim("sines serve beyond the training length", "growth", "sinusoidal", None, "same", 0.02,
              source="source 001"),
        Claim("rotary positions serve beyond it", "growth", "rotary", None, "same", 0.02),
        Claim("ALiBi serves beyond it", "growth", "ALiBi", None, "same", 0.02),
        Claim("without positions nothing changes beyond it", "growth", "none", None, "same", 0.02),
        Claim("sines are better than a learned table beyond it", "beyond", "sinusoidal", "learned", margin=0.01),
        Claim("within the training length ALiBi is better than a learned table", "within", "ALiBi", "learned",
              margin=0.01),
    ),
    run=run,
    setting=Setting(block_size=32),
    curve=("by_position", "position", "held-out perplexity"),
    code=(AlibiScore, position_table),
)  # fmt: skip
