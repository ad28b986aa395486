"""Steps about factorials, recursions, Einstein sums, complex numbers and matrices, as they are written: none misjudged."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, Verdict
from tests.properties.derivation_hunted import RIGHT, WRONG


def verdicts(document: str) -> dict[str, Verdict]:
    found = check_document(document, effort=Effort(seconds=4.0), infer=True).steps
    return {one.text: one.verdict for one in found}


@pytest.mark.thorough
@pytest.mark.parametrize("document", RIGHT)
def test_no_right_step_is_refuted_and_most_are_accepted(document: str) -> None:
    found = verdicts(document)
    assert Verdict.REFUTED not in found.values(), found
    assert sum(one in GOOD for one in found.values()) >= 0.75 * len(found), found


@pytest.mark.thorough
@pytest.mark.parametrize("document", WRONG)
def test_no_wrong_step_is_accepted_and_most_are_refuted(document: str) -> None:
    found = verdicts(document)
    assert not any(one in GOOD for one in found.values()), found
    assert sum(one is Verdict.REFUTED for one in found.values()) >= 0.75 * len(found), found


def test_what_a_hypothesis_ties_to_noise_is_not_held_fixed_in_an_average() -> None:
    head = (
        "Let $n, d \\in \\mathbb{N}$, $X \\in \\mathbb{R}^{n \\times d}$, $w \\in \\mathbb{R}^d$, $y \\in \\mathbb{R}^n$, "
        "$e \\sim \\mathcal{N}(0, I_n)$. Assume $y = X w + e$.\n\n"
    )
    (step,) = check_document(head + "$$ \\mathbb{E}[y] = X w $$\n").steps
    assert step.verdict == "UNDECIDED" and "a hypothesis ties it to what is random" in step.evidence.text
    (step,) = check_document(head.replace("Assume $y =", "Put $z :=") + "$$ \\mathbb{E}[z] = X w $$\n").steps
    assert step.verdict in ("PROVED", "EXACT")
