"""The synthesizer's limit: weights that stay where they are when two tokens change places."""

from __future__ import annotations

import torch

from finetune.experiments.synthesizer_limit import EXPERIMENT, accuracy, attention
from finetune.models.gpt import GPTConfig

CONFIG = GPTConfig(10, 4, 1, 1, 8, dropout=0.0)


def weights_of_last(variant: str, x: torch.Tensor) -> torch.Tensor:
    """The weights of the last token, read off by the gradient of its output with respect to each value's size."""
    torch.manual_seed(0)
    layer = attention(variant, CONFIG)
    layer.register_module("proj", torch.nn.Identity())
    layer.get_submodule("value").register_forward_hook(lambda *_: torch.eye(4, 8)[None])
    return layer(x, 0, None)[0, -1, :4].detach()


def test_a_dot_product_follows_exchanged_tokens_and_a_synthesizer_does_not() -> None:
    x = torch.randn(1, 4, 8)
    exchanged = x[:, [1, 0, 2, 3]]
    dot, synthesizer = EXPERIMENT.baseline, "synthesizer, 1 layer"
    before, after = weights_of_last(dot, x), weights_of_last(dot, exchanged)
    assert torch.allclose(after, before[[1, 0, 2, 3]], atol=1e-6) and not torch.allclose(after, before)
    assert torch.equal(weights_of_last(synthesizer, x), weights_of_last(synthesizer, exchanged))


def test_accuracy_counts_the_last_place() -> None:
    batch = {"x": torch.tensor([[2, 3], [2, 4]]), "y": torch.tensor([[0, 3], [0, 3]])}
    model = torch.nn.Embedding.from_pretrained(torch.eye(6))
    assert accuracy(model, batch) == 0.5
