"""Scales of growth, and coefficients that depend on a random number.

How fast things grow: products of exponentials, powers and logarithms of one variable that tends to infinity.
Orders are decided by exact signs; a ball that holds 0 asks for more bits and is never taken for 0.

A coefficient may be a rational function of one random number, on an interval where its sign is settled.
A sign that changes inside the interval divides it: the caller starts again on each part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from flint import arb, fmpq, fmpq_poly

from attention_core.derivation.algebra.roots import Roots
from attention_core.derivation.graph.nodes import Undefined, Unsettled
from attention_core.derivation.graph.numbers import exact, sign_of

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


ZERO = fmpq(0)
Coefficient = Any  # fmpq, arb, `roots.Roots` or a `regions.Piece`


def sign(value: Coefficient) -> int:
    """The sign of a coefficient; raises `Imprecise` or `regions.Divided` where it is not settled."""
    if isinstance(value, Roots):
        return sign_of(value.ball())
    return value.sign() if isinstance(value, Piece) else sign_of(value)


def is_zero(value: Coefficient) -> bool:
    """Whether a coefficient is exactly 0 (a ball around 0 is not)."""
    if isinstance(value, Roots):
        return False
    if isinstance(value, Piece):
        return value.is_zero()
    return bool(value == 0) if exact(value) else bool(value.is_zero())


@dataclass(frozen=True, eq=False)
class Scale:
    r"""e^{sum c t^e (log t)^q} t^power (log t)^logs; `vague` counts factors that tend to 0 at an unknown rate.

    `big` holds (e, q, c) with growing t^e (log t)^q, the fastest first.
    """

    big: tuple[tuple[Fraction, Fraction, Coefficient], ...] = ()
    power: Coefficient = ZERO
    logs: Fraction = Fraction(0)
    vague: int = 0

    def __mul__(self, other: Scale) -> Scale:
        table = {(e, q): c for e, q, c in self.big}
        for e, q, c in other.big:
            table[e, q] = table[e, q] + c if (e, q) in table else c
        big = tuple(
            (e, q, c) for (e, q), c in sorted(table.items(), key=lambda p: p[0], reverse=True) if not is_zero(c)
        )
        return Scale(big, self.power + other.power, self.logs + other.logs, self.vague + other.vague)

    def raise_to(self, to: Coefficient) -> Scale:
        """This scale to a constant power."""
        if self.logs and not exact(to):
            raise Unsettled("a power of a logarithm with an exponent that is not rational")
        logs = self.logs * Fraction(int(to.p), int(to.q)) if self.logs else Fraction(0)
        return Scale(tuple((e, q, c * to) for e, q, c in self.big), self.power * to, logs, self.vague)

    def over(self, other: Scale) -> Scale:
        """The quotient of two scales."""
        return self * Scale(tuple((e, q, -c) for e, q, c in other.big), -other.power, -other.logs, -other.vague)

    def growth(self) -> int:
        """1 if it tends to infinity, 0 if it is 1, -1 if it tends to 0."""
        for _, _, c in self.big:
            return sign(c)
        found = 0 if is_zero(self.power) else sign(self.power)
        if found:
            return found
        if self.logs:
            return 1 if self.logs > 0 else -1
        return (self.vague < 0) - (self.vague > 0)

    def text(self, variable: str) -> str:
        """The scale as text, such as e^{-2 S} S^{3}."""
        parts = []
        if self.big:
            inner = []
            for e, q, c in self.big:
                grown = ("" if not e else variable if e == 1 else f"{variable}^{{{e}}}") + (
                    "" if not q else f" \\log^{{{q}}} {variable}"
                )
                head = {"1": "", "-1": "-"}.get(number_text(c), number_text(c) + " ")
                inner.append(head + grown)
            parts.append(f"e^{{{' + '.join(inner)}}}".replace("+ -", "- "))
        if not is_zero(self.power):
            parts.append(variable if number_text(self.power) == "1" else f"{variable}^{{{number_text(self.power)}}}")
        if self.logs:
            parts.append(f"\\log^{{{self.logs}}} {variable}")
        if self.vague:
            parts.append("o(1)")
        return " ".join(parts) or "1"


def number_text(value: Coefficient) -> str:
    """A coefficient as text."""
    return str(value) if exact(value) or isinstance(value, Piece | Roots) else str(value.str(8, radius=False))


ONE = Scale()
VAGUE = Scale(vague=1)


def compare(left: Scale, right: Scale) -> int:
    """1 if the left grows faster, 0 if they are the same, -1 if slower."""
    return left.over(right).growth()


def _slower_last(left: tuple[Coefficient, Scale], right: tuple[Coefficient, Scale]) -> int:
    return -compare(left[1], right[1])


FASTEST_FIRST = cmp_to_key(_slower_last)


def faster(left: Scale | None, right: Scale | None) -> Scale | None:
    """The faster of two scales; None stands for 0."""
    if left is None or right is None:
        return left or right
    return left if compare(left, right) >= 0 else right
