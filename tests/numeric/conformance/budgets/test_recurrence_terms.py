"""Sums of a recurrence with their errors: ages, products, a step that is multiplied in, and what has no digit left."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import float_format
from attention_core.conformance.budgets.recurrence_terms import NO_DIGIT, Roundings, Terms, Tokens, exact, stack


def test_ages_are_the_tokens_that_each_term_has_passed() -> None:
    """Terms of sizes 1, 2 and 4 that come one token after the other, without decays."""
    state = exact(np.zeros(1))
    for size in (1.0, 2.0, 4.0):
        state = state.fade(np.ones(1)) + exact(np.full(1, size))
    assert (state.size[0], state.age[0]) == (7.0, 1 * 2 + 2 * 1)


def test_ages_of_a_product_add_up() -> None:
    one, other = (
        Terms(np.full((1, 1), size), np.full((1, 1), size * age), np.zeros((1, 1)))
        for size, age in ((2.0, 3), (5.0, 4))
    )
    found = one.matmul(other)
    assert found.age.item() / found.size.item() == 3 + 4


def test_tokens_of_a_list_lie_along_the_third_axis() -> None:
    found = stack([exact(np.full((1, 2, 3), float(t))) for t in range(4)])
    assert found.size.shape == found.off.shape == (1, 2, 4, 3) and found.size[0, 0, :, 0].tolist() == [0, 1, 2, 3]


def test_a_step_multiplies_values_and_decays() -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 1, 2, 4, 3))
    step, rate = rng.random((1, 2, 4)), -rng.random((1, 2, 1, 1))
    tokens = Tokens(q, k, v, np.broadcast_to(rate, k.shape), None, step)
    want = oracle.linear_attention(q, k, v * step[..., None], rate * step[..., None])[0]
    assert oracle.linear_attention(*tokens.recur())[0] == pytest.approx(want)
    resolved = tokens.resolve()
    assert resolved.step is None and resolved.resolve() is resolved


def test_more_roundings_older_terms_and_longer_decays_are_charged_more() -> None:
    roundings = Roundings(float_format("float32", "float32"), True)
    plain = Terms(np.ones(1), np.ones(1), np.zeros(1))
    least = roundings.error(plain, 4, np.zeros(1))
    assert least < roundings.error(plain, 5, np.zeros(1))
    assert least < roundings.error(Terms(np.ones(1), np.full(1, 2.0), np.zeros(1)), 4, np.zeros(1))
    assert least < roundings.error(plain, 4, np.ones(1))


def test_an_error_without_a_digit_stays_a_number() -> None:
    roundings = Roundings(float_format("bfloat16", "input"), True)
    found = roundings.error(Terms(np.array([0.0, 1.0]), np.array([0.0, 1e30]), np.zeros(2)), 5000, np.array([1e9, 1e9]))
    assert found.tolist() == [0.0, NO_DIGIT]
