r"""Capitals in an exponent as matrices: $e^{A + B} = e^A e^B$ is true of numbers, and of matrices only if they commute.

An exponent makes an undeclared letter a number, since the checker has no power series of a matrix. On matrices that are
zero on and below the diagonal it needs none: if X has n rows, $X^n = 0$, so $e^X = I + X + \dots + X^{n-1} / (n - 1)!$
without an error. The capitals of a step are replaced by such matrices, written out, and $e^X$ by the series. What is
false then is false with a counterexample; what holds there may still be false of other matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import factorial

from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.inference.constraints import is_capital
from attention_core.derivation.inference.usage import walk, whole_names
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import (
    Array,
    Chain,
    Expr,
    Frac,
    Group,
    Name,
    Num,
    Plus,
    Sup,
    Times,
    Transpose,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Symbol

ROWS = 4  # of three rows, [A, [A, B]] is 0, and e^{A/2} e^B e^{A/2} would be e^{A + B}
ABOVE = ((1, 2, 1), (1, -1, 2), (2, 1, -1), (1, 1, 3))  # beside the diagonal: no two of these matrices commute


def letters_in_exponents(step: Step, open_numbers: Sequence[Symbol]) -> list[str]:
    """The capitals that an exponent of the step may make matrices.

    Args:
        step: The step.
        open_numbers: Its undeclared numbers for whose kind nothing but the formulas speaks.

    Returns:
        All capitals among these numbers that nothing is divided by, if at least two of them stand in exponents of
        numbers, else none: powers of one matrix commute. None, too, where an exponent holds a power or a transpose,
        which need not be zero below the diagonal.
    """
    numbers = {one.name for one in open_numbers if one.type is not None and one.type.scalar}
    names = sorted(name for name in numbers - _denominators(step) if is_capital(name))
    inside = [node for exponent in exponents_of_numbers(step) for node in walk(exponent)]
    if any(isinstance(node, Sup | Transpose) and symbol_name(node) is None for node in inside):
        return []
    raised = {name for exponent in exponents_of_numbers(step) for name in whole_names(exponent)}
    return names if len(raised & set(names)) >= 2 and len(names) <= len(ABOVE) else []


def exponents_of_numbers(step: Step) -> list[Expr]:
    """The exponents of e and of other numbers in a step.

    Args:
        step: The step.
    """
    parts = [node for side in (step.left, step.right) for node in walk(side)]
    return [node.exponent for node in parts if isinstance(node, Sup) and _is_number(step, node.base)]


def with_matrices(step: Step, letters: Sequence[str]) -> Step:
    """The step with strictly upper triangular matrices for some letters, and with series for its exponentials.

    Args:
        step: The step.
        letters: The letters, as many as `ABOVE` has at most.
    """
    arrays = dict(zip(letters, map(_matrix, ABOVE), strict=False))

    def change(node: object) -> object | None:
        if isinstance(node, Sup) and _is_number(step, node.base):
            exponent = substitute(node.exponent, change)
            return None if exponent == node.exponent else _series(exponent)  # type: ignore[arg-type]
        return arrays.get(symbol_name(node) or "")  # type: ignore[arg-type]

    return replace(step, left=substitute(step.left, change), right=substitute(step.right, change))  # type: ignore[arg-type]


def describe_matrices(letters: Sequence[str]) -> str:
    """The matrices that stand for some letters, in words."""
    rows = [[[0] * ROWS for _ in range(ROWS)] for _ in letters]
    for matrix, above in zip(rows, ABOVE, strict=False):
        for place, entry in enumerate(above):
            matrix[place][place + 1] = entry
    written = ("; ".join(", ".join(map(str, row)) for row in matrix) for matrix in rows)
    return ", ".join(f"{name} = [{one}]" for name, one in zip(letters, written, strict=False))


def _denominators(step: Step) -> set[str]:
    """The letters of a step by which something is divided."""
    parts = [node for side in (step.left, step.right) for node in walk(side)]
    below = [node.bottom for node in parts if isinstance(node, Frac)]
    for node in parts:
        if isinstance(node, Times):
            below += [one for op, one in zip(node.ops, node.factors[1:], strict=True) if op == "/"]
    return {name for one in below for name in whole_names(one)}


def _is_number(step: Step, base: Expr) -> bool:
    return isinstance(base, Num) or (base == Name("e") and "e" not in step.context.symbols)


def _matrix(above: Sequence[int]) -> Expr:
    """The matrix with these numbers beside its diagonal."""
    rows = range(ROWS)
    return Array(tuple(tuple(Num(Fraction(above[i] if j == i + 1 else 0)) for j in rows) for i in rows))


def _series(exponent: Expr) -> Expr:
    """I + X + X X / 2 + ..., which is e^X if X is zero on and below the diagonal.

    For another base b, e^{X log b} is meant; log b is transcendental, so an equation that fails with 1 in its place,
    a polynomial in it with rational coefficients, fails with it as well.
    """
    rows = range(ROWS)
    terms: list[Expr] = [Array(tuple(tuple(Num(Fraction(int(i == j))) for j in rows) for i in rows))]
    bracketed = _bracket(exponent)
    for degree in range(1, ROWS):
        power = Times((bracketed,) * degree, ("",) * (degree - 1)) if degree > 1 else bracketed
        terms.append(Frac(power, Num(Fraction(factorial(degree)))))
    return _bracket(Plus(tuple(terms)))


def _bracket(inside: Expr) -> Expr:
    return Group("(", (Chain((inside,)),), ")")


__all__ = ["describe_matrices", "exponents_of_numbers", "letters_in_exponents", "with_matrices"]
