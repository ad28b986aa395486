"""What leaks: exactly 0 in a causal model, all of it in a model that reads the next token."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from finetune.experiments.future import effect_of_later_token, gain_from_future, loss_without_future, losses_at
from finetune.models.gpt import GPT, GPTConfig

V, n = 7, 12


def stretches() -> tuple[Tensor, Tensor]:
    text = torch.randint(2, V, (6, n + 1), generator=torch.Generator().manual_seed(0))
    return text[:, :-1], text[:, 1:]


def peeking(x: Tensor) -> Tensor:
    """Logits that are sure of the next token: the last place has none, and gets uniform ones."""
    logits = torch.zeros(*x.shape, V)
    logits[:, :-1] = 9.0 * torch.nn.functional.one_hot(x[:, 1:], V)
    return logits


def test_a_causal_model_owes_nothing_to_the_future() -> None:
    torch.manual_seed(0)
    model = GPT(GPTConfig(V, n, 1, 2, 8, dropout=0.0)).eval()
    x, y = stretches()
    assert effect_of_later_token(model, x, y) == 0.0 and gain_from_future(model, x, y) == 0.0
    # the same sums in calls of other lengths: some hundred roundings in float32
    assert loss_without_future(model, x, y) == pytest.approx(float(losses_at(model, x, y).mean().detach()), abs=1e-5)


def test_a_model_that_peeks_is_seen() -> None:
    x, y = stretches()
    assert effect_of_later_token(peeking, x, y) > 8
    assert gain_from_future(peeking, x, y) > 2
    assert loss_without_future(peeking, x, y) == pytest.approx(math.log(V))
    assert float(losses_at(peeking, x, y)[:, :-1].mean()) < 0.01
