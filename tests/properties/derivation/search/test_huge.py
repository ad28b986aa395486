"""Values at huge sizes: what is looked up is what would be computed, and nothing outlives its step."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.search import huge_search
from attention_core.derivation.search.huge import Huge, Spot, Terms

N = r"Let $n \in \mathbb{N}$"
NESTED = r"\sum_{i=1}^n (\sum_{j=1}^i x_j + \sum_{i=1}^n x_i) = \sum_{i=1}^n \sum_{j=1}^i x_j + n \sum_{i=1}^n x_i"


def problem_of(text: str) -> Problem:
    """The problem of the first step of a document."""
    step = steps_of(text)[0][0]
    assert isinstance(step, Step)
    return Problem(*claim_of(step))


def point(size: int, split: int = 0) -> huge_search.Point:
    """A point at one size, all arrays of the first kind."""
    return huge_search.Point({"n": size}, {}, split, (0,), ())


def value(problem: Problem, size: int, split: int = 0) -> tuple[Any, Any]:
    """Both sides of a claim at a point."""
    at = Huge(Terms(problem.context), {"n": size}, {}, split)
    huge_search._fill(problem, point(size, split), at)
    return at.number(problem.claim.left, at.top), at.number(problem.claim.right, at.top)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_sums_in_sums_with_one_letter_are_those_written_out(size: int) -> None:
    left, right = value(problem_of(f"{N} and $x \\in \\mathbb{{R}}^n$.\n\n$$ {NESTED} $$\n"), size)
    assert left == right == size * (size + 1) // 2 + size * size  # all entries are 1


def test_equal_spots_are_one_object() -> None:
    at = Huge(Terms(problem_of(f"{N}.\n\n$$ n + 1 > n $$\n").context), {"n": 3}, {}, 0)
    first = at.keep(Spot(2**5000, 2**5001, "i"))
    assert at.keep(Spot(2**5000, 2**5001, "i")) is first
    assert at.keep(Spot(2**5000, 2**5001, "j")) is not first


COUNTED = r"\sum_{k=1}^n \frac{1}{k^2} \le \frac{\pi^2}{6} - \frac{1}{n + 1} + \frac{1}{2 n^2}"


@pytest.mark.parametrize(
    ("claim", "levels"),
    [(r"\sqrt{n + 1} > \sqrt{n}", [False, True]), (COUNTED, [False, True, True])],
)
def test_finer_pieces_are_tried_where_a_range_has_any(
    claim: str, levels: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[bool] = []

    class Noted(Huge):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            tried.append(self.fine)

    monkeypatch.setattr(huge_search, "Huge", Noted)
    huge_search.judge_point(problem_of(f"{N}.\n\n$$ {claim} $$\n"), point(2**1000))
    assert tried == levels


def test_hypotheses_that_hold_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    admits = huge_search._admits
    monkeypatch.setattr(huge_search, "_admits", lambda *args: looked.append(args[2]) or admits(*args))
    huge_search.judge_point(problem_of(f"{N}.\n\n$$ {COUNTED} $$\n"), point(2**1000))
    assert looked == [128]


def test_all_points_of_a_step_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []
    judge = huge_search.judge_point
    monkeypatch.setattr(huge_search, "judge_point", lambda *args: judged.append(args[1]) or judge(*args))
    monkeypatch.setattr(huge_search, "WORK", 500)
    problem = problem_of(f"{N}.\n\n$$ {COUNTED} $$\n")
    huge_search.huge(problem)
    assert 0 < len(judged) < 12
    assert problem.kept["terms"].work > 500


def test_what_a_step_keeps_goes_with_it() -> None:
    problem = problem_of(f"{N} and $x \\in \\mathbb{{R}}^n$.\n\n$$ {NESTED} $$\n")
    huge_search.huge(problem)
    kept = weakref.ref(problem.kept["terms"])
    del problem
    gc.collect()
    assert kept() is None


def test_declarations_of_a_document_reach_no_other() -> None:
    claim = "$$ \\sum_{i=1}^n x_i \\le n $$\n"
    small = f"{N} and $x \\in \\mathbb{{R}}^n$ with $|x_i| \\le 1$.\n\n{claim}"
    large = f"{N} and $x \\in \\mathbb{{R}}^n$ with $|x_i| \\le 2$.\n\n{claim}"
    verdicts = [str(check_document(text).steps[0].verdict) for text in (small, large, small, claim, small)]
    assert verdicts == [verdicts[0], "REFUTED", verdicts[0], "UNREADABLE", verdicts[0]]
    assert verdicts[0] in ("PROVED", "AGREES")
