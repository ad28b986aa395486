"""Models of 10^9 layers, features or rows.

finetune.models.weights: sizes that no machine holds are refused before anything is allocated, whoever names them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from finetune.errors import BadInput
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.models.gpt import GPT, GPTConfig
from finetune.models.huggingface import load_masked_lm
from finetune.models.weights import bytes_of_model

HUGE = 10**9


@pytest.mark.parametrize(
    "config",
    [
        GPTConfig(11, n_layer=HUGE, n_embd=8), GPTConfig(HUGE), GPTConfig(11, HUGE),
        GPTConfig(11, n_embd=HUGE), EncoderConfig(n_layer=HUGE), EncoderConfig(HUGE), EncoderConfig(n_hidden=HUGE),
    ],
)  # fmt: skip
def test_sizes_that_no_machine_holds_are_refused_at_once(config: GPTConfig | EncoderConfig) -> None:
    with pytest.raises(BadInput, match=r"takes about .* GB, more than the .* GB of this machine"):
        GPT(config) if isinstance(config, GPTConfig) else Encoder(config)


def test_so_are_those_of_a_config_json(tmp_path: Path) -> None:
    told = {
        "vocab_size": 9, "hidden_size": 4, "num_hidden_layers": HUGE, "num_attention_heads": 2, "intermediate_size": 8,
        "max_position_embeddings": 8,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(told))
    with pytest.raises(BadInput, match=f"{HUGE} layers.* takes about"):
        load_masked_lm(tmp_path)


@pytest.mark.parametrize("c", [GPTConfig(256), EncoderConfig(99, n_layer=2)])
def test_the_estimate_is_near_what_the_weights_take(c: GPTConfig | EncoderConfig) -> None:
    model = GPT(c) if isinstance(c, GPTConfig) else Encoder(c)
    if isinstance(c, GPTConfig):
        told = bytes_of_model(c.n_layer, c.n_embd, 4 * c.n_embd, 2 * c.vocab_size + c.block_size)
    else:
        told = bytes_of_model(c.n_layer, c.n_embd, c.n_hidden, c.vocab_size + c.block_size + c.segments)
    assert told == pytest.approx(4 * sum(p.numel() for p in model.parameters()), rel=0.01)


def test_a_device_without_memory_holds_any_number() -> None:
    with torch.device("meta"):
        GPT(GPTConfig(10**10, n_layer=1))
