"""Sentences that declare and define at once: the right step below them is accepted, and its false twin is REFUTED."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Heading, Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_scopes import spell_scopes
from attention_core.derivation.records import GOOD, Verdict

# (the sentences, a right step, a false one)
READ: list[tuple[str, str, str]] = [
    (r"For $t \in \mathbb{R}$ let $\sigma(t) = 1/(1+e^{-t})$.",
     r"1 - \sigma(t) = \sigma(-t)", r"1 + \sigma(t) = \sigma(-t)"),
    (r"For $\alpha, \beta \in \mathbb{R}$, let $\operatorname{lse} = \log(e^\alpha + e^\beta)$.",
     r"\max(\alpha, \beta) \le \operatorname{lse}", r"\max(\alpha, \beta) + \log 2 \le \operatorname{lse}"),
    (r"Let $X \in \mathbb{R}^{n \times d}$, $y \in \mathbb{R}^n$ and $J(w) = \|Xw - y\|_2^2$ for $w \in \mathbb{R}^d$.",
     r"\nabla_w J(w) = 2 X^\top (X w - y)", r"\nabla_w J(w) = X^\top (X w - y)"),
    ("Throughout, $z \\in \\mathbb{R}^n$ is the vector of logits and\n$p = \\operatorname{softmax}(z)$, "
     r"so that $p_i = e^{z_i} / \sum_{j=1}^n e^{z_j}$.",
     r"\sum_{i=1}^n p_i = 1", r"\sum_{i=1}^n p_i^2 = 1"),
    (r"Let $z \in \mathbb{R}^n$. The true class is $y \in \{1, \dots, n\}$ and $\ell = -z_y$ is the loss.",
     r"\ell + z_y = 0", r"\ell - z_y = 0"),
    (r"The exact GELU is $g(x) = \frac{x}{2}(1 + \operatorname{erf}(\frac{x}{\sqrt 2}))$.",
     "g(x) - g(-x) = x", "g(x) + g(-x) = x"),
    (r"The loss is $L = \|x - y\|^2$, where $x, y \in \mathbb{R}^n$.", r"L \ge 0", r"L \ge 1"),
    (r"Let $X_1, \dots, X_n$ be i.i.d. with $X_i \sim \mathcal{N}(\mu, \sigma^2)$ and $\sigma > 0$, and let "
     r"$\bar X = \frac{1}{n} \sum_{i=1}^n X_i$.",
     r"\operatorname{Var}(\bar X) = \frac{\sigma^2}{n}", r"\operatorname{Var}(\bar X) = \frac{\sigma^2}{n^2}"),
    (r"Let $x \in \mathbb{R}^d$ with mean $\mu = \operatorname{mean}(x)$ and variance $s^2 = \operatorname{var}(x)$, "
     r"where $\operatorname{var}$ divides by $d$.",
     r"s^2 = \frac{1}{d} \|x\|_2^2 - \mu^2", r"s^2 = \frac{1}{d} \|x\|_2^2 + \mu^2"),
    (r"Let $x \in \mathbb{R}^d$ with mean $\mu = \frac1d \sum_{i=1}^d x_i$ and variance $\sigma^2 = \frac1d \sum_{i=1}^d "
     r"(x_i - \mu)^2$, where $\sigma > 0$.",
     r"\sum_{i=1}^d \frac{(x_i - \mu)^2}{\sigma^2} = d", r"\sum_{i=1}^d \frac{(x_i - \mu)^2}{\sigma} = d"),
    (r"Let $x \in \mathbb{R}^d$ with mean $\mu = \frac1d \sum_{i=1}^d x_i$ and variance $\sigma^2 = \frac1d \sum_{i=1}^d "
     r"(x_i - \mu)^2 + \epsilon$ where $\epsilon > 0$.",
     r"\sum_{i=1}^d (x_i - \mu)^2 = d (\sigma^2 - \epsilon)", r"\sum_{i=1}^d (x_i - \mu)^2 = d \sigma^2"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ be symmetric and $x, y \in \mathbb{R}^n$." "\n\n"
     r"(c) The quadratic function $f(x) = \frac12 x^\top A x - y^\top x$ has",
     r"\nabla f(x) = A x - y", r"\nabla f(x) = A x + y"),
    (r"Write $r = \|x\|_2$, where $x \in \mathbb{R}^n$.", r"r^2 = x^\top x", r"r = x^\top x"),
    (r"Let $X \sim \mathcal{N}(0, 1)$ and $Y = a X + b$, where $a, b \in \mathbb{R}$.",
     r"\operatorname{Var}(Y) = a^2", r"\operatorname{Var}(Y) = a"),
    (r"We denote by $m = \frac{1}{n} \sum_{i=1}^n x_i$ the mean of $x \in \mathbb{R}^n$.",
     r"n m = \sum_{i=1}^n x_i", r"m = \sum_{i=1}^n x_i"),
    (r"Fix a temperature $\tau > 0$. Let $z \in \mathbb{R}^n$ and $p = \operatorname{softmax}(z/\tau)$.",
     r"\sum_{i=1}^n p_i = 1", r"\sum_{i=1}^n p_i = \tau"),
    (r"With a bit of calculus, for $0 < t < \pi/2$:", r"\sin t \le t", r"t \le \sin t"),
    (r"Let $Q, K \in \mathbb{R}^{n \times d}$ and $\tau = 1/\sqrt d$. We write $S = \tau Q K^\top \in \mathbb{R}^{n \times n}$,"
     r" $P = \operatorname{softmax}(S) \in \mathbb{R}^{n \times n}$, where the softmax is applied to every row.",
     r"\sum_{j=1}^n P_{1j} = 1", r"\sum_{j=1}^n P_{j1} = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("sentences", "right", "wrong"), READ)
def test_steps_below_are_decided(sentences: str, right: str, wrong: str) -> None:
    for formula, holds in ((right, True), (wrong, False)):
        step = check_document(f"{sentences}\n\n$$ {formula} $$\n", effort=Effort(seconds=3.0), infer=True).steps[-1]
        assert step.verdict in GOOD if holds else step.verdict is Verdict.REFUTED, step.evidence.text
        assert step.line == 3 + sentences.count("\n")


KEPT = [
    r"Let $x \in \mathbb{R}$. Write $r = 2 x$, where $x > 0$.",  # of a known symbol
    r"Write $r = 2 x$, where $x = y + 1$.",
    r"Denote by $m = a + b$ the mean of $x \in \mathbb{R}^n$.",  # a claim about x
    r"Let $a, b, x \in \mathbb{R}$. The solution is $x = a/b$.",  # of a known symbol: a claim
    r"Let $c \in \mathbb{R}^n$. The unit vector is $u = 2 c$.",  # its name says that c is of length 1/2
    r"Let $f(x) = x$ for $x \ge 0$ and $f(x) = 0$ for $x < 0$.",  # by cases
    r"Let $x > 0$. For $x \in \mathbb{R}$ let $y = x^2$.",  # a known symbol
    r"Let $x \in \mathbb{R}^d$ and $v = \operatorname{var}(x)$, where $\operatorname{var}$ divides by $d - 1$.",
    r"Let $x \in \mathbb{R}^d$ with mean $\mu = \frac1d \sum_i x_i$, where $x_1 = y$.",
    r"Let $x \in \mathbb{R}^d$ with mean $\mu = \frac1d \sum_i x_i$, where $x \in S$.",
    r"Let $X_1, \dots, X_n$ be i.i.d. with $X_i \sim \mathcal{N}(\mu_i, 1)$.",  # each has a law of its own
    r"Suppose the exact one is $f(x) = x^2$ if $x > 0$.",
    r"The determinant is $a + b$ with $a > c$.",  # c may be declared below
    r"The determinant is $a + b$ with $c > 0$.",
    r"Throughout, $x = y$ is the case.",
]


@pytest.mark.parametrize("sentence", KEPT)
def test_what_may_say_more_stays(sentence: str) -> None:
    assert spell_scopes([Paragraph(1, sentence)]) == [Paragraph(1, sentence)]


@pytest.mark.parametrize(
    "formula", [r"g(x) = x^\top x", r"g(x) = |x|", r"g(x) = \max(x, 0)", r"g(z) = z^2", r"g(n) = n + 1", r"g(x) = A x"]
)
def test_the_argument_of_a_function_is_a_number_only_where_nothing_makes_it_an_array(formula: str) -> None:
    spelled = spell_scopes([Paragraph(1, f"The exact one is ${formula}$.")])[0].text
    assert "Let" not in spelled


def test_the_argument_of_a_function_keeps_what_is_said_of_it() -> None:
    blocks = spell_scopes([Paragraph(1, "Let $x > 0$."), Paragraph(3, r"The exact one is $g(x) = \log x$.")])
    assert blocks[-1].text == r"Put $g(x) = \log x$."


def test_symbols_of_an_ended_section_are_new_again() -> None:
    sentence = Paragraph(5, r"For $t \in \mathbb{R}$ let $y = t^2$.")
    section = [Heading(1, 2, "One"), Paragraph(3, r"Let $t > 0$.")]
    spelled = r"Let $t \in \mathbb{R}$. Put $y = t^2$."
    assert spell_scopes([*section, Heading(4, 2, "Two"), sentence])[-1].text == spelled
    assert spell_scopes([*section, sentence])[-1] == sentence
    assert spell_scopes([Heading(1, 2, "Notation"), section[1], Heading(4, 2, "Two"), sentence])[-1] == sentence


def test_a_space_that_the_value_does_not_have_defines_nothing() -> None:
    text = r"Let $Q \in \mathbb{R}^{n \times d}$. We write $S = Q^\top Q \in \mathbb{R}^{n \times n}$."
    for formula in (r"S = Q^\top Q", r"S = 2 Q^\top Q"):
        step = check_document(f"{text}\n\n$$ {formula} $$\n", effort=Effort(seconds=3.0), infer=True).steps[-1]
        assert step.verdict not in GOOD
