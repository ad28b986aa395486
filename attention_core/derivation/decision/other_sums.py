r"""Sums of numbers by another rule than addition, and numbers that stand for one another.

$3 + 4 = 5$ of legs, $60 + 60 = 63$ of decibels: a sum of a few numbers may be anything. One of many may be their mean,
what errors add up to, a conductance or a level, and one of fractions a share of all
($\frac{1}{2} + \frac{2}{3} = \frac{3}{5}$ of the hits). A percentage may be what is taken off or added
($0.9 \times 0.8 = 28\%$), and a number below one the probability of odds ($4/1 = 0.2$).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from operator import xor

from attention_core.derivation.decision.calculations import list_percentages
from attention_core.derivation.latex.syntax import Expr, Frac, Group, Minus, Num, Plus, Times
from attention_core.derivation.reading.step import Step

FEW = 3  # numbers that a sum of another kind has
MANY = 100  # copies that a number has in a product
CLOSE = Fraction(1, 50)  # of a result: a level or a conductance is rounded


def is_other_sum(*sides: Expr) -> bool:
    """Whether one number stands on a side, and on the other a sum of numbers that it may be by another rule.

    Args:
        sides: Both sides.
    """
    one, some = sorted(map(flatten, sides), key=lambda terms: (len(terms), not isinstance(terms[0], Num)))
    if len(one) != 1 or not isinstance(one[0], Num):
        return False
    if 1 < len(some) <= FEW and all(isinstance(term, Num) for term in some):
        return True
    numbers = _list_copies(some)
    if len(numbers) < 2:
        return False
    whole = [int(number) for number in numbers]
    if whole == numbers and reduce(xor, whole) == one[0].value:
        return True  # the sum of nim, and of bits
    return any(_is_close(Fraction(value), one[0].value) for value in _iterate_sums(numbers))


def is_sum_of_shares(*sides: Expr) -> bool:
    """Whether a fraction has the sum of some tops above the sum of their bottoms: `1/2 + 2/3 = 3/5`.

    Args:
        sides: Both sides.
    """
    one, some = sorted(map(flatten, sides), key=len)
    shares = list(map(_split_fraction, (*one, *some)))
    if len(one) != 1 or len(some) < 2 or None in shares:
        return False
    (top, bottom), *others = [share for share in shares if share is not None]
    total = sum(share[1] for share in others)
    return bool(total) and sum(share[0] for share in others) / total == top / bottom


def is_other_share(step: Step, left: Fraction, right: Fraction) -> bool:
    """Whether a side is a percentage that the other adds or takes off, or the probability of its odds.

    Args:
        step: A step of numbers alone.
        left: The number that its left side is.
        right: The number that its right side is.
    """
    percentages = list_percentages(step.text)
    pairs = ((step.left, left, right), (step.right, right, left))
    for other, value, share in ((step.right, left, right), (step.left, right, left)):
        if isinstance(other, Num) and share in percentages and _is_any(share, (1 - value, value - 1)):
            return True
    for odds, value, share in pairs:
        known = _split_fraction(odds) is not None and 0 < share < 1 and value > 0
        if known and _is_any(share, (1 / (1 + value), value / (1 + value))):
            return True
    return False


def flatten(side: Expr) -> list[Expr]:
    """The terms of a side, without signs and brackets.

    Args:
        side: The side.
    """
    if isinstance(side, Minus):
        return flatten(side.body)
    if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
        return flatten(side.items[0].exprs[0])
    return [part for term in side.terms for part in flatten(term)] if isinstance(side, Plus) else [side]


def _list_copies(terms: list[Expr]) -> list[float]:
    """The numbers of a sum, those of `4 \times 60` four times; none where another term stands in it."""
    found: list[float] = []
    for term in terms:
        count = 1
        if isinstance(term, Times) and len(term.factors) == 2 and term.ops != ("/",):
            first, term = term.factors
            if not isinstance(first, Num) or first.value.denominator > 1 or not 1 < first.value <= MANY:
                return []
            count = int(first.value)
        if not isinstance(term, Num) or not 0 < term.value < 2**64:
            return []
        found += [float(term.value)] * count
    return found


def _iterate_sums(numbers: list[float]) -> Iterator[float]:
    """Their mean, what independent errors and conductances add up to, and the level of some levels."""
    yield math.fsum(numbers) / len(numbers)
    yield math.hypot(*numbers)
    yield 1 / math.fsum(1 / one for one in numbers)
    if max(numbers) < 300:
        yield 10 * math.log10(math.fsum(10 ** (one / 10) for one in numbers))


def _is_close(value: Fraction, result: Fraction) -> bool:
    return abs(value - result) <= CLOSE * value  # as fractions: a number may be too large for a float


def _is_any(share: Fraction, values: tuple[Fraction, ...]) -> bool:
    return any(value > 0 and _is_close(value, share) for value in values)


def _split_fraction(term: Expr) -> tuple[Fraction, Fraction] | None:
    """The top and the bottom of a fraction of two numbers; None of anything else."""
    if isinstance(term, Frac):
        top, bottom = term.top, term.bottom
    elif isinstance(term, Times) and term.ops == ("/",):
        top, bottom = term.factors
    else:
        return None
    return (top.value, bottom.value) if isinstance(top, Num) and isinstance(bottom, Num) and bottom.value else None


__all__ = ["flatten", "is_other_share", "is_other_sum", "is_sum_of_shares"]
