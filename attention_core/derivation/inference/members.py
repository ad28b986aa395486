r"""Symbols with indices that a sum binds: $f(x_i, y_j)$ is a member of a family, and $f(x_j, y_i)$ is another one.

The name of the family has dots in the place of its indices, which stand below it in the order in which they occur.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from itertools import chain
from typing import Any

from attention_core.derivation.inference.usage import index_parts, walk
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Chain, Expr, Name, Sub, children

_LETTER = re.compile(r"\\?[A-Za-z]+'*")
_DOT = re.compile(r"\\cdot(?![A-Za-z])")


def name_member(name: str, letters: Container[str], *written: object) -> Expr:
    r"""A symbol, or a member of a family if indices that are bound around it stand in it.

    An index that occurs twice beside another one leaves a mark at its dots: $k(i, j, i)$ is not $k(i, j, j)$.

    Args:
        name: The name, with dots in the place of the letters.
        letters: The letters that are bound.
        written: What was named, in parts.

    Example:
        >>> [to_latex(name_member(r"f(\cdot, \cdot)", "ij", Name(a), Name(b))) for a, b in ("ij", "ji")]
        ['f(\\cdot, \\cdot)_{i,j}', 'f(\\cdot, \\cdot)_{j,i}']
    """
    found = [one for one in chain.from_iterable(_LETTER.findall(to_latex(part)) for part in written) if one in letters]
    indices = list(dict.fromkeys(found))
    if not indices:
        return Name(name)
    if len(found) > len(indices) > 1:
        marks = iter(indices.index(one) for one in found)
        name = _DOT.sub(lambda dot: dot.group() + "'" * next(marks, 0), name)
    return Sub(Name(name), tuple(Chain((Name(letter),)) for letter in indices))


def put_dots(node: Any, letters: Container[str]) -> Any:
    """A tree with a dot in the place of each of some letters.

    Args:
        node: The tree.
        letters: The letters.
    """
    if isinstance(node, Name):
        return Name(r"\cdot") if node.text in letters else node
    if isinstance(node, tuple):
        return tuple(put_dots(one, letters) for one in node)
    if not children(node):
        return node
    return type(node)(**{field: put_dots(getattr(node, field), letters) for field in node.__slots__})


def exchanges_indices(sides: Iterable[Expr]) -> bool:
    """Whether a function stands at two places in both orders: a distance, or a kernel, has one value there.

    Args:
        sides: The sides of a relation.
    """
    members = [one for side in sides for one in walk(side) if isinstance(one, Sub) and isinstance(one.base, Name)]
    found = {(one.base, tuple(index_parts(one))) for one in members if r"\cdot" in to_latex(one.base)}
    return any(len(set(places)) > 1 and (name, places[::-1]) in found for name, places in found)


__all__ = ["exchanges_indices", "name_member", "put_dots"]
