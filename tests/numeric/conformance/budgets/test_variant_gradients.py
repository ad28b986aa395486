"""Gradients of sigmoid and differential attention against torch's in float64, and roundings within their budgets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance.budgets.variant_gradients import sigmoid_gradients
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import decode
from attention_core.declaration.implementation import Implementation
from attention_core.faults import variant_attention as faults


def drawn(seed: int, group: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    n, m, d = (int(x) for x in rng.integers(1, 17, size=3))
    shapes = ((2, 2 * group, n, d), (2, 2, m, d), (2, 2, m, 3), (2, 2 * group, n, 3))
    return tuple(np.float32(rng.standard_normal(shape)).astype(np.float64) for shape in shapes)


@pytest.mark.parametrize("group", [1, 3])
def test_gradients_of_sigmoids_are_torchs_and_float32_stays_within_the_budget(group: int) -> None:
    worst = dict.fromkeys(("query", "key", "value", "bias"), 0.0)
    for seed in range(20):
        q, k, v, down = drawn(seed, group)
        expanded = (np.repeat(x, group, 1) for x in (k, v))
        pairs = np.ones((q.shape[2], k.shape[2]), dtype=bool)
        how = {"scale": 0.5, "bias": -0.75, "group": group, "dtype": "float32", "accumulate": "float32"}
        limits = sigmoid_gradients(q, *expanded, down, pairs, **how)  # type: ignore[arg-type]
        for dtype in (torch.float64, torch.float32):
            given = [torch.tensor(x, dtype=dtype).requires_grad_() for x in (q, k, v, np.array(-0.75))]
            out = faults.sigmoid()(*given[:3], scale=0.5, bias=given[3])
            out = out if dtype == torch.float32 else _wide(*given)
            found = torch.autograd.grad(out, given, torch.tensor(down, dtype=out.dtype))
            for (name, (true, bound)), got in zip(limits.items(), found, strict=True):
                off = np.abs(got.double().numpy() - true)
                if dtype == torch.float64:
                    np.testing.assert_allclose(got.numpy(), true, rtol=1e-9, atol=1e-12)
                else:
                    worst[name] = max(worst[name], float((off / bound).max()))
    assert all(0 < share < 1 for share in worst.values()), worst


def _wide(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return (q @ k.mT * 0.5 + bias).sigmoid() @ v


@pytest.mark.parametrize("target", [faults.differential, faults.joined])
def test_gradients_of_a_difference_are_torchs(target: Any) -> None:
    case = ParameterCase(
        {"B": 2, "H_kv": 2, "group": 3, "n_q": 4, "n_kv": 5, "d": 3, "d_v": 2}, dtype="float64", seed=5,
        options={"causal": True, "weight": -0.5},
    )  # fmt: skip
    with Session(Implementation(target(), contract="variant-attention")) as session:
        subject: Any = session.subject
        call = subject.draw(case)
        down = case.values("down", 2, 6, 4, 2)
        limits = subject.true_gradients(case, call, down)
        names = [role for role in limits if role in subject.roles]
        request = subject.request_of(case, call, learned=True)
        given = {
            name: torch.tensor(decode(x.base, x.dtype).reshape(x.shape)) if hasattr(x, "base") else x
            for name, x in request.kwargs.items()
        }
        leaves = [given[subject.roles[role]].requires_grad_() for role in names]
        found = torch.autograd.grad(target()(**given), leaves, torch.tensor(down))
    assert {"query", "key", "value", "weight"} <= set(names)
    for role, got in zip(names, found, strict=True):
        np.testing.assert_allclose(got.numpy(), limits[role][0], rtol=1e-9, atol=1e-12)
