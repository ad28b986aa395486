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
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.decision.calculations import Arithmetic, iterate_arithmetics
from attention_core.derivation.decision.number_arrays import find_entries, has_array
from attention_core.derivation.decision.other_intents import integrates, is_meant_otherwise
from attention_core.derivation.decision.other_notations import is_written_otherwise
from attention_core.derivation.decision.other_sums import flatten, is_other_share, is_other_sum, is_sum_of_shares
from attention_core.derivation.decision.words_of_numbers import leads_to
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import Expr, Frac, Group, Minus, Num, Plus, Sup, Times, Unreadable, children
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Caveat
from attention_core.derivation.words.caveats import chains_of

MOST_DIGITS = 30  # behind the point of a decimal number
ROUNDED = Fraction(1, 20)  # of the largest number: what is printed with decimals may be off by it
ROUGHLY = Fraction(1, 3)  # of the larger side: what is roughly equal may be off by it
MIXED = frozenset({2, 3, 8, 12, 16, 20})  # bases of numbers that stand beside decimal ones
ORDER_OF_SIZE = Fraction(9, 10)  # ... what is of the same order of magnitude
POWER_OF_TEN = Fraction(1, 8)  # ... a power of ten, as $10^9$ for $2^{30}$
_SCALES = frozenset({7, 8, 12, 16, 24, 30, 36, 52, 60, 90, 144, 180, 360, 365, 1024, 1440, 3600, 86400, 1024**2})
"""How many of one unit are another, beside the powers of ten."""
_UNITS = compile_quick(
    r"\b(?:f(?:oot|eet)|yards?|inch(?:es)?|miles?|pounds?|ounces?|pints?|quarts?|gallons?|dozens?|pairs?|couples?|cups?|"
    r"hours?|minutes?|seconds|days?|weeks?|fortnights?|months?|quarters?|semesters?|years?|decades?|bits?|"
    r"(?:kilo|centi|milli|deci|micro|nano|mega|giga)?(?:grams?|met(?:er|re)s?|lit(?:er|re)s?|bytes?|watts?|joules?|"
    r"pascals?|hertz|volts?|ohms?|tonn?es?|calories)|nibbles?|dollars?|cents?|euros?|turns?|angles?|degrees?|radians?|"
    r"octaves?|semitones?|tones?|decibels?|celsius|fahrenheit|kelvin|kilos?|km|kg|cm|mm|lbs?|oz|mph|kph|psi|bars?|"
    r"knots?|acres?|hectares?|furlongs?|fathoms?|stones?|(?:tea|table)spoons?|tb?sp|pixels?|picas?|pence|pennies|"
    r"shillings?|yen|francs?|kron(?:a|or|er)|rupees?|pesos?|currenc(?:y|ies)|exchange rates?|basis points|bpm|"
    r"(?:different|other|same|two) units?|convert\w*|conversions?|horsepower|boxes|crates?|reams?|barrels?|"
    r"(?:floating|double|single|half|finite|machine)[- ](?:point|precision)|(?:on|in) the (?:left|right))\b",
    re.IGNORECASE,
)
_ROUGH = compile_quick(
    r"\b(?:roughly|(?:about|around)(?:\W*$| (?:a|one|two|ten|\d))|approx\w*|nearly|almost|estimat\w*|round\w*|crude\w*|"
    r"sloppy|ballpark|envelope|close to|(?:significant|one|two|three) (?:digits?|figures?|decimals?))",
    re.IGNORECASE,
)
_ORDER_OF_SIZE = compile_quick(r"\b(?:orders? of magnitude|fermi|envelope|ballpark|guess\w*)\b", re.IGNORECASE)
_MIXED = re.compile(r"(?<![\d.}])(\d+)\s*(\\[dt]?frac\s*\{\d+\}\s*\{\d+\})")
_PERCENT = re.compile(r"\s*\\?%")
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{\w+\*?\}|\\[a-zA-Z]+")
_ROUNDS = compile_quick(r"\b(?:rounded|rounding|round(?:s)? (?:up|down|to|off))\b", re.IGNORECASE)


def may_hold_otherwise(step: Step) -> bool:
    """Whether a false step of numbers alone may hold where numbers are calculated with in another way.

    Args:
        step: A step without symbols that is false as it was read.
    """
    if step.op not in ("=", "~") or is_meant_otherwise(step) or is_written_otherwise(step):
        return True
    if integrates(step):
        return any(map(_is_decimal, (value for side in (step.left, step.right) for value in _numbers(side))))
    if not has_array(step):
        return _may_number_hold(step, [step])
    entries = find_entries(step)
    if entries is None:
        return True
    steps = [replace(step, left=left, right=right) for left, right in entries]
    return is_written_otherwise(steps[0]) or _may_number_hold(steps[0], steps)


def _may_number_hold(step: Step, together: list[Step]) -> bool:
    """Whether a false equation of two numbers may hold in another arithmetic, which is that of others beside it."""
    try:
        left, right = (Arithmetic(roughly=step.op == "~").calculate(side) for side in (step.left, step.right))
    except (ArithmeticError, ValueError):
        return True
    if _changes_unit(step, left, right) or _is_estimated(step, left, right):
        return True
    if step.op == "~":
        return abs(left - right) <= ROUGHLY * max(abs(left), abs(right))
    return (
        _is_rounded(step, left, right)
        or _is_remainder(step, left - right)
        or is_other_sum(step.left, step.right)
        or is_sum_of_shares(step.left, step.right)
        or is_other_share(step, left, right)
        or any(all(_agree(one, each) for each in together) for one in iterate_arithmetics(step.text))
    )


def equates_numbers(caveat: Caveat) -> bool:
    """Whether what was not read is a relation of numbers, or of arrays of them, as in "where $12 = 0$".

    One that is true, such as $1/6 = 16 \\frac{2}{3}\\%$, says nothing of another arithmetic.

    Args:
        caveat: What was not read.
    """
    formulas = (caveat.formula, *re.split(r"(?<!\\)\$", caveat.quote)[1::2])
    numbers = [one for one in formulas if "=" in one and not re.search("[a-zA-Z]", _COMMAND.sub("", one))]
    return not all(_is_true(one, caveat.line) for one in numbers)


def _is_true(formula: str, line: int) -> bool:
    """Whether relations of numbers hold, with percent signs and mixed numbers as they are meant."""
    written = _MIXED.sub(r"(\1 + \2)", formula.strip().rstrip(".,"))
    try:
        chains = chains_of(_PERCENT.sub(r" \\cdot \\frac{1}{100}", written), line)
        values = [[Arithmetic().calculate(side) for side in chain.exprs] for chain in chains]
    except (Unreadable, ArithmeticError, ValueError, RecursionError):
        return False
    return bool(values) and all(set(chain.ops) == {"="} for chain in chains) and all(len(set(v)) == 1 for v in values)


def _numbers(node: object) -> Iterator[Fraction]:
    """The numbers that are written, a fraction as one of them."""
    if isinstance(node, Num):
        yield node.value
    elif isinstance(node, Frac) and isinstance(node.top, Num) and isinstance(node.bottom, Num) and node.bottom.value:
        yield node.top.value / node.bottom.value
    else:
        for one in children(node):
            yield from _numbers(one)


def _is_remainder(step: Step, gap: Fraction) -> bool:
    """Whether the sides differ by a multiple of a number that is larger than all that is written as a remainder."""
    right = [abs(Arithmetic().calculate(step.right)), *_numbers(step.right)]
    if gap.denominator == 1:
        return abs(gap) >= max(right) or (isinstance(step.left, Num) and abs(gap) > step.left.value)
    for one, other in ((step.left, step.right), (step.right, step.left)):
        if _has_fraction(one) and not _divides(other):  # `\frac{1}{7} = 8` of remainders after division by 11
            return abs(gap.numerator) > max(abs(Arithmetic().calculate(other)), *_numbers(other))
    return False


def _is_rounded(step: Step, left: Fraction, right: Fraction) -> bool:
    """Whether a gap may come from decimals, from quotients that are rounded or from a result that ends with zeros."""
    gap, largest = abs(left - right), max(abs(left), abs(right))
    written = [abs(node.value) for side in (step.left, step.right) for node in walk(side) if isinstance(node, Num)]
    if any(map(_is_decimal, written)) and gap <= ROUNDED * max(*written, largest):
        return True
    if any(map(_has_power_of_ten, (step.left, step.right))) and gap <= POWER_OF_TEN * largest:
        return True  # `2^{10} = 10^3`
    pairs = ((step.left, step.right), (step.right, step.left))
    if any(_has_fraction(one) and not _divides(other) and gap < _count_slack(other) for one, other in pairs):
        return True
    result = list(_numbers(step.right))
    zeros = len(str(result[0])) - len(str(result[0]).rstrip("0")) if result else 0
    return len(result) == 1 and result[0].denominator == 1 and gap < Fraction(10) ** zeros


def _is_estimated(step: Step, left: Fraction, right: Fraction) -> bool:
    """Whether words say that numbers are rounded, and the sides differ by no more than that."""
    gap, largest = abs(left - right), max(abs(left), abs(right))
    near = [one for one in step.far_words if leads_to(step, one.line)]
    if any(_ROUGH.search(one.words) for one in near) and gap <= ROUGHLY * largest:
        return True
    if any(_ORDER_OF_SIZE.search(one.words) for one in near) and gap <= ORDER_OF_SIZE * largest:
        return True
    terms = [*flatten(step.left), *flatten(step.right)]
    rounded = all(isinstance(one, Num) for one in terms) and any(_ROUNDS.search(one.words) for one in step.far_words)
    return rounded and 2 * gap <= len(terms)


def _has_fraction(side: Expr) -> bool:
    """Whether a quotient that is not a whole number stands on a side."""
    for node in walk(side):
        if isinstance(node, Frac | Sup) or (isinstance(node, Times) and "/" in node.ops):
            try:
                if Arithmetic().calculate(node).denominator > 1:
                    return True
            except (ArithmeticError, ValueError):
                return True
    return False


def _divides(side: Expr) -> bool:
    """Whether something is divided on a side, or has digits behind the point."""
    return any(
        isinstance(node, Frac)
        or (isinstance(node, Times) and "/" in node.ops)
        or (isinstance(node, Num) and node.value.denominator > 1)
        for node in walk(side)
    )


def _count_slack(side: Expr) -> Fraction:
    """How much a side may change where each number of its sums and products is rounded to a whole one."""
    if isinstance(side, Num):
        return Fraction(1)
    if isinstance(side, Minus):
        return _count_slack(side.body)
    if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
        return _count_slack(side.items[0].exprs[0])
    if isinstance(side, Plus):
        return sum(map(_count_slack, side.terms), start=Fraction(0))
    if isinstance(side, Times):
        values = [abs(Arithmetic().calculate(one)) for one in side.factors]
        return max(map(_count_slack, side.factors)) * math.prod(values, start=Fraction(1)) / min(values)
    return Fraction(0)


def _has_power_of_ten(side: Expr) -> bool:
    ten = Num(Fraction(10))
    return any(isinstance(one, Sup) and one.base == ten and not isinstance(one.exponent, Plus) for one in walk(side))


def _is_decimal(number: Fraction) -> bool:
    """Whether a number has digits behind the point, and not endlessly many."""
    return number.denominator > 1 and 10**MOST_DIGITS % number.denominator == 0


def _changes_unit(step: Step, left: Fraction, right: Fraction) -> bool:
    """Whether one side is as many of a unit as the other is of another."""
    if not left or not right:
        return False
    ratio = max(abs(left / right), abs(right / left))
    if left * right > 0 and (ratio in _SCALES or re.fullmatch("10+", str(ratio))):
        return True
    near = [one for one in step.far_words if leads_to(step, one.line)]
    return any(_UNITS.search(one.words) for one in near)


def _agree(other: Arithmetic, step: Step) -> bool:
    """Whether both sides are one number in another arithmetic; in another base, or one of them alone is in it."""
    if other.whole and _divides(step.left) and _divides(step.right):
        return False  # a result that is cut off is not divided any more
    left, right = (_find_value(other, side) for side in (step.left, step.right))
    if left is not None and right is not None:
        rounds = bool(other.slash or other.percentages or other.thousands)
        if left == right or (rounds and _is_rounded(step, left, right)):
            return True
    if other.base not in MIXED:
        return False
    plain = [_find_value(Arithmetic(), side) for side in (step.left, step.right)]
    return right == plain[0] or left == plain[1]  # one side alone: `2^3 + 2^2 + 1 = 1101`


def _find_value(arithmetic: Arithmetic, side: Expr) -> Fraction | None:
    try:
        return arithmetic.calculate(side)
    except (ArithmeticError, ValueError):
        return None


__all__ = ["equates_numbers", "may_hold_otherwise"]
