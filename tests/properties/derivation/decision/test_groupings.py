"""A step that is true with other brackets, or with rows as columns, is not REFUTED; the reading is named."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

X = r"Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$, $t, c \in \mathbb{R}$. Put $m := \frac{1}{n} \sum_{j=1}^n x_j$."
A = r"Let $n, d \in \mathbb{N}$, $A \in \mathbb{R}^{n \times n}$, $Q, K \in \mathbb{R}^{n \times d}$, $i, j \in [n]$."
Z = r"Let $u, v \in \mathbb{R}$, $s > 0$ and $Z, W \sim \mathcal{N}(u, s^2)$ independent."


def decide(head: str, formula: str) -> tuple[str, str]:
    (step,) = check_document(f"{head}\n\n$$ {formula} $$\n").steps
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize(
    ("head", "formula", "read"),
    [
        (X, r"\sum_{i=1}^n x_i - m = 0", r"\sum_{i = 1}^{n} (x_{i} - m)"),
        (X, r"c - \sum_{i=1}^n 2 i - 1 = c - n^2", r"\sum_{i = 1}^{n} (2 i - 1)"),
        (X, r"\prod_{i=1}^n i + 1 = (n + 1) \prod_{i=1}^n i", r"\prod_{i = 1}^{n} (i + 1)"),
        (X, r"\frac{d}{dt} c t^2 + 3 t = 2 c t + 3", r"\frac{d}{d t} (c t^{2} + 3 t)"),
        (X, r"\nabla_t t^2 + 3 t = 2 t + 3", r"\nabla_{t} (t^{2} + 3 t)"),
        (X, r"\frac{\partial}{\partial t} (t + c)(t - c) = 2 t", r"\nabla_{t} (t + c) (t - c)"),
        (Z, r"\mathbb{E} (Z + u)(Z - u) = s^2", r"\operatorname{E}((Z + u) (Z - u))"),
        (Z, r"\operatorname{Var}(Z) = \mathbb{E}(Z - u)^2", r"\operatorname{E}((Z - u)^{2})"),
        (X, r"\exp t + c = \exp(t) \exp(c)", r"\exp((t + c))"),
        (Z, r"\operatorname{Var} Z + W = 2 s^2", r"\operatorname{Var}((Z + W))"),
        (Z, r"2 \mathbb{E} Z - W = 0", r"\operatorname{E}((Z - W))"),
        (A, r"\operatorname{tr} (A)^2 = \operatorname{tr}(A A)", r"\operatorname{tr}((A)^{2})"),
        (X, r"\log (1 + t^2)^2 = 2 \log(1 + t^2)", r"\log((1 + t^{2})^{2})"),
        (X, r"\log (n)^2 = 2 \log n", r"\log((n)^{2})"),
        (Z, r"\mathbb{E} (\sum_{i=1}^2 (Z - u))^2 = 4 s^2", r"(\sum_{i = 1}^{2} (Z - u))^{2}"),
        (A, r"A^2_{ij} = \sum_{k=1}^n A_{ik} A_{kj}", r"(A^{2})_{i j}"),
        (A, r"(Q K^\top)_{ij} = Q_i^\top K_j", r"Q_{i} K_{j}^\top"),
        (A, r"A A^\top = \sum_{k=1}^n A_k A_k^\top", r"A_{:,k}"),
        ("", r"1\frac12 = 1.5", r"(1 + \frac{1}{2})"),
        ("", r"100^2 = 10.000", "10000"),
    ],
)
def test_the_reading_that_makes_a_step_true_is_named(head: str, formula: str, read: str) -> None:
    verdict, words = decide(head, formula)
    assert verdict == "AMBIGUOUS", words
    assert f"{read}$" in words or f"{read}" in words, words


@pytest.mark.parametrize(
    ("head", "formula"),
    [
        (X, r"\sum_{i=1}^n x_i - m = 2"),
        (X, r"\sum_{i=1}^n (x_i - m) = 1"),
        (X, r"\exp(t) + c = \exp(t) \exp(c)"),
        (X, r"n \log n - n \ge n \log n"),
        (X, r"\exp t - t \le 1"),
        (X, r"\prod_{i=1}^n i + 1 \ne 3"),
        (X, r"\sum_{i=1}^n (x_i - m) = \sum_{i=1}^n x_i - m"),
        (A, r"\operatorname{tr}(A)^2 \ge \operatorname{tr}(A A^\top)"),
        (Z, r"\mathbb{E}(Z^2) = \mathbb{E}(Z)^2"),
        (Z, r"\mathbb{E}[Z]^2 = u^2 + s^2"),
        (X, r"\exp t + c = 2 \exp(t) \exp(c)"),
        (A, r"\operatorname{tr} (A)^2 = 2 \operatorname{tr}(A A)"),
        (X, r"\frac{d}{dt} c t^2 + 3 t = 2 c t + 4"),
        (Z, r"\mathbb{E}(Z - u)^2 = 2 s^2"),
        (A, r"A^2_{ij} = \sum_{k=1}^n A_{ik} A_{jk}"),
        (A, r"(Q K^\top)_{ij} = 2 Q_i^\top K_j"),
        ("", r"1\frac12 = 1.6"),
        ("", r"100^2 = 20.000"),
    ],
)
def test_what_is_false_in_every_reading_is_refuted(head: str, formula: str) -> None:
    verdict, words = decide(head, formula)
    assert verdict == "REFUTED", words


@pytest.mark.parametrize(
    ("head", "formula"),
    [
        (Z, r"\mathbb{E}(Z - u)^2 = 0"), ("", r"2\frac12 = 1"), (Z, r"\mathbb{E} (2 Z)^2 = 4 u^2"),
        (Z, r"\mathbb{E} (Z + u) (Z - u) = 2 u (Z - u)"), (Z, r"\operatorname{Var} Z + W = s^2 + W"),
        (Z, r"\mathbb{E} (\sum_{i=1}^2 (Z - u))^2 = 0"), (X, r"\frac{\partial}{\partial t} (t + c) (t - c) = t - c"),
        (A, r"A^2_{ij} = A_{ij} A_{ij}"), (A, r"A_{ij}^2 = A^{2}_{ij}"),
    ],
)  # fmt: skip
def test_what_holds_as_nobody_reads_it_is_not_accepted(head: str, formula: str) -> None:
    verdict, words = decide(head, formula)
    assert verdict == "AMBIGUOUS" and "which is usual" in words, words


def test_what_holds_as_the_usual_reading_has_it_too_is_accepted() -> None:
    assert decide(Z, r"\operatorname{Var}(Z) = \mathbb{E}(Z^2) - \mathbb{E}(Z)^2")[0] == "PROVED"
    assert decide(X, r"2 \tfrac{1}{2} t = t")[0] == "PROVED"


@pytest.mark.parametrize(
    ("head", "formula"),
    [
        (Z, r"\mathbb{E}[Z - u] (Z - u) = 0"), (Z, r"\mathbb{E} (Z - u) (v + 1) = 0"), (A, r"Q^2_{ij} = Q_{ij} Q_{ij}"),
        (A, r"A_{ij}^2 = A_{ij} A_{ij}"), (Z, r"\mathbb{E} Z + u = 2 u"), (Z, r"\mathbb{E} Z + \mathbb{E} W = 2 u"),
        (X, r"\frac{\partial}{\partial t} (t + c) c = c"), (X, r"\log(n)^2 = \log n \log n"),
    ],
)  # fmt: skip
def test_what_is_read_in_one_way_is_accepted(head: str, formula: str) -> None:
    assert decide(head, formula)[0] in ("PROVED", "EXACT", "AGREES")


def test_a_number_has_one_point() -> None:
    verdict, words = decide("", "10^6 = 1.000.000")
    assert verdict == "UNREADABLE" and "a point too many" in words


@pytest.mark.parametrize(
    "head", ["Let $n \\in \\mathbb{N}$, $s \\in \\mathbb{R}^n$ with $n = 1$.", X + "\n\nFor $n = 1$:"]
)
def test_an_array_of_one_entry_may_be_meant_as_a_number(head: str) -> None:
    letter = "s" if "$s" in head else "x"
    verdict, words = decide(head, rf"\operatorname{{softmax}}({letter}) = 1")
    assert verdict == "UNDECIDED" and "at n = 1" in words
    assert decide(X, r"\operatorname{softmax}(x) = 1")[0] == "REFUTED"


def test_a_slash_may_divide_by_all_that_follows() -> None:
    for formula in ("1/2x = 1/(2x)", "3/4 x y = 3 / (4 x y)"):
        (step,) = check_document(f"Let $x, y \\in \\mathbb{{R}}$.\n\n$$ {formula} $$\n").steps
        assert step.verdict == "AMBIGUOUS" and "1/2x" in step.evidence.text
    (step,) = check_document("Let $x \\in \\mathbb{R}$.\n\n$$ 1/2x = 1/(3x) $$\n").steps
    assert step.verdict == "REFUTED"
