r"""Sides that other symbols determine: an equation claims something of them, and is no definition that passes unseen."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.claimed_sides import equations_in
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
    above = r"Let $H = -\sum_{i \in S} p_i \log p_i$."  # of a set that nothing declares
    claims = (
        r"$$ H = \log \sum_{i=1}^n e^{z_i} + p^\top z $$"
        + "\n\n"
        + r"$$ H + H = 2 \log \sum_{i=1}^n e^{z_i} + 2 p^\top z $$"
    )
    report = report_of(f"# Entropy\n\n{above}\n\n{claims}\n")
    assert not [step for step in report.steps if step.verdict in GOOD]
    assert len(report.steps) == 3  # the sentence and both claims


# (a sentence above that cannot be read, a false claim about what it defines, a step that is right of the claim alone)
STATED = [
    (r"Under our convention the exact one is $g(x) = \frac{x}{2} (1 + \operatorname{foo} x)$ throughout.",
     r"g(x) = 2 x", r"g(x) + g(x) = 4 x"),
    (r"By the way, our $P = \operatorname{foo}(x)$ is what everybody uses here.", r"P = 2 x", r"P + P = 4 x"),
    (r"By the way, our $f(x) = \operatorname{foo}(x)$ is what everybody uses here.",
     r"\nabla f(x) = 2 x", r"\nabla f(x) + \nabla f(x) = 4 x"),
    (r"By the way, our $f(x) = \operatorname{foo}(x)$ is what everybody uses here.", r"f'(x) = 2 x", r"2 f'(x) = 4 x"),
]  # fmt: skip


@pytest.mark.parametrize(("above", "claim", "after"), STATED)
def test_what_any_sentence_says_is_not_defined_by_a_display(above: str, claim: str, after: str) -> None:
    report = report_of(f"# Title\n\nLet $x \\in \\mathbb{{R}}$.\n\n{above}\n\n$$ {claim} $$\n\n$$ {after} $$\n")
    assert not [text for _, text in report.understood if text.startswith("defined by the display")]
    assert not [step for step in report.steps if step.verdict in GOOD]


def test_a_display_that_repeats_a_sentence_defines() -> None:
    above = r"Let $x \in \mathbb{R}^n$. By the way, our $P = x x^\top$ is what everybody uses here."
    report = report_of(f"{above}\n\n$$ P = x x^\\top $$\n\n$$ P = P^\\top $$\n")
    assert report.steps[-1].verdict in GOOD


def test_values_of_indices_in_a_sentence_say_nothing() -> None:
    above = r"Let $x \in \mathbb{R}^n$. The sum is over all entries, for $k = 1$ to the last."
    report = report_of(f"{above}\n\n$$ k = 2 x^\\top x $$\n\n$$ k \\ge 0 $$\n")
    assert report.steps[-1].verdict in GOOD


def test_equations_of_a_paragraph() -> None:
    paragraph = Paragraph(1, r"The exact one is $g(x) = 2 x$, and for $k = 1$ it is larger; $\operatorname{lse} = a$.")
    assert [(one.head, one.value) for one in equations_in(paragraph)] == [("g", "2 x"), (r"\textlse", "a")]


def test_equations_have_their_lines_and_those_of_cases_are_left_out() -> None:
    paragraph = Paragraph(3, "Here $a = b$.\nIf $b = 0$, it is $a = c$, and we look\nat $d = e$. Now $a = f$.")
    assert [(one.line, one.formula) for one in equations_in(paragraph)] == [(3, "a = b"), (5, "a = f")]


def test_a_display_does_not_define_a_member_of_what_a_sentence_defines_otherwise() -> None:
    above = r"Let $c \in \mathbb{R}$. Put $y_i := i c$ for $i \in \{1, 2\}$."
    assert [step.verdict in GOOD for step in report_of(f"{above}\n\n$$ y_1 = 3 c $$\n\n$$ 2 y_1 = 6 c $$\n").steps] == [
        False,
        False,
    ]


def test_a_definition_once_more_is_compared_with_nothing() -> None:
    shown = r"$$ g = \frac{a^{2}}{b} $$"
    text = f"Show that\n\n{shown}\n\nWe have a proof, so\n\n{shown}\n\n$$ g = \\frac{{a^{{2}}}}{{b}} = \\frac{{a a}}{{b}} $$\n\n$$ g b = a^2 $$\n"
    report = report_of(text)
    again = [(line, words) for line, words in report.understood if words.startswith("a definition once more: ")]
    assert [line for line, _ in again] == [7, 9] and "line 3 is read as one: nothing is compared" in again[0][1]
    assert [step.line for step in report.steps] == [9, 11] and all(step.verdict in GOOD for step in report.steps)


@pytest.mark.parametrize("other", [r"$$ g = \frac{a^{2 b}}{b} $$", r"$$ g = \frac{a}{b} $$"])
def test_another_equation_of_what_is_defined_is_a_step(other: str) -> None:
    report = report_of(f"Show that\n\n$$ g = \\frac{{a^{{2}}}}{{b}} $$\n\nso\n\n{other}\n")
    assert len(report.steps) == 1 and report.steps[0].verdict not in GOOD


def test_in_another_section_it_is_defined_again() -> None:
    shown = r"$$ g = \frac{a}{b} $$"
    report = report_of(f"# One\n\n{shown}\n\n# Two\n\n$$ g = a + b $$\n\n{shown}\n")
    assert report.steps[-1].verdict not in GOOD
