r"""Angles with the names of matrices: the A of `\sin(2 A) = 2 \sin A \cos A`.

A capital that stands alone, or with numerals and other such letters in a sum, under a function of angles is a number
where the document speaks of angles, and neither of matrices nor of operators, unless a formula asks for a matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import Call, Chain, Frac, Group, Minus, Name, Num, Plus, Times
from attention_core.derivation.quick_patterns import compile_quick

_SAYS_ANGLES = compile_quick(
    r"\b(?:angles?|triangles?|radians?|rotations?|rotated|trigonometr\w*|(?:in|\d+) degrees)\b|\^\s*\{?\s*\\circ\b",
    re.IGNORECASE,
)
_SAYS_MATRICES = compile_quick(
    r"matri(?:x|ces)|operators?\b|observables?\b|generators?\b|hamiltonian|commut|tensors?\b|quaternion|\beigen|"
    r"\blinear (?:systems?|maps?|algebra)\b|\blie (?:groups?|algebras?)\b|\bspins?\b|\bpauli\b|\bquantum\b|\babelian|"
    r"\bpower series\b|\btransformations?\b|\\(?:dot|dagger)\b|[A-Z]\s*[A-Z]\s*\\neq?\b",
    re.IGNORECASE,
)
_OF_ANGLES = frozenset(["sin", "cos", "tan", "cot", "sec", "csc"])


def says_angles(texts: Iterable[str]) -> bool:
    r"""Whether a document speaks of angles, and says nothing of matrices or of what else need not commute.

    Args:
        texts: The sentences and displays of the document.

    Example:
        >>> says_angles(["The angles of a triangle."]), says_angles(["The angle of a rotation matrix."])
        (True, False)
    """
    whole = "\n".join(texts)
    return bool(_SAYS_ANGLES.search(whole)) and not _SAYS_MATRICES.search(whole)


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
