"""Sentences that define or declare in another order, with other verbs or words between, are read as what they say."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_sentences import spell_sentences
from attention_core.derivation.records import GOOD, Verdict

HEAD = r"Let $x, y \in \mathbb{R}$."


def last(text: str) -> Verdict:
    return check_document(text, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict


@pytest.mark.parametrize("between", ["\n\n", " "])
@pytest.mark.parametrize(
    "sentence",
    [
        "Put $s = xy$ and $t = s^2$.",
        "Set $s = xy$, $t = s^2$.",
        "Write $s = xy$ and then $t = s^2$.",
        "Take $s = xy$ and $t = s^2$.",
        "Let us put $s = xy$, and $t = s^2$.",
        "Now set $s = xy$, then $t = s^2$.",
        "Let us write $s = xy$. We put $t = s^2$.",
        "Set $s = xy$, $r = s + 1$ and $t = (r - 1)^2$.",
    ],
)
def test_definitions_behind_each_other_are_read(sentence: str, between: str) -> None:
    assert last(f"{HEAD}{between}{sentence} Hence\n\n$$ t = x^2 y^2 $$\n") in GOOD
    assert last(f"{HEAD}{between}{sentence} Hence\n\n$$ t = x^2 y^3 $$\n") is Verdict.REFUTED


def test_definitions_of_undeclared_letters_are_read() -> None:
    for verb in ("Put", "Set", "Write", "Take", "Let us put"):
        assert last(f"{verb} $s = xy$ and $t = s^2$.\n\n$$ t = x^2 y^2 $$\n") in GOOD
        assert last(f"{verb} $s = xy$ and $t = s^2$. Hence\n\n$$ t = x^3 y^2 $$\n") is Verdict.REFUTED


@pytest.mark.parametrize("sentence", ["Now put \x000\x00 if \x001\x00.", "We write \x001\x00.", "Put \x002\x00."])
def test_what_is_no_list_of_definitions_stays(sentence: str) -> None:
    assert spell_sentences(sentence, ["s = x y", "x > 0", "x"]) == sentence


@pytest.mark.parametrize(
    ("sentence", "right", "wrong"),
    [
        (r"Suppose $\|u\| = 2$ for a vector $u \in \mathbb{R}^n$.", r"u^\top u = 4", r"u^\top u = 2"),
        (r"Set $m = \frac12 (a + b)$ for real numbers $a$ and $b$.", "2 m - a = b", "m = a"),
        (r"Let $h = g(t)$, where $g(s) = s^2 + 1$ and $t \in \mathbb{R}$.", r"h \ge 1", r"h \ge 2"),
        (r"Consider a pair of real numbers $(a, b)$ with $a + b = 1$.", "a^2 - b^2 = a - b", "a = b"),
        (r"Let $0 < r \in \mathbb{R}$.", r"r^2 > 0", r"r > 1"),
        (r"Write $z$ for the zero vector in $\mathbb{R}^n$.", r"\|z\| = 0", r"\|z\| = 1"),
        (r"Let $x \in \mathbb{R}^n$ lie in the ball of radius $2$ around the origin.", r"\|x\| \le 3", r"\|x\| \le 1"),
        (r"We fix real numbers $w_1, \dots, w_n$ that sum to one.", r"\sum_{i=1}^n 2 w_i = 2", r"\sum_{i=1}^n 2 w_i = 1"),
        (r"Let $a$ and $b$ be numbers, at least one of which is nonzero.", "a^2 + b^2 > 0", "a + b > 0"),
        (r"Let $v \in \mathbb{R}^n$ be a vector whose entries are all equal to $c$.", r"v_1 = c", r"\|v\|^2 = c^2"),
        (r"Suppose $x$ solves $B x = c$, where $B \in \mathbb{R}^{n \times n}$ is invertible and $c \in \mathbb{R}^n$.",
         r"x = B^{-1} c", r"\|x\| = \|c\|"),
        (r"Let $X_1, \dots, X_n$ be a random sample from the normal distribution with mean $m$ and known variance $v$.",
         r"\mathbb{E}[X_1] = m", r"\mathbb{E}[X_1] = v"),
        (r"The random variable $N$ follows a Poisson distribution with rate $r$.", r"\operatorname{Var}(N) = r",
         r"\mathbb{E}[N] = r^2"),
        (r"Let $S$ be the sum of i.i.d. random variables $X_1, \dots, X_n$ with mean $m$ and variance $v$.",
         r"\mathbb{E}[S] = n m", r"\mathbb{E}[S] = m"),
        (r"Let $X$ and $Y$ be independent random variables with finite variances.",
         r"\operatorname{Var}(X - Y) = \operatorname{Var}(X) + \operatorname{Var}(Y)", r"\mathbb{E}[X Y] = 0"),
        (r"Let $\mu$ be a real eigenvalue of the symmetric matrix $A \in \mathbb{R}^{n \times n}$, with unit eigenvector $v$.",
         r"v^\top A v = \mu", r"v^\top A v = 1"),
        (r"Given positive integers $k$, $m$ and $n$,", r"k m n \ge 1", r"k \ge m"),
        (r"Throughout, let $t \in (0, 1)$ be fixed.", r"t^2 < 1", r"t < \frac12"),
        (r"We assume that $x$ and $y$ are real and that $x < y$.", "y - x > 0", "y > 0"),
        (r"Suppose every entry of $x \in \mathbb{R}^n$ lies in $[0, 1]$.", r"\sum_{i=1}^n x_i \le n", r"\sum_{i=1}^n x_i \le 1"),
        (r"Let $S$ and $T$ be independent exponential random variables with rates $a$ and $b$.",
         r"\mathbb{E}[S T] = \frac{1}{a b}", r"\mathbb{E}[S T] = a b"),
        (r"Let $E \in \mathbb{R}^{n \times n}$ be the matrix with all entries equal to one.", "E^2 = n E", "E^2 = 2 n E"),
        (r"Let $z$ be a complex number.", r"z \bar{z} = |z|^2", r"z^2 = |z|^2"),
        (r"Suppose $a > 0$ and $b > 0$ satisfy $a b = 1$.", r"a + b \ge 2", r"a + b \ge 3"),
    ],
)  # fmt: skip
def test_a_sentence_is_read_as_what_it_says(sentence: str, right: str, wrong: str) -> None:
    assert last(f"{sentence}\n\n$$ {right} $$\n") in GOOD
    claim = "Hence\n\n" if sentence.endswith(".") else ""
    assert last(f"{sentence}\n\n{claim}$$ {wrong} $$\n") is Verdict.REFUTED


@pytest.mark.parametrize(
    "sentence",
    [
        r"Let $X$ be a random variable with density $2 x$ on $[0, 1]$.",
        r"Let $X$ be a random variable. Its density is symmetric.",
        r"Let $X$ be a bounded random variable.",
    ],
)
def test_what_else_is_said_of_a_random_variable_is_not_passed_over(sentence: str) -> None:
    assert last(f"{sentence} Hence\n\n$$ \\mathbb{{E}}[X] = 0 $$\n") is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("sentence", "step"),
    [
        (r"Let $p = x / 2$ be the attention weights, with $x \in \mathbb{R}^n$.", r"\sum_{i=1}^n x_i = 3"),
        (r"Suppose $g(x) > 0$ for all real numbers $x$.", "g(2) > 0"),
        (r"Let $X_1, \dots, X_n$ be random variables whose mean is zero.", r"X_1 + 1 = 2"),
        (r"Let $S$ and $T$ be Poisson with rates $a$ and $b$, and let $S T = 0$.", r"\mathbb{E}[S] = b"),
        (r"Let $x \in \mathbb{R}^n$ be in the ball of radius $1$.", r"\|x\| \le 1"),
        (r"Let $X$ and $Y$ be independent random variables. Suppose $X = Y$.", r"\mathbb{E}[X Y] = \mathbb{E}[X]^2"),
    ],
)
def test_what_says_more_than_a_rule_knows_is_not_taken_for_it(sentence: str, step: str) -> None:
    assert last(f"{sentence} Hence\n\n$$ {step} $$\n") is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "sentence",
    [
        r"Suppose $x$ is a lucky number, at least one of whose friends is nonzero.",
        r"Suppose $x \in \mathbb{R}$ lies in the ball of radius $r$ around $y$.",
        r"Suppose every second entry of $x \in \mathbb{R}^n$ lies in $[0, 1]$.",
    ],
)
def test_words_that_no_rule_knows_keep_a_step_undecided(sentence: str) -> None:
    assert last(f"{sentence} Hence\n\n$$ x = x + 1 $$\n") is Verdict.UNDECIDED
