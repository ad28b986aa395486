"""A property is said of a symbol only where the noun behind it is what the symbol is."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

OTHER = [
    (r"Let $x, y \in \mathbb{R}^n$ have the same direction.", r"x = y"),
    (r"Let $x, y \in \mathbb{R}^n$ be vectors of equal length.", r"\|x\| = \|y\|"),
    (r"Let $a \in \mathbb{R}$ be 0, 1 or 2.", r"a^2 = a"),
    (r"Let $a \in \mathbb{R}$ be 0.5.", r"a = 0"),
    (r"Let $a, b \in \mathbb{R}$ be zero and one, respectively.", r"a = b"),
    (r"Let $x \in \mathbb{R}^n$ be one of the keys.", r"x_1 = 1"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ be not negative definite.", r"|A_{1 1}| = A_{1 1}"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ be a projection onto the identity matrices.", r"A = I_n"),
    (r"Let $x, y \in \mathbb{R}^n$ be orthogonal to $\mathbf{1}_n$.", r"x^\top y = 0"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ have orthogonal columns.", r"A^\top A = I_n"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ have orthonormal eigenvectors.", r"A^\top A = I_n"),
    (r"Let $x \in \mathbb{R}^n$ have a positive sum.", r"x_1 > 0"),
    (r"Let $a, b \in \mathbb{R}$ with positive product.", r"|a| = a"),
    (r"Let $a \in \mathbb{R}$ be a positive multiple of $b$ with $b \in \mathbb{R}$.", r"|a| = a"),
    (r"Let $x \in \mathbb{R}^n$ have unit variance.", r"\|x\| = 1"),
    (r"Let $x \in \mathbb{R}^n$ be a unit vector in the max norm.", r"\|x\| = 1"),
    (r"Let $x \in \mathbb{R}^n$ be a vector with unit entries.", r"\|x\| = 1"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ have a symmetric sparsity pattern.", r"A = A^\top"),
]
OWN = [
    (r"Let $x \in \mathbb{R}^n$ be a unit vector.", r"\|x\| = 1"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ be a symmetric matrix with $\operatorname{tr}(A) = 0$.", r"A = A^\top"),
    (r"Let $a \in \mathbb{R}$ be a positive real number.", r"|a| = a"),
    (r"Let $u, v \in \mathbb{R}^n$ be orthogonal unit vectors.", r"u^\top v = 0"),
    (r"Let $u, v \in \mathbb{R}^n$ be orthogonal to each other.", r"u^\top v = 0"),
    (r"Let $x \in \mathbb{R}^n$ have positive entries.", r"x_1 > 0"),
    (r"Let $P \in \mathbb{R}^{n \times n}$ be an orthogonal projection.", r"P^\top P = P"),
    (r"Let $a, b \in \mathbb{R}$. Assume that $a$ and $b$ are the same.", r"a^2 = a b"),
    (r"Let $x \in \mathbb{R}^n$ be a standard basis vector.", r"x^\top x = 1"),
    (r"Let $x \in \mathbb{R}^n$ be a one-hot vector.", r"\sum_{i=1}^n x_i^2 = 1"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ be a multiple of the identity.", r"A_{1 1} I_n = A"),
    (r"Let $A \in \mathbb{R}^{n \times n}$ be doubly stochastic.", r"\sum_{i=1}^n A_{i 1} = 1"),
    (
        r"Let $u, v \in \mathbb{R}^n$ be unit vectors of length $n$, and let $A \in \mathbb{R}^{n \times n}$.",
        r"\|u\| = 1",
    ),
]


def verdict(words: str, step: str) -> str:
    return str(check_document(f"Let $n \\in \\mathbb{{N}}$. {words}\n\n$$ {step} $$\n").steps[-1].verdict)


@pytest.mark.parametrize("words, step", OTHER)
def test_a_property_of_something_else_is_not_assumed(words: str, step: str) -> None:
    assert verdict(words, step) == "UNDECIDED"


@pytest.mark.parametrize("words, step", OWN)
def test_a_property_of_the_symbol_is(words: str, step: str) -> None:
    assert verdict(words, step) in ("PROVED", "EXACT", "AGREES")


@pytest.mark.parametrize(
    ("words", "step", "expected"),
    [
        (r"Let $y \in \{0, 1\}$ be the binary label.", "y^2 = y", "PROVED"),
        (r"Let $y \in \{0, 1\}$ be the binary label.", "y^2 = y + 1", "REFUTED"),
        (r"Let $x \in \mathbb{R}$ be a positive number.", "|x| = x", "PROVED"),
        (r"Let $x \in \mathbb{R}$. Consider positive samples $x$.", "|x| = x", "UNDECIDED"),  # of a class
        (r"Let $x \in \mathbb{R}$ be a negative example.", "|x| = -x", "UNDECIDED"),
    ],
)
def test_labels_are_numbers_and_positive_samples_are_a_class(words: str, step: str, expected: str) -> None:
    report = check_document(f"{words}\n\nHence\n\n$$ {step} $$\n", infer=True)
    assert str(report.steps[-1].verdict) == expected, report.steps[-1].evidence.text
