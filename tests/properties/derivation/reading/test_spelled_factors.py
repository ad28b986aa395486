"""Named decompositions declare their factors, where these have one meaning, and nothing is passed over."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_factors import spell_factors
from attention_core.derivation.records import GOOD, Verdict

SQUARE = r"A \in \mathbb{R}^{n \times n}"


@pytest.mark.parametrize(
    ("sentence", "right", "wrong"),
    [
        (rf"Let $A = U S V^\top$ be the singular value decomposition of ${SQUARE}$.", r"A V = U S", "A U = S"),
        (rf"Suppose $A = U S V^\top$ is an SVD of ${SQUARE}$, where $U$ and $V$ are orthogonal.", r"A A^\top = U S^2 U^\top",
         r"A^\top A = V S^2 V^\top + I"),
        (rf"Let $A = Q D Q^\top$ be the spectral decomposition of the symmetric matrix ${SQUARE}$.", "A Q = Q D", "A Q = Q D + I"),
        (rf"Let $A = L L^\top$ be the Cholesky decomposition of a positive definite matrix ${SQUARE}$.", r"A^\top = A",
         r"A = L^\top L"),
        (r"Let $X = Q R$ be the QR decomposition of $X \in \mathbb{R}^{m \times n}$.", r"X^\top X = R^\top R", r"X^\top X = R^\top R + I"),
    ],
)  # fmt: skip
def test_the_factors_are_what_the_name_says(sentence: str, right: str, wrong: str) -> None:
    steps = [f"{sentence}\n\n$$ {right} $$\n", f"{sentence} Hence\n\n$$ {wrong} $$\n"]
    found = [check_document(one, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict for one in steps]
    assert found[0] in GOOD and found[1] is Verdict.REFUTED


@pytest.mark.parametrize(
    ("form", "words", "array"),
    [
        (r"A = U S V^\top", "singular value decomposition of", r"A \in \mathbb{R}^{m \times n}"),  # thin or full
        (r"A = Q D Q^\top", "eigendecomposition of", SQUARE),  # of a matrix that is not said to be symmetric
        (r"A = L U", "Cholesky decomposition of", SQUARE),
        (r"B = L L^\top", "Cholesky decomposition of", SQUARE),
    ],
)
def test_what_has_another_meaning_stays(form: str, words: str, array: str) -> None:
    text = f"Let \x000\x00 be the {words} \x001\x00."
    assert spell_factors("", text, [form, array]) == text


def test_a_matrix_that_is_known_is_not_declared_anew() -> None:
    text = "Let \x000\x00 be the Cholesky decomposition of \x001\x00."
    assert spell_factors(SQUARE, text, [r"A = L L^\top", SQUARE]) == text
