"""Kronecker products, ranks, spectra, norms, pseudo-inverses, factorials: right steps are accepted, wrong ones refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict

M = r"Let $n, m \in \mathbb{N}$, $A, B, C, D, X \in \mathbb{R}^{n \times n}$, $G \in \mathbb{R}^{n \times m}$ and $x \in \mathbb{R}^n$"
KRONECKER = M + r", where $\otimes$ denotes the Kronecker product."
PINV = M + r", where $G^\dagger$ denotes the pseudo-inverse of $G$."
PLAIN = M + "."
SYMMETRIC = PLAIN + r" Assume $A = A^\top$."
WHOLE = r"Let $n, k \in \mathbb{N}$ with $k \le n$ and $x, y \in \mathbb{R}$."
RIGHT = [
    (WHOLE, r"n! = n \cdot (n - 1)!"),
    (WHOLE, r"\binom{n}{k} = \frac{n!}{k! (n - k)!}"),
    (WHOLE, r"{n + 1 \choose k} = {n \choose k} + {n \choose k - 1}"),
    (WHOLE, r"(x + y)^n = \sum_{j=0}^n \binom{n}{j} x^j y^{n - j}"),
    (WHOLE, r"\log(n!) = \sum_{j=1}^n \log j"),
    (WHOLE, r"\binom{2 n}{n} \le 4^n"),
    (KRONECKER, r"(A \otimes B)(C \otimes D) = A C \otimes B D"),
    (KRONECKER, r"\operatorname{vec}(A X B) = (B^\top \otimes A) \operatorname{vec}(X)"),
    (KRONECKER, r"\operatorname{tr}(A \otimes B) = \operatorname{tr}(A) \operatorname{tr}(B)"),
    (PLAIN, r"\operatorname{tr}(A^\top B) = \operatorname{vec}(A)^\top \operatorname{vec}(B)"),
    (PLAIN, r"\operatorname{rank}(A B) \le \operatorname{rank}(A)"),
    (PLAIN, r"\operatorname{rank}(G^\top G) = \operatorname{rank}(G)"),
    (PLAIN, r"\|A x\| \le \|A\|_{\text{op}} \|x\|"),
    (PLAIN, r"\|A\|_F \le \|A\|_*"),
    (PLAIN, r"\|x\|_3 \le \|x\|_2"),
    (PLAIN, r"\|x\|_0 \le n"),
    (PINV, r"G G^\dagger G = G"),
    (PINV, r"(G^\top)^\dagger = (G^\dagger)^\top"),
    (SYMMETRIC, r"\operatorname{tr}(A) = \sum_{i=1}^n \lambda_i(A)"),
    (SYMMETRIC, r"\det(A) = \prod_{i=1}^n \lambda_i(A)"),
    (SYMMETRIC, r"x^\top A x \le \lambda_{\max}(A) x^\top x"),
]
WRONG = [
    (WHOLE, r"n! = n^2 \cdot (n - 1)!"),
    (WHOLE, r"\binom{n}{k} = \frac{n!}{k!}"),
    (WHOLE, r"{n + 1 \choose k} = {n \choose k} + {n \choose k + 1}"),
    (WHOLE, r"n! \le 10^{400}"),
    (WHOLE, r"\binom{n}{k} \le \left(\frac{2 n}{k}\right)^k"),  # from n = 48 and k = 11 on
    (WHOLE, r"\log(n!) \ge n \log n - n + \log n"),
    (KRONECKER, r"A \otimes B = B \otimes A"),
    (KRONECKER, r"\operatorname{vec}(A X B) = (A \otimes B) \operatorname{vec}(X)"),
    (PLAIN, r"\operatorname{rank}(A + B) = \operatorname{rank}(A) + \operatorname{rank}(B)"),
    (PLAIN, r"\operatorname{rank}(A B) = \operatorname{rank}(B A)"),
    (PLAIN, r"\|A\|_* \le \|A\|_F"),
    (PLAIN, r"\|A + B\|_{\text{op}} = \|A\|_{\text{op}} + \|B\|_{\text{op}}"),
    (PLAIN, r"\|x\|_2 \le \|x\|_3"),
    (PINV, r"G G^\dagger = I_n"),
    (SYMMETRIC, r"\operatorname{tr}(A) = n \lambda_{\max}(A)"),
    (SYMMETRIC, r"\|A\|_{\text{op}} = \lambda_{\max}(A)"),
]


def last(words: str, step: str) -> tuple[Verdict, str]:
    found = check_document(f"{words}\n\n$$ {step} $$\n", effort=Effort(seconds=4.0)).steps[-1]
    return found.verdict, f"{found.evidence.text} {found.evidence.advice}"


@pytest.mark.parametrize("words, step", RIGHT, ids=[step for _, step in RIGHT])
def test_right_steps_are_accepted(words: str, step: str) -> None:
    verdict, text = last(words, step)
    assert verdict in GOOD, text


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize("words, step", WRONG, ids=[step for _, step in WRONG])
def test_wrong_steps_are_refuted(words: str, step: str) -> None:
    verdict, text = last(words, step)
    assert verdict is Verdict.REFUTED, text


@pytest.mark.parametrize(
    "words, step",
    [
        (KRONECKER, r"\operatorname{vec}(A X B) = (A \otimes B^\top) \operatorname{vec}(X)"),  # rows in vec
        (SYMMETRIC, r"x^\top A x \ge \lambda_1(A) x^\top x"),  # the smallest first
        (PLAIN + r" Assume $A^\top A = I_n$.", r"\|A\|_2 = 1"),  # not over the entries
        (PLAIN, r"\|A\|_2^2 = \operatorname{tr}(A^\top A)"),  # over the entries
    ],
)
def test_what_authors_read_differently_is_ambiguous(words: str, step: str) -> None:
    assert last(words, step)[0] is Verdict.AMBIGUOUS


@pytest.mark.parametrize(
    "words, step, said",
    [
        (PLAIN, r"A \otimes B = B \otimes A", "say what it is"),
        (WHOLE, r"x! = x", "whole numbers"),
        (WHOLE, r"n!! = n", "not understood"),
    ],
)
def test_what_is_not_clear_is_not_read(words: str, step: str, said: str) -> None:
    verdict, text = last(words, step)
    assert verdict is Verdict.UNREADABLE and said in text


def test_signs_that_the_words_explain() -> None:
    outer = PLAIN.replace(" and $x", ", $y \\in \\mathbb{R}^m$ and $x") + r" Here $\otimes$ is the outer product."
    assert last(outer, r"x \otimes y = x y^\top")[0] in GOOD
    spectral = PLAIN + r" Here $\|\cdot\|$ is the spectral norm."
    assert last(spectral, r"\|A^\top A\| = \|A\|^2")[0] in GOOD
    assert last(spectral, r"\|A\|^2 = \operatorname{tr}(A^\top A)")[0] is Verdict.REFUTED


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    "step, said",
    [
        (r"n! \le 10^{58}", r"$n \le 46$"),
        (r"\binom{n}{2} \le 1000", r"$n \le 45$"),
        (r"n! \ge 2^n", r"$n \ge 4$"),
        (r"n^2 \le 2^n", r"$n \ge 4$"),
    ],
)
def test_for_which_sizes_a_false_bound_holds(step: str, said: str) -> None:
    assert said in last(r"Let $n \in \mathbb{N}$.", step)[1]


def test_eigenvalues_far_below_floats_are_ordered() -> None:
    """As floats, 2^-1400 and its negative are both 0: the largest of them was the smallest."""
    words = (
        r"Let $A \in \mathbb{R}^{2 \times 2}$ with $A = \begin{bmatrix} 0 & 2^{-1400} \\ 2^{-1400} & 0 \end{bmatrix}$."
    )
    assert last(words, r"\lambda_{\max}(A) > 0")[0] in GOOD


@pytest.mark.usefixtures("searched")
def test_sizes_beyond_floats_are_not_said_to_agree() -> None:
    r"""As floats both sides of $n! \le n^n$ are infinite from n = 171 on."""
    text = last(r"Let $n \in \mathbb{N}$.", r"n! \le n^n")[1]
    assert "in floating point, up to n = 170" in text
