"""Small models with adapters, for the tests of `finetune.peft`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from finetune.models.classifier import Classifier
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.peft import Bias, Head, LoRA, Method, Prefix, Prompt
from tests.numeric.encoder_error import bound

V, N, E, H, L, h = 23, 29, 12, 3, 2, 7


HEAD = 2 * E + 2


ROWS: list[tuple[Method, int]] = [
    (Head(), HEAD),
    (Prompt(5), 5 * E + HEAD),
    (Prompt(4, start="random"), 4 * E + HEAD),
    (Prefix(5), 2 * L * 5 * E + HEAD),
    (LoRA(3), 2 * L * 2 * E * 3 + HEAD),
    (LoRA(2, dropout=0.5, rank_stabilised=True, targets=("0",)), L * (E + h) * 2 + HEAD),
    (Bias(), (7 * E + h) * L + E + HEAD),
]


EVERY = pytest.mark.parametrize("method", [row[0] for row in ROWS], ids=lambda m: f"{m.name}-{ROWS_INDEX[id(m)]}")


ROWS_INDEX = {id(row[0]): number for number, row in enumerate(ROWS)}


def model(pool: Any = "first") -> Classifier:
    """A small classifier in float64 and evaluation mode; the same weights every time."""
    torch.manual_seed(5)
    found = Classifier(Encoder(EncoderConfig(V, N, L, H, E, h, 2)), 2, pool=pool).double().eval()
    with torch.no_grad():
        for name, parameter in found.named_parameters():
            parameter.normal_(1.0 if ".ln" in name and name.endswith("weight") else 0.0, 0.15)
    return found


def batch() -> dict[str, Tensor]:
    """Three rows of different lengths, padded on the right."""
    torch.manual_seed(6)
    real = torch.arange(7)[None] < torch.tensor([7, 3, 5])[:, None]
    ids = torch.where(real, torch.randint(1, V, (3, 7)), 0)
    return {"input_ids": ids, "attention_mask": real.long(), "labels": torch.tensor([0, 1, 1])}


def called(of: nn.Module) -> Tensor:
    given = {k: v for k, v in batch().items() if k != "labels"}
    found: Tensor = of(**given)
    return found


def shaken(of: nn.Module) -> None:
    """Other values for everything that is trained, as after training."""
    torch.manual_seed(8)
    with torch.no_grad():
        for parameter in of.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)


def encoder_bound(of: Classifier) -> Tensor:
    assert isinstance(of.encoder, Encoder)
    given = batch()
    return bound(of.encoder, given["input_ids"], given["attention_mask"])[given["attention_mask"].bool()].max()
