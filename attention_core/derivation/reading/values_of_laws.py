r"""Values of laws in a formula, $p(x \mid z)$ and $P(A \cap B)$, and entropies, $H(Y \mid X)$ and $I(X; Y)$.

A value has a law, its arguments and those that are given. Whether its letters are those of one law is asked here too:
$P(i, j)$ beside $P(j, i)$, and $p(x')$ beside $p(x' \mid x)$, may be one function at two places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from attention_core.derivation.inference.members import put_dots
from attention_core.derivation.inference.usage import index_parts, walk
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Call, Chain, Expr, Group, Name, Slice, Sub, Sup, Times, children

LAWS = frozenset(["p", "q", "P", "Q", r"\pi", "Pr"])
NAME = re.compile(r"\\?[A-Za-z]+")
_STYLE = re.compile(r"\\math(?:cal|scr|bb|sf|bf|rm)(?![a-zA-Z])|[{}\s]")


@dataclass(frozen=True)
class Value:
    """One value of a law: its name, its arguments and those that are given."""

    law: str
    targets: tuple[Expr, ...]
    given: tuple[Expr, ...] = ()

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """All of its arguments."""
        return (*self.targets, *self.given)

    @property
    def parameters(self) -> set[str]:
        r"""The letters below its name, such as the i of $p_i(x)$."""
        return set(NAME.findall(self.law.partition("_")[2]))


@dataclass(frozen=True)
class Entropy:
    """An entropy, or the information of one argument about another."""

    shared: bool
    targets: tuple[Expr, ...]
    given: tuple[Expr, ...] = ()

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """All of its arguments."""
        return (*self.targets, *self.given)


def find_law_name(head: object) -> str | None:
    r"""The name of a law, `p` or `q_\phi`, None of anything else.

    Args:
        head: What stands in front of brackets, below an average or in a divergence.
    """
    base = head.base if isinstance(head, Sub) else head
    if not isinstance(base, Name) or base.text not in LAWS or not isinstance(head, Name | Sub):
        return None
    return to_latex(head)


def find_value(node: object) -> Value | None:
    """The value of a law that a node is, None of anything else.

    Args:
        node: A node of a formula.
    """
    match node:
        case Times((head, Group("(" | "[", items)), ("",)) if (name := find_law_name(head)) is not None:
            return _read_arguments(name, items)
        case Call("Pr", items, (), None):
            return _read_arguments("Pr", items)
    return None


def find_values(node: object) -> list[Value]:
    """The values of laws that stand in a node itself.

    Args:
        node: A node of a formula.
    """
    if isinstance(node, Times):
        pairs = zip(node.factors, node.factors[1:], node.ops, strict=False)
        found = [find_value(Times((head, inside), ("",))) for head, inside, op in pairs if not op]
        return [one for one in found if one is not None]
    found = [find_value(node)] if isinstance(node, Call) else []
    return [one for one in found if one is not None]


def find_entropy(node: object) -> Entropy | None:
    r"""The entropy $H(Y \mid X)$, or the information $I(X; Y)$, that a node is: of capitals, None of anything else.

    P and Q are laws, and $H(P, Q)$ is a cross-entropy.

    Args:
        node: A node of a formula.
    """
    match node:
        case Times((Name("H" | "I" as head), Group("(", items) as group), ("",)):
            value = _read_arguments(head, items)
            if value is None or not all(map(_is_variable, value.arguments)):
                return None
            targets, given = (tuple(map(_small, part)) for part in (value.targets, value.given))
            if head == "H" and not group.semicolons:
                return Entropy(False, targets, given)
            return Entropy(True, targets) if head == "I" and len(targets) == 2 and not given else None
    return None


def find_entropies(node: Times) -> list[Entropy]:
    """The entropies that stand in a product.

    Args:
        node: The product.
    """
    pairs = zip(node.factors, node.factors[1:], node.ops, strict=False)
    found = [find_entropy(Times((head, inside), ("",))) for head, inside, op in pairs if not op]
    return [one for one in found if one is not None]


def _is_variable(letter: Expr) -> bool:
    return isinstance(letter, Name) and letter.text.isupper() and letter.text not in LAWS


def _small(letter: Expr) -> Expr:
    return Name(letter.text.lower()) if isinstance(letter, Name) else letter


def _read_arguments(name: str, items: Sequence[Chain]) -> Value | None:
    """The arguments in brackets, those behind a bar being given; None where they are of another form."""
    parts: tuple[list[Expr], list[Expr]] = ([], [])
    behind = 0
    for item in items:
        if any(op != "mid" for op in item.ops) or item.ops.count("mid") + behind > 1:
            return None
        for place, expr in enumerate(item.exprs):
            behind = 1 if place else behind
            for one in _split_events(expr):
                if not isinstance(one, Name | Sub) or (isinstance(one, Sub) and not index_parts(one)):
                    return None
                parts[behind].append(one)
    texts = [to_latex(one) for part in parts for one in part]
    if not parts[0] or len(set(texts)) != len(texts):
        return None
    return Value(name, tuple(parts[0]), tuple(parts[1]))


def _split_events(expr: Expr) -> tuple[Expr, ...]:
    r"""The events of `A \cap B`."""
    if isinstance(expr, Times) and set(expr.ops) == {"cap"}:
        return expr.factors
    return (expr,)


def overlap(one: Expr, other: Expr) -> bool:
    """Whether one argument may be a part of another: `x_1` of `x`, and `x_{1:T}` of `x_{0:T}`.

    Args:
        one: An argument.
        other: Another one.
    """
    if one == other or _base_of(one) != _base_of(other):
        return False
    return not (isinstance(one, Sub) and isinstance(other, Sub)) or any(
        isinstance(node, Slice) for part in (one, other) for node in walk(part)
    )


def _base_of(argument: Expr) -> Expr:
    return argument.base if isinstance(argument, Sub) else argument


def is_one_function(values: Sequence[Value]) -> bool:
    r"""Whether the values of a law may be those of one function at several places, and not its marginals.

    Args:
        values: The values of one law in a relation.
    """
    listed = [[to_latex(one) for one in value.arguments] for value in values]
    orders = {(a, b) for value in values for a, b in _iterate_orders([to_latex(one) for one in value.targets])}
    if any((b, a) in orders for a, b in orders):
        return True
    moved = {one for names in listed for one in names if one.endswith("'") and one.rstrip("'") in names}
    return any(one in names and one.rstrip("'") not in names for one in moved for names in listed)


def _iterate_orders(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]


def order_letters(arguments: Sequence[Expr], bound: frozenset[str]) -> tuple[list[str], list[str]]:
    r"""The bound letters of some arguments, and these with dots in their places, in one order whatever was written.

    $p(x_i, y_j)$ and $p(x_j, y_i)$ are two entries of one table, and $p(x_i, x_j)$ is $p(x_j, x_i)$.

    Args:
        arguments: The arguments.
        bound: The letters that are bound around them.
    """
    found = []
    for one in arguments:
        own = [name for name in NAME.findall(to_latex(one)) if name in bound]
        found.append((to_latex(put_dots(one, own)), own))
    found.sort()
    letters = [name for _, own in found for name in own]
    return (letters if len(set(letters)) > 1 else letters[:1]), [text for text, _ in found]


def runs_over_all(below: Chain) -> bool:
    r"""Whether a sum runs over all values of its letter: `x`, or `x \in \mathcal{X}`; `x \in A` may be some of them.

    Args:
        below: What stands below the sum.
    """
    letter = NAME.findall(to_latex(below.exprs[0]))
    values = _STYLE.sub("", to_latex(below.exprs[-1])).strip()
    return not below.ops or values.lower() in (letter[0].lower(), r"\omega")


def find_other_letters(node: Any, known: set[str]) -> set[str]:
    """The letters of a formula but for arguments of laws, laws, and functions in front of their arguments.

    Args:
        node: The formula.
        known: The arguments and the laws.
    """
    if isinstance(node, Name | Sub) and to_latex(node) in known:
        return set()
    if isinstance(node, Name):
        return {node.text}
    if isinstance(node, Sub):
        return find_other_letters(node.base, known)
    if not isinstance(node, Times):
        return {name for one in children(node) for name in find_other_letters(one, known)}
    out: set[str] = set()
    for factor, inside in zip(node.factors, (*node.factors[1:], None), strict=True):
        inside = inside.base if isinstance(inside, Sup) else inside
        items = inside.items if isinstance(inside, Group) else ()
        plain = bool(items) and all(one.alone and isinstance(one.exprs[0], Name | Sub) for one in items)
        heads = plain or any(one.ops == ("parallel",) for one in items)  # in front of its arguments
        out |= set() if heads and isinstance(factor, Name | Sub) else find_other_letters(factor, known)
    return out


__all__ = [
    "LAWS",
    "NAME",
    "Entropy",
    "Value",
    "find_entropies",
    "find_entropy",
    "find_law_name",
    "find_other_letters",
    "find_value",
    "find_values",
    "is_one_function",
    "order_letters",
    "overlap",
    "runs_over_all",
]
