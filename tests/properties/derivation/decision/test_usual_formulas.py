"""attention_core.derivation.decision.usual_formulas: what usual hypotheses say of numbers, families and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.decision.usual_formulas import (
    Subject,
    write_negative,
    write_positive,
    write_two_values,
    write_unit,
    write_weights,
    write_zero_sums,
)
from attention_core.derivation.effort import Effort
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, matrix

N, D = Size.symbol("n"), Size.symbol("d")
NUMBER = Symbol("t", "array", 1, 0, SCALAR)
FAMILY = Symbol("x", "family", 1, 0, SCALAR, lowest=ONE, highest=N)
VECTORS = Symbol("v", "family", 1, 0, matrix(D, ONE), lowest=ONE, highest=N)
OPEN = Symbol("y", "family", 1, 0, SCALAR)


@pytest.mark.parametrize(
    ("write", "symbol", "first"),
    [
        (write_negative, NUMBER, "t < 0"),
        (write_positive, FAMILY, "x_k > 0"),
        (write_zero_sums, FAMILY, r"\sum_{k=1}^{n} x_k = 0"),
        (write_weights, FAMILY, r"\sum_{k=1}^{n} x_k = 1"),
        (write_two_values, FAMILY, "x_k^2 = 1"),
        (write_unit, VECTORS, r"\|v_k\| = 1"),
        (write_zero_sums, OPEN, None),  # nothing says where it ends
        (write_zero_sums, VECTORS, None),
    ],
)
def test_what_a_kind_says_of_a_symbol(
    write: Callable[[Subject], Iterator[str]], symbol: Symbol, first: str | None
) -> None:
    assert next(write(Subject([symbol], "k")), None) == first


@pytest.mark.parametrize(
    ("words", "right", "wrong"),
    [
        ("Let $t$ be negative.", r"\sqrt{t^2} = -t", r"\sqrt{t^2} = -2 t"),
        ("The data are centered.", r"\sum_{i=1}^n (x_i + c) = n c", r"\sum_{i=1}^n (x_i + c) = c"),
        (r"Labels $y$ are $\pm 1$.", "(y - f)^2 = 1 - 2 y f + f^2", "(y - f)^2 = 1 + 2 y f + f^2"),
    ],
)
def test_as_read_leaves_open_what_such_words_make_true(words: str, right: str, wrong: str) -> None:
    found = [
        check_document(f"{words}\n\n$$ {one} $$\n", as_read=True, effort=Effort(seconds=2)).steps[-1].verdict
        for one in (right, wrong)
    ]
    assert found == ["UNDECIDED", "REFUTED"]
