r"""Equations that tie sizes: their solutions beyond the small ones, and tuples that are too few to speak of agreement.

Under $a^3 + b^3 = c^3 + d^3$ all solutions below 1729 are trivial, and under fifth powers no other is known.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import StepReport, Verdict

PATIENT = Effort(seconds=60.0)
PAIRS = r"Let $a, b, c, d \in \mathbb{N}$ with $a < b$, $c < d$ and "


def checked(declared: str, formula: str) -> StepReport:
    (step,) = check_document(f"{declared}.\n\n$$ {formula} $$\n", effort=PATIENT).steps
    return step


@pytest.mark.parametrize(
    ("tie", "wrong", "sizes"),
    [
        ("$a^2 + b^2 = c^2 + d^2$", "a + b = c + d", (1, 8, 4, 7)),
        ("$a^3 + b^3 = c^3 + d^3$", "a = c", (1, 12, 9, 10)),
        ("$a^4 + b^4 = c^4 + d^4$", "a + b = c + d", (59, 158, 133, 134)),
        ("$a^3 - c^3 = d^3 - b^3$", "a = c", (1, 12, 9, 10)),  # its terms change sides
        ("$a b = c d$", "a = c", (1, 6, 2, 3)),
    ],
)
def test_solutions_beyond_the_small_ones_refute(tie: str, wrong: str, sizes: tuple[int, ...]) -> None:
    step = checked(PAIRS + tie, wrong)
    assert step.verdict is Verdict.REFUTED and step.counterexample is not None, step.evidence.text
    assert tuple(int(step.counterexample.values[n]) for n in "abcd") == sizes


def test_arrays_of_such_sizes_are_drawn_there() -> None:
    declared = rf"{PAIRS} $a^2 + b^2 = c^2 + d^2$. Let $x \in \mathbb{{R}}$ with $x > 0$"
    step = checked(declared, "a x = c x")
    assert step.verdict is Verdict.REFUTED and step.counterexample is not None, step.evidence.text
    assert [int(step.counterexample.values[n]) for n in "abcd"] == [1, 8, 4, 7]


@pytest.mark.parametrize(
    ("declared", "formula"),
    [
        (PAIRS + "$a^5 + b^5 = c^5 + d^5$", "a = c"),  # an open question
        (r"Let $h, k, m \in \mathbb{N}$ with $h^3 = k^2 + m$ and $m = 2$", "h + k = 8"),  # one solution, says Fermat
    ],
)
def test_tuples_on_an_equation_that_no_hypothesis_states_are_no_agreement(declared: str, formula: str) -> None:
    step = checked(declared, formula)
    assert step.verdict is Verdict.UNDECIDED and "found to meet the hypotheses" in step.evidence.text, (
        step.evidence.text
    )


def test_indices_go_as_far_as_their_size_is_taken() -> None:
    declared = r"Let $n \in \mathbb{N}$ and $i, j, k \in \{1, \dots, n\}$ with $i^2 + j^2 = k^2$ and $i < j$"
    step = checked(declared, "4 i = 3 j")
    assert step.verdict is Verdict.REFUTED and step.counterexample is not None, step.evidence.text
    assert int(step.counterexample.values["k"]) == 13


@pytest.mark.parametrize(
    ("declared", "formula"),
    [
        (PAIRS + "$a b = c d$", "a b^2 = b c d"),
        (PAIRS + "$a^2 + b^2 = c^2 + d^2$", "(a - c) (a + c) = (d - b) (d + b)"),
        (r"Let $a, b \in \mathbb{N}$ with $a^2 = b^2$", "a = b"),
        (r"Let $n, m, k \in \mathbb{N}$ with $n^2 + m^2 = k^2$", "n + m > k"),
    ],
)
def test_what_follows_from_such_an_equation_is_accepted(declared: str, formula: str) -> None:
    assert checked(declared, formula).verdict in {Verdict.PROVED, Verdict.EXACT, Verdict.AGREES}
