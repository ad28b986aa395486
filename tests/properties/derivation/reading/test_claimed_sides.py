r"""Sides that other symbols determine: an equation claims something of them, and is no definition that passes unseen."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, DocumentReport

HEAD = r"Let $0 < x < 1$ and $n \in \mathbb{N}$."


def report_of(text: str) -> DocumentReport:
    return check_document(text, effort=Effort(seconds=3.0), infer=True)


@pytest.mark.parametrize(
    "equation",
    [
        r"\sum_{k=1}^\infty k x^k = \frac{1}{(1 - x)^2}",
        r"\prod_{k=1}^\infty (1 + x^k) = 3 x",
        r"\lim_{m \to \infty} \sum_{k=0}^m x^k = x",
        r"\int_0^\infty \frac{1}{1 + t^4} \, dt = 3 x",
        r"\sup_y (x - y^2) = 3 x",
        r"\mathbb{E}_{y \sim p}[x] = x^2",
    ],
)
def test_an_equation_about_what_is_determined_is_a_claim(equation: str) -> None:
    report = report_of(f"{HEAD}\n\n$$ {equation} $$\n")
    assert not [text for _, text in report.understood if text.startswith("defined by the display")]
    assert len(report.steps) == 1
    assert report.steps[0].verdict not in GOOD


def test_a_sum_of_undeclared_symbols_is_no_definition_either() -> None:
    report = report_of("# Series\n\n" + r"$$ \sum_{k=0}^\infty x^k = \frac{x}{1 - x} $$" + "\n")
    assert len(report.steps) == 1
    assert report.steps[0].verdict not in GOOD


def test_a_function_that_nothing_defines_may_be_defined_by_a_display() -> None:
    report = report_of(f"{HEAD}\n\n$$ H(x) = 2 x $$\n\n$$ H(x) + x = 3 x $$\n")
    assert len(report.steps) == 1
    assert report.steps[0].verdict in GOOD


def test_what_an_unread_sentence_defines_is_not_defined_by_a_display() -> None:
    above = r"Let $H = -\sum_{i=1}^n p_i \log p_i$."
    claims = (
        r"$$ H = \log \sum_{i=1}^n e^{z_i} + p^\top z $$"
        + "\n\n"
        + r"$$ H + H = 2 \log \sum_{i=1}^n e^{z_i} + 2 p^\top z $$"
    )
    report = report_of(f"# Entropy\n\n{above}\n\n{claims}\n")
    assert not [step for step in report.steps if step.verdict in GOOD]
    assert len(report.steps) == 3  # the sentence and both claims
