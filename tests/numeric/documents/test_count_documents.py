"""Counts and documents hold together.

Numbers of parameters and rates in the code against the steps of the documents that count them, on the same sizes.
Change one of the two alone, and this fails.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from torch import nn

from attention_core.modules.self_attention import MultiHeadSelfAttention, init_qkv_proj
from attention_core.modules.synthesizer import SynthesizerSelfAttention
from finetune.data import draws, masked_lm
from finetune.data.masked_lm import mask_tokens
from finetune.data.span_corruption import SHORTEST, Form, cuts
from finetune.models.gpt import GPT, Block, GPTConfig
from tests.numeric.document_values import sides_of, value_of

COUNTS, RATES, SPANS = "parameter_counts.md", "masking_rates.md", "span_corruption.md"
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


def test_a_table_of_positions() -> None:
    model = GPT(GPTConfig(5, block_size=7, n_layer=1, n_head=2, n_embd=4))
    assert model.pos_emb is not None
    for side in sides_of(COUNTS, "positions", {"m": 7, "d": 4}, {}):
        assert side.item() == model.pos_emb.numel()


@pytest.mark.parametrize(("d", "rank"), [(6, 2), (3, 4)])
def test_what_is_tuned_beside_a_frozen_model(d: int, rank: int) -> None:
    """Heads, prefixes and low-rank updates as layers of torch, which counts for itself."""
    head, prefix = nn.Linear(d, 2), nn.Embedding(128, d)
    update = nn.Linear(d, rank, bias=False), nn.Linear(rank, d, bias=False)
    wanted = {"head": (head,), "prefix": (head, prefix), "lora": update}
    for name, layers in wanted.items():
        for side in sides_of(COUNTS, name, {"d": d, "n": rank}, {}):
            assert side.item() == count(*layers), name
    for side in sides_of("lora.md", "lora-parameters", {"d": d, "n": rank}, {}):
        assert side.item() == count(*update)
    for side in sides_of(COUNTS, "head-classes", {"d": d, "c": 5}, {}):
        assert side.item() == count(nn.Linear(d, 5))
    for side in sides_of(COUNTS, "lora-with-head", {"d": d, "n": rank, "m": 2, "l": 3}, {}):
        assert side.item() == count(*update * 6, head)


@pytest.fixture
def every_draw(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, int]:
    """Tokens whose three draws take every combination of evenly spaced numbers once, and the size of the vocabulary."""
    size = 4
    spaced = [(np.arange(k) + 0.5) / k for k in (100, 10, size)]
    table = np.stack([one.ravel() for one in np.meshgrid(*spaced, indexing="ij")])
    monkeypatch.setattr(masked_lm.draws, "uniform", lambda of, number: table[number[0, 0] % 3][None])
    return np.ones((1, table.shape[1]), np.int64), size


def test_how_many_tokens_differ_and_how_many_targets_are_hidden(every_draw: tuple[Any, int]) -> None:
    ids, size = every_draw
    mask = size  # an id of its own
    given = {"r": 0.15}
    inputs, labels = mask_tokens(ids, draws.keys(0, 0, [0]), vocabulary_size=size, mask_id=mask, special=[])
    for side in sides_of(RATES, "changed", {"v": size}, given):
        assert np.mean(inputs != ids) == pytest.approx(side.item(), abs=1e-12)
    shown = inputs != mask
    for side in sides_of(RATES, "hidden-targets", {}, given):
        assert np.mean(labels[shown] == ids[shown]) == pytest.approx(side.item(), abs=1e-12)


@pytest.mark.parametrize("quarter", [1, 2, 5, 28])
def test_the_lengths_of_corrupted_spans(quarter: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of documents of 4 m characters the masked stretch has from 1 to 2 m - 1, as (quarter) has with c = m - 1."""
    lengths = []
    for fraction in (0.0, 1.0):  # the lowest and the highest draw of each number
        drawn = lambda of, number, low, high, to=fraction: np.asarray(low + to * (np.asarray(high) - low), np.int64)  # noqa: E731
        monkeypatch.setattr(draws, "integer", drawn)
        monkeypatch.setattr(draws, "uniform", lambda of, number: np.full(len(of), 0.25))
        document = np.array([4 * quarter])
        cut = cuts(document, draws.keys(0, 0, [0]), Form(block=128))
        lengths.append(cut.masked.item())
        longest = cut.length.item()
    assert longest == 4 * quarter >= SHORTEST
    first, last = lengths
    assert (first, last) == (1, 2 * quarter - 1)
    if quarter > 1:
        for side in sides_of(SPANS, "quarter", {"m": quarter, "c": quarter - 1}, {}):
            assert side.item() == (first + last) / 2 == longest / 4
    for side in sides_of(SPANS, "uniform-mean", {"a": first, "b": last}, {}):
        assert side.item() == longest / 4


def test_the_rates_of_masked_tokens() -> None:
    default = {name: one.default for name, one in inspect.signature(mask_tokens).parameters.items()}
    masked, random = (sides_of(RATES, "fifteen-percent", {}, {}, number=k)[0].item() for k in (1, 2))
    assert (masked, random) == (default["masked"] * default["rate"], default["random"] * default["rate"])
