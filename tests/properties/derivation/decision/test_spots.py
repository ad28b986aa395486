"""A change that is false at a point of the step is tried nowhere else; one that holds is never ruled out."""

from __future__ import annotations

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.check import document_steps
from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.decide import decide
from attention_core.derivation.decision.spots import fails_at_spots, find_spots, has_no_sites
from attention_core.derivation.reading.step import Step

HEAD = "Let $n \\in \\mathbb{N}$, $a, b, c \\in \\mathbb{R}$ and $x \\in \\mathbb{R}^n$.\n\n"


def problem(formula: str) -> Problem:
    (step,) = document_steps(f"{HEAD}$$ {formula} $$\n")[1]
    assert isinstance(step, Step)
    return Problem(*claim_of(step))


def test_points_rule_out_what_is_false_there_and_nothing_else() -> None:
    wrong = problem(r"(a + b)^2 \|x\|^2 = (a^2 + a b + b^2) \|x\|^2")
    assert find_spots(wrong) == []  # it was not searched yet
    decide(wrong)
    spots = find_spots(wrong)
    assert len(spots) > 1
    assert fails_at_spots(problem(r"(a + b)^2 \|x\|^2 = (a^2 - a b + b^2) \|x\|^2"), spots)
    assert not fails_at_spots(problem(r"(a + b)^2 \|x\|^2 = (a^2 + 2 a b + b^2) \|x\|^2"), spots)
    assert not fails_at_spots(problem(r"c = 1"), spots)  # a symbol that the points do not have


def test_a_change_that_names_an_entry_which_does_not_exist_is_tried_nowhere_else() -> None:
    false = problem(r"\sum_{i=1}^n (x_i + a)^2 = \sum_{i=1}^n x_i^2")
    decide(false)
    spots = find_spots(false)
    assert spots and has_no_sites(problem(r"\sum_{i=0}^n (x_i + a)^2 = \sum_{i=1}^n x_i^2"), spots)
    for change in (r"\sum_{i=1}^n (x_i + a)^2 = \sum_{i=1}^{n-1} x_i^2", r"\sum_{i=1}^n x_i^2 = \sum_{i=1}^n x_i^2"):
        assert not has_no_sites(problem(change), spots)
    assert not has_no_sites(problem(r"\sum_{i=0}^n x_i = a"), [])
