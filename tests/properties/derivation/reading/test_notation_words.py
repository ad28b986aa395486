"""What a document says of its signs: an index above a letter that numbers entries is not a power."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

SQUARE = "\n\n$$ x^1 x^1 = x^2 $$\n"


@pytest.mark.parametrize(
    "words",
    [
        "Here $x^i$ is the $i$th component of $x$.",
        "where \\(x^{i}\\) denotes the $i$-th entry of the vector.",
        "We use the notation in which $\\mathbf{x}^k$ is the $k$-th coordinate.",
        "The vector $x$ has components $x^1, \\dots, x^n$.",
    ],
)
def test_marks_that_number_entries_are_not_powers(words: str) -> None:
    (step,) = (one for one in check_document(words + SQUARE, infer=True).steps if one.line > 1)
    assert str(step.verdict) in ("UNDECIDED", "UNREADABLE"), step.evidence.text
    assert "marks above x number its entries, and are not powers: write x_i" in step.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        "Here $x^k$ is the largest power.",
        "Here $y^i$ is the $i$th component of $y$.",
        "Here $x_i$ is the $i$th component, and $x^k$ a power.",
        "The entries are powers $x^1$ and $x^2$.",
    ],
)
def test_other_marks_are_powers(words: str) -> None:
    (step,) = check_document(words + SQUARE, infer=True).steps
    assert str(step.verdict) == "PROVED", step.evidence.text


ELSEWHERE = "e is something of its own elsewhere in this document: declare it here, or write \\exp(1)"


@pytest.mark.parametrize(
    "words",
    [
        "$$ e = c - b^2 $$",
        "$$ \\begin{aligned} d &= b \\\\ e &= c - d^2 \\end{aligned} $$",
        "The error is $e = y - x$.",
        "Here $e \\in \\mathbb{R}$.",
    ],
)
def test_e_may_be_what_the_document_says_below(words: str) -> None:
    text = f"## One\n\n$$ e > 2 $$\n\n$$ e^x e^x = e^{{2 x}} $$\n\n## Two\n\n{words}\n"
    bare, power = check_document(text, infer=True).steps[:2]
    assert bare.evidence.text.startswith(ELSEWHERE) and str(bare.verdict) in ("UNREADABLE", "UNDECIDED")
    assert str(power.verdict) == "PROVED", power.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        "Recall that $e = \\lim_{n \\to \\infty} (1 + 1/n)^n$.",
        "We use $e = 2.718$.",
        "$$ f = e^x = 1 $$",
        "We see $y = e$ and $e_1 = x$.",
    ],
)
def test_e_is_the_number_elsewhere(words: str) -> None:
    step = check_document(f"## One\n\n$$ e > 2 $$\n\n## Two\n\n{words}\n", infer=True).steps[0]
    assert ELSEWHERE not in step.evidence.text and str(step.verdict) != "UNREADABLE", step.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        r"where $I$ is the identity matrix.",
        r"where $\mathbf{I}$ denotes the $n \times n$ identity matrix.",
        r"where $I_n$ is the identity matrix of size $n$.",
        r"where $\mathbf{1}_n \in \mathbb{R}^n$ is the all-ones vector.",
        r"where $\odot$ denotes element-wise multiplication.",
        r"where $\delta_{ij}$ is the Kronecker delta.",
        r"where $e_i$ is the $i$th Euclidean basis vector in $\mathbb{R}^n$.",
    ],
)
def test_usual_names_of_arrays_say_nothing(words: str) -> None:
    declared = "Let $n \\in \\mathbb{N}$ and $A \\in \\mathbb{R}^{n \\times n}$, $x \\in \\mathbb{R}^n$.\n\n"
    step = check_document(f"{declared}$$ A (2 x) = 2 A x $$\n\n{words}\n\n$$ A (2 x) = 3 A x $$\n", infer=True).steps[
        -1
    ]
    assert str(step.verdict) == "REFUTED", step.evidence.text


def test_another_matrix_that_is_called_the_identity_restricts() -> None:
    declared = "Let $n \\in \\mathbb{N}$ and $A \\in \\mathbb{R}^{n \\times n}$, $x \\in \\mathbb{R}^n$.\n\n"
    step = check_document(
        f"{declared}$$ A (2 x) = 2 A x $$\n\nwhere $A$ is the identity matrix.\n\n$$ A x = x $$\n", infer=True
    )
    assert str(step.steps[-1].verdict) != "REFUTED"


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("One-hot vectors $e$ satisfy a rule.", "UNREADABLE"),
        ("Logarithms to the base $e$ are used.", "UNDECIDED"),
        ("The number $e$ is meant.", "REFUTED"),
    ],
)
def test_an_e_that_words_call_something_else_is_not_the_number(words: str, verdict: str) -> None:
    step = check_document(f"{words}\n\n$$ e \\cdot e = e $$\n", as_read=True).steps[-1]
    assert str(step.verdict) == verdict, step.evidence.text


@pytest.mark.parametrize(
    "words",
    [", where each column sums to one", ", so that its columns sum to one", ", whose columns each sum up to $1$"],
)
def test_columns_that_sum_to_one_are_those_of_the_softmax(words: str) -> None:
    head = rf"Let $S \in \mathbb{{R}}^{{n \times n}}$ and $P = \operatorname{{softmax}}(S)${words}."
    found = check_document(f"{head}\n\n$$ P \\mathbf{{1}}_n = \\mathbf{{1}}_n $$\n", infer=True).steps[-1]
    assert str(found.verdict) in ("AMBIGUOUS", "UNDECIDED")
