r"""Probabilities of intervals and of several events, of declared laws."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

ENDS = r"let $a, b \in \mathbb{R}$ with $0 < a < b$"
EXPONENTIAL = (
    rf"Let $X \sim \mathrm{{Exp}}(\lambda)$ with $\lambda > 0$ and {ENDS}. Put $F(x) := 1 - e^{{-\lambda x}}$."
)
UNIFORM = r"Let $X \sim \operatorname{Uniform}[0, 1]$ and let $a, b \in \mathbb{R}$ with $0 < a < b < 1$."
NORMAL = rf"Let $X \sim \mathcal{{N}}(0, 1)$ and {ENDS}."
COIN = r"Let $X \sim \operatorname{Bernoulli}(p)$."
FREE = r"Let $X, Y \sim \mathrm{Exp}(1)$ be independent and $x, y > 0$."
GOOD = {"PROVED", "EXACT", "AGREES"}


def verdict(head: str, formula: str) -> str:
    return str(check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(
    ("head", "right", "wrong"),
    [
        (EXPONENTIAL, r"P(X \le a) = F(a)", r"P(X \le a) = F(b)"),
        (EXPONENTIAL, r"P(a < X < b) = F(b) - F(a)", r"P(a < X < b) = F(a) - F(b)"),
        (EXPONENTIAL, r"P(X > a + b) = P(X > a) P(X > b)", r"P(X > a + b) = P(X > a) + P(X > b)"),
        (UNIFORM, r"\Pr(a < X \le b) = b - a", r"\Pr(a < X \le b) = b + a"),
        (UNIFORM, r"\Pr(b > X > a) = b - a", r"\Pr(b > X > a) = a b"),
        (NORMAL, r"\Pr(-a < X < a) = 2 \Pr(X < a) - 1", r"\Pr(-a < X < a) = 2 \Pr(X < a)"),
        (COIN, r"\Pr(0 \le X < 1) = 1 - p", r"\Pr(0 < X < 1) = 1 - p"),
        (COIN, r"\Pr(0 < X \le 1) = p", r"\Pr(0 \le X \le 1) = p"),
        (FREE, r"P(X \le x, Y \le y) = (1 - e^{-x}) (1 - e^{-y})", r"P(X \le x, Y \le y) = 1 - e^{-x - y}"),
        (FREE, r"P(X \le x, Y > y) = P(X \le x) P(Y > y)", r"P(X \le x, Y > y) = P(X \le x) P(Y \le y)"),
    ],
)
def test_events_of_declared_laws(head: str, right: str, wrong: str) -> None:
    assert verdict(head, right) in GOOD
    assert verdict(head, wrong) == "REFUTED"


def test_without_independence_a_joint_event_stays_open() -> None:
    head = FREE.replace(" be independent", "")
    assert verdict(head, r"P(X \le x, Y \le y) = P(X \le x) P(Y \le y)") == "UNDECIDED"
    assert verdict(FREE, r"P(X \le x, X \le y) = P(X \le x) P(X \le y)") == "UNDECIDED"


def test_an_interval_with_random_ends_stays_open() -> None:
    assert verdict(FREE, r"P(Y < X < x) = P(X < x) - P(X \le Y)") == "UNDECIDED"
