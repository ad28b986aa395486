"""Quotients of polynomials: they compute what fractions compute, stand in lowest terms, and know their atoms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attention_core.derivation.algebra.ratios import Atoms, Ratio, Ratios, TooComplex, ratio_key

NAMES = ("x", "y")
COEFFICIENTS = st.integers(-4, 4)
MONOMIALS = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), COEFFICIENTS, max_size=4)
POINTS = st.tuples(*(st.fractions(-3, 3, max_denominator=5) for _ in NAMES))


def polynomial(ratios: Ratios, terms: dict[tuple[int, int], int]) -> Any:
    """The polynomial with some coefficients, in the last two variables of a ring."""
    spare = len(ratios.gens) - len(NAMES)
    return ratios.ring.from_dict({(*(0,) * spare, *powers): c for powers, c in terms.items() if c})


def at(terms: dict[tuple[int, int], int], point: tuple[Fraction, ...]) -> Fraction:
    """Its value, by Python's fractions."""
    return sum((c * point[0] ** i * point[1] ** j for (i, j), c in terms.items()), Fraction(0))


def value(ratio: Ratio, point: tuple[Fraction, ...]) -> Fraction:
    """The value of a quotient."""
    top, bottom = (
        sum(
            (
                Fraction(int(c.p), int(c.q)) * point[0] ** int(i) * point[1] ** int(j)
                for (i, j), c in zip(poly.monoms(), poly.coeffs(), strict=True)
            ),
            Fraction(0),
        )
        for poly in ratio
    )
    return top / bottom


@given(MONOMIALS, MONOMIALS, MONOMIALS, MONOMIALS, POINTS)
def test_sums_products_and_powers_are_those_of_fractions(
    a: dict[tuple[int, int], int], b: dict[tuple[int, int], int], c: dict[tuple[int, int], int],
    d: dict[tuple[int, int], int], point: tuple[Fraction, ...],
) -> None:  # fmt: skip
    assume(at(b, point) and at(d, point))
    ratios = Ratios(NAMES)
    first, second = (ratios.ratio(polynomial(ratios, top), polynomial(ratios, low)) for top, low in ((a, b), (c, d)))
    u, v = at(a, point) / at(b, point), at(c, point) / at(d, point)
    assert value(first, point) == u
    assert value(ratios.total([first, second]), point) == u + v
    assert value(ratios.product([first, second]), point) == u * v
    assert value(ratios.negative(first), point) == -u
    assert value(ratios.power(first, 3), point) == u**3
    if v:
        assert value(ratios.power(second, -2), point) == v**-2


@given(MONOMIALS, MONOMIALS, MONOMIALS)
def test_a_common_factor_falls_away(
    a: dict[tuple[int, int], int], b: dict[tuple[int, int], int], c: dict[tuple[int, int], int]
) -> None:
    ratios = Ratios(NAMES)
    top, bottom, common = (polynomial(ratios, terms) for terms in (a, b, c))
    assume(not bottom.is_zero() and not common.is_zero())
    assert ratio_key(ratios.ratio(top * common, bottom * common)) == ratio_key(ratios.ratio(top, bottom))


@given(MONOMIALS, POINTS, st.sets(st.sampled_from([0, 1])))
def test_what_is_called_positive_is_never_negative(
    terms: dict[tuple[int, int], int], point: tuple[Fraction, ...], positive: set[int]
) -> None:
    ratios = Ratios(NAMES)
    ratios.positive |= positive
    moved = tuple(abs(p) if i in positive else p for i, p in enumerate(point))
    assert not ratios.is_positive(polynomial(ratios, terms)) or at(terms, moved) >= 0


def test_what_grows_beyond_its_bounds_is_given_up() -> None:
    ratios = Ratios(NAMES)
    x, y = ((gen, ratios.one) for gen in ratios.gens)
    with pytest.raises(TooComplex):
        ratios.ratio(ratios.one, ratios.zero)
    with pytest.raises(TooComplex):
        ratios.power(ratios.total([x, y]), 65)
    assert ratios.power(x, 65)[0] == ratios.gens[0] ** 65


def atoms() -> tuple[Atoms, Ratio, Ratio]:
    """Atoms in front of two variables."""
    found = Atoms((*(f"atom{i}" for i in range(12)), *NAMES), 12, {})
    x, y = ((gen, found.one) for gen in found.gens[-2:])
    return found, x, y


def test_functions_obey_their_identities() -> None:
    f, x, y = atoms()
    both = f.total([x, y])
    assert ratio_key(f.exponential(both)) == ratio_key(f.product([f.exponential(x), f.exponential(y)]))
    assert ratio_key(f.logarithm(f.exponential(x))) == ratio_key(x)
    root = f.root(f.total([f.power(x, 2), f.power(y, 2)]))
    assert ratio_key(f.power(root, 2)) == ratio_key(f.total([f.power(x, 2), f.power(y, 2)]))
    size = f.magnitude(x)
    assert ratio_key(size) != ratio_key(x) and ratio_key(f.power(size, 2)) == ratio_key(f.power(x, 2))
    sine, cosine = (f.function(op, [both], None) for op in ("sin", "cos"))
    assert ratio_key(f.total([f.power(sine, 2), f.power(cosine, 2)])) == ratio_key((f.one, f.one))


def test_a_root_keeps_the_magnitude_of_a_square() -> None:
    """sqrt(x^2) is |x|, not x: the sign of x is not known."""
    f, x, _ = atoms()
    assert ratio_key(f.root(f.power(x, 2))) == ratio_key(f.magnitude(x))
    f.positive.add(len(f.gens) - 2)
    assert ratio_key(f.root(f.power(x, 2))) == ratio_key(x)


def test_logarithms_of_numbers_are_those_of_their_primes() -> None:
    f, _, _ = atoms()
    log = {n: f.logarithm((f.ring.constant(n), f.one)) for n in (2, 3, 12)}
    assert ratio_key(log[12]) == ratio_key(f.total([log[2], log[2], log[3]]))
    assert ratio_key(log[12]) != ratio_key(log[3])
