r"""Equations of two versions of one quantity: with n and with n - 1 in a divisor, or with entries from 0 and from 1.

`\frac{1}{n} \sum_i (x_i - m)^2 = \frac{1}{n - 1} \sum_i (x_i - m)^2` is false of all data but none is calculated: both
are called the variance, of a population and of a sample, and a grid of n points has a step of length over n or n - 1.
So an equation stays open whose sides are one formula but for that, and so does one where words speak of it.

A sum from 1 to T and one of the same terms from 0 to T - 1 run over the same entries, counted in two ways.

`u_0 = u_N` of two entries of one symbol calculates nothing either: it says what they are, at the ends of a range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from attention_core.derivation.decision.other_intents import is_beside
from attention_core.derivation.decision.trivial_sides import is_rearranged
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Frac,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Times,
    Unreadable,
    names_in,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import Relation, ShapeMismatch

Decide = Callable[[Step, Sequence[Relation]], Finding]
_ZERO, _ONE = Num(Fraction(0)), Num(Fraction(1))
_SPEAKS = re.compile(
    r"\b(?:un)?biased\b|\bbessel\w*|\bdegrees? of freedom\b|\b(?:sample|population|corrected|empirical) "
    r"(?:variances?|covariances?|standard deviations?)\b|\bddof\b",
    re.IGNORECASE,
)


def names_two_versions(step: Step, decide: Decide) -> bool:
    """Whether an equation that is false as it was read may name two versions of one quantity.

    Args:
        step: The step.
        decide: Decides a step under some more hypotheses.
    """
    if step.op != "=" or step.context.claims_all:
        return False
    if isinstance(step.left, Sub) and isinstance(step.right, Sub) and step.left.base == step.right.base:
        return True
    ranges = _map_sides(step, _begin_at_one)
    same = (ranges.left, ranges.right) == (step.left, step.right)
    return _has_two_divisors(step, decide) or (not same and _holds(ranges, decide))


def _has_two_divisors(step: Step, decide: Decide) -> bool:
    """Whether n and n - 1 divide one formula, or words beside a step speak of that and it holds with one of them."""
    letters = {name for one in _iterate_divisors(step) for name in [_shifted_letter(one)] if name}
    for name in sorted(letters):
        one = _map_sides(step, partial(_put_letter, name))
        if is_rearranged(one.left, one.right):
            return True
        spoken = any(_SPEAKS.search(words.words) and is_beside(step, words.line) for words in step.far_words)
        if spoken and _holds(one, decide):
            return True
    return False


def _put_letter(name: str, node: object) -> object | None:
    """The letter n for n - 1 or n + 1, None for another formula."""
    return Name(name) if _shifted_letter(node) == name else None


def _iterate_divisors(step: Step) -> Iterator[object]:
    """The formulas within the divisors of a step."""
    for side in (step.left, step.right):
        for node in walk(side):
            if isinstance(node, Frac):
                yield from walk(node.bottom)
            elif isinstance(node, Times):
                for op, factor in zip(node.ops, node.factors[1:], strict=True):
                    yield from walk(factor) if op == "/" else ()


def _shifted_letter(node: object) -> str:
    """The letter n of a formula n - 1 or n + 1, with any whole number; '' for another one."""
    match node:
        case Plus((Name(name), Num() | Minus(Num()))):
            return name
    return ""


def _begin_at_one(node: object) -> object | None:
    r"""`\sum_{t=1}^{T} x_t` for `\sum_{t=0}^{T-1} x_t`, where t stands in indices alone; None for another formula."""
    match node:
        case Big("sum", (Chain((Name(index), low), ("=",)),), Plus((Name() as end, Minus(last)))) if (low, last) == (
            _ZERO,
            _ONE,
        ):
            alone = substitute(node.body, lambda one: _ZERO if isinstance(one, Sub) else None)
            if index in names_in(node.body) and index not in names_in(alone):
                return replace(node, below=(Chain((Name(index), _ONE), ("=",)),), above=end)
    return None


def _map_sides(step: Step, put: Callable[[Any], object | None]) -> Step:
    sides: Any = {side: substitute(getattr(step, side), put) for side in ("left", "right")}
    return replace(step, **sides)


def _holds(step: Step, decide: Decide) -> bool:
    try:
        return decide(step, ()).verdict in GOOD
    except (Unreadable, ShapeMismatch, Unsettled):
        return False


__all__ = ["names_two_versions"]
