"""Exact arithmetic of quotients of polynomials.

Quotients of polynomials with rational coefficients, in lowest terms, modulo what is known of roots and magnitudes.
What grows beyond its bounds is given up: nothing is concluded from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

MAX_TERMS = 6000
MOST_FACTORED = 80  # terms, and the sum of degrees
MOST_COMMON = 400_000  # product of the numbers of terms up to which a common divisor is looked for
Poly = Any  # flint.fmpq_mpoly
Ratio = tuple[Poly, Poly]


class TooComplex(Exception):
    """The normal form grew beyond its bounds, or an operation has none."""


class Ratios:
    """Quotients of polynomials in some variables; those in `positive` are at least 0, `relations` hold among them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.ring = fmpq_mpoly_ctx.get(names, Ordering.lex)
        self.gens = self.ring.gens()
        self.one, self.zero = self.ring.constant(1), self.ring.constant(0)
        self.positive: set[int] = set()
        self.relations: list[tuple[Poly, int]] = []  # (modulus, index of the atom it is about)

    def replace_squares(self, poly: Poly) -> Poly:
        """Squares of roots and magnitudes replaced by what they are."""
        for modulus, index in reversed(self.relations):
            if poly.degrees()[index] >= 2:
                poly = divmod(poly, modulus)[1]
        if len(poly) > MAX_TERMS:
            raise TooComplex
        return poly

    def ratio(self, top: Poly, bottom: Poly) -> Ratio:
        """A quotient in lowest terms, its denominator with leading coefficient 1."""
        top, bottom = self.replace_squares(top), self.replace_squares(bottom)
        if bottom.is_zero():
            raise TooComplex
        if top.is_zero():
            return self.zero, self.one
        if not bottom.is_constant():
            if len(top) * len(bottom) > MOST_COMMON:
                raise TooComplex
            common = top.gcd(bottom)
            if not common.is_constant():
                top, bottom = divmod(top, common)[0], divmod(bottom, common)[0]
        lead = bottom.leading_coefficient()
        return (top, bottom) if lead == 1 else (top / lead, bottom / lead)

    def total(self, parts: list[Ratio]) -> Ratio:
        """A sum."""
        groups: dict[Any, list[Any]] = {}
        for top, bottom in parts:
            entry = groups.setdefault(poly_key(bottom), [bottom, self.zero])
            entry[1] = entry[1] + top
        result: Ratio | None = None
        for bottom, top in groups.values():
            if result is None:
                result = self.ratio(top, bottom)
                continue
            common = result[1].gcd(bottom)
            left, right = divmod(bottom, common)[0], divmod(result[1], common)[0]
            result = self.ratio(result[0] * left + top * right, result[1] * left)
        assert result is not None
        return result

    def product(self, parts: list[Ratio]) -> Ratio:
        """A product."""
        top, bottom = self.one, self.one
        for a, b in parts:
            if len(top) * len(a) > 60 * MAX_TERMS or len(bottom) * len(b) > 60 * MAX_TERMS:
                raise TooComplex
            top, bottom = self.replace_squares(top * a), bottom * b
        return self.ratio(top, bottom)

    def inverse(self, value: Ratio) -> Ratio:
        """One over a form."""
        return self.ratio(value[1], value[0])

    def power(self, value: Ratio, whole: int) -> Ratio:
        """A whole power."""
        if whole < 0:
            value, whole = self.inverse(value), -whole
        single = len(value[0]) <= 1 and len(value[1]) <= 1
        if whole > (20_000 if single else 64) or (
            len(value[0]) > 1 and len(value[0]) ** min(whole, 8) > 50 * MAX_TERMS
        ):
            raise TooComplex
        return self.ratio(value[0] ** whole, value[1] ** whole)

    def negative(self, value: Ratio) -> Ratio:
        """Minus a form."""
        return -value[0], value[1]

    def factors(self, poly: Poly) -> tuple[fmpq, list[tuple[Poly, int]]]:
        """The factors of a polynomial; a large one is left whole, since factoring may take for ever."""
        if len(poly) > MOST_FACTORED or sum(poly.degrees()) > MOST_FACTORED:
            lead = poly.leading_coefficient()
            return lead, [(poly / lead, 1)]
        return poly.factor()  # type: ignore[no-any-return]

    def is_positive(self, poly: Poly) -> bool:
        """Whether a polynomial cannot be negative: positive coefficients, even powers or variables at least 0."""
        for monomial, coefficient in zip(poly.monoms(), poly.coeffs(), strict=True):
            if coefficient < 0 or any(k % 2 and i not in self.positive for i, k in enumerate(monomial)):
                return False
        return True


def poly_key(poly: Poly) -> Any:
    """A polynomial as a key."""
    return tuple(zip(poly.monoms(), (str(c) for c in poly.coeffs()), strict=True))


def ratio_key(value: Ratio) -> Any:
    """A quotient as a key."""
    return poly_key(value[0]), poly_key(value[1])
