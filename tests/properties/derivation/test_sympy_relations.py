"""SymPy relations as steps: the verdict of the document that they are written as."""

from __future__ import annotations

import pytest
import sympy
from sympy import Eq, Ge, IndexedBase, Le, MatrixSymbol, Sum, exp, log, sqrt

from attention_core.derivation import check_relation
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.sympy_relations import Unwritable, write_document, written_name

x, y = sympy.symbols("x y")
p, r = sympy.symbols("p r", positive=True)
n, d = sympy.symbols("n d", integer=True, positive=True)
i, j = sympy.symbols("i j", integer=True)
A, B, Q, K = (MatrixSymbol(name, *shape) for name, shape in zip("ABQK", ((n, n), (n, n), (n, d), (n, d)), strict=True))
v = MatrixSymbol("v", n, 1)
a, beta = IndexedBase("a"), IndexedBase("beta")

TRUE = [
    ((x + y) ** 2, x**2 + 2 * x * y + y**2),
    ((Q * K.T).T, K * Q.T),
    ((A * B).T, B.T * A.T),
    (Sum(exp(a[i]), (i, 1, n)) ** 2, Sum(exp(a[i] + a[j]), (j, 1, n), (i, 1, n))),
    ((v.T * v)[0, 0], sympy.Trace(v * v.T)),
    (sympy.Derivative(x**3, x), 3 * x**2),
    (A * sympy.Identity(n), A),
    (sympy.OneMatrix(1, n) * v, sympy.Trace(sympy.OneMatrix(n, 1) * v.T)),
    (sympy.Matrix([[x, y], [0, 1]]) * sympy.Matrix([1, 2]), sympy.Matrix([x + 2 * y, 2])),
    (Sum(sympy.Piecewise((a[i], Eq(i, 1)), (0, True)), (i, 1, n)), a[1]),
    (x / (2 * p) - sympy.Rational(1, 2), (x - p) / (2 * p)),
    (sympy.Symbol("scores") + sympy.Symbol("W_Q"), sympy.Symbol("W_Q") + sympy.Symbol("scores")),
]


@pytest.mark.parametrize("pair", TRUE, ids=[str(pair[0])[:40] for pair in TRUE])
def test_true_equations_are_accepted(pair: tuple[object, object]) -> None:
    report = check_relation(pair)
    assert report.verdict in GOOD, (report.text, report.evidence.text)


@pytest.mark.parametrize(
    "relation", [Ge((p + r) / 2, sqrt(p * r)), Le(log(1 + exp(x)), 1 + abs(x)), sympy.Ne(x**2 + 1, 0)]
)
def test_true_inequalities_are_accepted(relation: object) -> None:
    assert check_relation(relation).verdict in GOOD


@pytest.mark.parametrize("relation", [Eq(A * B, B * A), x > y, Eq(A[0, 0], A[1, 1]), Eq(Sum(a[i], (i, 1, n)), n)])
def test_false_relations_are_refuted_with_a_case(relation: object) -> None:
    report = check_relation(relation)
    assert report.verdict is Verdict.REFUTED and report.counterexample is not None


def test_what_is_assumed_counts() -> None:
    one = Eq(Sum(beta[i], (i, 1, n)), 1)
    assert check_relation(Eq(A, A.T), assuming=[Eq(A, A.T)]).verdict in GOOD
    assert check_relation(Eq(Sum(2 * beta[i], (i, 1, n)), 2), assuming=[one]).verdict in GOOD
    assert check_relation(Eq(Sum(beta[i] ** 2, (i, 1, n)), 1), assuming=[one]).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (Eq(sympy.Integral(exp(-(x**2)), (x, 0, y)), 1), "Integral has no form"),
        (Eq(x, x), "hand over the pair"),
        (Eq(sympy.Symbol("k", integer=True), 1), "need not be positive"),
        (Eq(a[i], 1), "how many members"),
        (Eq(sympy.Symbol("x!"), 1), "the name 'x!'"),
        (x + y, "a relation such as"),
    ],
)
def test_what_has_no_form_is_one_line(relation: object, words: str) -> None:
    with pytest.raises(Unwritable, match=words) as caught:
        write_document(relation)
    assert "\n" not in str(caught.value)


def test_names_are_letters_with_subscripts() -> None:
    assert [written_name(one) for one in ("d_k", "x_12", "sigma_q", "q_{k}")] == [
        "d_{k}", "x_{12}", r"\sigma_{q}", "q_{k}",
    ]  # fmt: skip
