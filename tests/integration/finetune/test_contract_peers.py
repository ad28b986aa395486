"""No right model of another library is refuted.

Models of transformers, untrained, behind the face of `causal-lm`: nobody wrote them with these laws in mind.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from judging_contracts import conforming
from torch import Tensor, nn

pytestmark = pytest.mark.slow


class Wrapped(nn.Module):
    """What a user writes around a model of transformers; labels are shifted inside."""

    def __init__(self, vocab_size: int, block_size: int) -> None:
        super().__init__()
        self.model = self.made(vocab_size, block_size)
        self.past: Any = None

    def made(self, vocab_size: int, block_size: int) -> Any:
        raise NotImplementedError

    def forward(self, ids: Tensor) -> Any:
        return self.model(ids).logits

    def loss(self, ids: Tensor, labels: Tensor) -> Any:
        return self.model(ids, labels=labels).loss

    def reset(self) -> None:
        self.past = None

    def step(self, ids: Tensor) -> Any:
        out = self.model(ids, past_key_values=self.past, use_cache=True)
        self.past = out.past_key_values
        return out.logits

    def generate(self, ids: Tensor, max_new_tokens: int, **given: Any) -> Any:
        given = {"top_k": 0, **given} if given.get("do_sample") else given
        return self.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=max_new_tokens, **given
        )  # fmt: skip


SIZES = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


class Learned(Wrapped):
    """GPT-2: learned positions, tied weights."""

    def made(self, vocab_size: int, block_size: int) -> Any:
        from transformers import GPT2Config, GPT2LMHeadModel

        sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, **SIZES}
        return GPT2LMHeadModel(GPT2Config(vocab_size=vocab_size, n_positions=block_size, **sizes))


class Rotated(Wrapped):
    """Llama: rotary positions, grouped heads; it goes on beyond its block."""

    def made(self, vocab_size: int, block_size: int) -> Any:
        from transformers import LlamaConfig, LlamaForCausalLM

        sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, **SIZES}
        return LlamaForCausalLM(
            LlamaConfig(vocab_size=vocab_size, max_position_embeddings=block_size, num_key_value_heads=1, **sizes)
        )


@pytest.mark.thorough
@pytest.mark.parametrize(("target", "tied"), [(Learned, True), (Rotated, False)])
def test_models_of_transformers_conform(target: Any, tied: bool) -> None:
    from transformers import logging

    logging.set_verbosity_error()
    declared = {"shift": "inside", "all_ignored": "nan", **({"tied": True} if tied else {})}
    results = conforming(target, "causal-lm", parameters=declared)
    assert sum(r.status == "held" for r in results.values()) >= 19
