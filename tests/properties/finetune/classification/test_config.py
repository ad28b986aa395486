"""Settings of a run.

finetune.classification.config: the defaults of methods, and schedules that end with the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from finetune.classification.config import DEFAULTS, ClassifyConfig, method_of, recompute_layers
from finetune.errors import BadInput
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.peft import LoRA, Prefix, Prompt
from finetune.training.optimizer import rate


@pytest.mark.parametrize("method", DEFAULTS)
def test_defaults_are_the_methods(method: str) -> None:
    told = ClassifyConfig("m", method=method).training(100)
    assert (told.learning_rate, told.epochs) == DEFAULTS[method]
    assert told.optimizer == "adamw" and told.weight_decay == 0.01 and told.schedule == "linear"
    assert told.log_every == 2, "an evaluation an epoch"
    given = ClassifyConfig("m", method=method, learning_rate=0.0, epochs=3, logging_steps=7).training(100)
    assert (given.learning_rate, given.epochs, given.log_every) == (0.0, 3, 7)


def test_the_rate_ends_with_the_run_and_never_before(examples: int = 103) -> None:
    told = ClassifyConfig("m", epochs=4, batch_size=10, warmup_ratio=0.25).training(examples)
    seen = 0
    factors = []
    for _ in range(4):
        for start in range(0, examples, 10):
            seen += min(10, examples - start)
            factors.append(rate(seen, told.warmup_tokens, told.final_tokens, told.floor, told.schedule))
    assert max(factors) > 0.95 and 0 < factors[-1] < 0.05, "the last step moves, and is the smallest but for the first"
    assert factors.index(max(factors)) in (10, 11)
    falling = factors[factors.index(max(factors)) :]
    assert falling == sorted(falling, reverse=True)


def test_checkpointing_is_refused_where_it_would_train_nothing() -> None:
    config = ClassifyConfig("m", method="prefix", gradient_checkpointing=True)
    encoder = Encoder(EncoderConfig(31, 8, 1, 2, 8, 8))
    recompute_layers(encoder, replace(config, gradient_checkpointing=False))
    assert not encoder.recomputes
    recompute_layers(encoder, config)
    assert encoder.recomputes
    with pytest.raises(BadInput, match="drops the prefix: take --backend own"):
        recompute_layers(torch.nn.Linear(1, 1), config)
    with pytest.raises(BadInput, match="Linear has no gradient_checkpointing"):
        recompute_layers(torch.nn.Linear(1, 1), replace(config, method="prompt"))


def test_options_go_to_the_method() -> None:
    assert method_of(ClassifyConfig("m")) is None
    assert method_of(ClassifyConfig("m", method="prompt", prompt_length=5)) == Prompt(5)
    assert method_of(ClassifyConfig("m", method="prefix", prompt_length=6)) == Prefix(6)
    assert method_of(ClassifyConfig("m", method="lora", rank=3, alpha=2.0, dropout=0.2)) == LoRA(3, 2.0, 0.2)
    assert [
        ClassifyConfig("m", method=m, prompt_length=9).prompt_positions for m in ("full", "prompt", "prefix", "lora")
    ] == [
        0,
        9,
        9,
        0,
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "adapter"}, "method 'adapter' is not one of full, head"),
        ({"warmup_ratio": 1.0}, "from 0 to below 1, got 1.0"),
        ({"mlm_alpha": -0.1}, "must not be negative"),
        ({"mlm_alpha": float("nan")}, "must not be negative"),
        ({"mlm_alpha": 0.1, "method": "head"}, "would change nothing"),
    ],
)
def test_settings_that_cannot_be(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        ClassifyConfig("m", **changes)
