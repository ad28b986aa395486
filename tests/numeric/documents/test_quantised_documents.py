"""The steps of derivations/quantised.md are what the oracle, the kernel and the budget compute."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core.conformance.budgets.error_rows import float_format
from attention_core.conformance.budgets.quantised_bound import Numbers, relative_error, size_of, stored_errors
from attention_core.kernels.quantised import quantised_attention
from tests.numeric.document_values import sides_of

DOCUMENT = "quantised.md"


def test_a_scale_may_multiply_the_sum_and_a_zero_point_leave_it() -> None:
    """(scale-after), (zero-after): a score of dequantised features, and of stored ones."""
    q, n = [0.5, -1.0, 2.0], [3.0, -7.0, 5.0]
    for name, zero in (("scale-after", 0.0), ("zero-after", 4.0)):
        given = {"q": q, "n": n, "s": 0.25, **({"z": zero} if zero else {})}
        left, right = (side.item() for side in sides_of(DOCUMENT, name, {"d": 3}, given))
        read = Numbers(np.array(n), 0.25, zero).values
        assert float(np.dot(q, read)) == pytest.approx(left) == pytest.approx(right)


def test_the_scale_of_a_value_may_multiply_its_weight() -> None:
    """(weight-after): what the kernel does, for keys that all score 0."""
    given = {"p": [0.5, 0.5], "s": [0.25, 4.0], "x": [8.0, -3.0]}
    left, right = (side.item() for side in sides_of(DOCUMENT, "weight-after", {"n": 2}, given))
    k, v = torch.zeros(1, 1, 2, 1, dtype=torch.int8), torch.tensor([[[[8], [-3]]]], dtype=torch.int8)
    scales = torch.tensor([[[0.25, 4.0]]])
    assert quantised_attention(torch.ones(1, 1, 1, 1), k, v, scales, scales).item() == pytest.approx(left)
    assert left == pytest.approx(right)


def test_the_error_of_a_number_is_that_of_its_roundings() -> None:
    """(dequantised), (zero-apart): with every rounding at its worst, what the budget charges."""
    fmt = float_format("bfloat16", "input")
    plain = Numbers(np.array([[[[6.0]]]]), 0.5)
    h = relative_error(plain, fmt)
    moved, allowed = (side.item() for side in sides_of(DOCUMENT, "dequantised", {}, {"x": 3.0, "h": h, "t": 1.0}))
    assert moved == pytest.approx(allowed) == pytest.approx(h * size_of(plain, fmt).item())
    affine = Numbers(np.array([[[[6.0]]]]), 0.5, np.array([[[[5.0]]]]))
    h = relative_error(affine, fmt)
    given = {"x": 6.0, "y": 5.0, "s": 0.5, "h": h, "t": 1.0, "r": -1.0}
    moved, allowed = (side.item() for side in sides_of(DOCUMENT, "zero-apart", {}, given))
    assert moved == pytest.approx(allowed) == pytest.approx(h * size_of(affine, fmt).item())


def test_errors_of_terms_multiply() -> None:
    """(stored-terms): the error of a stored query and a stored key, and of a sum beside it."""
    one = Numbers(np.ones((1, 1, 1, 1)), 0.5)
    stored = stored_errors(one, one, one, dtype="bfloat16", accumulate="input")
    h = stored.mean
    given = {"x": [1.0, -2.0], "t": [1.0, 1.0], "r": [1.0, 1.0], "g": h, "h": h}
    moved, allowed = (side.item() for side in sides_of(DOCUMENT, "stored-terms", {"n": 2}, given))
    assert moved == pytest.approx(1.0 * stored.score) and allowed == pytest.approx(3.0 * stored.score)


def test_what_underflow_may_take_is_of_the_stored_numbers() -> None:
    """(stored-underflow): weights off by the smallest number of float16, times numbers of a hundred."""
    value = Numbers(np.array([[[[100.0], [-60.0]]]]), 0.5)
    stored = stored_errors(value, value, value, dtype="float16", accumulate="input")
    given = {"p": [0.25, 0.75], "x": [100.0, -60.0], "t": [1.0, -1.0], "f": 2.0**-24}
    moved, allowed = (side.item() for side in sides_of(DOCUMENT, "stored-underflow", {"n": 2}, given))
    assert moved == pytest.approx(allowed) == pytest.approx(stored.lost.item())
