"""Counterexamples that are proved to exist: balls that hold a solution, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from attention_core.derivation import check_document
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import Verdict
from attention_core.derivation.search import certified_points as certified
from attention_core.derivation.search.solved_points import System, _system_of


def system_of(hypothesis: str) -> System:
    """The equations of a step about x and y."""
    (step,) = steps_of(f"Let $x, y \\in \\mathbb{{R}}$ with ${hypothesis}$.\n\n$$ x = y $$\n")[0]
    assert isinstance(step, Step)
    context, claim, extra = claim_of(step)
    site = Problem(context, claim, extra).site({})
    assert site is not None
    system = _system_of(site)
    assert system is not None
    return system


def test_the_balls_hold_the_solution() -> None:
    system = system_of("x^5 + x = 3 + y^3")
    made = certified._round(system, [0], np.array([1.3, 1.0]), 1)
    assert made is not None
    case = certified._enclose(system, [0], *made)
    assert case is not None
    x, y = (case[n]() if callable(case[n]) else case[n] for n in system.leaves)
    assert arb(x) ** 5 + x - 3 - arb(y) ** 3 == 0 or (arb(x) ** 5 + x - 3 - arb(y) ** 3).contains(0)
    assert arb(x).rad() < 1e-30


@pytest.mark.parametrize("hypothesis", ["x^4 + y^4 = -10^{-9}", "x^2 + x + 1 = y - y", "e^{x} + y^2 = 0"])
def test_nothing_is_proved_where_there_is_no_solution(hypothesis: str) -> None:
    system = system_of(hypothesis)
    for start in ([0.5, 0.5], [1e-3, 1e-3], [-20.0, 0.0]):
        made = certified._round(system, [0], np.array(start), 1000)
        assert made is None or certified._enclose(system, [0], *made) is None
    step = check_document(f"Let $x, y \\in \\mathbb{{R}}$ with ${hypothesis}$.\n\n$$ x = 2 $$\n").steps[-1]
    assert step.verdict is not Verdict.REFUTED, step.evidence.text


def test_equations_that_depend_on_one_another_are_not_proved() -> None:
    assert certified._pivots(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]])) is None
    assert sorted(certified._pivots(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0]])) or []) == [1, 2]
