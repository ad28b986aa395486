"""Exact arithmetic of quotients of polynomials, with functions as atoms.

Quotients of polynomials with rational coefficients, in lowest terms, modulo what is known of roots and magnitudes.
What grows beyond its bounds is given up: nothing is concluded from it.

Functions that are not rational are atoms, each a variable with what is known of it: e^(a + b) = e^a e^b,
sqrt(u)^2 = u, |u|^2 = u^2, sin^2 = 1 - cos^2, the logarithm of a product of positive factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from attention_core.derivation.graph.nodes import square_root

MAX_TERMS = 6000
MOST_FACTORED = 80  # terms, and the sum of degrees
MOST_COMMON = 400_000  # product of the numbers of terms up to which a common divisor is looked for
Poly = Any  # flint.fmpq_mpoly
Ratio = tuple[Poly, Poly]


class TooComplex(Exception):
    """The normal form grew beyond its bounds, or an operation has none."""


class Crowded(TooComplex):
    """There are more atoms than variables for them."""


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
        degrees = poly.degrees() if self.relations else ()  # of hundreds of variables: not once for each relation
        for modulus, index in reversed(self.relations):
            if degrees[index] >= 2:
                poly = divmod(poly, modulus)[1]
                degrees = poly.degrees()
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


class Finer(Exception):
    """An exponential needs a finer unit: start again with the table as it is now."""


class Atoms(Ratios):
    """Quotients in the leaves and in `spare` variables for atoms; `units` are the steps of exponents and angles."""

    def __init__(self, names: Sequence[str], spare: int, units: dict[Any, int]) -> None:
        super().__init__(names)
        self.spare, self.units = spare, units
        self.atoms: dict[Any, Poly] = {}
        self.exponents: dict[int, Ratio] = {}  # atoms e^u with their u
        self.logs: dict[int, Ratio] = {}

    def atom(self, key: Any, positive: bool = False) -> tuple[Poly, int, bool]:
        """The variable of an atom, its index, and whether it is new; later ones come first in the order."""
        found = self.atoms.get(key)
        new = found is None
        if found is None:
            index = self.spare - 1 - len(self.atoms)
            if index < 0:
                raise Crowded
            found = self.atoms[key] = self.gens[index]
            if positive:
                self.positive.add(index)
        index = next(i for i, k in enumerate(found.degrees()) if k)
        return found, index, new

    def function(self, op: str, args: list[Ratio], data: Any) -> Ratio:
        """Everything that is not rational."""
        handler: dict[str, Callable[[Ratio], Ratio]] = {
            "exp": self.exponential, "log": self.logarithm, "sqrt": self.root, "abs": self.magnitude,
        }  # fmt: skip
        if op in handler:
            return handler[op](args[0])
        if op == "pow":
            base, to = args
            if base[0] == base[1]:
                return self.one, self.one
            return self.exponential(self.product([to, self.logarithm(base)]))
        keys = [ratio_key(a) for a in args]
        if op in ("max", "min"):
            keys = sorted(set(keys), key=repr)
            if len(keys) == 1:
                return args[0]
        if op == "argmax" and len(set(keys)) == 1:
            return self.ring.constant(fmpq(1, len(keys))), self.one
        if op in ("sin", "cos"):
            return self.circular(op, args[0])
        variable, _, _ = self.atom((op, tuple(keys), data), positive=op in ("pi", "argmax", "indicator"))
        return variable, self.one

    def exponential(self, value: Ratio) -> Ratio:
        """e^u: one atom for every monomial of u, so that e^(a + b) = e^a e^b; e^(log x) = x."""
        top, bottom = value
        result: Ratio = (self.one, self.one)
        for monomial, coefficient in zip(top.monoms(), top.coeffs(), strict=True):
            single = self.ring.from_dict({monomial: fmpq(1)})
            index = next((i for i, k in enumerate(monomial) if k), -1)
            if sum(monomial) == 1 and index in self.logs and bottom.is_one() and coefficient.q == 1:
                part = self.power(self.logs[index], int(coefficient.p))
            else:
                key: Any = ("exp", tuple(monomial), poly_key(bottom))
                unit = self.units.setdefault(key, 1)
                if unit % int(coefficient.q):
                    self.units[key] = lcm(unit, int(coefficient.q))
                    raise Finer
                times = int(coefficient * unit)
                if index < 0 and abs(times) > 2000:  # e^40 beside e^(1/1000): an atom of its own
                    key, times, single = (
                        (*key, str(abs(coefficient))),
                        1 if times > 0 else -1,
                        single * abs(coefficient) * unit,
                    )
                variable, place, new = self.atom(key, positive=True)
                if new:
                    self.exponents[place] = self.ratio(single / unit, bottom)
                part = self.power((variable, self.one), times)
            result = self.product([result, part])
        return result

    def logarithm(self, value: Ratio) -> Ratio:
        """log u: by parts for quotients and products of positive factors; e^v gives v, a number its primes."""
        top, bottom = value
        if top.is_zero():
            raise TooComplex
        if not bottom.is_one() and self.is_positive(top) and self.is_positive(bottom):
            return self.total([self.logarithm((top, self.one)), self.negative(self.logarithm((bottom, self.one)))])
        if not bottom.is_one():
            return self.log_atom(value)
        content, factors = self.factors(top)
        if content < 0 or not all(self.is_positive(f) for f, _ in factors):
            return self.log_atom(value)
        parts = [self.log_number(content)]
        for factor, times in factors:
            index = next((i for i in self.exponents if factor == self.gens[i]), None)
            part = self.log_atom((factor, self.one)) if index is None else self.exponents[index]
            parts.append(self.ratio(part[0] * times, part[1]))
        return self.total(parts)

    def log_atom(self, value: Ratio) -> Ratio:
        """log u as an atom."""
        variable, index, _ = self.atom(("log", ratio_key(value)))
        self.logs[index] = value
        return variable, self.one

    def log_number(self, number: fmpq) -> Ratio:
        """The logarithm of a positive rational by the primes in it."""
        parts: list[Ratio] = [(self.zero, self.one)]
        for whole, sign in ((number.p, 1), (number.q, -1)):
            if whole.bit_length() > 128:
                raise TooComplex
            for prime, times in whole.factor():
                atom = self.log_atom((self.ring.constant(prime), self.one))
                parts.append((atom[0] * (sign * times), self.one))
        return self.total(parts)

    def root(self, value: Ratio) -> Ratio:
        """sqrt u, with square factors taken out as magnitudes; s^2 = u is kept as a relation."""
        top, bottom = value
        if not bottom.is_one():
            if not self.is_positive(bottom):
                variable, _, _ = self.atom(("sqrt", ratio_key(value)), positive=True)
                return variable, self.one
            inner = self.root(self.ratio(top * bottom, self.one))
            return self.ratio(inner[0], inner[1] * bottom)
        outside, inside = self.square_factors(top)
        if inside.is_one():
            return outside
        variable, index, new = self.atom(("sqrt", poly_key(inside)), positive=True)
        if new:
            self.relations.append((variable * variable - inside, index))
        return self.product([outside, (variable, self.one)])

    def square_factors(self, poly: Poly) -> tuple[Ratio, Poly]:
        """What comes out of a root, and what stays in it."""
        if poly.is_zero():
            return (self.zero, self.one), self.one
        content, factors = self.factors(poly)
        outside: Ratio = (self.one, self.one)
        inside = self.one
        exact = square_root(content) if content > 0 else None
        if exact is not None:
            outside = (self.ring.constant(exact), self.one)
        else:
            inside = self.ring.constant(content)
        for factor, times in factors:
            if times > 1:
                outside = self.product([outside, self.power(self.magnitude((factor, self.one)), times // 2)])
            if times % 2:
                inside = inside * factor
        return outside, inside

    def magnitude(self, value: Ratio) -> Ratio:
        """|u|, factor by factor; a factor that cannot be negative stays as it is."""
        result: Ratio = (self.one, self.one)
        for part, inverted in ((value[0], False), (value[1], True)):
            if part.is_zero():
                return self.zero, self.one
            content, factors = self.factors(part)
            found: Ratio = (self.ring.constant(abs(content)), self.one)
            for factor, times in factors:
                one = self.power((factor, self.one), times) if times % 2 == 0 else self.single_magnitude(factor, times)
                found = self.product([found, one])
            result = self.product([result, self.inverse(found) if inverted else found])
        return result

    def single_magnitude(self, factor: Poly, times: int) -> Ratio:
        """|f|^times for an odd power of a factor."""
        if self.is_positive(factor):
            return self.power((factor, self.one), times)
        lead = factor.leading_coefficient()
        factor = factor / lead
        variable, index, new = self.atom(("abs", poly_key(factor)), positive=True)
        if new:
            self.relations.append((variable * variable - factor * factor, index))
        return self.power((variable * abs(lead), self.one), times)

    def circular(self, op: str, value: Ratio) -> Ratio:
        """sin and cos of sums by the addition theorems, with sin^2 = 1 - cos^2."""
        top, bottom = value
        cosine, sine = self.one, self.zero
        for monomial, coefficient in zip(top.monoms(), top.coeffs(), strict=True):
            key = ("circle", tuple(monomial), poly_key(bottom))
            unit = self.units.setdefault(key, 1)
            if unit % int(coefficient.q):
                self.units[key] = lcm(unit, int(coefficient.q))
                raise Finer
            times = int(coefficient * unit)
            if abs(times) > 12:
                raise TooComplex
            c, _, _ = self.atom(("cos", key))
            s, index, new = self.atom(("sin", key))
            if new:
                self.relations.append((s * s - (self.one - c * c), index))
            for _ in range(abs(times)):
                turned = s if times > 0 else -s
                cosine, sine = cosine * c - sine * turned, sine * c + cosine * turned
            cosine, sine = self.replace_squares(cosine), self.replace_squares(sine)
        return (cosine if op == "cos" else sine), self.one
