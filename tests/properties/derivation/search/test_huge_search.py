"""The search at huge sizes: arrays of different kinds together, halves, rows of matrices, slow sums, pairs of sizes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.search import huge_search
from attention_core.derivation.search.huge import Huge

N = r"Let $n \in \mathbb{N}$"
BOUNDED = N + r" and $q, k \in \mathbb{R}^n$ with $\|q\| \le 1$, $|k_i| \le 1$."
UNIT = N + r" and $q, k \in \mathbb{R}^n$ with $\|q\| = 1$, $|k_i| \le 1$."
CENTRED = N + r" and $x \in \mathbb{R}^n$ with $|x_i| \le 1$ and $\sum_{i=1}^n x_i = 0$."
MATRIX = r"Let $n, d \in \mathbb{N}$ and $X \in \mathbb{R}^{n \times d}$."
CASES = [
    (BOUNDED, r"q^\top k \le 5", r"q^\top k \le \sqrt{n}"),
    (UNIT, r"q^\top k \le 7", r"(q^\top k)^2 \le n"),
    (CENTRED, r"\|x\| \le 15", r"\|x\|^2 \le n"),
    (CENTRED, r"\sum_{i=1}^n |x_i| \le 90", r"\sum_{i=1}^n |x_i| \le n"),
    (MATRIX, r"\|X\|_F \le 25 \max_i \|X_{i,:}\|", r"\|X\|_F^2 \le n \max_i \|X_{i,:}\|^2"),
    (MATRIX, r"\|X\|_F \le 30 \max_j \|X_{:,j}\|", r"\|X\|_F^2 \le d \max_j \|X_{:,j}\|^2"),
    (N + ".", r"\prod_{k=1}^n (1 + \frac{1}{k^2}) \le 3.67", r"\prod_{k=1}^n (1 + \frac{1}{k^2}) \le 3.68"),
    (N + ".", r"\sum_{k=1}^n \frac{1}{k^2} \le 1.644", r"\sum_{k=1}^n \frac{1}{k^2} \le 1.645"),
    (N + ".", r"\sum_{k=1}^n \frac{1}{k \log_2(k + 1)} \le 4.5", r"\sum_{k=1}^n \frac{1}{k (k + 1)} \le 1"),
    (r"Let $n, k \in \mathbb{N}$.", r"n^2 + n + 41 \ne 41 k", r"n^2 + 1 \ne 4 k"),
    (r"Let $n, k \in \mathbb{N}$.", r"n^2 - 2 k^2 \ne 1", r"n^2 - 4 k^2 \ne 2"),
]


@pytest.mark.thorough(leave_out=("*|X*",))
@pytest.mark.parametrize(("hypothesis", "false", "true"), CASES, ids=[false for _, false, _ in CASES])
def test_what_fails_far_up_is_refuted_and_what_holds_is_not(hypothesis: str, false: str, true: str) -> None:
    wrong, right = (check_document(f"{hypothesis}\n\n$$ {claim} $$\n").steps[0] for claim in (false, true))
    assert wrong.verdict is Verdict.REFUTED, wrong.evidence.text
    assert right.verdict in GOOD, right.evidence.text


def test_halves_are_shown() -> None:
    found = check_document(f"{CENTRED}\n\n$$ \\|x\\| \\le 15 $$\n").steps[0]
    assert found.counterexample is not None
    assert found.counterexample.values == {"n": "256", "x": "1 in the first half, -1 in the other"}


FAMILY = r"""Let $n \in \mathbb{N}$, $t_1, \dots, t_n \in \mathbb{R}$ and $y \in \mathbb{R}$.

$$ \sum_{j=1}^n (t_j - y)^2 \ge 0 $$
"""
VECTOR = FAMILY.replace(r"t_1, \dots, t_n \in \mathbb{R}", r"t \in \mathbb{R}^n")


def problem_of(text: str) -> Problem:
    """The problem of the first step of a document."""
    step = steps_of(text)[0][0]
    assert isinstance(step, Step)
    return Problem(*claim_of(step))


@pytest.mark.parametrize(("text", "count"), [(FAMILY, 6), (VECTOR, 23)])
def test_one_case_is_judged_once_however_it_is_made(text: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, judged = problem_of(text), list[huge_search.Point]()
    judge = huge_search.judge_point

    def noted(problem: Problem, point: huge_search.Point) -> Any:
        judged.append(point)
        return judge(problem, point)

    monkeypatch.setattr(huge_search, "judge_point", noted)
    huge_search.huge(problem)
    first = [p for p in judged if p.sizes["n"] == 100 and p.numbers == judged[0].numbers]
    assert len(first) == count
    cases = [huge_search._case_of(problem, p) for p in judged]
    assert len(set(cases)) == len(cases) > 100


@pytest.mark.parametrize("text", [FAMILY, VECTOR])
def test_points_of_one_case_have_the_same_values(text: str) -> None:
    problem, values = problem_of(text), dict[Any, Any]()
    for point in itertools.islice(huge_search._points(problem), 400):
        at = Huge(huge_search._terms(problem), point.sizes, {}, point.split)
        huge_search._fill(problem, point, at)
        found = at.number(problem.claim.left, at.top)
        assert values.setdefault(huge_search._case_of(problem, point), found) == found
    assert len(set(values.values())) > 20


def test_a_case_that_was_not_compared_is_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, judged = problem_of(FAMILY), list[huge_search.Point]()
    monkeypatch.setattr(huge_search, "judge_point", lambda problem, point: judged.append(point))
    huge_search.huge(problem)
    assert len([p for p in judged if p.sizes["n"] == 100 and p.numbers == judged[0].numbers]) == 23
