"""Declarations in words: what they declare, what stays a property to be read, and what is left alone."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.spelled_domains import spell_out
from attention_core.derivation.records import GOOD, StepReport


def last_step(sentence: str, formula: str, infer: bool = True) -> StepReport:
    """The last step of a document of one sentence and one display."""
    return check_document(f"# A\n\n{sentence}\n\n$$ {formula} $$\n", infer=infer).steps[-1]


HOLD = [
    (r"Let $A$ be a symmetric $n \times n$ matrix.", r"A = A^\top"),
    (r"Let $A$ be an $n \times n$ symmetric matrix.", r"A = A^\top"),
    (r"Let $A$ be an invertible matrix of size $n \times n$.", r"A A^{-1} = I"),
    (r"Let $x$ and $y$ be vectors of length $n$.", r"x^\top y = y^\top x"),
    (r"Let $x$ be an $n$-vector and $y$ an $n$-dimensional vector.", r"x^\top y = y^\top x"),
    (r"Let $x$ be a unit vector in $\mathbb{R}^d$.", r"\|x\|^4 = 1"),
    (r"Let $x$ be a vector with $n$ entries.", r"x^\top x = \|x\|^2"),
    (r"Let $x$ be a row vector of length $n$.", r"x x^\top = \|x\|^2"),
    (r"Let $p = (p_1, \dots, p_n)$ be a probability vector.", r"\sum_{i=1}^n p_i = 1"),
    (r"Let $x$ and $y$ be positive real numbers. Hence", r"\frac{x+y}{2} \ge \sqrt{xy}"),
    (r"Let $n$ be a positive integer and $x \in \mathbb{R}^n$.", r"x^\top x = \|x\|^2"),
    (r"Let $Q$, $K$ and $V$ be matrices of shape $n \times d$.", r"(Q K^\top)^\top = K Q^\top"),
    (r"Let the queries $Q$ be an $n \times d$ matrix and the keys $K$ an $m \times d$ matrix.", r"(Q K^\top)^\top = K Q^\top"),
    (r"We are given an $n$-by-$d$ matrix $X$ and a vector $w$ of length $d$.", r"\|Xw\|^2 = w^\top X^\top X w"),
    (r"Consider a symmetric matrix $A \in \mathbb{R}^{n \times n}$.", r"A = A^\top"),
    (r"where $A$ is an $m \times n$ matrix and $x \in \mathbb{R}^n$.", r"\|Ax\|^2 = x^\top A^\top A x"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "formula"), HOLD)
def test_a_domain_in_words_declares(sentence: str, formula: str) -> None:
    step = last_step(sentence, formula)
    assert step.verdict in GOOD, step.evidence.text
    assert str(last_step(sentence, formula, infer=False).verdict) == "UNREADABLE"  # --strict asks for formulas


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [(r"Let $A$ and $B$ be $n \times n$ matrices. Hence", "AB = BA"), (r"Let $x$ be a vector of length $n$. Hence", "x = 2 x")],
)  # fmt: skip
def test_what_is_false_of_what_words_declare_is_refuted(sentence: str, formula: str) -> None:
    assert str(last_step(sentence, formula).verdict) == "REFUTED"


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [
        (r"Let $A$ be a complex $n \times n$ matrix. Hence", r"(A^\top)^\top = A"),
        (r"Let $A$ be a binary $n \times n$ matrix. Hence", r"A_{11}^2 = A_{11}"),
        (r"Let $x$ be an integer vector of length $n$. Hence", r"x^\top x \ge 0"),
    ],
)
def test_words_that_restrict_it_further_are_neither_passed_over_nor_refuted(sentence: str, formula: str) -> None:
    step = last_step(sentence, formula)
    assert str(step.verdict) == "UNDECIDED", step.evidence.text


@pytest.mark.parametrize(
    "text",
    [
        r"Let $A B$ be an $n \times n$ matrix.",
        r"Let $A$ be an $n \times n \times n$ matrix.",
        r"Let $x$ be a vector in $\mathcal{X}$.",
        r"The vector $x$ of length $\|x\|$.",
        r"Here $u$ is a scalar multiple of $v$.",
        r"Let $u$ be a scalar multiple of $v$.",
        r"Let $F$ be a vector field.",
        r"Here $C$ is a matrix product.",
    ],
)
def test_what_is_not_plainly_a_shape_of_symbols_is_left_alone(text: str) -> None:
    assert spell_out([Paragraph(1, text)]) == [Paragraph(1, text)]


def test_lines_stay_where_they_are() -> None:
    text = "Let $x$\nand $y$ be vectors\nof length $n$.\nLet $z \\foo$."
    (paragraph,) = spell_out([Paragraph(3, text)])
    assert isinstance(paragraph, Paragraph)
    assert paragraph.text.count("\n") == text.count("\n")
    assert paragraph.text.splitlines()[3] == "Let $z \\foo$."


@pytest.mark.parametrize(
    "sentence",
    [
        r"Let $x_1, \dots, x_n \in \mathbb{R}^d$ and $A \in \mathbb{R}^{d \times d_k}$.",
        r"Let $A \in \mathbb{R}^{d \times d_k}$ and $x_i \in \mathbb{R}^d$ for $i \in \{1, \dots, n\}$.",
    ],
)
def test_a_letter_that_only_a_size_can_be_is_one(sentence: str) -> None:
    report = check_document(f"# A\n\n{sentence}\n\n$$ (A + A)^\\top = 2 A^\\top $$\n\n$$ A = 2 A $$\n", infer=True)
    assert [str(step.verdict) for step in report.steps] == ["PROVED", "REFUTED"], report.steps
    strict = check_document(f"# A\n\n{sentence}\n\n$$ (A + A)^\\top = 2 A^\\top $$\n")
    assert "n is not a size" in strict.steps[0].evidence.text or "d is not a size" in strict.steps[0].evidence.text


@pytest.mark.parametrize(
    "family",
    [
        r"$x_i \in \mathbb{R}^d$ for $i = 1, \dots, n$",
        r"$x_i \in \mathbb{R}^d$ for all $i \in \{1, \dots, n\}$",
        r"$x_i \in \mathbb{R}^d$, $i = 1, 2, \ldots, n$",
        r"$x_j \in \mathbb{R}^d$ for every $1 \le j \le n$",
        r"$x_k \in \mathbb{R}^d$ for each $k \in [n]$",
    ],
)
def test_the_members_of_a_family_are_declared_by_one_of_them(family: str) -> None:
    formula = r"\left\| \sum_{i=1}^n x_i \right\|^2 = \sum_{i=1}^n \sum_{j=1}^n x_i^\top x_j"
    step = last_step(rf"Let $n \in \mathbb{{N}}$, $d \in \mathbb{{N}}$, {family}.", formula, infer=False)
    assert step.verdict in GOOD, step.evidence.text


@pytest.mark.parametrize(
    "said", [r"$x_i \in \mathbb{R}^{n_i}$ for $i = 1, \dots, n$", r"$W \in \mathbb{R}^{d_l \times d_{l-1}}$"]
)
def test_a_size_that_differs_from_member_to_member_is_not_read_as_one(said: str) -> None:
    first = check_document(f"# A\n\nLet {said}.\n\n$$ 1 = 1 $$\n", infer=True).steps[0]
    assert str(first.verdict) == "UNREADABLE"


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [
        (r"Let $A$ be a symmetric matrix.", r"A = A^\top"),
        (r"Let $A$ be an orthogonal matrix.", r"A^\top A = I"),
        (r"Let $A$ be a square matrix.", r"\operatorname{tr}(A) = \operatorname{tr}(A^\top)"),
        (r"Let $u$ be a unit vector.", r"u^\top u = 1"),
        (r"Let $p$ be a probability vector.", r"\sum_{i=1}^n p_i = 1"),
        (r"Let $A$ and $B$ be symmetric matrices.", r"(AB)^\top = BA"),
        (r"Let $A$ be a symmetric matrix and $x \in \mathbb{R}^n$. Hence", r"x^\top A x = x^\top A^\top x"),
    ],
)
def test_words_without_a_size_hold_where_the_shape_is_inferred(sentence: str, formula: str) -> None:
    step = last_step(sentence, formula)
    assert step.verdict in GOOD and "read as: " in step.evidence.text, step.evidence.text


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [
        (r"Let $A$ be a matrix. Hence", r"A = A^\top"),
        (r"Let $a$ and $b$ be matrices.", "a b = b a"),
        (r"Let $A$ be a complex matrix. Hence", r"(A^\top)^\top = A"),
        (r"Let $A$ be a diagonal matrix. Let $A = B + C$. Hence", r"A = A^\top"),
    ],
)
def test_an_inferred_shape_refutes_nothing_and_other_words_accept_nothing(sentence: str, formula: str) -> None:
    step = last_step(sentence, formula)
    assert str(step.verdict) == "UNDECIDED", step.evidence.text


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [
        (r"where $P$ is an orthogonal matrix.", r"\|P x\| = \|x\|"),
        (r"where $B$ is constrained to be an orthogonal matrix.", r"\|B x\|^2 = x^\top x"),
        (r"Here $S$ is a symmetric matrix and $x$ is a unit vector.", r"x^\top S y + x^\top x = y^\top S x + 1"),
        (r"where $W$ is the weight matrix and $b$ is the bias vector.", r"W x + b = b + W x"),
    ],
)
def test_words_behind_where_hold_as_those_behind_let_do(sentence: str, formula: str) -> None:
    step = last_step(sentence, formula)
    assert step.verdict in GOOD, step.evidence.text


def test_what_follows_a_display_is_about_it() -> None:
    document = "$$ y = B x $$\n\nwhere $B$ is %s.\n\n$$ y^\\top y = x^\\top x $$\n"
    orthogonal = check_document(document % "constrained to be an orthogonal matrix", infer=True).steps[-1]
    assert orthogonal.verdict in GOOD, orthogonal.evidence.text
    assert check_document(document % "a large matrix", infer=True).steps[-1].verdict not in GOOD


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [
        (r"where $a$ is a matrix.", "a b = b a"),  # what stands beside it may be a matrix as well
        (r"If $P$ is an orthogonal matrix, it is invertible.", r"\|P x\| = \|x\|"),
        (r"where $P$ is not an orthogonal matrix.", r"\|P x\| = \|x\|"),
        (r"where $P$ is usually an orthogonal matrix.", r"\|P x\| = \|x\|"),
        (r"Here $P$ is no longer an orthogonal matrix.", r"\|P x\| = \|x\|"),
    ],
)
def test_other_words_behind_where_assume_nothing(sentence: str, formula: str) -> None:
    assert last_step(sentence, formula).verdict not in GOOD


def test_a_number_of_things_is_no_real_number() -> None:
    blocks = spell_out([Paragraph(1, r"where $n$ is the number of tokens.")])
    assert isinstance(blocks[0], Paragraph) and r"\in" not in blocks[0].text
