# Numbers of parameters and rates in the code against the steps of the documents that count them, on the same sizes.
# Change one of the two alone, and this fails.
"""Counts and documents hold together."""

from __future__ import annotations

import inspect

import pytest
from torch import nn

from attention_core.self_attention import MultiHeadSelfAttention, init_qkv_proj
from attention_core.variants.synthesizer import SynthesizerSelfAttention
from finetune.data.masked_lm import mask_tokens
from finetune.models.gpt import GPT, Block, GPTConfig
from tests.numeric.document_values import sides_of, value_of

COUNTS = "parameter_counts.md"
ASSIGNMENT = {"v": 256, "m": 128, "d": 256, "c": 4}


def count(*modules: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(p.numel() for module in modules for p in module.parameters())


@pytest.mark.parametrize(("d", "heads"), [(12, 3), (8, 1), (6, 6)])
def test_a_layer_of_attention(d: int, heads: int) -> None:
    sizes = {"d": d, "h": heads, "r": d // heads}
    for side in sides_of(COUNTS, "multi-head", sizes, {}):
        assert side.item() == count(MultiHeadSelfAttention(d, heads))
    assert value_of(COUNTS, "multi-head", "3 h (d r + r)", sizes, {}) == count(*init_qkv_proj(d))


@pytest.mark.parametrize(("d", "heads", "length"), [(12, 3, 5), (8, 1, 20)])
def test_a_layer_of_synthesizer_attention(d: int, heads: int, length: int) -> None:
    sizes = {"d": d, "h": heads, "r": d // heads, "l": length}
    for side in sides_of(COUNTS, "synthesizer", sizes, {}):
        assert side.item() == count(SynthesizerSelfAttention(d, heads, length))


@pytest.mark.parametrize(("d", "blocks", "characters", "places"), [(8, 2, 11, 7), (4, 1, 5, 16)])
def test_a_language_model(d: int, blocks: int, characters: int, places: int) -> None:
    config = GPTConfig(characters, block_size=places, n_layer=blocks, n_head=2, n_embd=d)
    for side in sides_of(COUNTS, "block", {"d": d}, {}):
        assert side.item() == count(Block(config))
    for side in sides_of(COUNTS, "gpt", {"d": d, "c": blocks, "v": characters, "m": places}, {}):
        assert side.item() == count(GPT(config))
    # the sizes of the assignment, whose number of parameters `GPTConfig` states
    assert value_of(COUNTS, "gpt", "v d + m d + c (12 d d + 13 d) + 2 d + d v", ASSIGNMENT, {}) == 3_323_392


def test_the_rates_of_masked_tokens() -> None:
    default = {name: one.default for name, one in inspect.signature(mask_tokens).parameters.items()}
    masked, random = (sides_of("masking_rates.md", "fifteen-percent", {}, {}, number=k)[0].item() for k in (1, 2))
    assert (masked, random) == (default["masked"] * default["rate"], default["random"] * default["rate"])
