"""Conclusions about a derivative of what is defined are claims, and hypotheses about it are not passed over."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import Verdict
from attention_core.derivation.words.derivative_claims import argued_derivative

HEAD = r"Let $z \in \mathbb{R}^n$ and $s = z^\top z$."
FALSE = r"$$ \nabla_z^2 s = 3 I_n $$"
CONCLUDES = "The Hessian is a multiple of the identity, hence positive semidefinite."


def verdict(*blocks: str) -> Verdict:
    text = "\n\n".join(blocks) + "\n"
    return check_document(text, effort=Effort(seconds=3.0), infer=True).steps[-1].verdict


def test_a_conclusion_leaves_a_false_step_refuted() -> None:
    assert argued_derivative(CONCLUDES) == "Hessian"
    assert verdict(HEAD, CONCLUDES, FALSE) is Verdict.REFUTED


@pytest.mark.parametrize(
    "sentence",
    [
        "The Hessian is positive semidefinite.",
        "The matrix is symmetric, hence diagonal.",
        "If the Hessian is 0, so is $z$.",
    ],
)
def test_what_may_be_assumed_does_not(sentence: str) -> None:
    assert argued_derivative(sentence) == ""
    assert verdict(HEAD, sentence, r"$$ \nabla_z^2 s = z z^\top $$") is not Verdict.REFUTED
    assert verdict(HEAD, sentence, FALSE) is Verdict.REFUTED  # a slip: no hypothesis makes 3 of 2


def test_a_matrix_that_is_free_may_be_the_hessian() -> None:
    head = r"Let $z \in \mathbb{R}^n$ and $H \in \mathbb{R}^{n \times n}$."
    assert verdict(head, CONCLUDES, r"$$ z^\top H z \ge 0 $$") is Verdict.UNDECIDED
