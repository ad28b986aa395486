"""Plurals, structures, orders and bounds in words: what holds under them is accepted, what does not is refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.properties import properties_in
from attention_core.derivation.records import GOOD, Verdict

M = r"Let $n \in \mathbb{N}$, $A, B \in \mathbb{R}^{n \times n}$ and $x \in \mathbb{R}^n$."
V = r"Let $n \in \mathbb{N}$ with $n \ge 2$ and $x \in \mathbb{R}^n$."
N = r"Let $a, b \in \mathbb{R}$."
K = r"Let $n, d \in \mathbb{N}$ and $k_1, \dots, k_n \in \mathbb{R}^d$."
READ = [
    (M, "Let $A$ and $B$ be rotation matrices.", r"\det(A B) = 1", r"\det(A B) = 2"),
    (M, "Assume that $A$ and $B$ are orthogonal matrices.", r"\|A B x\| = \|x\|", r"\|A B x\| = 2 \|x\| + 1"),
    (M, "Let $A$ and $B$ be permutation matrices.", r"\|A B x\| = \|x\|", r"\|A B x\| = \|x\| + 1"),
    (M, "Let $A$ and $B$ be commuting matrices.", r"A B A = A A B", r"A B A = A A B + I_n"),
    (M, "Assume that $A$ and $B$ commute.", r"A B x = B A x", r"x^\top A B x = x^\top B A x + 1"),
    (M, "Let $A$ be negative semidefinite.", r"x^\top A x \le 0", r"x^\top A x \ge 1"),
    (M, "Let $A$ be tridiagonal.", r"\sum_{i=1}^n A_{i i} = \operatorname{tr}(A)", r"\operatorname{tr}(A) = 1"),
    (M, "Let $A$ have a zero diagonal.", r"\operatorname{tr}(A) = 0", r"\operatorname{tr}(A) = 1"),
    (M, "Let $A$ be strictly upper triangular.", r"\operatorname{tr}(A) = 0", r"\operatorname{tr}(A) = 1"),
    (M, "Let $A$ be an involution.", r"A A A x = A x", r"A A A x = A x + x + \mathbf{1}_n"),
    (V, "Let $x$ be in increasing order.", r"x_1 \le x_2", r"x_1 > x_2"),
    (V, "Let $x$ be centred.", r"\mathbf{1}_n^\top x = 0", r"\mathbf{1}_n^\top x = 1"),
    (N, "Let $a$ and $b$ be positive scalars.", r"|a b| = a b", r"|a b| = -a b"),
    (N, "Let $a$ lie between 0 and 1.", r"a^2 \le a", r"a^2 \ge a + 1"),
    (N, "Let $a$ and $b$ be probabilities.", r"a b \le 1", r"a b \ge 2"),
    (N, "Let $a$ be at most 1.5 in absolute value.", r"a^2 \le \frac{9}{4}", r"a^2 \ge \frac{5}{2}"),
    (N, "Let $a$ exceed 0.5.", r"a \ge \frac{1}{2}", r"a \le \frac{1}{2}"),
    (K, "Let $k_1, \\dots, k_n$ be linearly independent.", r"\|k_1\| > 0", r"\|k_1\| < 0"),
    (r"Let $n \in \mathbb{N}$.", "Assume that $n$ is even.", r"(-1)^n = 1", r"(-1)^n = -1"),
    (r"Let $n \in \mathbb{N}$.", "Assume that $n$ is a perfect square.", r"\sqrt{n} \le n", r"\sqrt{n} > n"),
]


def verdicts(symbols: str, sentence: str, *steps: str) -> list[Verdict]:
    return [
        check_document(f"{symbols}\n\n{sentence}\n\n$$ {one} $$\n", effort=Effort(seconds=4.0)).steps[-1].verdict
        for one in steps
    ]


@pytest.mark.parametrize("symbols, sentence, right, wrong", READ, ids=[one[1] for one in READ])
def test_words_of_structure_are_read(symbols: str, sentence: str, right: str, wrong: str) -> None:
    found = verdicts(symbols, sentence, right, wrong)
    assert found[0] in GOOD and found[1] is Verdict.REFUTED, found


def test_an_end_that_some_authors_leave_out_refutes_nothing() -> None:
    assert verdicts(N, "Let $a$ be between 0 and 1.", "a^2 < a", "a^2 > a") == [Verdict.UNDECIDED, Verdict.REFUTED]
    assert verdicts(V, "Let $x$ be increasing.", "x_1 < x_2") == [Verdict.UNDECIDED]


@pytest.mark.parametrize(
    "sentence",
    [
        "Assume it is false that $a$ is positive.",
        "Assume that neither $a$ nor $b$ is positive.",
        "It is not assumed that $a$ and $b$ are positive.",
        "Assume that it is impossible that $a$ is positive.",
        "Assume that $a$ is hardly positive.",
    ],
)
def test_a_property_that_its_sentence_denies_is_not_assumed(sentence: str) -> None:
    assert verdicts(N, sentence, "|a| = a") == [Verdict.UNDECIDED]


def test_the_mean_of_what_may_be_random_is_not_that_of_its_entries() -> None:
    words = "Let $x$ be a random vector with zero mean."
    assert verdicts(V, words, r"\mathbf{1}_n^\top x = 0") != [Verdict.PROVED]
    assert verdicts(V, words, r"\mathbf{1}_n^\top x = 0")[0] not in GOOD


def test_matrices_orthogonal_to_each_other_need_not_be_orthogonal() -> None:
    words = "Let $A$ and $B$ be orthogonal to each other."
    assert verdicts(M, words, r"A^\top A = I_n") == [Verdict.UNDECIDED]


def test_a_long_list_of_words_is_read_once() -> None:
    listed = "real, column, random " * 100
    assert properties_in(f" is {listed} and here symmetric", True, False) == ()
    assert [one.about.name for one in properties_in(f" is {listed} symmetric", True, False)] == ["symmetric"]
    assert [one.about.name for one in properties_in(f" a unit {'column ' * 100}, $", False, True)] == []
