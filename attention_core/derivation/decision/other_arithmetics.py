r"""Whether numbers that are calculated with in another way can make a false equation of numbers good.

"On the dial, $11 + 2 = 1$." is true, whatever stands around it, since numbers are not always added as elsewhere. Which
words say so cannot be listed, but which equations it can be true of is known: what a calculation means that is not the
usual one

* counts modulo some m and writes a result of at most m: the sides differ by at least what is written;
* is written in another base: both sides are the same number there;
* adds two numbers by a rule of its own: bits, lengths at right angles, resistors, levels, sets, notes of a scale: a sum
  or a difference of a few numbers, and one number;
* changes the unit: one side is 10, 12 or 60 times the other, or twice where units are named beside the step;
* rounds, or calculates from left to right.

`28 \times 28 = 2 \cdot 784` and `(20 \times 16) + 16 = 320 + 16 + 1` are none of these: no words make them good. What
is not made of numbers, sums, products, quotients and whole powers alone may hold in a way that is not known here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from attention_core.derivation.decision.other_intents import is_meant_otherwise
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import (
    Call,
    Expr,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Root,
    Sup,
    Times,
    children,
)
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Caveat

NEAR = 3  # lines around a step whose words may name units
MOST = 20_000  # bits of a number: what has more is not calculated
MOST_DIGITS = 30  # behind the point of a decimal number
FEW = 3  # numbers that a sum of another kind has
ROUNDED = Fraction(1, 20)  # of the largest number: what is printed with decimals may be off by it
ROUGHLY = Fraction(1, 3)  # of the larger side: what is roughly equal may be off by it
_SCALES = frozenset({7, 8, 12, 16, 24, 30, 36, 52, 60, 90, 144, 180, 360, 365, 1024, 1440, 3600, 86400, 1024**2})
"""How many of one unit are another, beside the powers of ten."""
_UNITS = compile_quick(
    r"\b(?:f(?:oot|eet)|yards?|inch(?:es)?|miles?|pounds?|ounces?|pints?|quarts?|gallons?|dozens?|pairs?|couples?|cups?|"
    r"hours?|minutes?|seconds|days?|weeks?|fortnights?|months?|quarters?|semesters?|years?|decades?|bits?|"
    r"(?:kilo|centi|milli|deci|micro|nano|mega|giga)?(?:grams?|met(?:er|re)s?|lit(?:er|re)s?|bytes?)|nibbles?|dollars?|cents?|euros?|turns?|angles?|degrees?|"
    r"radians?|octaves?|semitones?|tones?|decibels?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Arithmetic:
    """How a written calculation is read.

    Args:
        base: Of the numerals.
        from_left: Whether products do not come first: 2 + 3 * 4 is 20.
        roughly: Whether roots and logarithms count, which are not fractions.
    """

    base: int = 10
    from_left: bool = False
    roughly: bool = False

    def calculate(self, side: Expr) -> Fraction:
        """The number that a side is.

        Raises:
            ValueError: It is made of something else than numbers, sums, products, quotients and whole powers, or has
                digits that its base has not.
            ArithmeticError: It divides by zero.
        """
        if isinstance(side, Num):
            return self._read(side.value)
        if isinstance(side, Minus):
            return -self.calculate(side.body)
        if isinstance(side, Plus):
            return self._add(side)
        if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
            return self.calculate(side.items[0].exprs[0])
        if isinstance(side, Frac):
            return self.calculate(side.top) / self.calculate(side.bottom)
        if isinstance(side, Times):
            return self._multiply(self.calculate(side.factors[0]), side)
        if isinstance(side, Sup):
            return self._raise(self.calculate(side.base), self.calculate(side.exponent))
        return self._apply(side)

    def _read(self, number: Fraction) -> Fraction:
        if self.base == 10:
            return number
        return Fraction(int(str(number), self.base))  # digits that the base has not, and a fraction, raise

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
        for op, factor in zip(product.ops, product.factors[1:], strict=True):
            found = found / self.calculate(factor) if op == "/" else found * self.calculate(factor)
        return found

    def _add(self, side: Plus) -> Fraction:
        found = Fraction(0)
        for term in side.terms:
            body = term.body if isinstance(term, Minus) else term
            product = body if self.from_left and isinstance(body, Times) else None
            value = self.calculate(body if product is None else product.factors[0])
            found = found - value if isinstance(term, Minus) else found + value
            found = found if product is None else self._multiply(found, product)
        return found


_CONSTANTS = {r"\pi": math.pi, "e": math.e}
_FUNCTIONS = {"log": math.log, "ln": math.log, "exp": math.exp}
_OTHERS = (Arithmetic(from_left=True), *(Arithmetic(base) for base in range(2, 37) if base != 10))


def may_hold_otherwise(step: Step) -> bool:
    """Whether a false step of numbers alone may hold where numbers are calculated with in another way.

    Args:
        step: A step without symbols that is false as it was read.
    """
    if step.op not in ("=", "~") or is_meant_otherwise(step):
        return True
    try:
        left, right = (Arithmetic(roughly=step.op == "~").calculate(side) for side in (step.left, step.right))
    except (ArithmeticError, ValueError):
        return True
    gap = abs(left - right)
    if _changes_unit(step, left, right):
        return True
    if step.op == "~":
        return gap <= ROUGHLY * max(abs(left), abs(right))
    result = list(_numbers(step.right))
    return (
        _is_rounded(step, result, gap)
        or (gap.denominator == 1 and gap >= max(abs(right), *result))  # modulo the gap
        or _is_other_sum(step.left, step.right)
        or any(_agree(one, step) for one in _OTHERS)
    )


def equates_numbers(caveat: Caveat) -> bool:
    """Whether what was not read is a relation of numbers, as in "where $12 = 0$".

    Args:
        caveat: What was not read.
    """
    formulas = (caveat.formula, *re.split(r"(?<!\\)\$", caveat.quote)[1::2])
    return any("=" in one and not re.search("[a-zA-Z]", re.sub(r"\\[a-zA-Z]+", "", one)) for one in formulas)


def _numbers(node: object) -> Iterator[Fraction]:
    """The numbers that are written, a fraction as one of them."""
    if isinstance(node, Num):
        yield node.value
    elif isinstance(node, Frac) and isinstance(node.top, Num) and isinstance(node.bottom, Num) and node.bottom.value:
        yield node.top.value / node.bottom.value
    else:
        for one in children(node):
            yield from _numbers(one)


def _is_rounded(step: Step, result: list[Fraction], gap: Fraction) -> bool:
    """Whether a gap may come from decimals, or from a result that is cut off or ends with zeros: `3 * 333 = 1000`."""
    written = [abs(node.value) for side in (step.left, step.right) for node in walk(side) if isinstance(node, Num)]
    if any(_is_decimal(one) for one in written) and gap <= ROUNDED * max(written):
        return True
    zeros = len(str(result[0])) - len(str(result[0]).rstrip("0"))
    return len(result) == 1 and result[0].denominator == 1 and gap < Fraction(10) ** zeros


def _is_decimal(number: Fraction) -> bool:
    """Whether a number has digits behind the point, and not endlessly many."""
    return number.denominator > 1 and 10**MOST_DIGITS % number.denominator == 0


def _is_other_sum(*sides: Expr) -> bool:
    """Whether a sum of a few numbers stands on a side, and one number on the other: `3 + 4 = 5` of legs."""
    one, some = sorted(map(_flatten, sides), key=len)
    return len(one) == 1 and 1 < len(some) <= FEW and all(isinstance(term, Num) for term in (*one, *some))


def _flatten(side: Expr) -> list[Expr]:
    """The terms of a side, without signs and brackets."""
    if isinstance(side, Minus):
        return _flatten(side.body)
    if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
        return _flatten(side.items[0].exprs[0])
    return [part for term in side.terms for part in _flatten(term)] if isinstance(side, Plus) else [side]


def _changes_unit(step: Step, left: Fraction, right: Fraction) -> bool:
    """Whether one side is as many of a unit as the other is of another."""
    if not left or not right:
        return False
    ratio = max(abs(left / right), abs(right / left))
    if left * right > 0 and (ratio in _SCALES or re.fullmatch("10+", str(ratio))):
        return True
    near = [one for one in step.far_words if abs(one.line - step.line) <= NEAR]
    return any(_UNITS.search(one.words) for one in near)


def _agree(other: Arithmetic, step: Step) -> bool:
    """Whether both sides are one number in another arithmetic."""
    try:
        return other.calculate(step.left) == other.calculate(step.right)
    except (ArithmeticError, ValueError):
        return False


__all__ = ["equates_numbers", "may_hold_otherwise"]
