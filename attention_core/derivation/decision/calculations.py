r"""How a calculation with numbers is read: in another base, from left to right, with divisions that are cut off.

A numeral may be one of another base, hours with minutes behind the point ($4 \times 0.45 = 3.00$) or thousands with
points between them ($3 \times 400 + 50 = 1.250$); operations may be done from the left or from the right; a division
of whole numbers may be cut off ($7 / 2 \times 2 = 6$); a slash may have all that follows below it
($3 \times 10^8 / 500 \times 10^{-9}$), or stand within a power ($5/6^4$); and percentages may be of what stands in
front of them ($80 + 20\% = 96$).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from attention_core.derivation.latex.syntax import Call, Expr, Frac, Group, Minus, Name, Num, Plus, Root, Sup, Times

MOST = 20_000  # bits of a number: what has more is not calculated
_CONSTANTS = {r"\pi": math.pi, "e": math.e}
_FUNCTIONS = {"log": math.log, "ln": math.log, "exp": math.exp}
_PARTS = (3, 6, 8, 12, 14, 16, 20, 24, 30, 60)
"""How many smaller units, written behind a point, one unit has: `5.2` innings, `9.45` hours."""
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)\s*\\?%")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}\.\d{3}(?![\d.])")


def _round_half_up(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))


_CUTS: dict[str, Callable[[Fraction], int]] = {"floor": math.floor, "cut": math.trunc, "round": _round_half_up}


@dataclass(frozen=True)
class Arithmetic:
    """How a written calculation is read.

    Args:
        base: Of the numerals.
        order: "from left" or "from right" where products do not come first: `2 + 3 * 4` is 20 from the left.
        roughly: Whether roots and logarithms count, which are not fractions.
        whole: How the quotient of two whole numbers is made whole: "floor", "cut" or "round"; '' if it is not.
        slash: What stands below a slash beside the factor that follows: "product", "rest", or "power" where a power
            behind it is one of the quotient; '' for none.
        parts: How many smaller units stand behind the point of a decimal number for one; 0 for a decimal number.
        thousands: Numbers whose point stands between thousands.
        percentages: Numbers that were written with a percent sign, where they are of what stands in front of them.
    """

    base: int = 10
    order: str = ""
    roughly: bool = False
    whole: str = ""
    slash: str = ""
    parts: int = 0
    thousands: frozenset[Fraction] = frozenset()
    percentages: frozenset[Fraction] = frozenset()

    def calculate(self, side: Expr) -> Fraction:
        """The number that a side is.

        Args:
            side: A side of a step.

        Raises:
            ValueError: It is made of something else than numbers, sums, products, quotients and whole powers, or has
                digits that its base has not.
            ArithmeticError: It divides by zero.
        """
        if isinstance(side, Num):
            return self._read(side.value)
        if self.order == "from right" and isinstance(side, Plus | Times | Minus):
            return self._calculate_from_right(list(_flatten_operations(side)))
        if isinstance(side, Minus):
            return -self.calculate(side.body)
        if isinstance(side, Plus):
            return self._add(side)
        if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
            return self.calculate(side.items[0].exprs[0])
        if isinstance(side, Frac):
            return self._divide(self.calculate(side.top), self.calculate(side.bottom))
        if isinstance(side, Times):
            return self._multiply(self.calculate(side.factors[0]), side)
        if isinstance(side, Sup):
            return self._raise(self.calculate(side.base), self.calculate(side.exponent))
        return self._apply(side)

    def _read(self, number: Fraction) -> Fraction:
        if number in self.thousands:
            return 1000 * number
        if self.parts and number.denominator > 1:
            unit = 10 if self.parts <= 10 else 100
            behind = (number - int(number)) * unit
            if behind.denominator > 1 or behind >= self.parts:
                raise ValueError(number)
            return int(number) + behind / self.parts
        if self.base == 10:
            return number
        return Fraction(int(str(number), self.base))  # digits that the base has not, and a fraction, raise

    def _divide(self, top: Fraction, bottom: Fraction) -> Fraction:
        found = top / bottom
        if not self.whole or top.denominator > 1 or bottom.denominator > 1:
            return found
        return Fraction(_CUTS[self.whole](found))

    def _raise(self, base: Fraction, exponent: Fraction) -> Fraction:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if exponent.denominator == 1 and bits * abs(exponent) <= MOST:
            return base ** int(exponent)
        return self._round(float(base) ** float(exponent))

    def _apply(self, side: Expr) -> Fraction:
        """The number that a root, a logarithm, an exponential or a constant is."""
        if isinstance(side, Name) and side.text in _CONSTANTS:
            return self._round(_CONSTANTS[side.text])
        if isinstance(side, Root) and side.degree is None:
            return self._round(math.sqrt(self.calculate(side.body)))
        if isinstance(side, Call) and side.function in _FUNCTIONS and len(side.args) == 1 and side.args[0].alone:
            return self._round(_FUNCTIONS[side.function](self.calculate(side.args[0].exprs[0])))
        raise ValueError(side)

    def _round(self, number: float | complex) -> Fraction:
        if not self.roughly or isinstance(number, complex):
            raise ValueError(number)
        return Fraction(number)  # an infinite one raises

    def _multiply(self, found: Fraction, product: Times) -> Fraction:
        """A number times all factors of a product but the first."""
        pairs = list(zip(product.ops, product.factors[1:], strict=True))
        for place, (op, factor) in enumerate(pairs):
            if op != "/":
                found *= self.calculate(factor)
            elif self.slash == "product":
                below = (self.calculate(one) for _, one in pairs[place:])
                return self._divide(found, math.prod(below, start=Fraction(1)))
            elif self.slash == "power" and isinstance(factor, Sup):
                found = self._raise(found / self.calculate(factor.base), self.calculate(factor.exponent))
            else:
                found = self._divide(found, self.calculate(factor))
        return found

    def _add(self, side: Plus) -> Fraction:
        found = Fraction(0)
        for place, term in enumerate(side.terms):
            body = term.body if isinstance(term, Minus) else term
            rest = side.terms[place + 1 :]
            if self.slash == "rest" and rest and isinstance(body, Times) and body.ops[-1] == "/":
                top = self._multiply(self.calculate(body.factors[0]), Times(body.factors[:-1], body.ops[:-1]))
                top /= self.calculate(body.factors[-1]) + self._add(Plus(rest))
                return found - top if isinstance(term, Minus) else found + top
            product = body if self.order and isinstance(body, Times) else None
            value = self.calculate(body if product is None else product.factors[0])
            if isinstance(body, Num) and value in self.percentages and place:
                value *= found
            found = found - value if isinstance(term, Minus) else found + value
            found = found if product is None else self._multiply(found, product)
        return found

    def _calculate_from_right(self, parts: list[tuple[str, Expr]]) -> Fraction:
        """A row of operations, each on what stands in front of it and the value of all that follows."""
        found = self.calculate(parts[-1][1])
        for (_, before), (op, _) in zip(reversed(parts[:-1]), reversed(parts[1:]), strict=True):
            value = self.calculate(before)
            if op in "+-":
                found = value + found if op == "+" else value - found
            else:
                found = value / found if op == "/" else value * found
        return -found if parts[0][0] == "-" else found


def iterate_arithmetics(text: str) -> Iterator[Arithmetic]:
    """The other ways to calculate what a formula writes.

    Args:
        text: The formula.
    """
    yield Arithmetic(order="from left")
    yield Arithmetic(order="from right")
    yield from (Arithmetic(base) for base in range(2, 37) if base != 10)
    yield from (Arithmetic(whole=how) for how in ("floor", "cut", "round"))
    yield from (Arithmetic(slash=how) for how in ("product", "rest", "power"))
    if "." in text:
        yield from (Arithmetic(parts=count) for count in _PARTS)
    if points := _THOUSANDS.findall(text):
        yield Arithmetic(thousands=frozenset(map(Fraction, points)))
    if percentages := list_percentages(text):
        yield Arithmetic(percentages=percentages)


def list_percentages(text: str) -> frozenset[Fraction]:
    r"""The numbers that a formula writes with a percent sign.

    Args:
        text: The formula.

    Example:
        >>> list_percentages(r"80 + 20\%")
        frozenset({Fraction(1, 5)})
    """
    return frozenset(Fraction(one) / 100 for one in _PERCENTAGE.findall(text))


def _flatten_operations(side: Expr) -> Iterator[tuple[str, Expr]]:
    """The operands of a row without brackets, each with the operation in front of it."""
    if isinstance(side, Minus):
        (_, first), *others = _flatten_operations(side.body)
        yield "-", first
        yield from others
    elif isinstance(side, Plus):
        for term in side.terms:
            yield from _flatten_operations(term)
    elif isinstance(side, Times):
        yield "+", side.factors[0]
        yield from ((op or "*", factor) for op, factor in zip(side.ops, side.factors[1:], strict=True))
    else:
        yield "+", side


__all__ = ["Arithmetic", "iterate_arithmetics", "list_percentages"]
