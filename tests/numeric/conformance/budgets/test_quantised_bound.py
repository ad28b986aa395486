"""The budget of quantised keys and values: right orders of operations stay within it, wrong by little does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core import oracle
from attention_core.conformance.budgets.budget import forward_bound, round_to
from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.budgets.quantised_bound import Numbers, relative_error, size_of, stored_errors

WAYS = ("before", "after", "zero apart")


def draw(seed: int, dtype: str, *, zero: bool) -> tuple[Numbers, Numbers, Numbers]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    query = Numbers(round_to(rng.standard_normal((2, 2, 3, 8)), dtype))

    def stored(width: int) -> Numbers:
        numbers = np.clip(np.rint(40 * rng.standard_normal((2, 2, n, width))), -128, 127)
        scale = round_to(2.0 ** rng.uniform(-7, -4, (2, 2, n, 1)), "float32")
        return Numbers(numbers, scale, rng.integers(-20, 21, (2, 2, n, 1)).astype(float) if zero else 0.0)

    return query, stored(8), stored(5)


def compute(way: str, dtype: str, query: Numbers, key: Numbers, value: Numbers) -> np.ndarray[Any, Any]:
    """Attention in a dtype: scales before the products or after them, zero points before or after."""
    kind = getattr(torch, dtype)
    q, k, v = (torch.tensor(x.numbers).to(kind) for x in (query, key, value))
    (s_k, z_k), (s_v, z_v) = (
        [torch.tensor(np.broadcast_to(y, (*x.numbers.shape[:3], 1)).copy()).to(kind) for y in (x.scale, x.zero)]
        for x in (key, value)
    )
    if way == "before":
        weights = (q @ ((k - z_k) * s_k).mT * 8**-0.5).softmax(-1)
        return (weights @ ((v - z_v) * s_v)).double().numpy()
    scores = (q @ k.mT - q.sum(-1, keepdim=True) * z_k.mT) if way == "zero apart" else q @ (k - z_k).mT
    weights = (scores * s_k.mT * 8**-0.5).softmax(-1)
    if way == "after":
        return ((weights * s_v.mT) @ (v - z_v)).double().numpy()
    return ((weights * s_v.mT) @ v - weights @ (s_v * z_v)).double().numpy()


def bound_of(dtype: str, *operands: Numbers) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The true output and its budget."""
    query, key, value = (x.values for x in operands)
    truth = oracle.attention(query, key, value)
    stored = stored_errors(*operands, dtype=dtype, accumulate="input")
    bounds = forward_bound(query, key, value, truth, dtype=dtype, accumulate="input", stored=stored)
    return truth.out, bounds.out


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("way", WAYS)
def test_right_arithmetic_stays_within_it(way: str, dtype: str) -> None:
    worst = 0.0
    for seed in range(8):
        operands = draw(seed, dtype, zero=way == "zero apart" or seed % 2 == 1)
        out, bound = bound_of(dtype, *operands)
        worst = max(worst, float((np.abs(compute(way, dtype, *operands) - out) / bound).max()))
    assert 0.02 < worst <= 1, worst


def test_a_scale_that_is_off_by_a_thousandth_leaves_it() -> None:
    query, key, value = draw(1, "float32", zero=False)
    out, bound = bound_of("float32", query, key, value)
    for wrong in ((Numbers(key.numbers, 1.001 * key.scale), value), (key, Numbers(value.numbers, 1.001 * value.scale))):
        other = oracle.attention(query.values, *(x.values for x in wrong)).out
        assert (np.abs(other - out) > bound).any()


def test_numbers_without_a_scale_add_nothing() -> None:
    plain = [Numbers(x.values) for x in draw(2, "float32", zero=False)]
    truth = oracle.attention(*(x.values for x in plain))
    stored = stored_errors(*plain, dtype="float32", accumulate="input")
    assert stored.score == stored.mean == 0 and not stored.lost.any()
    how: dict[str, Any] = {"dtype": "float32", "accumulate": "input"}
    values = [x.values for x in plain]
    one, other = (forward_bound(*values, truth, **how, stored=s).out for s in (stored, None))  # type: ignore[arg-type]
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_zero_point_counts_three_roundings_more_and_its_own_size() -> None:
    fmt = float_format("bfloat16", "input")
    numbers, zero = np.full((1, 1, 1, 1), 100.0), np.full((1, 1, 1, 1), 90.0)
    plain, affine = Numbers(numbers, 0.5), Numbers(numbers, 0.5, zero)
    for operand, count in ((plain, 3), (affine, 6)):
        assert relative_error(operand, fmt) == (1 + gamma(count, fmt.native)) * (1 + gamma(count + 1, fmt.a)) - 1
    assert size_of(plain, fmt).item() == pytest.approx(50) and size_of(affine, fmt).item() == pytest.approx(95)
