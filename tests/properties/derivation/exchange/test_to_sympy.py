"""Claims as SymPy relations: they say the same at every point, and what has no counterpart is named."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.derivation import check_document

HEAD = (
    "Let $n, d \\in \\mathbb{N}$, $x, y \\in \\mathbb{R}$, $z > 0$, $q \\in \\mathbb{R}^d$, $A, B \\in \\mathbb{R}^{n \\times n}$ "
    "and $s_1, \\dots, s_n \\in \\mathbb{R}$.\n\n"
)


@cache
def rows() -> list[tuple[str, Any]]:
    """Formulas and what they are as SymPy relations; SymPy takes a second to import, too long for collecting."""
    import sympy

    n, d = (sympy.Symbol(one, integer=True, positive=True) for one in "nd")
    x, y = (sympy.Symbol(one, real=True) for one in "xy")
    z = sympy.Symbol("z", positive=True)
    A, B, q = sympy.MatrixSymbol("A", n, n), sympy.MatrixSymbol("B", n, n), sympy.MatrixSymbol("q", d, 1)
    i = sympy.Symbol("i", integer=True, positive=True)
    s = sympy.IndexedBase("s", real=True)
    return [
        (r"(x + y)^2 = x^2", sympy.Eq((x + y) ** 2, x**2)),
        (r"\sqrt{z} \le \frac{z + 1}{2}", sympy.Le(sympy.sqrt(z), (z + 1) / 2, evaluate=False)),
        (r"A B = B A", sympy.Eq(A * B, B * A)),
        (r"(A B)^\top = B^\top A^\top", sympy.Eq(sympy.Transpose(A * B).doit(), B.T * A.T, evaluate=False)),
        (r"\sum_{i=1}^n e^{s_i} = x", sympy.Eq(sympy.Sum(sympy.exp(s[i]), (i, 1, n)), x)),
        (r"A_{11} = x", sympy.Eq(A[0, 0], x)),
        (r"A^{-1} B = I_n", sympy.Eq(sympy.Inverse(A) * B, sympy.Identity(n), evaluate=False)),
        (r"\operatorname{tr}(A B) = n x", sympy.Eq(sympy.Trace(A * B), n * x)),
        (r"\|q\|^2 = q^\top q", sympy.Eq(sympy.Trace(q.T * q), (q.T * q)[0, 0], evaluate=False)),
    ]


@cache
def written(formula: str) -> Any:
    """The relation of one display, whose document is checked once."""
    return check_document(f"{HEAD}$$ {formula} $$\n").steps[-1].to_sympy()


def test_a_claim_is_written_as_it_is_meant() -> None:
    import sympy

    for formula, relation in rows():
        found = written(formula)
        assert isinstance(found, type(relation)), formula
        dummies = {one: sympy.Symbol("i_") for one in found.atoms(sympy.Dummy)}  # SymPy's own indices differ each time
        same = {one: sympy.Symbol("i_") for one in relation.atoms(sympy.Dummy)}
        assert str(found.xreplace(dummies)) == str(relation.xreplace(same)), found


@pytest.mark.parametrize(
    ("formula", "word"),
    [(r"\max_i s_i = x", "max"), (r"\nabla_q \|q\|^2 = 2 q", "derivative"), (r"x = \foo", "not read")],
)
def test_what_has_no_counterpart_is_named(formula: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        written(formula)


@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(1, 4))
def test_both_sides_have_the_values_of_the_document(first: int, second: int, size: int) -> None:
    import sympy

    n = sympy.Symbol("n", integer=True, positive=True)
    x, y, s = sympy.Symbol("x", real=True), sympy.Symbol("y", real=True), sympy.IndexedBase("s", real=True)
    found = written(r"\sum_{i=1}^n (x s_i + y) \mathbf{1}[i = 1] = n x^2 - |y| + \frac{1}{1 + e^{-x}}")
    values = {s[k]: k + 1 for k in range(1, size + 1)}
    left, right = (
        side.subs({n: size}).doit().xreplace({s[k]: v for k, v in zip(range(1, size + 1), values.values(), strict=True)})
        .subs({x: first, y: second}) for side in (found.lhs, found.rhs)
    )  # fmt: skip
    assert left == 2 * first + second
    assert abs(float(right) - (size * first**2 - abs(second) + 1 / (1 + 2.718281828459045**-first))) < 1e-12
