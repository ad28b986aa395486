r"""Differences and quotients of whole numbers that count both of their ends: 100 m with a post each 10 m have 11 posts.

"The chapter has pages 20 to 35, so it has `35 - 20 = 16` pages." is false of numbers and true of pages. So where words
beside a false step name what is counted so, and the result is off by one, it stays open.
"""

from __future__ import annotations

import re
from fractions import Fraction

from attention_core.derivation.decision.calculations import Arithmetic
from attention_core.derivation.decision.words_of_numbers import leads_to
from attention_core.derivation.latex.syntax import Expr, Frac, Minus, Num, Plus, Times
from attention_core.derivation.reading.step import Step

_COUNTS = re.compile(
    r"\b(?:posts?|poles?|pages?|inclusive(?:ly)?|both ends?|end ?points?|fence\w*|off[- ]by[- ]one|"
    r"from (?:\w+ ){0,2}\$?\d+\$? (?:to|until|through)|days?|nights?|years?|floors?|stor(?:ey|ie)s?|trees?|lamps?|"
    r"stops?|stations?|(?:grid|sample|mesh) points?|knots?|ticks?|gaps?|intervals?)\b",
    re.IGNORECASE,
)


def name_count(step: Step) -> str:
    """Words for the count by which a false equation of numbers may be meant, '' where no such word stands beside it.

    Args:
        step: A step of numbers alone that is false as it was read.
    """
    if step.context.claims_all or not _counts_ends(step):
        return ""
    return "it may count both ends of what it subtracts or divides"


def _counts_ends(step: Step) -> bool:
    if step.op != "=" or not any(_COUNTS.search(one.quote) for one in step.far_words if leads_to(step, one.line)):
        return False
    for one, other in ((step.left, step.right), (step.right, step.left)):
        if isinstance(other, Num) and _is_count(one) and other.value.denominator == 1:
            try:
                gap = Arithmetic().calculate(one) - other.value
            except (ArithmeticError, ValueError):
                continue
            if abs(gap) == 1:
                return True
    return False


def _is_count(side: Expr) -> bool:
    """Whether a side is a difference or a quotient of positive whole numbers."""
    match side:
        case Plus((first, Minus(last))) | Frac(first, last) | Times((first, last), ("/",)):
            return all(
                isinstance(one, Num) and one.value.denominator == 1 and one.value > Fraction(0) for one in (first, last)
            )
    return False


__all__ = ["name_count"]
