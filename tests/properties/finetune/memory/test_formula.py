"""The formula of memory against what autograd saves.

finetune.memory.formula: bytes by formula are the bytes that autograd keeps, for every method, dropout and size.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from finetune.classification.config import ClassifyConfig
from finetune.errors import BadInput
from finetune.memory.formula import gradients, optimizer_state, saved_activations
from finetune.memory.measure import batch_of, prepare, saved_tensors
from finetune.models.encoder import Encoder, EncoderConfig

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
