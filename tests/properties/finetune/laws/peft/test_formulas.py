"""The numbers of trained parameters that papers state."""

from __future__ import annotations

import numpy as np
import torch

from finetune.faults import adapters
from finetune.laws.peft.formulas import matrices, within


def test_the_formulas_are_those_of_the_papers() -> None:
    """Of W + s B A against a product that is written out, and of the counts against numbers that are known."""
    made = adapters.LowRank(3, "float64")
    made.draw(4)
    made.eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    assert made.count() == 3 * (8 + 8) + 3 * (8 + 4) + 3 * (8 + 10) + 8 * 8 + 8 + 3 * 8 + 3
    want = made.by_hand(ids, None)
    made.merge()
    assert np.allclose(want.detach(), made(ids, None).detach(), rtol=0, atol=1e-12)
    assert adapters.SoftPrompt(0, "float32").count() == 3 * 8 + 99
    assert adapters.KeysAndValues(0, "float32").count() == 2 * 2 * 3 * 4 + 99
    assert [n for n, _ in matrices(made.__dict__["plain"], ("key", "up"))] == ["layers.0.key", "layers.0.up"]
    assert within(["a", "c"], ["a", "b", "c"]) and not within(["c", "a"], ["a", "b", "c"])
