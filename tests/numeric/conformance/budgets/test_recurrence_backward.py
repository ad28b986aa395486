"""The budget of gradients of linear attention: right ones stay within it, and a wrong path leaves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import float_format
from attention_core.conformance.budgets.recurrence_backward import GradientSum, gradient_sums
from attention_core.kernels.linear_attention import chunked_linear_attention, recurrent_linear_attention
from tests.numeric.conformance.budgets.test_recurrence_bound import DELTA, KINDS, draw

F = float_format("float32", "float32")
NAMES = ("query", "key", "value", "state", "log_decay", "beta")


def ratios(kind: str, kernel: Callable[..., Any], seed: int, of: int, **wrong: float) -> dict[str, float]:
    """Error over budget of every gradient of one loss; `wrong` multiplies some of them."""
    tokens, start, gates = draw(kind, seed)
    out, state = oracle.linear_attention(*tokens.recur(), start)
    down = [np.zeros(out.shape), np.zeros(state.shape)]
    down[of] = np.random.default_rng(seed).standard_normal(down[of].shape).astype(np.float32).astype(float)
    scale = tokens.key.shape[-1] ** -0.5
    true = oracle.linear_attention_gradients(*tokens.recur(), start, scale=scale, out=down[0], state=down[1])
    sums = gradient_sums(
        tokens, start, (down[0], down[1]), true, scale=scale, dtype="float32", accumulate="float32"
    )  # fmt: skip
    given = dict(zip(NAMES, (*tokens[:3], start, gates, tokens.beta), strict=True))
    inputs = {n: torch.tensor(x).float().requires_grad_() for n, x in given.items() if x is not None}
    q, k, v = (inputs[name] for name in NAMES[:3])
    got = kernel(
        q, k, v, log_decay=inputs.get("log_decay"), beta=inputs.get("beta"), initial_state=inputs["state"],
        output_final_state=True,
    )[of]  # fmt: skip
    (got * torch.tensor(down[of]).float()).sum().backward()
    found = {}
    for name, x in inputs.items():
        if x.grad is None:
            continue
        want, terms = spread_to(getattr(true, name), sums[name], tuple(x.shape))
        off = np.abs(wrong.get(name, 1.0) * x.grad.double().numpy() - want)
        found[name] = float((off / terms.bound(want, F)).max())
    return found


def spread_to(true: np.ndarray, terms: GradientSum, shape: tuple[int, ...]) -> tuple[np.ndarray, GradientSum]:
    """Gradients of all features as those of heads (H,), tokens (B, H, n) or features."""
    if true.shape == shape:
        return true, GradientSum(terms.size.reshape(shape), terms.off.reshape(shape))
    wide = (1, shape[0], 1, 1) if len(shape) == 1 else (*shape, 1)
    axes = tuple(axis for axis, n in enumerate(wide) if n == 1)
    summed = terms.sum_to(wide, F.a)
    return true.sum(axis=axes).reshape(shape), GradientSum(summed.size.reshape(shape), summed.off.reshape(shape))


@pytest.mark.parametrize("of", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [recurrent_linear_attention, chunked_linear_attention])
def test_right_gradients_stay_within_it(kernel: Callable[..., Any], kind: str, of: int) -> None:
    worst: dict[str, float] = {}
    for seed in range(5):
        for name, ratio in ratios(kind, kernel, seed, of).items():
            worst[name] = max(worst.get(name, 0.0), ratio)
    assert max(worst.values()) <= 1, worst
    assert worst["value"] > (0.001 if kind in DELTA else 0.005), worst


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_that_is_a_hundredth_too_large_leaves_it(name: str) -> None:
    assert ratios("kda", recurrent_linear_attention, 1, 0, **{name: 1.01})[name] > 1


def test_a_sum_over_an_axis_has_the_roundings_of_adding_up() -> None:
    terms = GradientSum(np.ones((1, 2, 5, 1)), np.zeros((1, 2, 5, 1)))
    found = terms.sum_to((1, 2, 1, 1), F.a)
    assert found.size.ravel().tolist() == [5.0, 5.0] and found.off.ravel() == pytest.approx(25 * F.a, rel=1e-4)
