r"""Clauses of declarations are put into words and formulas that are read, or left as they are."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.reading.spelled_domains import spell_out
from attention_core.derivation.records import GOOD, Verdict

READ = [
    ("Assume without loss of generality that $a < b$.", "Assume that $a < b$."),
    ("(Here $0 < t < 1$.)", "Assume $0 < t < 1$."),
    ("Here $p \\in (0, 1)$ is the probability of success.", "Assume $0 < p < 1$."),
    ("Let $n \\ge 2$ be an integer.", "Let $n \\in \\mathbb{N}$ with $n \\ge 2$."),
    ("For every integer $n \\geq 1$ we have", "For every $n \\in \\mathbb{N}$ with $n \\geq 1$ we have"),
    ("Let $k$ and $n$ be integers such that $1 \\le k \\le n$.", "Let $k, n \\in \\mathbb{N}$ with $1 \\le k \\le n$."),
    ("For all numbers $n \\ge 2$ we have", "For all numbers $n \\in \\mathbb{R}$ with $n \\ge 2$ we have"),
    ("Let $x, y$ be real.", "Let $x, y \\in \\mathbb{R}$ be real numbers."),
    ("Let $P \\in S$ be a projection, i.e. $P^2 = P$.", "Let $P \\in S$ with $P^2 = P$."),
    ("Let $a$ and $b$ be numbers with product 1.", "Let $a, b \\in \\mathbb{R}$ be numbers with $a b = 1$."),
    ("Suppose the columns $v_1, \\dots, v_k$ of $V$ are orthonormal.", "Suppose $V$ has orthonormal columns."),
    ("Let $\\epsilon \\sim \\mathcal{N}(0, I_d)$ be Gaussian noise.", "Let $\\epsilon \\sim \\mathcal{N}(0, I_d)$."),
]
READ += [
    (
        "Throughout this section $x$ denotes a unit vector in $\\mathbb{R}^d$.",
        "Let $x \\in \\mathbb{R}^d$ be a unit vector.",
    ),
    ("Let $0 \\le t \\le 1$ be a real number.", "Let $t \\in \\mathbb{R}$ with $0 \\le t \\le 1$."),
    (
        "Fix a probability distribution $p$ on $\\{1, \\dots, n\\}$.",
        "Given a probability vector $p \\in \\mathbb{R}^{n}$.",
    ),
    (
        "Let $Q \\in \\mathbb{R}^{n \\times r}$ satisfy $Q^\\top Q = I_r$.",
        "Let $Q \\in \\mathbb{R}^{n \\times r}$ with $Q^\\top Q = I_r$.",
    ),
    ("Assume that each row of the matrix $A$ has unit norm.", "Assume that $A$ has rows of unit norm."),
    (
        "Here $s$ and $t$ are nonnegative with $s + t \\le 1$.",
        "Assume $s$ and $t$ are nonnegative with $s + t \\le 1$.",
    ),
    (
        "Let $R$ be a rotation, that is, an orthogonal $2 \\times 2$ matrix with determinant $1$.",
        "Let $R \\in \\mathbb{R}^{2 \\times 2}$ be an orthogonal matrix with determinant 1.",
    ),
    (
        "Assume $X$ and $Y$ are independent with $X \\sim P$ and $Y \\sim Q$.",
        "Let $X \\sim P$ and $Y \\sim Q$ be independent.",
    ),
    (
        "Let $x$ and $y$ be numbers that are not both zero.",
        "Let $x, y \\in \\mathbb{R}$ be numbers with $x^2 + y^2 \\ne 0$.",
    ),
]
LEFT = [
    "Here $s$ and $t$ are tokens with $s < t$.",
    "The distance of $x$ to the kernel of $A$ is small.",
    "Let $n \\ge 2$ and $k$ be integers.",
    "Let $2 x$ and $y$ be integers.",
    "Take $x$ to be $0$.",
    "Suppose $A$ is orthogonal to $B$.",
    "Let $x \\in V$ be orthogonal to $y \\in V$ and to $z \\in V$.",
    "Let $x$ lie in the null space of $A$ and $B$.",
    "Let $u$ be the softmax of $x + y$.",
    "Let $k \\le f(n)$ be positive integers.",
    "Here $a = b$.",
    "Here $p \\in (0, 1)$ is the largest root of $f$.",
    "Let $A$ be a symmetric matrix, i.e. $x$.",
    "Let $x \\sim \\operatorname{Uniform}[0, 1]$ be Gaussian noise.",
]


@pytest.mark.parametrize(("text", "written"), READ, ids=[one[0] for one in READ])
def test_a_clause_is_written_as_it_is_read(text: str, written: str) -> None:
    assert spell_out([Paragraph(1, text)]) == [Paragraph(1, written)]


@pytest.mark.parametrize("text", LEFT)
def test_what_says_more_is_left_alone(text: str) -> None:
    found = "\n".join(block.text for block in spell_out([Paragraph(1, text)]))
    assert "Assume" not in found and r"\mathbb{N}" not in found and found.count("$") == text.count("$")


@pytest.mark.parametrize(
    ("sentence", "right", "wrong"),
    [
        (r"Let $v$ be an eigenvector of $A \in \mathbb{R}^{n \times n}$ with eigenvalue $\lambda$.",
         r"A^2 v = \lambda^2 v", "A^2 v = \\lambda v"),
        (r"Suppose that $x \in \mathbb{R}^n$ lies in the null space of $A \in \mathbb{R}^{m \times n}$.",
         r"A^\top A x = 0", r"\|x\| = 0"),
        (r"Let $y \in \{0, 1\}^n$.", r"\sum_{i=1}^n y_i^2 = \sum_{i=1}^n y_i", r"\sum_{i=1}^n y_i^2 = n"),
        (r"Let $A$ be an $m \times n$ matrix whose rows sum to zero.",
         r"\sum_{j=1}^n A_{1 j} = 0", r"\sum_{j=1}^m A_{j 1} = 0"),
        (r"Let $z \in \mathbb{R}^n$ and $p = 2 z$.", r"\|p\|^2 = 4 \|z\|^2", r"\|p\|^2 = 2 \|z\|^2"),
        (r"For $x \in \mathbb{R}^n$ with $x \ne 0$, put $u = x / \|x\|$.", r"\|u\| = 1", r"\|u\| = 2"),
        (r"Let $E$ be the $n \times n$ matrix all of whose entries are $1$.", "E E = n E", "E E = E"),
        (r"Let $J$ be the $n \times n$ matrix of ones.", "J J = n J", "J J = J"),
        (r"Let $n$ be an even positive integer.", r"n \ge 2", r"n \ge 4"),
        (r"For every unit vector $u \in \mathbb{R}^n$,", r"\|u\|^2 = 1", r"\|u\|^2 = 2"),
    ],
    ids=["eigenvector", "null space", "set", "row sums", "definition behind", "definition behind for", "entries", "ones", "even", "leads"],
)  # fmt: skip
def test_sentences_that_declare_and_assume(sentence: str, right: str, wrong: str) -> None:
    found = [check_document(f"{sentence}\n\n$$ {one} $$\n", infer=True).steps[-1].verdict for one in (right, wrong)]
    assert found[0] in GOOD and found[1] is Verdict.REFUTED


def test_bounds_behind_suppose_take_back_nothing() -> None:
    first, second = (
        Paragraph(line, text) for line, text in ((1, "Let $t > 0$."), (3, "Suppose $0 < t < 1$ are numbers."))
    )
    assert spell_out([first, second])[1] == second


@pytest.mark.parametrize(
    "words", ["Let $E \\in \\mathbb{R}^{n \\times n}$ be a matrix of entries all $1$.", "The entries of $E$ are $1$."]
)
def test_a_value_that_is_not_read_is_not_passed_over(words: str) -> None:
    text = f"Let $E \\in \\mathbb{{R}}^{{n \\times n}}$.\n\n{words}\n\n$$ E E = n E $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is not Verdict.REFUTED


def test_what_is_known_of_a_symbol_is_not_taken_back() -> None:
    """An eigenvalue, or a bound behind "Here", declares nothing anew."""
    text = (
        "Let $\\lambda > 2$.\n\nLet $v$ be an eigenvector of $A \\in \\mathbb{R}^{n \\times n}$ with eigenvalue "
        "$\\lambda$.\n\nHere $\\lambda \\in (0, 9)$ is a constant.\n\n$$ 2 < \\lambda < 9 $$\n"
    )
    assert all(step.verdict in GOOD for step in check_document(text, infer=True).steps)


def test_a_symbol_that_is_declared_below_a_sentence_is_another_one() -> None:
    text = "All hypotheses are declared as formulas.\n\nIt is divided by $r = 2$.\n\nLet $r > 0$.\n\n$$ r + 1 = 3 $$\n"
    assert check_document(text).steps[-1].verdict is Verdict.REFUTED
    below = text.replace("It is divided by $r = 2$.\n\n", "").replace("\n\n$$", " It is divided by $r = 2$.\n\n$$")
    assert check_document(below).steps[-1].verdict is Verdict.UNDECIDED


def test_what_an_explanation_does_not_say_again_is_kept() -> None:
    head = r"Let $A \in \mathbb{R}^{n \times n}$ be a symmetric matrix, i.e. a matrix with $A^2 = A$."
    steps = (r"A^\top = A", "A^3 = A", "A = I")
    found = [check_document(f"{head}\n\n$$ {one} $$\n", infer=True).steps[-1].verdict for one in steps]
    assert found == [Verdict.EXACT, Verdict.EXACT, Verdict.REFUTED]


@pytest.mark.parametrize(("norm", "verdict"), [(r"\|x\|_1", Verdict.REFUTED), (r"\|x\|_{2}", Verdict.AGREES)])
def test_a_unit_vector_is_one_in_the_norm_that_is_written(norm: str, verdict: Verdict) -> None:
    head = rf"Let $x \in \mathbb{{R}}^n$ be a unit vector, i.e. ${norm} = 1$."
    assert check_document(f"{head}\n\n$$ x^\\top x = 1 $$\n", infer=True).steps[-1].verdict is verdict
