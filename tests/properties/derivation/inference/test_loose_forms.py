"""Forms that a statement is read without, and relations of its chain that have none of them."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.inference.loose_forms import TERMS, is_loose, keep_loose_forms
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.parse import parse_expression, parse_statement
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.terms.context import Context


@pytest.mark.parametrize(
    ("form", "formula", "other"),
    [
        ("sums without a range", r"\sum_j x_j", "x + y"),
        ("derivatives", r"\frac{\partial f}{\partial x}", r"\frac{f}{x}"),
        ("letters with an index", "m_i", "m"),
        ("arrays of blocks", r"\begin{bmatrix} A & B \end{bmatrix}", "(A B)"),
        ("powers of matrices", "a^t", "A^2"),
    ],
)
def test_a_form_is_loose_in_its_statement_alone(form: str, formula: str, other: str) -> None:
    context = Context(loose=frozenset([form]))
    nodes = {text: list(walk(parse_statement(text, 1).chains)) for text in (formula, other)}
    assert any(is_loose(node, context) for node in nodes[formula])
    assert not any(is_loose(node, Context()) for node in nodes[formula])
    assert not any(is_loose(node, context) for node in nodes[other])
    assert keep_loose_forms(context, formula, 1) is context
    assert not keep_loose_forms(context, other, 1).loose


def test_terms_are_loose_whatever_they_are() -> None:
    context = Context(loose=frozenset([TERMS]))
    assert keep_loose_forms(context, "x = y", 1) is context


def test_a_relation_without_the_form_of_its_display_is_decided() -> None:
    chain = r"G = \sum_{k=0}^\infty \gamma^k R_k = \frac{(m - 1)^2}{m^2} s + \frac{m - 1}{m^2} s = %s"
    for end, verdicts in ((r"\frac{m - 1}{m} s", GOOD), (r"\frac{2 (m - 1)}{m} s", (Verdict.REFUTED,))):
        report = check_document(f"# A\n\nWe have\n\n$$ {chain % end} $$\n", infer=True, effort=Effort(seconds=4.0))
        assert report.steps[-1].verdict in verdicts, report.steps[-1].evidence.text
        assert "symbols of their own" in report.steps[-2].evidence.text


DOTS, POWERS = "arrays with dots", "powers of matrices"


@pytest.mark.parametrize(
    ("formula", "form", "loose"),
    [
        (r"\begin{pmatrix} a & \dots \end{pmatrix}", DOTS, True),
        (r"\begin{pmatrix} a & b \end{pmatrix}", DOTS, False),
        ("(a, b)", DOTS, True),
        ("[a, b]", DOTS, False),
        (r"[a, \dots]", DOTS, True),
        (r"a + \dots + b", DOTS, True),
        (r"a - \dots - b", DOTS, True),
        (r"a \dots b", DOTS, True),
        ("a + b", DOTS, False),
        ("A^n", POWERS, True),
        ("A^2", POWERS, False),
        ("x^2", POWERS, True),
        ("e^n", POWERS, False),
    ],
)
def test_which_nodes_are_symbols_of_their_own(formula: str, form: str, loose: bool) -> None:
    context = Context(loose=frozenset([form]))
    assert is_loose(parse_expression(formula, 1), context) is loose
    assert not is_loose(parse_expression(formula, 1), Context())
