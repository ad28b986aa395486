"""The claims about the score of random q and k: E = sum mu_i^2, Var = sum(sigma^4 + 2 mu_i^2 sigma^2), Var
/ h.

All in rational arithmetic, for drawn means and deviations, and the hypotheses without which each fails.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from hypothesis import event, example, given
from hypothesis import strategies as st

RATIONALS = st.fractions(min_value=-4, max_value=4, max_denominator=6)
POSITIVE = st.fractions(min_value=Fraction(1, 6), max_value=4, max_denominator=6)
VECTORS = st.lists(RATIONALS, min_size=1, max_size=5)


def moment(order: int, mu: Fraction, sigma: Fraction) -> Fraction:
    """Return E[x^order] for x ~ N(mu, sigma^2): x = mu + sigma z, and E[z^{2j}] = (2j - 1)!! by pairings."""
    return sum(
        (
            math.comb(order, k) * mu ** (order - k) * sigma**k * math.prod(range(1, k, 2))
            for k in range(0, order + 1, 2)
        ),
        Fraction(0),
    )


def product_moments(q: list[Fraction], k: list[Fraction], sigma: Fraction, tau: Fraction) -> list[Fraction]:
    """Return E[s] and E[s^2] of s = sum q_i k_i, all coordinates independent, by expanding the square."""
    first = [moment(1, a, sigma) * moment(1, b, tau) for a, b in zip(q, k, strict=True)]
    second = [moment(2, a, sigma) * moment(2, b, tau) for a, b in zip(q, k, strict=True)]
    pairs = product(range(len(q)), repeat=2)
    return [
        sum(first, Fraction(0)),
        sum((second[i] if i == j else first[i] * first[j] for i, j in pairs), Fraction(0)),
    ]


@given(VECTORS, POSITIVE)
def test_mean_and_variance_of_the_score(mu: list[Fraction], sigma: Fraction) -> None:
    mean, square = product_moments(mu, mu, sigma, sigma)
    variance = sum((sigma**4 + 2 * m**2 * sigma**2 for m in mu), Fraction(0))
    assert mean == sum(m**2 for m in mu)
    assert square - mean**2 == variance
    # Scaled by 1/sqrt(h) the variance is divided by h: the mean of the coordinates' variances, whatever h is.
    assert variance / len(mu) == sigma**4 + 2 * sigma**2 * sum(m**2 for m in mu) / len(mu)


@given(st.integers(1, 6), POSITIVE)
@example(4, Fraction(1))
def test_scaled_variance_is_one_exactly_at_unit_deviation_and_no_mean(h: int, sigma: Fraction) -> None:
    mean, square = product_moments([Fraction(0)] * h, [Fraction(0)] * h, sigma, sigma)
    assert mean == 0
    assert ((square - mean**2) / h == 1) is (sigma == 1)


@given(VECTORS, POSITIVE)
def test_the_scaled_variance_stays_above_one_where_the_mean_is_not_zero(mu: list[Fraction], sigma: Fraction) -> None:
    mean, square = product_moments(mu, mu, Fraction(1), Fraction(1))
    assert ((square - mean**2) / len(mu) > 1) is any(mu)
    event(f"a mean: {any(mu)}")


@given(st.data(), st.integers(1, 4), POSITIVE, POSITIVE)
def test_unequal_laws_of_query_and_key_need_the_general_formula(
    data: st.DataObject, h: int, sigma: Fraction, tau: Fraction
) -> None:
    vectors = st.lists(RATIONALS, min_size=h, max_size=h)
    q, k = data.draw(vectors), data.draw(vectors)
    mean, square = product_moments(q, k, sigma, tau)
    pairs = list(zip(q, k, strict=True))
    general = sum(((sigma * tau) ** 2 + a**2 * tau**2 + b**2 * sigma**2 for a, b in pairs), Fraction(0))
    assert mean == sum(a * b for a, b in pairs)
    assert square - mean**2 == general
    # The claim, stated for one law: it fails as soon as sum mu^2 does not stand for both.
    stated = sum((sigma**4 + 2 * a**2 * sigma**2 for a in q), Fraction(0))
    if sigma == tau:
        assert (general == stated) is (sum(a**2 for a in q) == sum(b**2 for b in k))


@given(VECTORS, POSITIVE)
def test_without_independence_of_query_and_key_mean_and_variance_differ(mu: list[Fraction], sigma: Fraction) -> None:
    """k = q: E = sum(mu^2 + sigma^2), Var = sum(2 sigma^4 + 4 mu^2 sigma^2), both strictly larger."""
    mean = sum((moment(2, m, sigma) for m in mu), Fraction(0))
    variance = sum((moment(4, m, sigma) - moment(2, m, sigma) ** 2 for m in mu), Fraction(0))
    assert mean == sum(m**2 + sigma**2 for m in mu) > sum(m**2 for m in mu)
    claimed = sum((sigma**4 + 2 * m**2 * sigma**2 for m in mu), Fraction(0))
    assert variance == 2 * claimed > claimed


@given(st.integers(2, 6), POSITIVE)
def test_without_independent_coordinates_the_variance_grows_faster_than_h(h: int, sigma: Fraction) -> None:
    # All coordinates of q equal, and all of k: s = h x y with x, y ~ N(0, sigma^2), so Var = h^2 sigma^4, and
    # dividing by h leaves h sigma^4: 1/sqrt(h) is the right factor for independent coordinates alone.
    variance = h**2 * moment(2, Fraction(0), sigma) ** 2
    assert variance == h**2 * sigma**4 != h * sigma**4
    assert variance / h == h * sigma**4
