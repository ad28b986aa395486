"""Memory of a training step, and the largest batch.

finetune.memory.measure: profiler, hooks and formula agree; the search for the largest batch survives running out.

The formula of memory against what autograd saves.

finetune.memory.measure: bytes by formula are the bytes that autograd keeps, for every method, dropout and size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from finetune.classification.config import ClassifyConfig
from finetune.errors import BadInput
from finetune.memory.measure import (
    batch_of,
    gradients,
    largest_batch,
    measure_step,
    optimizer_state,
    prepare,
    saved_activations,
    saved_tensors,
    training_step,
)
from finetune.models.encoder import Encoder, EncoderConfig


def encoder() -> Encoder:
    return Encoder(EncoderConfig(31, 64, 2, 2, 64, 128))


@pytest.mark.parametrize("method", ["full", "head", "prompt", "lora"])
def test_profiler_hooks_and_formula_agree(method: str) -> None:
    config = ClassifyConfig("m", method=method, prompt_length=6, device="cpu")
    B, n = 5, 20
    found = measure_step(encoder, config, B, n)
    assert found.formula == {"saved": found.saved, "gradients": found.gradients, "state": found.state}
    # Besides what is kept there are logits and the loss with its parts; indices may be made and kept for a moment.
    logits = 4 * B * 2
    assert found.saved <= found.forward <= found.saved + 4 * logits + 8 * B * n
    # The backward pass leaves gradients in the place of what was kept.
    assert abs(found.forward + found.backward - found.gradients) <= 4 * logits + 8 * B * n
    assert found.peak >= found.forward


def test_a_frozen_base_keeps_nothing_and_a_base_left_out_of_the_optimizer_keeps_all() -> None:
    """The fault: freezing by leaving parameters out of the optimizer saves neither activations nor gradients."""
    head = measure_step(encoder, ClassifyConfig("m", method="head", device="cpu"), 4, 10)
    full = measure_step(encoder, ClassifyConfig("m", device="cpu"), 4, 10)
    assert head.saved == 4 * 64 * 4 and head.gradients == 4 * (2 * 64 + 2)
    assert full.saved > 100 * head.saved and full.gradients > 100 * head.gradients
    prompt = measure_step(encoder, ClassifyConfig("m", method="prompt", prompt_length=40, device="cpu"), 4, 10)
    assert prompt.saved > full.saved > 0, "a long prompt costs more than training everything"


@pytest.mark.thorough(keep=("lora",))
@pytest.mark.parametrize("method", ["full", "prompt", "lora"])
def test_recomputing_holds_the_inputs_of_layers_alone(method: str) -> None:
    """L B n E numbers stay in place of all that the layers keep; what is held at once is no more than one layer's."""
    layers, B, n, E = 6, 5, 20, 64
    deep = EncoderConfig(31, 64, layers, 2, E, 128)
    config = ClassifyConfig("m", method=method, prompt_length=6, device="cpu")
    whole = measure_step(lambda: Encoder(deep), config, B, n)
    less = measure_step(lambda: Encoder(deep), replace(config, gradient_checkpointing=True), B, n)
    tokens = n + 6 if method == "prompt" else n
    layer = (whole.saved - 4 * B * tokens * E) / layers
    # Besides the inputs: what the embeddings and the head keep, and states of the generator, 5 KiB a layer.
    assert 4 * layers * B * tokens * E <= less.forward <= 4 * (layers + 4) * B * tokens * E + 6000 * layers
    assert less.forward < whole.forward / 3 and less.peak < less.forward + 2 * layer + less.gradients
    assert less.formula is None and less.gradients == whole.gradients


def test_a_storage_is_counted_once_and_weights_not_at_all() -> None:
    layer = nn.Linear(8, 8)
    x = torch.randn(3, 8, requires_grad=True)
    with saved_tensors(layer) as saved:
        (layer(x) * x).sum()
    assert sorted(saved.values()) == [96, 96], "x, read twice, and what the layer gave"


def test_every_size_is_reported_as_soon_as_it_was_tried() -> None:
    seen: list[tuple[int, bool]] = []
    done: list[int] = []

    def step(size: int) -> None:
        assert len(seen) == len(done)
        done.append(size)
        if size > 5:
            raise MemoryError

    found = largest_batch(step, 2, 8, lambda size, message: seen.append((size, message is None)))
    assert found.size == 5 and seen == [(size, message is None) for size, message in found.tried]


@given(st.integers(0, 300), st.integers(1, 300), st.integers(1, 300))
def test_the_largest_batch_is_found_in_few_tries(fits: int, start: int, most: int) -> None:
    start = min(start, most)

    def step(size: int) -> None:
        assert 1 <= size <= most
        if size > fits:
            raise MemoryError

    with patch("finetune.memory.out_of_memory.release"):  # nothing is held here, and the collector is slow
        found = largest_batch(step, start, most)
    assert found.size == min(fits, most)
    assert len(found.tried) == len({size for size, _ in found.tried}) <= 2 * most.bit_length() + 2
    assert all((told is None) == (size <= fits) for size, told in found.tried)


def test_other_errors_are_no_answer() -> None:
    def step(size: int) -> None:
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        largest_batch(step)
    for start in (0, 9):
        with pytest.raises(BadInput, match="can be tried first"):
            largest_batch(step, start, 8)


def test_a_step_trains_and_leaves_no_gradient() -> None:
    made: list[Encoder] = []

    def make() -> Encoder:
        made.append(encoder())
        return made[0]

    step = training_step(make, ClassifyConfig("m", device="cpu", method="lora"), 9)
    step(3)
    assert all(p.grad is None for p in made[0].parameters())


CPU = torch.device("cpu")
SIZES = [(3, 7, 20, 2, 44, 2), (4, 6, 16, 1, 40, 1)]


def kept(config: EncoderConfig, run: ClassifyConfig, B: int, n: int, training: bool = True) -> int:
    """Bytes that the forward pass keeps."""
    encoder = Encoder(config)
    model = prepare(encoder, run, CPU).train(training)
    with saved_tensors(model) as saved:
        model(**{name: value for name, value in batch_of(encoder, B, n, CPU).items() if name != "labels"})
    return sum(saved.values())


@pytest.mark.parametrize("method", ["full", "head", "bias", "prompt", "prefix", "lora"])
@pytest.mark.parametrize("drops", [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1), (0.1, 0.1, 0.1)])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_formula_is_what_is_kept(method: str, drops: tuple[float, float, float], sizes: tuple[int, ...]) -> None:
    """Byte by byte, with dropout on activations, on weights of attention, and before head and LoRA, each alone too."""
    B, n, E, H, h, L = sizes
    config = EncoderConfig(31, 32, L, H, E, h, 2, dropout=drops[0], attention_dropout=drops[1])
    run = ClassifyConfig("m", method=method, prompt_length=4, rank=3, dropout=drops[2], device="cpu")
    assert kept(config, run, B, n) == saved_activations(config, run, B, n)


def test_in_evaluation_there_is_no_dropout() -> None:
    config, run = EncoderConfig(31, 32, 2, 2, 20, 44), ClassifyConfig("m", method="lora", rank=3)
    assert kept(config, run, 3, 7, training=False) == saved_activations(config, run, 3, 7, training=False)
    assert saved_activations(config, run, 3, 7, training=False) < saved_activations(config, run, 3, 7)


def test_gradients_and_states_are_those_of_the_optimizer() -> None:
    for name, made in (("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD), ("adagrad", torch.optim.Adagrad)):
        layer = torch.nn.Linear(5, 7)
        optimizer: Any = made(layer.parameters(), lr=0.1)
        layer(torch.ones(5)).sum().backward()
        optimizer.step()
        state = [v for row in optimizer.state.values() for v in row.values() if isinstance(v, torch.Tensor)]
        assert sum(v.numel() * v.element_size() for v in state) == optimizer_state(name, 42, 2)
        assert sum(p.grad.numel() * 4 for p in layer.parameters() if p.grad is not None) == gradients(42)


def test_what_has_no_formula_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="no formula for the optimizer 'lion'"):
        optimizer_state("lion", 1, 1)
    run = ClassifyConfig("m", method="bias")
    object.__setattr__(run, "method", "other")
    with pytest.raises(BadInput, match="no formula for the method 'other'"):
        saved_activations(EncoderConfig(31), run, 1, 1)
