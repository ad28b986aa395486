"""Experiment: queries, keys and values from one projection, two, or three."""

from __future__ import annotations

from typing import Any

from finetune.experiments.attention import PluggedAttention
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, train_on_text

SHARED = {"separate": "", "Q = K": "qk", "K = V": "kv", "Q = V": "qv", "Q = K = V": "qkv"}


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model and judge it."""
    model = build(
        config_of(setting, text.tokens), seed, lambda config: PluggedAttention(config, shared=SHARED[variant])
    )
    return train_on_text(model, setting, seed, text)


EXPERIMENT = Experiment(
    name="tied_projections",
    title="Why query, key and value?",
    question="What is lost if two of the three projections, or all of them, are one?",
    background=(
        "Source 001 (section 2.2) asks which of the three are needed, and which versions learn anything. With Q = "
        "K the scores are symmetric: token i is as near to j as j to i, and every token is near to itself. With "
        "K = V what is found by a key is the key. A tied model has fewer parameters; the table counts them."
    ),
    variants={
        "separate": "three projections",
        "Q = K": "two: scores are symmetric before the mask",
        "K = V": "two: what is found is what it was found by",
        "Q = V": "two",
        "Q = K = V": "one",
    },
    baseline="separate",
    measures=(
        Measure("perplexity", "held-out perplexity", ratio=True),
        Measure("train_perplexity", "mean training perplexity", ratio=True),
        Measure("step_milliseconds", "ms of the processor a step", ratio=True, timed=True, digits=1),
        Measure("parameters", "parameters", compared=False, digits=0),
    ),
    claims=(
        *(
            Claim(f"{tied} predicts worse than three projections", "perplexity", tied, "separate", "higher", 0.01)
            for tied in SHARED
            if tied != "separate"
        ),
        Claim("one projection for all is worse than Q = K", "perplexity", "Q = K = V", "Q = K", "higher", 0.01),
    ),
    run=run,
    setting=Setting(),
    curve=("held_out_curve", "step", "held-out perplexity"),
    code=(PluggedAttention,),
)
