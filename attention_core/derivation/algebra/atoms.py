"""Exponentials, logarithms, roots, magnitudes and circular functions as atoms of quotients.

Functions that are not rational, each as a variable with what is known of it: e^(a + b) = e^a e^b, sqrt(u)^2 = u,
|u|^2 = u^2, sin^2 = 1 - cos^2, the logarithm of a product of positive factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from typing import Any

from flint import fmpq

from attention_core.derivation.algebra.ratios import Poly, Ratio, Ratios, TooComplex, poly_key, ratio_key
from attention_core.derivation.graph.nodes import square_root


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
                raise TooComplex
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
