"""Coefficients that depend on a random number.

Rational functions of one random number on an interval where their signs are settled.
A sign that changes inside the interval divides it: the caller starts again on each part.
"""

from __future__ import annotations

from typing import Any

from flint import arb, fmpq, fmpq_poly

from attention_core.derivation.graph.nodes import Undefined, Unsettled

MAX_DEGREE = 60
End = Any  # fmpq, arb (a root that is not rational), or None for infinity


class Divided(Exception):
    """A polynomial changes its sign inside the interval: its roots there divide it."""

    def __init__(self, roots: list[End]) -> None:
        super().__init__(f"{len(roots)} roots")
        self.roots = roots


class Region:
    """An open interval; `inside` is a rational point of it."""

    def __init__(self, low: End, high: End) -> None:
        self.low, self.high = low, high
        self.inside = inner_point(low, high)

    def holds(self, root: End) -> bool:
        """Whether a root lies inside; ends that are the same root do not."""
        return (self.low is None or root > self.low) and (self.high is None or root < self.high)


def inner_point(low: End, high: End) -> fmpq:
    """A rational point of an open interval."""
    if low is None and high is None:
        return fmpq(0)
    if low is None or high is None:
        return _round_end(high, -1) - 1 if low is None else _round_end(low, 1) + 1
    if isinstance(low, fmpq) and isinstance(high, fmpq):
        return (low + high) / 2
    middle = _round_end((arb(low) + arb(high)) / 2, 1)
    if not (arb(middle) > arb(low) and arb(middle) < arb(high)):
        raise Unsettled("two roots lie too close together")
    return middle


def _round_end(value: End, direction: int) -> fmpq:
    if isinstance(value, fmpq):
        return value
    scaled = (value * (1 << 60)).mid()
    whole = (scaled.ceil() if direction > 0 else scaled.floor()).unique_fmpz()
    return fmpq(int(whole), 1 << 60)


class Piece:
    """A quotient of polynomials in a random number on a region."""

    def __init__(self, top: fmpq_poly, bottom: fmpq_poly, region: Region) -> None:
        common = top.gcd(bottom)
        if common.degree() > 0:
            top, bottom = top // common, bottom // common
        if max(top.degree(), bottom.degree()) > MAX_DEGREE:
            raise Unsettled("a coefficient is a quotient of polynomials of too high a degree")
        self.top, self.bottom, self.region = top, bottom, region

    def constant(self) -> fmpq | None:
        """The number, where nothing random is left."""
        if self.top.degree() <= 0 and self.bottom.degree() <= 0:
            return fmpq(self.top[0]) / fmpq(self.bottom[0])
        return None

    def is_zero(self) -> bool:
        """Whether it is 0 everywhere."""
        return bool(self.top.degree() < 0)

    def _with(self, other: Any) -> tuple[fmpq_poly, fmpq_poly]:
        if isinstance(other, Piece):
            return other.top, other.bottom
        if isinstance(other, fmpq | int):
            return fmpq_poly([fmpq(other)]), fmpq_poly([1])
        raise Unsettled("a number that is not rational meets something random")

    def __add__(self, other: Any) -> Piece:
        top, bottom = self._with(other)
        return Piece(self.top * bottom + top * self.bottom, self.bottom * bottom, self.region)

    def __mul__(self, other: Any) -> Piece:
        top, bottom = self._with(other)
        return Piece(self.top * top, self.bottom * bottom, self.region)

    def __neg__(self) -> Piece:
        return Piece(-self.top, self.bottom, self.region)

    def __sub__(self, other: Any) -> Piece:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Piece:
        return self.__neg__().__add__(other)

    def __truediv__(self, other: Any) -> Piece:
        top, bottom = self._with(other)
        if top.degree() < 0:
            raise Undefined("a division by 0")
        return Piece(self.top * bottom, self.bottom * top, self.region)

    def __rtruediv__(self, other: Any) -> Piece:
        return Piece(self.bottom, self.top, self.region).__mul__(other)

    def __pow__(self, whole: int) -> Piece:
        return Piece(self.top**whole, self.bottom**whole, self.region)

    def __radd__(self, other: Any) -> Piece:
        return self.__add__(other)

    def __rmul__(self, other: Any) -> Piece:
        return self.__mul__(other)

    def sign(self) -> int:
        """The sign on the whole region; raises `Divided` with the roots if it changes or vanishes there."""
        if self.is_zero():
            return 0
        roots = [r for p in (self.top, self.bottom) for r in real_roots(p) if self.region.holds(r)]
        if roots:
            raise Divided(roots)
        value = self.top(self.region.inside) / self.bottom(self.region.inside)
        return 1 if value > 0 else -1

    def __str__(self) -> str:
        return f"({self.top})/({self.bottom})"


def real_roots(poly: fmpq_poly) -> list[End]:
    """The real roots: rational ones exactly, others enclosed."""
    found: list[End] = []
    if poly.degree() < 1:
        return found
    for factor, _ in poly.factor()[1]:
        if factor.degree() == 1:
            found.append(-fmpq(factor[0]) / fmpq(factor[1]))
            continue
        for root, _ in factor.complex_roots():
            if root.imag.contains(0):
                if not root.imag.is_zero():
                    raise Unsettled("whether a root is real could not be told")
                found.append(arb(root.real))
    return found
