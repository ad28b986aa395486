r"""What stands in front of a declaration is dropped; a condition that only says what a symbol is declares it."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.document.blocks import Display, Heading, Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_openings import spell_openings
from attention_core.derivation.records import GOOD, Verdict


def spell(text: str, below: str = "x = x", more: str = "") -> str:
    blocks = spell_openings([Paragraph(1, text), Display(3, below), Paragraph(5, more)])
    assert isinstance(blocks[0], Paragraph)
    return blocks[0].text


def last(document: str) -> StepReport:
    return check_document(document, effort=Effort(seconds=2), infer=True).steps[-1]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"Suppose that we have data $x_1, \dots, x_n \in \mathbb{R}^d$.", r"Let $x_1, \dots, x_n \in \mathbb{R}^d$."),
        (r"Say $A$ is symmetric.", r"Suppose $A$ is symmetric."),
        (r"Now, let us say that $x > 0$. Then", r"Suppose $x > 0$. Then"),
        (r"If, say, $A$ is symmetric, then", r"If $A$ is symmetric, then"),
        (r"Suppose we have a sequence of $n$ **tokens**.", "."),
        (r"Let's say we are given $n$ samples, $x_1, \dots, x_n$.", "."),
        (r"At each step $t$ in a sequence, let $h \in \mathbb{R}^d$ be the state.",
         r"Let $h \in \mathbb{R}^d$ be the state."),
        (r"If $X \sim N(\mu, \sigma^2)$, then", r"Let $X \sim \mathcal{N}(\mu, \sigma^2)$. Then we have:"),
        (r"If $y = x + f(x)$, then:", r"Put $y = x + f(x)$. Then we have:"),
        (r"For the example function $f(t) = t^2$, the gradient is:", r"Put $f(t) = t^2$. The gradient is:"),
        (r"Here $\alpha \in (0, 1)$, and $1 - \alpha$ is called the *confidence level*.", r"Here $\alpha \in (0, 1)$."),
        (r"where $A$ is of size $m \times n$.", r"where $A \in \mathbb{R}^{m \times n}$."),
        (r"where $A \in S$ and $x$ is in $\mathbb{R}^n$.", r"where $A \in S$ and $x \in \mathbb{R}^n$."),
        (r"where $k$ is an index of frequency from $0$ to $N-1$.", r"where $k \in \{0, \dots, N-1\}$."),
        (r"The true class is $y$ (where $y \in \{1, \dots, K\}$).",
         r"Let $y \in \{1, \dots, K\}$. The true class is $y$."),
    ],
)  # fmt: skip
def test_an_opening_is_written_as_a_declaration(text: str, written: str) -> None:
    assert spell(text) == written


@pytest.mark.parametrize(
    "text",
    [
        r"Suppose we have independent samples $x_1, \dots, x_n \in \mathbb{R}^d$.",
        r"Suppose we have positive data $x_1, \dots, x_n \in \mathbb{R}^d$.",
        r"Suppose we have data $x_1, \dots, x_n$ with $x_1 = 0$.",
        r"For $x > 0$, let $y = 2 x$.",
        r"If $x > 0$, then:",
        r"If $x = y$, then:",
        r"For the function $f(t) = t^2$ we show that it is convex and $g = 0$.",
        r"Here $\alpha \in (0, 1)$, and $u$ is called a unit vector.",
        r"The sum is $s$ (where $s > 0$).",
        r"The integral of $f$ is $a \times b$.",
        r"where $x$ is in $[0, 1]$.",
        r"where $x + y$ is in $\mathbb{R}^n$.",
        r"where $N$ is $m \times n$.",  # a product of numbers
    ],
)
def test_what_says_more_stays(text: str) -> None:
    assert spell(text) == text


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (r"If $X \sim N(0, 1)$, then", r"If $X \sim \operatorname{Poisson}(2)$, then"),
        (r"If $y = x + 1$, then:", r"If $y = x - 1$, then:"),
        (r"For the function $f(t) = t^2$, the gradient is:", r"For the function $f(t) = t^3$, the gradient is:"),
    ],
)
def test_cases_stay_conditions(text: str, more: str) -> None:
    assert spell(text, more=more).startswith(text[:3])


def test_what_is_used_again_may_be_any_other() -> None:
    for text in (r"If $n = 2 m$, then", r"If $X \sim N(0, 1)$, then"):
        assert spell(text, more=f"For all other ${text[4]}$ we find").startswith("If")
    blocks = spell_openings([Paragraph(1, "For the function $f(t) = t^2$, the gradient is:"), Display(2, "t = t"),
                             Heading(4, 2, "More"), Display(6, "f(t) = 0")])  # fmt: skip
    assert isinstance(blocks[0], Paragraph) and blocks[0].text.startswith("For")


def test_a_condition_before_prose_stays() -> None:
    (block,) = spell_openings([Paragraph(1, r"If $y = x + 1$, then:")])
    assert isinstance(block, Paragraph) and block.text == r"If $y = x + 1$, then:"


def test_a_known_symbol_is_not_defined_anew() -> None:
    blocks = spell_openings([Paragraph(1, "Let $y > 0$."), Paragraph(3, "If $y = x + 1$, then:"), Display(5, "x = x")])
    assert isinstance(blocks[1], Paragraph) and blocks[1].text == "If $y = x + 1$, then:"


@pytest.mark.parametrize(
    ("words", "right", "wrong"),
    [
        (r"If $X \sim N(\mu, \sigma^2)$ then", r"\mathbb{E}[X] = \mu", r"\mathbb{E}[X] = 2 \mu"),
        (r"For an example function $f(x, y) = x^2 + y^2$, the value is:", "f(1, 2) = 5", "f(1, 2) = 6"),
        (r"Let $\delta > 0$ be some fixed constant.", r"|\delta| = \delta", r"|\delta| = -\delta"),
        (r"Let $n \in \mathbb{N}$. Suppose we have data $x_1, \dots, x_n \in \mathbb{R}$.",
         r"\sum_{i=1}^n 2 x_i = 2 \sum_{i=1}^n x_i", r"\sum_{i=1}^n 2 x_i = 3 \sum_{i=1}^n x_i"),
    ],
)  # fmt: skip
def test_a_step_below_an_opening_is_decided(words: str, right: str, wrong: str) -> None:
    assert last(f"{words}\n\n$$ {right} $$\n").verdict in GOOD
    assert last(f"{words}\n\n$$ {wrong} $$\n").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "words", ["Say $A$ is symmetric.", "Let's say that $A$ is symmetric.", "Suppose, say, $A$ is symmetric."]
)
def test_what_is_said_to_be_so_is_supposed(words: str) -> None:
    given = rf"Let $A, B \in \mathbb{{R}}^{{n \times n}}$. {words} Then"
    assert last(f"{given}\n\n$$ A^\\top = A $$\n").verdict in GOOD
    assert last(f"{given}\n\n$$ B^\\top = B $$\n").verdict not in GOOD


@pytest.mark.parametrize(
    "text",
    [
        "Say $A$ is symmetric if $A = A^T$.", "We say $A$ is symmetric.", "Say $A$ is symmetric?", "Say $x$ for the input.",
        "Say whether $A$ is symmetric.", "Say that $A$ is called symmetric.",
    ],
)  # fmt: skip
def test_what_a_word_means_is_not_supposed(text: str) -> None:
    assert spell(text) == text
