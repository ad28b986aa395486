"""Arithmetic of asymptotic expansions as a variable tends to infinity.

Exact asymptotic expansions: sums of coefficients times scales, with an O-term that bounds what was left out.
Nothing is evaluated at a finite place; every operation keeps a true statement "= terms + O(error)".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.algebra.roots import Roots, exponential, logarithm, square_root
from attention_core.derivation.graph.nodes import Undefined, Unsettled
from attention_core.derivation.graph.numbers import APPLY, ball, exact, square_root_of
from attention_core.derivation.limits.scales import (
    FASTEST_FIRST,
    ONE,
    Coefficient,
    Piece,
    Scale,
    compare,
    faster,
    is_zero,
    sign,
)


class Insufficient(Exception):
    """All terms cancelled: more of them are needed."""


@dataclass(frozen=True, eq=False)
class Series:
    """`terms`, the fastest first, plus something of the order of `error`; without an error it is exact."""

    terms: tuple[tuple[Coefficient, Scale], ...] = ()
    error: Scale | None = None

    @property
    def vanishes(self) -> bool:
        """Whether it is exactly 0."""
        return not self.terms and self.error is None

    @property
    def top(self) -> Scale | None:
        """A scale that bounds it; None for 0."""
        return self.terms[0][1] if self.terms else self.error

    def lead(self) -> tuple[Coefficient, Scale]:
        """The first term, whose coefficient is certainly not 0."""
        if not self.terms:
            raise Insufficient
        sign(self.terms[0][0])  # a ball around 0 asks for more bits
        return self.terms[0]

    def eventual_sign(self) -> int:
        """Its sign from some place on."""
        return 0 if self.vanishes else sign(self.lead()[0])

    def limit(self) -> tuple[Coefficient, int]:
        """(value, 0), or (0, 1 or -1) for plus or minus infinity."""
        if not self.terms:
            if self.error is None or self.error.growth() < 0:
                return fmpq(0), 0
            raise Insufficient
        c, scale = self.terms[0]
        growth = scale.growth()
        if growth > 0:
            return fmpq(0), sign(c)
        if growth == 0 and isinstance(c, Piece):
            return c.constant() if c.constant() is not None else c, 0
        return (c, 0) if growth == 0 else (fmpq(0), 0)


def constant(value: Coefficient) -> Series:
    """A number."""
    return Series() if is_zero(value) else Series(((value, ONE),))


def variable() -> Series:
    """The variable itself."""
    return Series(((fmpq(1), Scale(power=fmpq(1))),))


class Expansions:
    """The operations, keeping at most `count` terms."""

    def __init__(self, count: int) -> None:
        self.count = count

    def build_series(self, terms: Sequence[tuple[Coefficient, Scale]], error: Scale | None) -> Series:
        """Terms sorted and merged; what the error hides is dropped, what is too much goes into the error."""
        merged: list[tuple[Coefficient, Scale]] = []
        for c, scale in sorted(terms, key=FASTEST_FIRST):
            if error is not None and compare(scale, error) <= 0:
                break
            if merged and compare(scale, merged[-1][1]) == 0:
                merged[-1] = merged[-1][0] + c, scale
            else:
                merged.append((c, scale))
        kept = [(c, s) for c, s in merged if not is_zero(c)]
        if len(kept) > self.count:
            error = faster(error, kept[self.count][1])
            kept = kept[: self.count]
        return Series(tuple(kept), error)

    def add(self, parts: Sequence[Series]) -> Series:
        """A sum."""
        error: Scale | None = None
        for part in parts:
            error = faster(error, part.error)
        return self.build_series([t for p in parts for t in p.terms], error)

    def mul(self, a: Series, b: Series) -> Series:
        """A product."""
        if a.vanishes or b.vanishes:
            return Series()
        assert a.top is not None and b.top is not None
        error = faster(
            a.error * b.top if a.error is not None else None, b.error * a.top if b.error is not None else None
        )
        return self.build_series([(c * d, s * t) for c, s in a.terms for d, t in b.terms], error)

    def neg(self, a: Series) -> Series:
        """The negative."""
        return Series(tuple((-c, s) for c, s in a.terms), a.error)

    def sub(self, a: Series, b: Series) -> Series:
        """A difference."""
        return self.add((a, self.neg(b)))

    def small(self, a: Series) -> tuple[Coefficient, Scale, Series]:
        """a = c m (1 + d) with d -> 0: c, m and d."""
        if a.vanishes:
            raise Undefined("0 has no leading term")
        c, scale = a.lead()
        over = ONE.over(scale)
        rest = tuple((t / c, s * over) for t, s in a.terms[1:])
        return c, scale, Series(rest, a.error * over if a.error is not None else None)

    def compose(self, coefficients: Sequence[Coefficient], d: Series) -> Series:
        """sum_k c_k d^k + O(d^K) of something that tends to 0; K is how many coefficients there are."""
        if d.vanishes:
            return constant(coefficients[0])
        assert d.top is not None
        total, power = constant(coefficients[0]), constant(fmpq(1))
        bound = ONE
        for c in coefficients[1:]:
            power, bound = self.mul(power, d), bound * d.top
            total = self.add((total, self.mul(constant(c), power)))
        return self.add((total, Series((), bound * d.top)))

    def inv(self, a: Series) -> Series:
        """One over a."""
        if a.vanishes:
            raise Undefined("a division by 0")
        c, scale, d = self.small(a)
        inner = self.compose([fmpq((-1) ** k) for k in range(self.count)], d)
        return self.mul(Series(((1 / c, ONE.over(scale)),)), inner)

    def power(self, a: Series, to: Coefficient) -> Series:
        """a to a constant power."""
        whole = exact(to) and to.q == 1
        if a.vanishes:
            if sign(to) <= 0:
                raise Undefined("0 to a power that is not positive")
            return a
        if whole and to >= 0 and to <= 12:
            result = constant(fmpq(1))
            for _ in range(int(to.p)):
                result = self.mul(result, a)
            return result
        if whole and to < 0:
            return self.power(self.inv(a), -to)
        c, scale, d = self.small(a)
        if not whole and sign(c) < 0:
            raise Undefined("a power of a negative number with a broken exponent")
        coefficients: list[Coefficient] = [fmpq(1)]
        for k in range(1, self.count):
            coefficients.append(coefficients[-1] * (to - (k - 1)) / k)
        front = _apply("powi", c, int(to.p)) if whole else _pow(c, to)
        return self.mul(Series(((front, scale.raise_to(to)),)), self.compose(coefficients, d))

    def split(self, a: Series) -> tuple[list[tuple[Coefficient, Scale]], Coefficient, Series]:
        """The growing terms, the constant, and the rest, which tends to 0."""
        if a.error is not None and a.error.growth() >= 0:
            raise Insufficient
        big, middle, rest = [], fmpq(0), []
        for c, scale in a.terms:
            growth = scale.growth()
            if growth > 0:
                big.append((c, scale))
            elif growth == 0:
                middle = c
            else:
                rest.append((c, scale))
        return big, middle, Series(tuple(rest), a.error)

    def exp(self, a: Series) -> Series:
        """e to the a."""
        big, middle, rest = self.split(a)
        scale = ONE
        for c, s in big:
            if s.big or not exact(s.power):
                raise Unsettled("an exponential of an exponential has no expansion here")
            e, q = Fraction(int(s.power.p), int(s.power.q)), s.logs
            if e == 0 and q == 1:
                scale = scale * Scale(power=c)
            else:
                scale = scale * Scale(((e, q, c),))
        coefficients: list[Coefficient] = [fmpq(1)]
        for k in range(1, self.count):
            coefficients.append(coefficients[-1] / k)
        return self.mul(Series(((_apply("exp", middle), scale),)), self.compose(coefficients, rest))

    def log(self, a: Series) -> Series:
        """The logarithm."""
        if a.vanishes or sign(a.lead()[0]) < 0:
            raise Undefined("the logarithm of a number that is not positive")
        c, scale, d = self.small(a)
        if scale.logs or scale.vague:
            raise Unsettled("a logarithm of a logarithm has no expansion here")
        terms = [(k, Scale(power=fmpq(e.numerator, e.denominator), logs=q)) for e, q, k in scale.big]
        if not is_zero(scale.power):
            terms.append((scale.power, Scale(logs=Fraction(1))))
        coefficients = [fmpq(0), *(fmpq((-1) ** (k + 1), k) for k in range(1, self.count))]
        return self.add((self.build_series(terms, None), constant(_apply("log", c)), self.compose(coefficients, d)))

    def taylor(self, op: str, a: Series) -> Series:
        """A smooth function of something that stays bounded; erf and arctan also where it grows."""
        big, middle, rest = self.split(a)
        if big:
            if op == "arctan" and not isinstance(a.lead()[0], Piece):  # s pi / 2 - arctan(1 / a)
                quarter = constant(arb.pi() * a.eventual_sign() / 2)
                return self.sub(quarter, self.taylor(op, self.inv(a)))
            if op == "erf" and not isinstance(a.lead()[0], Piece):
                return self.erf_far(a)
            raise Unsettled(f"{op} of something that grows has no expansion here")
        middle = plain(middle)
        k = self.count
        if op in ("arctan", "arcsin"):
            return self.compose(_inverse_coefficients(op, middle, k), rest)
        if op == "erf":
            bell = (-(ball(middle) ** 2)).exp() * 2 / arb.pi().sqrt()
            hermite: list[Coefficient] = [fmpq(1), 2 * middle]
            for j in range(1, k):
                hermite.append(2 * middle * hermite[-1] - 2 * j * hermite[-2])
            derivatives = [
                APPLY["erf"]([middle], None),
                *((-1) ** (j - 1) * bell * hermite[j - 1] for j in range(1, k)),
            ]
        else:
            s, c = APPLY["sin"]([middle], None), APPLY["cos"]([middle], None)
            cycle = [s, c, -s, -c] if op == "sin" else [c, -s, -c, s]
            derivatives = [cycle[j % 4] for j in range(k)]
        coefficients, factorial = [], 1
        for j, derivative in enumerate(derivatives):
            factorial *= max(j, 1)
            coefficients.append(derivative / factorial)
        return self.compose(coefficients, rest)

    def erf_far(self, a: Series) -> Series:
        r"""erf u = s (1 - e^{-u^2} / (|u| sqrt(pi)) (1 + O(1/u^2))) with s the sign of u (DLMF 7.12.1)."""
        s = a.eventual_sign()
        square = self.mul(a, a)
        tail = self.mul(self.exp(self.neg(square)), self.inv(a))
        over = self.inv(square)
        factor = self.add((constant(fmpq(1)), Series((), over.top)))
        tail = self.mul(self.mul(tail, factor), constant(-1 / arb.pi().sqrt()))
        return self.add((constant(fmpq(s)), tail))


def _inverse_coefficients(op: str, c: Any, count: int) -> list[Coefficient]:
    r"""The power series of arctan or arcsin around c: integrated from that of the derivative D^-1 or D^-1/2.

    With D = d_0 + d_1 h + d_2 h^2 the derivative g has 2 D g' = -D' g, or D g = 1, of which its coefficients follow.
    """
    sign = 1 if op == "arctan" else -1
    d = (1 + sign * c * c, 2 * sign * c, sign)
    if op == "arcsin" and not ball(d[0]) > 0:
        raise Unsettled("arcsin has no expansion at the ends of its domain")
    slopes: list[Coefficient] = [1 / d[0] if op == "arctan" else 1 / square_root_of(d[0])]
    for n in range(count - 1):
        before = slopes[n - 1] if n else fmpq(0)
        if op == "arctan":
            slopes.append(-(d[1] * slopes[n] + d[2] * before) / d[0])
        else:
            slopes.append(-(fmpq(2 * n + 1, 2) * d[1] * slopes[n] + n * d[2] * before) / (d[0] * (n + 1)))
    return [_apply(op, c), *(slopes[j - 1] / j for j in range(1, count))]


def plain(value: Coefficient) -> Any:
    """A coefficient without anything random."""
    if isinstance(value, Roots):
        return value.ball()
    if not isinstance(value, Piece):
        return value
    found = value.constant()
    if found is None:
        raise Unsettled("a function of something random has no expansion here")
    return found


def _apply(op: str, value: Coefficient, data: Any = None) -> Coefficient:
    if op == "powi" and isinstance(value, Piece | Roots):
        return value**data if data >= 0 else 1 / value ** (-data)
    known = exponential(value) if op == "exp" else logarithm(value) if op == "log" else None
    if known is not None:
        return known
    return APPLY[op]([plain(value)], data)


def _pow(base: Coefficient, to: Coefficient) -> Coefficient:
    if exact(base) and exact(to) and to.q == 2 and base >= 0 and abs(to.p) <= 12:
        found = square_root(base) ** abs(int(to.p))
        return found if to > 0 else 1 / found
    return APPLY["pow"]([plain(base), to], None)
