"""Which letters stand inside a limit or an integral alone."""

from __future__ import annotations

import pytest

from attention_core.derivation.inference.inner_letters import integral_letters, limit_letters
from attention_core.derivation.latex.parse import parse_statement


@pytest.mark.parametrize(
    ("formula", "inside"),
    [
        (r"\int_0^1 x^2 + a x \, dx", {"x"}),
        (r"x \int_0^1 x^2 \, dx", set()),  # and outside
        (r"\int_0^1 \int_0^1 x y b \, dx \, dy", {"x", "y"}),
        (r"\lim_{n \to \infty} n a", set()),
        (r"\sum_{x=1}^n x", set()),
    ],
)
def test_what_is_integrated_over_stands_for_itself(formula: str, inside: set[str]) -> None:
    expr = parse_statement(formula).chains[0].exprs[0]
    assert integral_letters(expr) == inside
    assert limit_letters(expr) == ({"n"} if "lim" in formula else set())
