"""The steps of derivations/linear_attention.md are what the oracle, the kernels and the budget compute."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import float_format
from attention_core.conformance.budgets.recurrence_bound import find_new_values
from attention_core.conformance.budgets.recurrence_terms import Roundings, Terms, Tokens
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
    fmt = float_format("float32", "float32")
    one = Terms(np.array([3.5]), np.array([3.5 * 2]), np.zeros(1))  # of sizes 0.5, 2 and 1, all two tokens old
    count, reach = 7, np.array([4.5])
    charged = float(Roundings(fmt, True).error(one, count, reach)[0])
    exponent = (2 + 2 * 3 + 4) * fmt.a * 4.5
    moved, allowed = (side.item() for side in sides_of(LINEAR, "exponent-off", {}, {"y": exponent, "t": 1.0}))
    assert moved == pytest.approx(allowed)
    h = (count + 5 * 2) * fmt.a + allowed
    given = {"x": [0.5, -2.0, 1.0], "t": [1.0, -1.0, 1.0], "h": h}
    left, right = (side.item() for side in sides_of(LINEAR, "term-error", {"n": 3}, given))
    assert left == pytest.approx(right) == pytest.approx(charged, rel=1e-4)


def test_what_is_stored_between_counts_where_it_is_narrower() -> None:
    size = Terms(np.ones(1), np.full(1, 2.0), np.zeros(1))
    wide, narrow = (float_format("bfloat16", how) for how in ("float32", "input"))
    first, second = (float(Roundings(f, False).error(size, 5, np.zeros(1))[0]) for f in (wide, narrow))
    assert first == pytest.approx(5 * wide.a, rel=1e-4)
    assert second == pytest.approx((9 + 3 * 2) * narrow.w * np.exp((9 + 3 * 5) * narrow.w), rel=1e-2)


def test_the_largest_of_the_first_order_terms_is_enough() -> None:
    """(first-order): what `Roundings.error` multiplies by e^h."""
    left, right = (side.item() for side in sides_of(LINEAR, "first-order", {}, {"h": 0.75, "x": 0.5}))
    assert left == pytest.approx(np.expm1(0.375)) and right == pytest.approx(0.375 * np.exp(0.75))


def test_a_fade_makes_terms_older_as_the_step_says() -> None:
    """(older): sizes 2 and 3, two tokens and one token old, that fade by a half."""
    given = {"b": 0.5, "x": [2.0, 3.0], "y": [2.0, 1.0]}
    left, right = (side.item() for side in sides_of(LINEAR, "older", {"n": 2}, given))
    terms = Terms(np.array([5.0]), np.array([7.0]), np.zeros(1)).fade(np.array([0.5]))
    assert terms.age[0] == left == right == 6.0


def test_the_error_of_a_product_is_that_of_the_step() -> None:
    """(product-off): a line and a column, both off."""
    x, y, p, r = 2.0, 3.0, 0.25, 0.5
    left, right = (side.item() for side in sides_of(LINEAR, "product-off", {}, {"x": x, "y": y, "p": p, "r": r}))
    one, other = (Terms(np.full((1, 1), a), np.zeros((1, 1)), np.full((1, 1), b)) for a, b in ((x, p), (y, r)))
    assert one.matmul(other).off.item() == left == right


@pytest.mark.parametrize(("number", "name"), [*enumerate(("value", "query", "key", "beta"), 1)])
def test_gradients_of_one_token_are_those_of_the_steps(number: int, name: str) -> None:
    """(d-token): the oracle's, of a token that a state stands before."""
    rng = np.random.default_rng(0)
    q, k, v, c = (rng.standard_normal((1, n)) for n in (2, 2, 3, 3))
    F, beta = rng.standard_normal((2, 3)), 0.5
    arrays, weight = [x[None, None] for x in (q, k, v)], np.full((1, 1, 1), beta)
    found = oracle.linear_attention_gradients(
        *arrays, None, weight, F[None, None], scale=1.0, out=c[None, None]
    )  # fmt: skip
    given = {"q": q, "k": k, "v": v, "c": c, "F": F, r"\beta": beta}
    want = sides_of(LINEAR, "d-token", {"d": 2, "m": 3}, given, number)[1]
    assert np.asarray(getattr(found, name)).ravel() == pytest.approx(want.ravel())


def test_the_gradient_of_a_decay_is_that_of_the_step() -> None:
    """(d-fade): of the second of three decays, between a token before it and one behind it."""
    decays, x, y = [-0.3, -0.5, -0.2], 2.0, 3.0
    given = {"a": decays[0], "b": decays[1], "c": decays[2], "x": x, "y": y}
    want = sides_of(LINEAR, "d-fade", {}, given)[1].item()
    key, query, value = one_feature(1.0, 0.0, 0.0), one_feature(0.0, 0.0, y), one_feature(x, 0.0, 0.0)
    found = oracle.linear_attention_gradients(
        query, key, value, one_feature(*decays), scale=1.0, out=one_feature(0.0, 0.0, 1.0)
    )  # fmt: skip
    assert found.log_decay[0, 0, 1, 0] == pytest.approx(want)


def test_new_values_are_off_by_the_inverse_times_what_is_left() -> None:
    """(delta-residual) for two tokens: the second is off by its own remainder and by alpha times the first's."""
    key, value, beta = one_feature(1.0, 1.0), one_feature(2.0, 3.0), np.array([[[0.5, 0.25]]])
    roundings = Roundings(float_format("float32", "float32"), False)
    found = find_new_values(Tokens(key, key, value, None, beta), None, roundings)
    alpha, (r_1, r_2) = 0.25, (1.0, 0.75)
    assert found.size.ravel() == pytest.approx([r_1, r_2 - alpha * r_1])
    # n + d + 8 roundings of twice the right side and of the products with what its sizes may give
    count = 11 * roundings.f.a
    b_1, b_2 = count * 2 * r_1, count * (2 * r_2 + alpha * r_1)
    p_1, p_2 = b_1, b_2 + alpha * b_1
    given = {"r_{1}": r_1, "r_{2}": r_2, "p_{1}": -p_1, "p_{2}": p_2, r"\alpha": alpha}
    _, reached = (side.item() for side in sides_of(LINEAR, "delta-residual", {}, given))
    assert found.off.ravel() == pytest.approx([p_1, reached], rel=1e-4)
