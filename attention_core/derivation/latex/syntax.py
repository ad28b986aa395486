"""Frozen records for expressions, chains of relations and statements.

The syntax tree as it is written: nothing is resolved yet, a subscript may be an index or part of a name.
`elaborate` turns it into typed terms once the declarations are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from operator import is_
from typing import Any

SLOPE = "§d"
"""Starts the name of a call for the derivative of a function at an argument; its order follows."""
EVALUATED = "|"
"""The name that stands above what is evaluated at a point: `f'(x)|_{x = 0}`."""


class Unreadable(Exception):
    """What is written cannot be read; the message says what to write instead, `line` where (1-based; 0: unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message, self.line = message, line


@dataclass(frozen=True, slots=True)
class Num:
    """A number, as an exact fraction."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    r"""A letter or a word: `x`, `\mu`, `\bar{v}`, `\mathbb{R}`."""

    text: str


@dataclass(frozen=True, slots=True)
class Sub:
    """`base_{items}`: an index, a slice, a condition or a part of the name."""

    base: Expr
    items: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class Sup:
    """`base^{exponent}`."""

    base: Expr
    exponent: Expr


@dataclass(frozen=True, slots=True)
class Transpose:
    """`base^\\top`; `letter` is "T" if it is written `base^T`, a power where T is declared as a number."""

    base: Expr
    letter: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Several things, or one, in brackets: `(` `[` or `{` (a set)."""

    bracket: str
    items: tuple[Chain, ...]
    close: str = ""
    semicolons: bool = False


@dataclass(frozen=True, slots=True)
class Minus:
    """The negative."""

    body: Expr


@dataclass(frozen=True, slots=True)
class Plus:
    """A sum of terms; subtracted ones are wrapped in `Minus`."""

    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """Factors from left to right; `ops[i]` stands before `factors[i + 1]`: '' '.' '*' 'o' (entrywise) or '/'."""

    factors: tuple[Expr, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Frac:
    """A fraction."""

    top: Expr
    bottom: Expr


@dataclass(frozen=True, slots=True)
class Root:
    """A square root, or a root of another degree."""

    body: Expr
    degree: Expr | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A known function of its arguments; `power` is what is written as in `\\log^2(x)`."""

    function: str
    args: tuple[Chain, ...]
    sub: tuple[Chain, ...] = ()
    power: Expr | None = None


@dataclass(frozen=True, slots=True)
class Big:
    """`\\sum`, `\\prod`, `\\max`, `\\min` or `\\lim` with what stands below and above."""

    op: str
    below: tuple[Chain, ...]
    above: Expr | None
    body: Expr


@dataclass(frozen=True, slots=True)
class Fence:
    """`|body|` or `\\|body\\|`."""

    kind: str
    body: Expr


@dataclass(frozen=True, slots=True)
class Array:
    """A matrix written out; a cell may be `Dots`, a matrix (a block) or None (left empty)."""

    rows: tuple[tuple[Expr | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Dots:
    """An ellipsis."""


@dataclass(frozen=True, slots=True)
class Slice:
    """`first:last` in a subscript, either end may be missing."""

    first: Expr | None
    last: Expr | None


@dataclass(frozen=True, slots=True)
class Derivative:
    """The derivative of `body` by each of `by`; `nabla` says which way it was written."""

    body: Expr
    by: tuple[Expr, ...]
    nabla: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """`exprs[0] ops[0] exprs[1] ...`: relations from left to right with their lines; an expression has none."""

    exprs: tuple[Expr, ...]
    ops: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether this is one expression without a relation."""
        return not self.ops


@dataclass(frozen=True, slots=True)
class Statement:
    r"""Groups of chains joined by `\implies` or `\iff`; `groups` says how many chains, joined by "and", each has."""

    chains: tuple[Chain, ...]
    arrows: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()

    def group_chains(self) -> list[tuple[Chain, ...]]:
        """The chains of each group."""
        out, place = [], 0
        for count in self.groups:
            out.append(self.chains[place : place + count])
            place += count
        return out


Expr = (
    Num | Name | Sub | Sup | Transpose | Group | Minus | Plus | Times | Frac | Root | Call | Big | Fence
    | Array | Dots | Slice | Derivative
)  # fmt: skip


_NODES = (
    Num, Name, Sub, Sup, Transpose, Group, Minus, Plus, Times, Frac, Root, Call, Big, Fence, Array, Dots, Slice,
    Derivative, Chain, Statement,
)  # fmt: skip
_PARTS: dict[type, tuple[str, ...]] = {
    one: tuple(part.name for part in fields(one) if "Expr" in part.type or "Chain" in part.type) for one in _NODES
}
"""The fields of each kind of node that hold nodes."""


def children(node: object) -> list[object]:
    """The syntax nodes directly under one."""
    parts = _PARTS.get(node.__class__)
    if parts is None:
        return list(node) if isinstance(node, tuple) else []
    found: list[object] = []
    for name in parts:
        value = getattr(node, name)
        if value.__class__ is tuple:
            stack = list(value)
            while stack:
                one = stack.pop()
                if one.__class__ is tuple:
                    stack.extend(one)
                elif one.__class__ in _PARTS:
                    found.append(one)
        elif value.__class__ in _PARTS:
            found.append(value)
    return found


def rebuild(node: Any, change: Callable[[Any], Any]) -> Any:
    """A node with all that it holds changed; the same node where nothing changes, so that what is kept of it holds.

    Args:
        node: The node.
        change: What stands in the place of the value of a field.
    """
    before = [getattr(node, name) for name in node.__slots__]
    after = [change(value) for value in before]
    return node if all(map(is_, before, after)) else type(node)(*after)


def change_base(node: Expr, change: Callable[[Expr], Expr | None]) -> Expr | None:
    """What carries powers, transposes and subscripts changed, with these behind it; None where it cannot be changed.

    Args:
        node: Such as the `(x)_i^2` that stands behind the name of a function.
        change: What stands in the place of the base, `(x)` there.
    """
    if not isinstance(node, Sup | Transpose | Sub):
        return change(node)
    inner = change_base(node.base, change)
    return None if inner is None else replace(node, base=inner)


def names_in(node: object) -> set[str]:
    """Every name that occurs."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if one.__class__ is Name:
            found.add(one.text)
        else:
            stack.extend(children(one))
    return found
