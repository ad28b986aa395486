"""The steps of derivations/linear_attention.md are what the oracle, the kernels and the budget compute."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import float_format
from attention_core.conformance.budgets.recurrence_bound import Tokens, _new_values, _relative_error
from tests.numeric.document_values import sides_of

LINEAR = "linear_attention.md"


def one_feature(*values: float) -> np.ndarray:
    """(1, 1, n, 1) of n numbers."""
    return np.array(values)[None, None, :, None]


def test_two_tokens_fade_and_add_as_the_step_says() -> None:
    """(state-sum): decays a and b, an earlier state s, and terms x and y, each of key 1."""
    given = {"a": 0.5, "b": 0.25, "s": 3.0, "x": -1.5, "y": 2.0}
    step, summed = (side.item() for side in sides_of(LINEAR, "state-sum", {}, given))
    fades = np.log(one_feature(given["a"], given["b"]))
    ones = one_feature(1.0, 1.0)
    values = one_feature(given["x"], given["y"])
    _, state = oracle.linear_attention(ones, ones, values, fades, initial_state=[[[[given["s"]]]]])
    assert state.item() == pytest.approx(step) == pytest.approx(summed)


def test_two_parts_are_the_whole_as_the_step_says() -> None:
    """(two-parts): m terms, that fade by b behind them, and n more."""
    x, y, b = [1.0, -0.5, 2.0], [0.25, 3.0], 0.5
    left, right = (side.item() for side in sides_of(LINEAR, "two-parts", {"m": 3, "n": 2}, {"x": x, "y": y, "b": b}))

    def run(values: list[float], decays: list[float], start: np.ndarray | None = None) -> np.ndarray:
        ones = np.ones((1, 1, len(values), 1))
        return oracle.linear_attention(ones, ones, one_feature(*values), np.log(one_feature(*decays)), None, start)[1]

    first = run(x, [1.0, 1.0, 1.0])
    assert run(y, [b, 1.0], first).item() == pytest.approx(left) == pytest.approx(right)


def test_the_error_of_a_term_is_that_of_its_steps() -> None:
    """(exponent-off) and (term-error): with every term off by the most, the sum is off by what the budget charges."""
    fmt = float_format("bfloat16", "float32")
    g = np.array([[-0.5, -2.0], [-1.0, -0.25], [-3.0, -0.5]])[None, None]
    (relative,) = (_relative_error(fmt, g, 1)[0, 0, -1:]).tolist()
    (no_decay,) = (_relative_error(fmt, 0 * g, 1)[0, 0, -1:]).tolist()
    exponent = (2 * 3 + 4) * fmt.a * 4.5
    moved, allowed = (side.item() for side in sides_of(LINEAR, "exponent-off", {}, {"y": exponent, "t": 1.0}))
    assert moved == pytest.approx(allowed)
    assert relative == pytest.approx((1 + no_decay) * (1 + allowed) - 1, rel=1e-9)
    given = {"x": [0.5, -2.0, 1.0], "t": [1.0, -1.0, 1.0], "h": relative}
    left, right = (side.item() for side in sides_of(LINEAR, "term-error", {"n": 3}, given))
    assert left == pytest.approx(right) == pytest.approx(relative * 3.5)


def test_new_values_are_off_by_the_inverse_times_what_is_left() -> None:
    """(delta-residual) for two tokens: the second is off by its own remainder and by alpha times the first's."""
    key, value, beta = one_feature(1.0, 1.0), one_feature(2.0, 3.0), np.array([[[0.5, 0.25]]])
    new, off = _new_values(Tokens(key, key, value, None, beta), np.zeros((1, 1, 2, 1)), None, np.full((1, 1, 2), 1e-3))
    alpha, (r_1, r_2) = 0.25, (1.0, 0.75)
    assert new.ravel() == pytest.approx([r_1, r_2 - alpha * r_1])
    # terms: 1e-3 of the right side and of the products; twice these, through the inverse of a block
    t_1, t_2 = 1e-3 * r_1, 1e-3 * (r_2 + alpha * r_1)
    p_1 = 2 * (t_1 + t_1)
    p_2 = 2 * (t_2 + (t_2 + alpha * t_1) + alpha * t_1)
    given = {"r_{1}": r_1, "r_{2}": r_2, "p_{1}": -p_1, "p_{2}": p_2, r"\alpha": alpha}
    _, reached = (side.item() for side in sides_of(LINEAR, "delta-residual", {}, given))
    assert off.ravel() == pytest.approx([p_1, reached])
