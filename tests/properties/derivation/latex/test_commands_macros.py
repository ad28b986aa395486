r"""Commands that authors define elsewhere, words as a side, and cases that words tell apart."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"\mat{X} \vec{b}", r"\mat{X} b"),
        (r"\norm{x + y}_2 + \abs{a}", r"\|x + y\|_{2} + |a|"),
        (r"\argmin_w f", r"\argmin_{w} f"),
        (r"x \in \R^n", r"x \in \mathbb{R}^{n}"),
        (r"\mathbbm{1}_n", r"\mathbf{1}_{n}"),
        (r"\Bbb{1}_n", r"\mathbf{1}_{n}"),
        (r"A = \text{the first draw $E$ is red}", r"A = \text{the first draw E is red}"),
    ],
)
def test_the_formula_is_read(formula: str, read: str) -> None:
    assert to_latex(parse_statement(formula).chains[0]) == read


def test_a_definition_in_the_document_takes_precedence() -> None:
    text = "\\newcommand{\\abs}[1]{#1}\n\nLet $a \\in \\mathbb{R}$.\n\n$$ \\abs{a} = a $$\n"
    assert [str(one.verdict) for one in check_document(text).steps] == ["PROVED"]


def test_cases_that_words_tell_apart_are_one_symbol() -> None:
    cases = r"\begin{cases} 0 & \text{with probability } p \\ 1 & \text{otherwise} \end{cases}"
    text = f"$$ h = {cases} $$\n\n$$ 2 h = h + h $$\n\n$$ h = 1 $$\n"
    verdicts = [str(one.verdict) for one in check_document(text, infer=True).steps]
    assert verdicts == ["PROVED", "UNDECIDED"]


def test_if_and_otherwise_may_be_capitalized() -> None:
    head = "Let $a, b \\in \\mathbb{R}$.\n\n"
    cases = r"\begin{cases} a & \text{If } a > b \\ b & \text{Otherwise} \end{cases}"
    (step,) = check_document(f"{head}$$ \\max(a, b) = {cases} $$\n").steps
    assert step.verdict in ("PROVED", "AGREES"), step.evidence.text


def test_a_box_may_stand_before_words() -> None:
    head = "Let $a, b \\in \\mathbb{R}$.\n\n"
    (step,) = check_document(f"{head}$$ \\boxed{{a + b = b + a}} \\qquad \\text{{as we claimed}} $$\n").steps
    assert step.verdict == "PROVED", step.evidence.text
