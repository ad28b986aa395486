r"""`\nabla f(x)` and `f'(x)` of a function that is defined are its derivatives, and no symbols that a display defines."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.relevance import is_slope_of_known

HEAD = r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric and $x \in \mathbb{R}^n$. Put $f(x) := x^\top A x$."
NUMBER = r"Let $x \in \mathbb{R}$. Put $g(t) := t^3 - t$."


@pytest.mark.parametrize(
    ("head", "right", "wrong"),
    [
        (HEAD, r"\nabla f(x) = 2 A x", r"\nabla f(x) = A x"),
        (HEAD, r"\nabla^2 f(x) = 2 A", r"\nabla^2 f(x) = A"),
        (HEAD, r"2 \nabla f(x) = 4 A x", r"2 \nabla f(x) = 2 A x"),
        (NUMBER, "g'(x) = 3 x^2 - 1", "g'(x) = 3 x^2"),
        (NUMBER, "g''(x) = 6 x", "g''(x) = 3 x"),
    ],
)
def test_the_derivative_of_a_known_function_is_claimed(head: str, right: str, wrong: str) -> None:
    found = [
        check_document(f"{head}\n\n$$ {one} $$\n", infer=True, effort=Effort(seconds=4.0)) for one in (right, wrong)
    ]
    assert found[0].steps[-1].verdict in GOOD
    assert found[1].steps[-1].verdict is Verdict.REFUTED


def test_only_functions_with_a_formula_have_known_slopes() -> None:
    body = Symbol("f", "function", 1, 0, params=("t",), body=object())
    context = Context(symbols={"f": body, "h": Symbol("h", "array", 1, 0)})
    assert [is_slope_of_known(context, name) for name in ("f'", "f''", "f", "h'", "k'")] == [True, True] + [False] * 3
