r"""Whether what looks like a false equation of numbers is written in another notation.

* One number on each side says that two numerals are of one thing: $13 = 1101$, $20 = 68$ degrees, $14 = 5$ without
  nines. Nobody calculates there, so nothing was calculated wrongly.
* A percent sign in front of a number takes a remainder, as in $17 \% 5 = 2$.
* Digits in brackets behind a decimal number are its error, as in $1.234(5)$.
* Brackets with digits are cycles of a permutation: $(13)(12) = (123)$.
* A running total: $12 + 8 = 20 / 4 = 5 + 1 = 6$ has the result so far in front of what is done next.
* A number that is too small beside a large one is lost: $2^{53} + 1 = 2^{53}$.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from attention_core.derivation.decision.calculations import Arithmetic
from attention_core.derivation.latex.syntax import Expr, Frac, Group, Minus, Num, Plus, Sup, Times
from attention_core.derivation.reading.step import Step

LOST = 128  # how many times larger a number is beside which one may be lost
_REMAINDER = re.compile(r"[\d)]\s*\\?%\s*[\d(]")
_ERROR = re.compile(r"\d\.\d+\s*\(\d{1,2}\)")


def is_written_otherwise(step: Step) -> bool:
    """Whether a step of numbers alone may be written in another notation than that of sums and products.

    Args:
        step: A step without symbols that is false as it was read.
    """
    sides = (step.left, step.right)
    return bool(name_notation(step) or all(map(_is_numeral, sides)) or _loses_term(*sides) or _loses_term(*sides[::-1]))


def name_notation(step: Step) -> str:
    r"""What to say of a notation that a step of numbers alone may have, whatever words stand around it; '' for none.

    Args:
        step: A step without symbols that is false as it was read.
    """
    if _REMAINDER.search(step.text):
        return r"a percent sign in front of a number may take a remainder: write \bmod"
    if _ERROR.search(step.text):
        return r"digits in brackets behind a number may be its error, and no factor: write \pm"
    if all(map(_has_cycles_alone, (step.left, step.right))):
        return "digits in brackets may be cycles of a permutation, and no factors: write their signs of multiplication"
    if _is_running_total(step):
        return (
            "it may have a running total in front of what is done next: write each calculation in a display of its own"
        )
    return ""


def _is_numeral(side: Expr) -> bool:
    return isinstance(side.body if isinstance(side, Minus) else side, Num)


def _has_cycles_alone(side: Expr) -> bool:
    """Whether a side is a product of brackets, each with two or more different digits."""
    if isinstance(side, Times):
        return "/" not in side.ops and all(map(_has_cycles_alone, side.factors))
    if isinstance(side, Sup):
        return _has_cycles_alone(side.base)
    inside = side.items[0].exprs[0] if isinstance(side, Group) and len(side.items) == 1 else None
    digits = str(inside.value) if isinstance(inside, Num) else ""
    return digits.isdigit() and len(digits) > 1 and len(set(digits)) == len(digits)


def _is_running_total(step: Step) -> bool:
    """Whether the right side begins with the value of the left one, and its chain goes on with the total."""
    if step.of is None or isinstance(step.right, Num):
        return False
    places = [place for place, pair in enumerate(zip(step.of.exprs, step.of.exprs[1:], strict=False))
              if pair == (step.left, step.right)]  # fmt: skip
    if not places or places[0] + 2 >= len(step.of.exprs):
        return False
    first = next(_iterate_numerals(step.right), None)
    return first is not None and first == _calculate(step.left)


def _calculate(side: Expr) -> Fraction | None:
    try:
        return Arithmetic().calculate(side)
    except (ArithmeticError, ValueError):
        return None


def _iterate_numerals(side: Expr) -> Iterator[Fraction]:
    """The numbers that a side begins with: the first of its first term."""
    while isinstance(side, Plus | Times | Frac):
        side = side.terms[0] if isinstance(side, Plus) else side.factors[0] if isinstance(side, Times) else side.top
    if isinstance(side, Num):
        yield side.value


def _loses_term(side: Expr, other: Expr) -> bool:
    """Whether a side is a power or a number, and the other the same with another term that is much smaller."""
    if not isinstance(side, Plus) or not isinstance(other, Sup | Num) or side.terms[0] != other or len(side.terms) != 2:
        return False
    lost, large = _calculate(side.terms[1]), _calculate(other)
    return lost is not None and large is not None and LOST * abs(lost) <= abs(large)


__all__ = ["is_written_otherwise", "name_notation"]
