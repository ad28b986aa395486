"""Doubly stochastic matrices that are neither permutations nor symmetric are tried."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

GIVEN = r"Let $n \in \mathbb{N}$. Let $S$ be a doubly stochastic $n \times n$ matrix."
FORMULAS = (
    r"Let $n \in \mathbb{N}$ and $S \in \mathbb{R}^{n \times n}$ with $S_{ij} \ge 0$ for all $i, j$, "
    r"$S \mathbf{1}_n = \mathbf{1}_n$ and $S^\top \mathbf{1}_n = \mathbf{1}_n$."
)
STEPS = [
    (r"S^\top S = S S^\top", False),  # true of all 2 x 2 ones, and of permutations
    (r"\operatorname{tr}(S S) = \|S\|_F^2", False),
    (r"\mathbf{1}_n^\top S S = \mathbf{1}_n^\top", True),
    (r"\|S\|_F^2 \le n", True),
]


@pytest.mark.parametrize("given", [GIVEN, FORMULAS])
@pytest.mark.parametrize(("formula", "right"), STEPS)
def test_doubly_stochastic_matrices(given: str, formula: str, right: bool) -> None:
    found = check_document(f"{given}\n\nHence\n\n$$ {formula} $$\n", infer=True).steps[-1]
    assert found.verdict in GOOD if right else found.verdict is Verdict.REFUTED, found.evidence.text


def test_a_further_bound_holds_as_well() -> None:
    text = f"{FORMULAS[:-1]}, $S_{{ij}} \\le \\frac{{1}}{{2}}$ for all $i, j$.\n\n$$ \\operatorname{{tr}}(S) \\le \\frac{{n}}{{2}} $$\n"
    assert check_document(text, infer=True).steps[-1].verdict in GOOD


def test_equations_of_rows_are_solved_with_entries_that_follow_from_others() -> None:
    given = r"Let $n \in \mathbb{N}$ and $A, B \in \mathbb{R}^{n \times n}$ with $A^\top = -A$, $B^\top = -B$, "
    text = given + "$A \\mathbf{1}_n = 0$ and $B \\mathbf{1}_n = 0$.\n\n$$ A B - B A = 0 $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is Verdict.REFUTED  # true up to three rows


def test_what_rests_on_sums_of_rows_is_never_exact() -> None:
    text = "Let $n \\in \\mathbb{N}$ and $S \\in \\mathbb{R}^{n \\times n}$ with $S \\mathbf{1}_n = \\mathbf{1}_n$.\n\nHence\n\n"
    found = check_document(text + "$$ S S \\mathbf{1}_n = \\mathbf{1}_n $$\n", infer=True).steps[-1]
    assert found.verdict in GOOD and found.verdict is not Verdict.EXACT, found.evidence.text
