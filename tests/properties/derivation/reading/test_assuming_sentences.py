"""A property is assumed where its sentence assumes or declares, and only of what the sentence is about."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.assuming_sentences import (
    find_premises,
    is_of_something_else,
    says_of_symbols,
    speaks_of_elsewhere,
)

GOOD = ("PROVED", "EXACT", "AGREES")
X, A = r"Let $x \in \mathbb{R}$.", r"Let $A \in \mathbb{R}^{n \times n}$."
POSITIVE, SYMMETRIC, ORTHOGONAL = "|x| = x", r"A^\top = A", r"A^\top A = I_n"
ELSEWHERE = [
    (rf"{X} We will later also allow positive $x$.", POSITIVE),
    (rf"{X} The case of positive $x$ is done in class.", POSITIVE),
    (rf"{X} Where $x > 0$, the function grows.", POSITIVE),
    (rf"{X} With $x > 0$, the function grows.", POSITIVE),
    (rf"{X} Where $x$ is positive, the function grows.", POSITIVE),
    (rf"{X} For positive $x$ the function grows.", POSITIVE),
    (rf"{X} Only positive $x$ have a logarithm.", POSITIVE),
    (rf"{X} In most applications $x$ is positive.", POSITIVE),
    (rf"{X} It is tempting to take $x$ positive.", POSITIVE),
    (rf"{X} Then $x$ is positive.", POSITIVE),
    (rf"{X} Suppose that when $n$ is large, $x$ is positive.", POSITIVE),
    (rf"{X} Suppose that for positive $x$ the function grows.", POSITIVE),
    (rf"{X} Suppose that on average $x$ is positive.", POSITIVE),
    (rf"{X} Suppose we knew that $x$ is positive.", POSITIVE),
    (rf"{X} We use a method that needs positive $x$.", POSITIVE),
    (rf"{A} Assume that every symmetric matrix $A$ is invertible.", SYMMETRIC),
    (rf"{X} We hope that $x$ is positive.", POSITIVE),
    (rf"{X} In Problem 3 we assume that $x$ is positive.", POSITIVE),
    (rf"{X} The original paper assumes positive $x$.", POSITIVE),
    (rf"{A} Later we will take $A$ to be symmetric.", SYMMETRIC),
    (rf"{A} Many authors take $A$ symmetric.", SYMMETRIC),
    (rf"{A} Problem 3 assumes that $A$ is symmetric.", SYMMETRIC),
    (rf"{A} One often has symmetric $A$.", SYMMETRIC),
    (rf"{A} We could assume symmetric $A$.", SYMMETRIC),
    (rf"{A} A symmetric matrix $A$ has real eigenvalues.", SYMMETRIC),
    (rf"{A} Every symmetric matrix $A$ is normal.", SYMMETRIC),
    (rf"{A} The algorithm is designed for symmetric matrices $A$.", SYMMETRIC),
    (rf"{A} Compare this with a symmetric $A$.", SYMMETRIC),
    (rf"{X} Many authors let $A$ be a symmetric matrix.", SYMMETRIC),
    (rf"{A} The case of an orthogonal matrix $A$ is left as an exercise.", ORTHOGONAL),
    (rf"{A} For an example of an orthogonal $A$ see Figure 2.", ORTHOGONAL),
    (r"Let $x \in \mathbb{R}^n$. The case of a unit vector $x$ is left as an exercise.", r"\|x\| = 1"),
    (r"Let $x, y \sim \mathcal{N}(0, 1)$. Many authors take them independent.", r"\mathbb{E}[x y] = 0"),
]
HERE = [
    (rf"{X} Assume $x$ is positive.", POSITIVE),
    (rf"{X} Suppose the number $x$ is positive.", POSITIVE),
    (rf"{X} The learning rate $x$ is positive.", POSITIVE),
    (rf"{X} With $x > 0$, we have", POSITIVE),
    (rf"{X} For positive $x$ we get", POSITIVE),
    (rf"{X} Since $x$ is positive, we have", POSITIVE),
    (rf"{X} Put $y = \log x$ for positive $x$.", POSITIVE),
    (rf"{X} Assume for simplicity that $x$ is positive.", POSITIVE),
    (rf"{X} Fix any positive $x$.", POSITIVE),
    (rf"{X} All results below are for positive $x$.", POSITIVE),
    (r"Let $x > 0$. We will later also allow negative $x$.", POSITIVE),
    (rf"{A} $A$ is symmetric.", SYMMETRIC),
    (rf"{A} The matrix $A$ is symmetric.", SYMMETRIC),
    (rf"{A} Here $A$ is symmetric.", SYMMETRIC),
    (rf"{A} The matrix $A$ is assumed to be symmetric.", SYMMETRIC),
    (rf"{A} We will assume that $A$ is symmetric.", SYMMETRIC),
    (rf"{A} As in Section 2, assume that $A$ is symmetric.", SYMMETRIC),
    (rf"{A} One may assume that $A$ is symmetric.", SYMMETRIC),
    (rf"{A} Moreover, let $A$ be symmetric.", SYMMETRIC),
    (r"Let $A, B \in \mathbb{R}^{n \times n}$. $B$ is diagonal and $A$ is symmetric.", SYMMETRIC),
    (r"Let $y = A v$ with $v \in \mathbb{R}^n$, where $A \in \mathbb{R}^{n \times n}$ is symmetric.", SYMMETRIC),
    (rf"{X} Let $A$ be a symmetric matrix.", SYMMETRIC),
]
OF_OTHERS = [
    (rf"{A} Suppose the trace of $A$ is positive.", "|A_{11}| = A_{11}"),
    (rf"{A} The trace of $A$ is positive.", "|A_{11}| = A_{11}"),
    (rf"{A} Suppose the square of $A$ is symmetric.", SYMMETRIC),
    (rf"{A} Suppose the diagonal entries of $A$ are zero.", "A_{1 2} = 0"),
    (rf"{A} Suppose the rows of $A$ are orthogonal.", ORTHOGONAL),
    (r"Let $x \in \mathbb{R}^n$. Suppose the mean of $x$ is zero.", "x_1 = 0"),
    (r"Let $x \in \mathbb{R}^n$. Suppose the sum of all entries of $x$ is zero.", "x_1 = 0"),
    (r"Let $A, B \in \mathbb{R}^{n \times n}$. Suppose $A$ plus $B$ is symmetric.", r"B^\top = B"),
    (r"Let $x, y \in \mathbb{R}$. Suppose the product of $x$ and $y$ is positive.", "|y| = y"),
    (r"Let $x, y \in \mathbb{R}$. Suppose the distance from $x$ to $y$ is positive.", "|y| = y"),
    (r"Let $x, y \in \mathbb{R}$. Suppose the larger of $x$ and $y$ is positive.", "|y| = y"),
]
OF_ENTRIES = [
    (r"Let $x \in \mathbb{R}^n$. Suppose that all entries of $x$ are positive.", "|x_1| = x_1"),
    (r"Let $x_1, \dots, x_n \in \mathbb{R}$. All of $x_1, \dots, x_n$ are positive.", "|x_1| = x_1"),
]


def verdict(words: str, step: str) -> str:
    return str(check_document(f"{words}\n\n$$ {step} $$\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(("words", "step"), ELSEWHERE)
def test_a_sentence_that_does_not_assume_is_quoted(words: str, step: str) -> None:
    assert verdict(words, step) == "UNDECIDED"


@pytest.mark.parametrize(
    ("sentence", "step"),
    [
        (r"We could assume symmetric $A$.", SYMMETRIC),
        (r"One might assume that $A$ is symmetric.", SYMMETRIC),
        (r"They assume that $A$ is symmetric.", SYMMETRIC),
        (r"The authors assume that $A$ is symmetric.", SYMMETRIC),
        (r"Suppose that the trace of $A$ is positive.", "|A_{11}| = A_{11}"),
    ],
)
def test_a_paragraph_of_its_own_assumes_no_more(sentence: str, step: str) -> None:
    assert verdict(f"{A}\n\n{sentence}", step) == "UNDECIDED"


@pytest.mark.parametrize(("words", "step"), HERE)
def test_a_sentence_that_assumes_is_read(words: str, step: str) -> None:
    assert verdict(words, step) in GOOD


@pytest.mark.parametrize(("words", "step"), OF_OTHERS)
def test_what_is_made_of_a_symbol_is_another_thing(words: str, step: str) -> None:
    assert verdict(words, step) == "UNDECIDED"


@pytest.mark.parametrize(("words", "step"), OF_ENTRIES)
def test_the_entries_of_a_symbol_are_its_own(words: str, step: str) -> None:
    assert verdict(words, step) in GOOD


@pytest.mark.parametrize(
    ("before", "behind", "ahead", "expected"),
    [
        ("Without loss of generality, $$ is ", ".", False, True),
        ("Unless stated otherwise, all vectors $$ are ", ".", False, True),
        ("If $$ is small, let $$ be ", ".", False, False),
        ("The ", " matrix $$ has real eigenvalues.", True, True),
        ("A ", " matrix $$ is given.", True, True),
        ("A ", " matrix $$ has real eigenvalues.", True, False),
        ("Let $$ be the set of ", " matrices $$.", True, False),
        ("For a ", " matrix $$, we define $=$.", True, True),
        ("Each $$ is ", ".", False, True),
        ("Hence $$ is ", ".", False, False),
    ],
)
def test_which_sentences_say_it_of_symbols(before: str, behind: str, ahead: bool, expected: bool) -> None:
    assert says_of_symbols(before, behind, ahead) is expected


def test_other_signs_of_a_condition() -> None:
    assert find_premises(["Let ", "x", ". With ", "x > 0", " and ", "x < 1", ", the sum converges."]) == {3, 5}
    assert not find_premises(["Let ", "x", ". With ", "x > 0", ", let ", "y = x", "."])
    assert not find_premises(["Let ", "x", ". With ", "x > 0", ", we have"])
    assert speaks_of_elsewhere("They assume") and not speaks_of_elsewhere("As in Section 3, assume")
    assert is_of_something_else("Suppose the norm of the vector $$ is ")
    assert not is_of_something_else("Suppose the vectors $$ and $$ are ")
