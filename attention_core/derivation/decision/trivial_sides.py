r"""Steps whose sides are one formula but for an order: an author does not derive them, so they may mean something else.

`2 x = x` is an equation to be solved, in `x y = -y x` the letters do not commute, and the L of `L x^2 = 2 x L x`
differentiates. What a derivative, or a sum over an index, is taken out of is another formula:
`\nabla \sum_i f_i = 2 \sum_i \nabla f_i` is not an equation to be solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from math import prod
from types import MappingProxyType

from attention_core.derivation.inference.usage import bound_letters, walk
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Expr,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Transpose,
    children,
    names_in,
)
from attention_core.derivation.reading.step import Step

_ONE, _ZERO = ("Num", Fraction(1)), ("Num", Fraction(0))


def is_trivial(step: Step) -> bool:
    """Whether both sides are the same formula but for the order of factors and terms, brackets, powers, 1 and 0.

    What has a transpose is an array, whose products of two vectors commute; in numbers alone is nothing to solve for.

    Args:
        step: An equation that holds.
    """
    left, right = (_without_order(side) for side in (step.left, step.right))
    numbers = not names_in(step.left)  # no unknown for which it could be solved
    turned = any(isinstance(node, Transpose) for node in walk(step.left))  # and not in the name of an average
    return left == right and not numbers and not turned


def is_rearranged(left: Expr, right: Expr) -> bool:
    """Whether two sides are the same formula but for the order of factors and terms, brackets, powers, 1 and 0.

    Args:
        left: A side.
        right: Another one.
    """
    return _without_order(left) == _without_order(right)


def list_signs(node: Expr) -> list[tuple[int, str]]:
    """The terms of a side with their signs, as `list_terms` has them, but for the order of their factors.

    Args:
        node: The side.
    """
    return _list_terms(node, 1, lambda term: repr(_without_order(term)))


def list_terms(node: Expr) -> list[tuple[int, str]]:
    """The terms of a side with their signs, each as it is written, in one order: terms commute in any algebra.

    Args:
        node: The side.
    """
    return _list_terms(node, 1, to_latex)


def _list_terms(node: Expr, sign: int, write: Callable[[Expr], str]) -> list[tuple[int, str]]:
    if isinstance(node, Group) and len(node.items) == 1 and node.items[0].alone:
        return _list_terms(node.items[0].exprs[0], sign, write)
    if isinstance(node, Minus):
        return _list_terms(node.body, -sign, write)
    if isinstance(node, Plus):
        return sorted(one for term in node.terms for one in _list_terms(term, sign, write))
    return [(sign, write(node))]


Names = Mapping[str, str]


def _without_order(node: object, bound: Names = MappingProxyType({})) -> object:
    """A formula as nested tuples: factors and terms are put in one order, and the indices of sums have one name."""
    if isinstance(node, Group) and len(node.items) == 1 and node.items[0].alone:
        return _without_order(node.items[0].exprs[0], bound)
    if isinstance(node, Times | Sup):
        factors = _join_numbers(_iterate_factors(node, bound))
        return factors[0] if len(factors) == 1 else ("times", *factors)
    if isinstance(node, Plus):
        made = (_without_order(one, bound) for one in node.terms)
        terms = sorted((one for one in made if one not in (_ZERO, ("Minus", _ZERO))), key=repr)
        return terms[0] if len(terms) == 1 else ("plus", *terms)
    if isinstance(node, Num):
        return ("Num", node.value)
    if isinstance(node, Sub) and bound.keys().isdisjoint(names_in(node)) and (name := symbol_name(node)) is not None:
        return ("Name", name)  # as a change writes it
    if isinstance(node, Name):
        return ("Name", bound.get(node.text, node.text))
    if isinstance(node, Big):
        bound = {**bound, **{letter: f"bound {len(bound)}" for letter in sorted(bound_letters(node))}}
    parts = children(node)
    kind = getattr(node, "op", getattr(node, "function", ""))
    made = (_without_order(part, bound) for part in parts)
    return (type(node).__name__, *((kind,) if kind else ()), *made) if parts else repr(node)


def _join_numbers(factors: Iterable[object]) -> list[object]:
    """Factors in one order, with one number at most; what is made of numbers alone is worked out by its author."""
    given = sorted((one for one in factors if one != _ONE), key=repr)
    numbers: list[Fraction] = []
    rest: list[object] = []
    for one in given:
        match one:
            case ("Num", Fraction() as value):
                numbers.append(value)
            case _:
                rest.append(one)
    if not rest or len(numbers) < 2:
        return given
    made = ("Num", prod(numbers))
    return sorted([*rest, made] if made != _ONE else rest, key=repr)


def _iterate_factors(node: object, bound: Names) -> Iterator[object]:
    """The factors of a product or a power of a whole number, those of its factors among them."""
    if isinstance(node, Group) and len(node.items) == 1 and node.items[0].alone:
        yield from _iterate_factors(node.items[0].exprs[0], bound)
    elif isinstance(node, Times):
        for op, one in zip(("", *node.ops), node.factors, strict=True):
            yield from ((("over", _without_order(one, bound)),) if op == "/" else _iterate_factors(one, bound))
    elif isinstance(node, Sup) and isinstance(node.exponent, Num) and node.exponent.value in range(1, 10):
        for _ in range(int(node.exponent.value)):
            yield from _iterate_factors(node.base, bound)
    elif isinstance(node, Sup):
        yield ("power", _without_order(node.base, bound), _without_order(node.exponent, bound))
    else:
        yield _without_order(node, bound)


__all__ = ["is_rearranged", "is_trivial", "list_signs", "list_terms"]
