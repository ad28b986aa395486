"""Budgets of a norm of each head: right roundings, and outputs that are off, lie within them and use a share of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core.conformance.budgets.head_norm_bound import HeadNorm, head_norm_bound, norm_heads


@pytest.mark.parametrize("kind", ["rms", "layer"])
def test_norms_in_float32_stay_within_the_budget(kind: str) -> None:
    worst = 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 33))
        out = np.float32(rng.standard_normal((4, n)) * 2.0 ** -rng.integers(0, 9)).astype(np.float64)
        norm = HeadNorm(kind, np.float32(1 + rng.random(n)).astype(np.float64), 1e-5, 0.8)
        given, weight = torch.tensor(out, dtype=torch.float32), torch.tensor(norm.weight, dtype=torch.float32)
        if kind == "rms":
            got = 0.8 * torch.nn.functional.rms_norm(given, (n,), weight, 1e-5)
        else:
            got = 0.8 * weight * torch.nn.functional.layer_norm(given, (n,), eps=1e-5)
        bound = head_norm_bound(out, np.zeros_like(out), norm, dtype="float32", accumulate="float32")
        worst = max(worst, float((np.abs(got.double().numpy() - norm_heads(out, norm)) / bound).max()))
    assert 0.05 < worst < 1


def test_a_norm_of_what_is_off_stays_within_the_budget() -> None:
    rng = np.random.default_rng(0)
    worst = 0.0
    for kind in ("rms", "layer"):
        for _ in range(200):
            out, bound = rng.standard_normal(5) * 0.01, np.abs(rng.standard_normal(5)) * 10.0 ** -rng.integers(2, 7)
            norm = HeadNorm(kind, np.ones(5), 1e-5)
            limit = head_norm_bound(out, bound, norm, dtype="float64", accumulate="input")
            moved = norm_heads(out + bound * rng.choice([-1.0, 1.0], 5), norm)
            worst = max(worst, float((np.abs(moved - norm_heads(out, norm)) / limit).max()))
    assert 0.1 < worst < 1
