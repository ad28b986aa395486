"""A term of a chain that is wrong on both sides is REFUTED, unless words right beside the chain make it good."""

from __future__ import annotations

import pytest

from attention_core.derivation import DocumentReport, check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.chain_terms import list_neighbours
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Verdict

FAR = "# Notes\n\nAssume that all weights are quiffed and constant.\n\nNow the first result.\n\nIt is short.\n\n"
"""Words that were not read, more than three lines above what stands below them."""


def check(formula: str, above: str = FAR, below: str = "") -> DocumentReport:
    return check_document(f"{above}$$\n{formula}\n$$\n{below}", infer=True)


CHAINS = [
    (r"\sum_{i=1}^n x_i y_i + b = \sum_{i=1}^n x_1 y_i + b = b + \sum_{i=1}^n y_i x_i", "$x_{i}$ in place of $x_{1}$"),
    (r"e^{a} e^{-b} = e^{2 a} e^{-b} = e^{a - b}", "$a$ in place of $2 a$"),
    (r"-2 (-9 - 1) + 1 = 2 (-9 - 1) + 1 = 21", "$- 2 (-9 - 1)$ in place of"),
    (r"- t + y = - (y - t) = y - t", ""),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "change"), CHAINS, ids=range(len(CHAINS)))
def test_a_term_that_is_wrong_on_both_sides_is_refuted_whatever_stands_far_away(formula: str, change: str) -> None:
    first, second = check(formula).steps
    assert first.verdict is second.verdict is Verdict.REFUTED
    assert "beside it; both hold with" in first.evidence.text and change in first.evidence.text
    assert first.evidence.figures["slip"] == second.evidence.figures["slip"]


def test_the_right_chain_is_accepted() -> None:
    report = check(r"\sum_{i=1}^n x_i y_i + b = \sum_{i=1}^n y_i x_i + b = b + \sum_{i=1}^n y_i x_i")
    assert {step.verdict for step in report.steps} == {Verdict.PROVED}


def test_laws_as_tables_have_such_terms() -> None:
    first, second = check(r"p(x, z) = - p(x \mid z) p(z) = p(z \mid x) p(x)", above="# Laws\n\n").steps
    assert first.verdict is second.verdict is Verdict.REFUTED
    assert "with its laws as probabilities" in first.evidence.text


OPEN = [
    ("The rate is constant.\n\n", r"\sum_t r_t x_t + b = \sum_t r_1 x_t + b = b + \sum_t x_t r_t", ""),
    ("Let us drop factors of 2 freely.\n\n", r"\frac{d}{dx} x^2 = x = 2 x \cdot 1", ""),
    ("In a field of characteristic 2,\n\n", "a b - c = a b + c = b a - c", ""),
    ("Labels are binary.\n\n", r"\sum_i y_i^2 p_i = \sum_i y_i p_i = \sum_i p_i y_i y_i", ""),
    ("The weights are tied.\n\n", r"\frac{\partial}{\partial w} w v + u = 2 v + u = \frac{\partial}{\partial w} v w + u", ""),
    ("A common mistake is\n\n", "(a + b)^2 - b^2 = a^2 - 2 a b = a (a + 2 b)", ""),
    ("", "(a + b)^2 - b^2 = a^2 - 2 a b = a (a + 2 b)", "\nThis is wrong, of course.\n"),
    ("", r"\|P x\|^2 = x^\top P x = x^\top P^\top P x", ""),  # of a projection
    ("", r"a_1 = a_2 = \frac{1}{2}", ""),  # values
    ("", r"P x = P P x = P x", ""),  # between two equal formulas
]  # fmt: skip


@pytest.mark.parametrize(("above", "formula", "below"), OPEN, ids=range(len(OPEN)))
def test_what_words_beside_a_chain_or_its_terms_may_mean_stays_open(above: str, formula: str, below: str) -> None:
    report = check(formula, above="# Notes\n\n" + above, below=below)
    assert not any(step.verdict is Verdict.REFUTED for step in report.steps)


def test_words_beside_the_first_line_of_a_long_chain_count_for_its_last() -> None:
    rows = ["f &= x^2 + x^2 \\\\", "&= 2 x x \\\\", "&= x (x + x) \\\\", "&= x (x - x) \\\\", "&= x x + x x"]
    display = "\\begin{aligned}\n" + "\n".join(rows) + "\n\\end{aligned}"
    denied = check(display, above="# Notes\n\nA common mistake is\n\n")
    assert not any(step.verdict is Verdict.REFUTED for step in denied.steps)
    assert any(step.verdict is Verdict.REFUTED for step in check(display, above="# Notes\n\n").steps)


def test_neighbours_share_a_formula_of_one_chain() -> None:
    text = "$$ a + b = b + a = a + b + 0 $$\n\n$$ a + b + 0 = c + c $$\n\n$$ x y = z = z + 0 $$\n"
    steps = [step for step in document_steps(text, infer=True)[1] if isinstance(step, Step)]
    assert [[side for side, _ in list_neighbours(step)] for step in steps] == [["right"], ["left"], [], [], []]
