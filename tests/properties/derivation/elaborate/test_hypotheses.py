"""Relations of arrays: two arrays differ where one of their entries does."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

VECTORS = "Let $n \\in \\mathbb{N}$, $i \\in \\{1, \\dots, n\\}$ and $x, y \\in \\mathbb{R}^n$"
PRODUCTS = r"""Put $A := \begin{pmatrix} 0 & 1 \\ 0 & 0 \end{pmatrix}$ and $B := \begin{pmatrix} 0 & 0 \\ 1 & 0 \end{pmatrix}$."""


def verdict(words: str, step: str, infer: bool = False) -> str:
    (found,) = check_document(f"{words}\n\n$$ {step} $$\n", infer=infer).steps
    return str(found.verdict)


@pytest.mark.parametrize(
    "words, step",
    [(PRODUCTS, r"A B \ne B A"), ("Let $u \\in \\mathbb{R}^3$ be a unit vector.", r"u \ne 0"),
     (f"{VECTORS} with $x \\ne 0$.", r"x^\top x > 0"), (f"{VECTORS} with $x \\ne y$.", r"\|x - y\| > 0"),
     (f"{VECTORS} with $x \\ne 0$.", r"\left\| \frac{x}{\|x\|} \right\| = 1"),
     (f"{VECTORS} with $x \\ne 0$ and $x_1 = 0$.", "x_1 = 0"),
     (VECTORS + ".", r"x^\top x > 0 \implies x \ne 0")],
)  # fmt: skip
def test_one_entry_that_differs_is_enough(words: str, step: str) -> None:
    assert verdict(words, step) in ("PROVED", "EXACT", "AGREES")


@pytest.mark.parametrize(
    "words, step",
    [(f"{VECTORS} with $x \\ne 0$.", r"x_i \ne 0"), (f"{VECTORS} with $x \\ne y$.", "(x_i - y_i)^2 > 0"),
     (f"{VECTORS} with $x \\ne 0$.", r"\min_i |x_i| > 0"), ("Let $x, y \\in \\mathbb{R}^3$ be distinct vectors.", r"x_1 \ne y_1"),
     ("Let $x \\in \\mathbb{R}^3$ be a nonzero vector.", r"x_1^2 > 0"), (PRODUCTS, r"A B \ne A B")],
)  # fmt: skip
def test_not_all_entries_need_to_differ(words: str, step: str) -> None:
    assert verdict(words, step) in ("REFUTED", "UNDECIDED")


def test_entries_that_are_zero_refute() -> None:
    words = "Let $x \\in \\mathbb{R}^3$ with $x \\ne 0$. All hypotheses are declared as formulas."
    assert verdict(words, r"x_1 \ne 0") == "REFUTED"


CHAIN = r"Let $\beta > 0$ and $u, v, w \in \mathbb{R}^4$ with $u^\top v = 0$, $u^\top w = 0$, $v^\top w = 0$ and $\|u\| = \|v\| = \|w\| = \beta$."


@pytest.mark.parametrize(
    "step, found", [(r"\|u + v\| = \|v - w\|", "PROVED"), (r"\|u + v + w\|^2 = 2 \beta^2", "REFUTED")]
)
def test_a_chain_of_equal_norms_is_solved(step: str, found: str) -> None:
    """The solver takes one symbol at a time: each norm is tied to the symbol at the end, not to its neighbour."""
    assert verdict(CHAIN, step) == found


SOURCE = (
    r"Let $u, v, w$ be mutually orthogonal vectors in $\mathbb{R}^4$, each with equal norm $||u|| = ||v|| = ||w|| = \beta$, "
    r"where $\beta > 0$."
)


def test_the_words_of_the_source_declare_the_chain() -> None:
    """Two bars in a row are a norm, and "each with equal norm" assumes what stands behind it."""
    assert verdict(SOURCE, r"(u + v)^\top (v + w) = \beta^2", infer=True) == "PROVED"
    assert (
        verdict(SOURCE, r"(u + v)^\top (v + w) = 2 \beta^2", infer=True) == "UNDECIDED"
    )  # "each with equal norm" stays unread as words


@pytest.mark.parametrize(
    "step, found",
    [("||x + y|| \\le ||x|| + ||y||", "AGREES"), ("||x||_2^2 = x^\\top x", "PROVED"), ("||x|| \\le ||x||_2 / 2", "REFUTED"),
     ("||x_1| - |y_1|| \\le |x_1 - y_1|", "AGREES"), ("||x_1|| = |x_1|", "PROVED")],
)  # fmt: skip
def test_two_bars_in_a_row_are_a_norm(step: str, found: str) -> None:
    assert verdict("Let $x, y \\in \\mathbb{R}^3$.", step) == found
