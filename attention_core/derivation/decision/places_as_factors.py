r"""Where something is largest, `\arg\max_w`, read as a factor of what stands behind it.

`\arg\min_w \|w\|^2 + c` is a value of w and no product. A command that is only a word to the reader became a letter in
front of a norm or a square, and `\arg\min_w \|w\|^2 + c = c + \arg\min_w \|w\|^2` held of that letter. Nothing is
accepted or refuted by such a reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attention_core.derivation.inference.infer import inferred_names
from attention_core.derivation.latex.printer import all_names, symbol_name
from attention_core.derivation.latex.syntax import Expr, Name, Sub, Times
from attention_core.derivation.reading.step import Step

_PLACE = re.compile(r"\\(?:text|mathrm|operatorname)\s*\{\s*(arg\W*(?:max|min|sup|inf))\W*\}")


def find_place_as_factor(step: Step) -> str:
    r"""The command for a largest or smallest place that a step was read with as a letter, '' for none.

    Args:
        step: The step.
    """
    names = inferred_names(step.context, step.formulas())
    if all(_leads(side, names) for side in (step.left, step.right)):
        return ""  # of equal functions the places are equal
    found = (_PLACE.match(name) for name in names)
    return next((re.sub(r"\W", "", one[1]) for one in found if one is not None), "")


def _leads(side: Expr, names: Iterable[str]) -> bool:
    """Whether a side is one such place of all that stands behind it."""
    match side:
        case Times((Name() | Sub() as first, *rest)):
            places = [name for name in names if _PLACE.match(name)]
            inside = set().union(*map(all_names, rest))
            return symbol_name(first) in places and inside.isdisjoint(places)
    return False


__all__ = ["find_place_as_factor"]
