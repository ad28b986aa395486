"""Walks over written trees miss no node."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import pytest

from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import (
    Chain,
    Expr,
    Group,
    Name,
    Num,
    Statement,
    Sub,
    Sup,
    change_base,
    children,
    names_in,
)

KINDS = (*get_args(Expr), Chain, Statement)
FORMULAS = (
    r"\frac{1}{\sqrt[3]{d}} Q K^\top = a_{i,j} - b^{2} \odot c \implies x = y",
    r"\sum_{j = 1}^n p_{j} v_{j} \le \log^2_k(1 + x)",
    r"\|x - y\| + |z| = f(x, y) [z]",
    r"\begin{bmatrix} 1 & \\ x & \begin{bmatrix} y & z \end{bmatrix} \end{bmatrix} = A_{:,c} / B_{1:n}",
    r"\frac{\partial^2 f}{\partial x \partial y} = \nabla_x g + h(x_1, \dots)",
)


def nodes_in(value: Any) -> list[Any]:
    """The nodes that a field holds."""
    if isinstance(value, tuple):
        return [node for one in value for node in nodes_in(one)]
    return [value] if isinstance(value, KINDS) else []


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_children_are_all_nodes_in_all_fields(formula: str) -> None:
    left: list[Any] = [parse_statement(formula)]
    while left:
        node = left.pop()
        found = children(node)
        assert sorted(map(repr, found)) == sorted(
            repr(n) for name in node.__slots__ for n in nodes_in(getattr(node, name))
        )
        left += found


def test_names_are_found_in_matrices_and_bounds() -> None:
    assert names_in(parse_statement(FORMULAS[1])) == {"j", "n", "p", "v", "k", "x"}
    assert names_in(parse_statement(FORMULAS[3])) == {"x", "y", "z", "A", "B", "c", "n"}
    assert children("x") == [] and children((1, 2)) == [1, 2]


def test_a_base_is_changed_behind_what_it_carries() -> None:
    carried = Sup(Sub(Group("(", (Chain((Name("x"),)),), ")"), (Chain((Name("i"),)),)), Num(Fraction(2)))
    assert change_base(carried, lambda _: Name("f")) == Sup(Sub(Name("f"), (Chain((Name("i"),)),)), Num(Fraction(2)))
    assert change_base(carried, lambda _: None) is None
