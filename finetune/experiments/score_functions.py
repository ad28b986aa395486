"""Experiment: score functions other than the scaled dot product, and what they cost."""

from __future__ import annotations

from typing import Any

from torch import nn

from finetune.experiments.attention import PluggedAttention, ScoredMix
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.scores import SCORES, Additive, Bilinear, Cosine, SquaredDistance
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, train_on_text
from finetune.models.gpt import GPTConfig


def attention(variant: str, config: GPTConfig) -> nn.Module:
    """Return a block's attention with the score function of a variant."""
    score = SCORES[variant](config.n_head, config.n_embd // config.n_head)
    return PluggedAttention(config, ScoredMix(score))


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model and judge it."""
    model = build(config_of(setting, text.tokens), seed, lambda config: attention(variant, config))
    return train_on_text(model, setting, seed, text)


EXPERIMENT = Experiment(
    name="score_functions",
    title="Other score functions",
    question="Does it matter how a query is compared with a key, and what does each way cost?",
    background=(
        "Attention needs one number for a query and a key. Source 001 (section 2.2) asks for other functions than "
        "the dot product; source 004 (question 5) answers that additive attention predicts no better and is "
        "slower. All variants have the same projections; additive, cosine and bilinear scores have a few "
        "parameters of their own."
    ),
    variants={
        "scaled dot": "q . k / sqrt(d)",
        "plain dot": "q . k",
        "additive": "w . tanh(q + k)",
        "cosine": "g q . k / (|q| |k|), g learnt",
        "squared distance": "-|q - k|^2 / sqrt(d)",
        "bilinear": "q^T W k / sqrt(d)",
    },
    baseline="scaled dot",
    measures=(
        Measure("perplexity", "held-out perplexity", ratio=True),
        Measure("step_milliseconds", "ms of the processor a step", ratio=True, timed=True, digits=1),
        Measure("parameters", "parameters", compared=False, digits=0),
    ),
    claims=(
        Claim("additive attention predicts better", "perplexity", "additive", "scaled dot", margin=0.01,
              source="source 004, question 5, denies it"),
        Claim("additive attention is slower", "step_milliseconds", "additive", "scaled dot", "higher", 0.05,
              source="source 004, question 5"),
        Claim("cosine attention predicts as well", "perplexity", "cosine", "scaled dot", "same", 0.02),
        Claim("squared distances predict as well", "perplexity", "squared distance", "scaled dot", "same", 0.02),
        Claim("bilinear scores predict as well", "perplexity", "bilinear", "scaled dot", "same", 0.02),
        Claim("without the scale predictions are worse", "perplexity", "plain dot", "scaled dot", "higher", 0.01),
    ),
    run=run,
    setting=Setting(),
    curve=("held_out_curve", "step", "held-out perplexity"),
    code=(Additive, Cosine, SquaredDistance, Bilinear),
)  # fmt: skip
