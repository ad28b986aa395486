"""EXACT is a proof: what holds at small sizes because hypotheses tie the entries together is not EXACT."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision import decide
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import Verdict

TIED = [
    (r"\sum_{i=1}^n p_i = 1$ and $\sum_{i=1}^n p_i^2 = 1", r"p_1 = p_1^2"),  # false at n = 3: 2/3, 2/3, -1/3
    (r"\sum_{i=1}^n p_i = 1$ and $\sum_{i=1}^n p_i^2 = 1", r"\sum_{i=1}^n p_i^3 = 1"),
    (r"p^\top p = 1$ and $\mathbf{1}_n^\top p = 1", r"\operatorname{diag}(p) - p p^\top = 0"),
    (r"\|p\|^2 = 1$ and $\mathbf{1}_n^\top p = 1", r"p \odot p = p"),
    (r"\sum_{i=1}^n p_i = 0$ and $\sum_{i=1}^n p_i^3 = 0", r"\sum_{i=1}^n p_i^5 = 0"),  # false from n = 5 on
    (r"\sum_{i=1}^n p_i = 0$ and $\sum_{i=1}^n p_i^3 = 0", r"\sum_{i=1}^n p_i^7 = 0"),
]


@pytest.mark.parametrize(("hypotheses", "claim"), TIED)
def test_a_false_relation_under_tied_entries_is_not_exact(hypotheses: str, claim: str) -> None:
    text = f"Let $n \\in \\mathbb{{N}}$ and $p \\in \\mathbb{{R}}^n$ with ${hypotheses}$.\n\n$$ {claim} $$\n"
    (step,) = check_document(text).steps
    assert step.verdict not in ("EXACT", "PROVED"), step.evidence.text


@pytest.mark.parametrize(
    ("declared", "claim"),
    [
        (r"$p, q \in \mathbb{R}^n$", r"\|p + q\|^2 = \|p\|^2 + 2 p^\top q + \|q\|^2"),
        (r"$p \in \mathbb{R}^n$ with $\sum_{i=1}^n p_i = 1$", r"\sum_{i=1}^n 2 p_i = 2"),
        (r"$A \in \mathbb{R}^{n \times n}$ with $A = A^\top$", r"A A^\top = A^2"),
    ],
)
def test_a_true_relation_is_still_proved_or_exact_or_agrees(declared: str, claim: str) -> None:
    (step,) = check_document(f"Let $n \\in \\mathbb{{N}}$ and {declared}.\n\n$$ {claim} $$\n").steps
    assert step.verdict in ("PROVED", "EXACT", "AGREES"), step.evidence.text


@pytest.mark.parametrize(
    ("equation", "claim"),
    [
        ("a^2 + b^2 = c^2 + d^2", "a + b = c + d"),  # 1 + 64 = 16 + 49
        ("a a + b b = c c + d d", "a + b = c + d"),
        ("a^3 + b^3 = c^3 + d^3", "a = c"),  # 1 + 1728 = 729 + 1000
    ],
)
def test_a_false_relation_of_sizes_that_an_equation_ties_is_not_exact(equation: str, claim: str) -> None:
    declared = rf"Let $a, b, c, d \in \mathbb{{N}}$ with $a < b$, $c < d$ and ${equation}$."
    (step,) = check_document(f"{declared}\n\n$$ {claim} $$\n").steps
    assert step.verdict not in ("EXACT", "PROVED"), step.evidence.text


@pytest.mark.parametrize(
    ("declared", "formula"),
    [
        ("a = n", r"a \le 10^{1600}"),
        ("a = n", r"|10^{1600} - a| = 10^{1600} - a"),
        ("a = n", r"\sqrt{(10^{1600} - a)^2} = 10^{1600} - a"),
        (r"a \le n", r"a \le 10^{1600}"),
    ],
)
def test_what_is_true_up_to_a_size_is_not_exact_where_an_equation_names_the_size(declared: str, formula: str) -> None:
    text = f"Let $n \\in \\mathbb{{N}}$ and $a \\in \\mathbb{{R}}$ with ${declared}$.\n\n$$ {formula} $$\n"
    (step,) = check_document(text).steps
    assert step.verdict not in ("EXACT", "PROVED"), step.evidence.text  # false at n = 10^1601


@pytest.mark.parametrize(
    ("declared", "claim", "note"),
    [
        (r"$i \in \{1, \dots, 3\}$", r"2^{2^{2^{i+3}}} = 4^{2^{2^{i+3}-1}}", "sizes beyond i = 1 were too large: "),
        (r"$x \in \mathbb{R}$", r"2^{e^{e^{x^9}}} > 0", "other values were too large: "),  # it has no size
    ],
)
def test_what_was_too_large_to_try_is_named(declared: str, claim: str, note: str) -> None:
    (step,) = check_document(f"Let {declared}.\n\n$$ {claim} $$\n").steps
    assert step.verdict == "AGREES" and note in step.evidence.text, step.evidence.text


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        (r"\binom{10^9}{60} > 5", Verdict.EXACT),
        (r"2^{100} \le 3^{70}", Verdict.EXACT),
        (r"e^{\pi} > \pi^e", Verdict.EXACT),
        (r"\binom{10^9}{60} > 2^{2000}", Verdict.REFUTED),
    ],
)
def test_an_inequality_between_numbers_is_exact(step: str, verdict: Verdict) -> None:
    assert check_document(f"$$ {step} $$\n").steps[0].verdict is verdict


@pytest.mark.usefixtures("searched")
def test_an_inequality_for_all_sizes_is_not() -> None:
    text = "Let $n \\in \\mathbb{N}$.\n\n$$ \\binom{10^9}{60} > n $$\n"
    assert check_document(text).steps[0].verdict is Verdict.REFUTED


def test_numbers_whose_intervals_overlap_are_not_exact() -> None:
    """They agree to the digits that were computed, which shows no order between them."""
    (step,) = check_document("$$ \\sqrt{2 + \\sqrt{3}} \\le \\frac{\\sqrt{6} + \\sqrt{2}}{2} $$\n").steps
    assert "in this order" not in step.evidence.text


UNIT = r"Let $n \in \mathbb{N}$ and $p \in \mathbb{R}^n$"


@pytest.mark.parametrize(
    ("text", "looked"),
    [
        (f"{UNIT}.\n\n$$ \\|2 p\\|^2 + \\|p\\|^2 = 5 \\|p\\|^2 $$\n", True),
        (f"{UNIT} with $\\|p\\|^2 = 1$.\n\n$$ \\frac{{1}}{{1 + \\|p\\|^4}} = \\frac12 $$\n", False),  # tied entries
        (f"{UNIT}.\n\n$$ \\|p\\|^4 + 1 \\ge 2 \\|p\\|^2 $$\n", False),  # what holds at n may fail at n + 1
    ],
)
def test_small_sizes_are_only_looked_at_where_they_can_prove(
    text: str, looked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[object] = []
    exact_at = decide._exact_at
    monkeypatch.setattr(decide, "_exact_at", lambda *args: places.append(args[1]) or exact_at(*args))
    monkeypatch.setattr(decide, "is_proved_everywhere", lambda problem: False)
    monkeypatch.setattr(decide, "is_ordered_everywhere", lambda problem: False)
    (step,) = steps_of(text)[0]
    assert isinstance(step, Step)
    found = decide.decide(Problem(*claim_of(step)))
    assert bool(places) == looked
    assert found.verdict == ("EXACT" if looked else "AGREES"), found.evidence.text
