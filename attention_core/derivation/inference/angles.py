r"""Angles with the names of matrices: the A of `\sin(2 A) = 2 \sin A \cos A`.

A capital that stands alone, or with numerals and other such letters in a sum, under a function of angles is a number,
unless a formula asks for a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator

from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import Call, Chain, Frac, Group, Minus, Name, Num, Plus, Times

_OF_ANGLES = frozenset(["sin", "cos", "tan", "cot", "sec", "csc"])


def angles_in(node: Call) -> Iterator[Name]:
    r"""The capitals that are angles in a call of a function.

    Args:
        node: The call.

    Example:
        >>> from attention_core.derivation.latex.parse import parse_expression
        >>> [[one.text for one in angles_in(parse_expression(text, 1))] for text in (r"\sin(2A + B)", r"\sin(W x)")]
        [['A', 'B'], []]
    """
    if node.function not in _OF_ANGLES or len(node.args) != 1:
        return
    parts = list(walk(node.args[0]))
    if all(_is_plain(one) for one in parts):
        yield from sorted(
            {one for one in parts if isinstance(one, Name) and _is_capital(one)}, key=lambda one: one.text
        )


def _is_capital(name: Name) -> bool:
    return len(name.text) == 1 and name.text.isupper()


def _is_plain(node: object) -> bool:
    """Whether a part of an argument is a letter, a numeral, a sum, or a multiple by a numeral."""
    match node:
        case Times(factors):
            return sum(not isinstance(one, Num) for one in factors) <= 1
        case Frac(_, bottom):
            return isinstance(bottom, Num)
        case Chain(_, ops):
            return not ops
        case Group(_, items):
            return len(items) == 1
    return isinstance(node, Name | Num | Plus | Minus)
