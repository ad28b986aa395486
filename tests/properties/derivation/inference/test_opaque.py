"""Values of functions that nobody defines, as symbols of their own."""

from __future__ import annotations

import pytest

from attention_core.derivation.inference.opaque import Opaque
from attention_core.derivation.inference.usage import usage_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.terms.context import Context


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        ("2 f(x)^2", "2 f(x)^{2}"),
        (r"\sum_i f(x_i)", r"\sum_{i} f(x_{\cdot})_{i}"),
        (r"\Delta W x", r"\Delta W x"),
        (r"\frac{\partial f(x)}{\partial x}", r"\nabla_{x} f (x)"),
    ],
)
def test_the_value_is_one_symbol(formula: str, read: str) -> None:
    chain = parse_statement(formula).chains[0]
    (found,) = Opaque(Context(), usage_of([chain])).chains([chain])
    assert to_latex(found) == read
    assert (found == chain) == ("partial" in formula)
