"""A term of a chain that is wrong on both sides is REFUTED, unless words right beside the chain make it good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attention_core.derivation import DocumentReport, check_document
from attention_core.derivation.decision import chain_terms
from attention_core.derivation.records import Verdict

FAR = "# Notes\n\nAssume that all weights are quiffed and constant.\n\nNow the first result.\n\nIt is short.\n\n"
"""Words that were not read, more than three lines above what stands below them."""


def check(formula: str, above: str = FAR, below: str = "") -> DocumentReport:
    return check_document(f"{above}$$\n{formula}\n$$\n{below}", infer=True)


CHAINS = [
    (r"\sum_{i=1}^n (x_i - w y_i)^2 = \sum_{i=1}^n x_i^2 - 2 w \sum_{i=1}^n x_1 y_i + w^2 \sum_{i=1}^n y_i^2"
     r" = \sum_{i=1}^n (x_i^2 - 2 w x_i y_i + w^2 y_i^2)", "$x_{i}$ in place of $x_{1}$"),
    (r"e^{a} e^{-b} = e^{2 a - b} = \frac{e^{a}}{e^{b}}", "$a$ in place of $2 a$"),
    (r"-2 (-9 - 1) + 1 = 2 \cdot (-10) + 1 = 21", "in place of"),
    (r"- t + 2 y = - (t + y) + y = y - (t - y)", "in place of"),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "change"), CHAINS, ids=range(len(CHAINS)))
def test_a_term_that_is_wrong_on_both_sides_is_refuted_whatever_stands_far_away(formula: str, change: str) -> None:
    first, second = check(formula).steps
    assert first.verdict is second.verdict is Verdict.REFUTED
    assert "is wrong, and both hold with" in first.evidence.text and change in first.evidence.text
    assert first.evidence.figures["slip"] == second.evidence.figures["slip"]


def test_the_right_chain_is_accepted() -> None:
    report = check("(a + b)(c - d) = a c - a d + b c - b d = a (c - d) + b c - b d")
    assert {step.verdict for step in report.steps} == {Verdict.PROVED}


def test_laws_as_tables_have_such_terms() -> None:
    first, second = check(r"p(x, z) = - p(x \mid z) p(z) = p(z \mid x) p(x)", above="# Laws\n\n").steps
    assert first.verdict is second.verdict is Verdict.REFUTED
    assert "with its laws as probabilities" in first.evidence.text


OPEN = [
    ("", r"\theta (\phi + \eta \xi) = \theta \phi - \eta \theta \xi = \theta \phi + \theta \eta \xi", ""),  # they may not commute
    ("", "a b + a b = - b a + a b = 2 a b", ""),  # and change their sign where they are exchanged
    ("", r"\frac{x^2 + 2 x}{2} + C = \frac{x^2}{2} + x - C = C + x + \frac{1}{2} x^2", ""),  # any constant
    ("", "(n + 1)^2 + O(n) = n^2 + 2 n + 1 - O(n) = 1 + 2 n + n^2 + O(n)", ""),  # what is left out
    ("", r"(a + 3)(b + 1) = a b + a - 3 b + 3 = 3 + 3 b + a + a b \quad (\text{mod } 6)", ""),
    ("## Pitfalls\n\n\n\n\n\n", "(a + b)^2 - b^2 = a^2 - 2 a b = a (a + 2 b)", ""),
    ("In each of the following chains, one term is wrong. Which one?\n\n\n\n\n\n", "(a + b)^2 - b^2 = a^2 - 2 a b = a (a + 2 b)", ""),
    ("", "(a + b)^2 - b^2 = a^2 - 2 a b = a (a + 2 b)", "\n\n\n\nThe second formula above is false: its sign is wrong.\n"),
    ("In this ring, all elements have order two.\n\n\n\n\n\n", "(a + b)(c + d) = a c + a d - b c + b d = b d + b c + a d + a c", ""),
    ("There is no year zero.\n\n\n\n\n\n", "-3 + 5 = 3 = 5 - 3", ""),
    ("Only absolute values matter here.\n\n\n\n\n\n", "(a - b)(c + d) = a c + a d + b c - b d = - b d - b c + a d + a c", ""),
    ("The rate is constant.\n\n", r"\sum_t (r_t + s) x_t = \sum_t r_1 x_t + s \sum_t x_t = \sum_t (r_t x_t + s x_t)", ""),
    ("Let us drop factors of 2 freely.\n\n", r"\frac{d}{dx} (3 x^2 + 2 x) = 3 x + 2 = 2 (3 x + 1)", ""),
    ("In a field of characteristic 2,\n\n", "(a + b)(c + d) = a c + a d - b c + b d = b d + b c + a d + a c", ""),
    ("Labels are binary.\n\n", r"\sum_i (y_i + p_i)^2 = \sum_i y_i + 2 \sum_i y_i p_i + \sum_i p_i^2 = \sum_i (y_i^2 + 2 y_i p_i + p_i^2)", ""),
    ("The weights are tied.\n\n", r"\frac{\partial}{\partial w} w v + u = 2 v + u = \frac{\partial}{\partial w} v w + u", ""),
    ("A common mistake is\n\n", "(a + b)^2 - b^2 = a^2 - 2 a b = a (a + 2 b)", ""),
    ("", "(a + b)^2 - b^2 = a^2 - 2 a b = a (a + 2 b)", "\nThis is wrong, of course.\n"),
    ("", r"\|P x\|^2 = x^\top P x = x^\top P^\top P x", ""),  # of a projection
    ("", r"a_1 = a_2 = \frac{1}{2}", ""),  # values
    ("", "n (x y)^n = n (-x)^n y^n = y^n n x^n", ""),  # n may be even
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


def test_a_reason_in_a_row_that_was_not_read_leaves_the_chain_open() -> None:
    rows = r"\begin{aligned} (x + y)(x - y) &= x^2 + y^2 %s \\ &= x (x + y) - y (x + y) \end{aligned}"
    assert not any("both hold" in step.evidence.text for step in check(rows % r"&& \text{by the quiffed law}").steps)
    assert all("both hold" in step.evidence.text for step in check(rows % "").steps)


def test_the_advice_on_a_refuted_chain_mends_both_relations() -> None:
    squares = r"x^\top x + 2 x^\top y + y^\top y = x^\top x + 3 x^\top y + y^\top y = \|x\|^2 + 2 x^\top y + \|y\|^2"
    words = "All hypotheses are declared as formulas. Let $x, y \\in \\mathbb{R}^n$.\n\n"
    for step in check(squares, above=words).steps:
        assert step.verdict is Verdict.REFUTED
        assert "beside it hold with $2$ in place of $3$: is that meant?" in step.evidence.advice


def test_the_example_of_the_page_is_what_is_reported() -> None:
    page = (Path(__file__).parents[4] / "docs" / "derivation_slips.md").read_text(encoding="utf-8")
    shown = page.split("\n## A term of a chain that is wrong on both sides\n")[1].split("```")[1]
    step = check(r"e^{a} e^{-b} = e^{2 a - b} = \frac{e^{a}}{e^{b}}", above="# Notes\n\n").steps[0]
    before, after = (
        step.evidence.text.split(" at ", 1)[0],
        step.evidence.text.split("), and so is")[1].split("; read as")[0],
    )
    assert f"REFUTED  {step.id}: {step.text}\n" in shown and before in shown and after in shown


def test_no_change_is_looked_for_where_the_terms_around_a_false_one_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[str] = []
    mend_both = chain_terms._mend_both

    def count(step: Any, *rest: Any) -> Any:
        looked_for.append(step.text)
        return mend_both(step, *rest)

    monkeypatch.setattr(chain_terms, "_mend_both", count)
    check_document("$$ (a + b)^2 = a^2 - 2 a b + b^2 = a^2 + 3 a b + 7 b^2 $$\n", infer=True)
    assert not looked_for
    wrong = check_document("$$ (a + b)^2 = a^2 - 2 a b + b^2 = a^2 + b^2 + 2 a b $$\n", infer=True).steps
    assert looked_for and [str(step.verdict) for step in wrong] == ["REFUTED", "REFUTED"]


def test_letters_in_both_orders_beside_a_term_leave_it_open() -> None:
    far = "In these notes coefficients are always counted twice.\n\nWords.\n\nMore words.\n\nStill more words.\n\nNow"
    for last, expected in ((r"4 u v s - 2 u v s", "REFUTED"), (r"u v s + v u s", "UNDECIDED")):
        text = f"{far}\n\n$$ u v s + u v s = 3 u v s = {last} $$\n"
        assert [str(step.verdict) for step in check_document(text, infer=True).steps] == [expected, expected]
