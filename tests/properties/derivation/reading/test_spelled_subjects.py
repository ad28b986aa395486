"""Sentences with a subject that declare and define: right steps below are accepted, and false twins are REFUTED."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_scopes import spell_scopes
from attention_core.derivation.records import GOOD, Verdict

R = r"\in \mathbb{R}"

# (the sentences, a right step, a false one)
READ: list[tuple[str, str, str]] = [
    (rf"Here and below, $q, k {R}^d$ are the query and the key, and $s = q^\top k$.", r"s = k^\top q", r"s = q^\top q"),
    (r"In this note $p \in (0,1)$ is a probability and $h = -p\log p - (1-p)\log(1-p)$ is its entropy.",
     r"h \le \log 2", r"h \ge \log 2"),
    (r"The learning rate is $\eta > 0$.", r"\eta \le \eta + 1", r"\eta \le 1"),
    (rf"The logistic function is $\sigma(t) = 1/(1+e^{{-t}})$ for $t {R}$.",
     r"\sigma(t) + \sigma(-t) = 1", r"\sigma(t) - \sigma(-t) = 1"),
    (rf"The weights are $w = \operatorname{{softmax}}(s)$ with $s {R}^n$.", r"\sum_{i=1}^n w_i = 1", r"\sum_{i=1}^n w_i^2 = 1"),
    (rf"The input is $x {R}^d$, the query is $w {R}^d$ and the output is $y = w^\top x$.", r"y = x^\top w", r"y = x^\top x"),
    (rf"A neuron computes $y = \tanh(w^\top x + b)$, where $x, w {R}^d$ and $b {R}$.", r"|y| \le 1", r"|y| \le \frac12"),
    (r"Recall the sigmoid $\sigma(t) = 1/(1+e^{-t})$.", r"\sigma(t) + \sigma(-t) = 1", r"\sigma(t) - \sigma(-t) = 1"),
    (r"Consider $f(x) = e^{-x^2/2}$ on the real line.", r"f(x) \le 1", r"f(x) \le \frac12"),
    (r"We study the function $f(x) = x^3 - x$.", r"f(-x) = -f(x)", r"f(-x) = f(x)"),
    (r"Denote the sigmoid by $\sigma(t) = 1/(1+e^{-t})$.", r"\sigma(t) \le 1", r"\sigma(t) \le \frac12"),
    (rf"Given $x {R}^n$, the network returns $h = 2 x$.", r"h^\top h = 4 x^\top x", r"h^\top h = 2 x^\top x"),
    (r"The function $f(t) = t e^{-t}$ is defined for $t \ge 0$.", r"f(t) \ge 0", r"f(t) \ge 1"),
]  # fmt: skip


@pytest.mark.parametrize(("sentences", "right", "wrong"), READ)
def test_steps_below_are_decided(sentences: str, right: str, wrong: str) -> None:
    for formula, holds in ((right, True), (wrong, False)):
        step = check_document(f"{sentences}\n\n$$ {formula} $$\n", effort=Effort(seconds=3.0), infer=True).steps[-1]
        assert step.verdict in GOOD if holds else step.verdict is Verdict.REFUTED, step.evidence.text


@pytest.mark.parametrize(
    "sentence",
    [
        rf"Let $x, w {R}$. A neuron computes $y = w x$, and the output is $y = 1$.",  # a value of what has one
        rf"Let $x {R}$. The solution is $x = 2$ and the input is $a {R}$.",
        r"Recall the bound $f(x) = a x$.",  # of an a that the sentence may say more of
        r"The function $f(t) = t$ is defined for $s \ge 0$.",
        r"The constraint is $x = y + 1$, and $y = 2$.",
        rf"Throughout, $x {R}^n$ is the kernel of $A$.",
        r"The wrong formula is $g(x) = x^2$.",
        r"The claim is $g(x) = x^2$.",
        r"Denote the positive number by $c = a b$.",
        rf"Let $x {R}$. Given $x > 0$, the network returns $h = 2 x$.",
        r"A wrong program computes $y = 2$.",
    ],
)
def test_what_may_say_more_stays(sentence: str) -> None:
    assert spell_scopes([Paragraph(1, sentence)]) == [Paragraph(1, sentence)]


@pytest.mark.parametrize(
    ("sentence", "false"),
    [
        (rf"The unit vector is $u {R}^n$.", r"\|u\|_2 = 2"),
        (rf"The positive weight is $w {R}$.", r"w \le 0"),
        (rf"The integer is $k {R}$.", r"k = k + 1"),
    ],
)
def test_words_that_restrict_are_read_or_quoted(sentence: str, false: str) -> None:
    """What may rest on such words about a symbol is not refuted, and neither are right steps."""
    right = {r"\|u\|_2 = 2": r"\|u\|_2 = 1", r"w \le 0": "w > 0", "k = k + 1": r"k (k + 1) \ge 0"}[false]
    step = check_document(f"{sentence}\n\n$$ {right} $$\n", effort=Effort(seconds=3.0), infer=True).steps[-1]
    assert step.verdict is not Verdict.REFUTED, step.evidence.text
