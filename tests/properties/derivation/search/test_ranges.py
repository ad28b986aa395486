"""Ranges of sums: pieces of an index that says places give what single values give, and are few."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.search import huge_search
from attention_core.derivation.search.huge import HALVES, Huge, Terms
from attention_core.derivation.search.ranges import SINGLE, Cut, Place, cut_range

SCENE = r"""Let $n \in \mathbb{N}$, $x \in \mathbb{R}^n$, $A \in \mathbb{R}^{n \times n}$, $i \in \{1, \dots, n\}$ and
$t_1, \dots, t_n \in \mathbb{R}$. Put $y_j := 2 x_j + t_j$, $z_{jk} := y_j A_{jk}$, $w_j := j x_j$, $v_j := x_j x_{n+1-j}$ and $u_{jk} := x_j x_k x_{j+k-1}$.

$$ %s \le 1 $$
"""
PLACES = (
    r"\sum_{j=1}^n x_j",
    r"\sum_{j=1}^{n-1} x_{j+1}",
    r"\sum_{j=1}^n x_{n+1-j}",
    r"\sum_{j=2}^n (x_{j-1} + x_j)",
    r"\sum_{j=1}^n y_j",
    r"\sum_{j=1}^{n-1} (y_{j+1} - y_j)",
    r"\sum_{j=1}^n z_{ij}",
    r"\sum_{j=1}^n z_{ji}",
    r"\sum_{j=1}^n z_{jj}",
    r"\sum_{j=1}^{n-1} A_{i,j+1} x_j",
    r"\sum_{j=1}^n t_j",
    r"\sum_{j=1}^{n-1} v_{j+1}",
    r"\sum_{j=i}^n x_{j-i+1}",
)
COUNTED = (
    r"\sum_{j=1}^n j x_j",
    r"\sum_{j=1}^n w_j",
    r"\sum_{j=1}^n \sum_{k=1}^j x_k",
    r"\sum_{j=2}^n x_j \mathbb{1}[j = i]",
    r"\sum_{j=1}^n u_{1j}",
)
POINTS = [(split, kind) for split in (0, 1, HALVES) for kind in range(huge_search.KINDS[split])]


def problem_of(claim: str) -> Problem:
    """The problem of one claim."""
    step = steps_of(SCENE % claim)[0][0]
    assert isinstance(step, Step)
    return Problem(*claim_of(step))


def value(problem: Problem, size: int, spot: Any, split: int, kind: int, each: int) -> tuple[Any, int]:
    """The left side at a point, and how many operations it took."""
    at = Huge(Terms(problem.context), {"n": size}, {}, split)
    at.each, at.operations = each, 10**9
    huge_search._fill(problem, huge_search.Point({"n": size}, spot, split, (kind,), ()), at)
    return at.number(problem.claim.left, at.top), at.work


def places_of(claim: str) -> frozenset[Place] | None:
    """The places that the index of a sum says."""
    problem = problem_of(claim)
    terms = Terms(problem.context)
    return terms.places(next(t for t in problem.claim.left.walk() if t.op == "reduce" and t.data[1] == "j"))


@pytest.mark.parametrize("claim", PLACES)
@pytest.mark.parametrize("size", [2, 6, 20])
def test_a_sum_over_places_is_the_one_written_out(claim: str, size: int) -> None:
    problem, most = problem_of(claim), 0
    spots = list(huge_search._indices(problem, {"n": size}))[-2:]
    for split, kind in POINTS:
        for spot in spots:
            try:
                pieces, work = value(problem, size, spot, split, kind, 0)
            except huge_search.FAILS:
                continue
            most = max(most, work)
            assert pieces == value(problem, size, spot, split, kind, size)[0]
    assert 0 < most < 16 * SINGLE


@pytest.mark.parametrize("claim", [claim for claim in PLACES if "z" not in claim and "A" not in claim])
def test_sums_over_places_of_vectors_are_known_at_all_sizes(claim: str) -> None:
    problem = problem_of(claim)
    for (split, kind), spot in itertools.product(POINTS, huge_search._indices(problem, {"n": 2**40})):
        assert value(problem, 2**40, spot, split, kind, 0)[1] < 16 * SINGLE


@pytest.mark.parametrize("claim", PLACES)
def test_no_place_is_lost_that_pieces_of_a_counted_index_reach(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(claim)
    spots = [(size, spot) for size in (2, 6, 2**40) for spot in list(huge_search._indices(problem, {"n": size}))[-2:]]

    def reached() -> set[Any]:
        found = set()
        for split, kind in POINTS:
            for size, spot in spots:
                try:
                    found.add((split, kind, size, str(spot), str(value(problem, size, spot, split, kind, 0)[0])))
                except huge_search.FAILS:
                    continue
        return found

    new = reached()
    monkeypatch.setattr(Terms, "places", lambda terms, term: None)
    assert reached() <= new


@pytest.mark.parametrize("claim", PLACES)
def test_an_index_of_entries_is_a_place(claim: str) -> None:
    assert places_of(claim) is not None


@pytest.mark.parametrize("claim", COUNTED)
def test_an_index_that_is_a_number_is_counted(claim: str) -> None:
    assert places_of(claim) is None


def test_an_index_of_members_alone_leaves_its_range_whole() -> None:
    assert places_of(r"\sum_{j=1}^{n-1} (t_j + t_{j+1})") == frozenset()
    assert cut_range(1, 10**30, Cut(frozenset(), frozenset(), False)) == [(1, 10**30)]


def test_ranges_fall_where_a_place_comes_to_a_mark() -> None:
    marks = frozenset({51})
    assert cut_range(1, 100, Cut(frozenset({(1, 0)}), marks, False)) == [(1, 50), (51, 100)]
    assert cut_range(1, 99, Cut(frozenset({(1, 1)}), marks, False)) == [(1, 49), (50, 99)]
    assert cut_range(1, 100, Cut(frozenset({(-1, 101)}), marks, False)) == [(1, 50), (51, 100)]
    assert cut_range(1, 100, Cut(frozenset({(-1, 100), (1, 0)}), marks, False)) == [(1, 49), (50, 50), (51, 100)]


def test_short_ranges_fall_into_single_values() -> None:
    assert cut_range(1, SINGLE, Cut(frozenset({(1, 0)}), frozenset(), False)) == [(k, k) for k in range(1, SINGLE + 1)]
    assert cut_range(1, SINGLE + 1, Cut(frozenset({(1, 0)}), frozenset(), False)) == [(1, SINGLE + 1)]
