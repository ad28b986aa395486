"""Chernoff's bound.

finetune.laws.chance: the bound holds against exact binomial tails, and is not idle.
"""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest

from finetune.laws.chance import ALARM, divergence, margin, unlikely


@pytest.mark.parametrize("p", [0.0225, 0.15, 0.5, 0.8, 1 / 30520])
@pytest.mark.parametrize("trials", [1, 40, 1000, 100000])
@pytest.mark.parametrize("among", [1, 400])
def test_an_alarm_is_as_seldom_as_it_says(p: float, trials: int, among: int, stats: ModuleType) -> None:
    """The exact probability of all counts that are refused, for each of `among` places."""
    counts = np.arange(trials + 1)
    refused = unlikely(counts, trials, p, among=among)
    exact = float(stats.binom.pmf(counts[refused], trials, p).sum())
    assert exact * among <= ALARM


def test_the_bound_is_not_idle(stats: ModuleType) -> None:
    """Within a factor of 1.15 of the widest deviation that any test with this level could allow."""
    counts = np.arange(100001)
    refused = unlikely(counts, 100000, 0.15)
    kept = counts[~refused]
    widest = stats.binom.isf(ALARM / 2, 100000, 0.15) - 15000
    assert kept.max() - 15000 < 1.15 * widest
    assert bool(unlikely(0, 200, 0.15)) and not unlikely(0, 100, 0.15)


def test_what_is_known_up_to_a_slack_is_judged_from_its_nearest_value() -> None:
    assert unlikely(1000, 5000, 0.15)
    assert not unlikely(1000, 5000, 0.15, slack=0.05)
    assert not unlikely(100, 5000, 0.15, above=True) and unlikely(100, 5000, 0.15)


@pytest.mark.parametrize("share", [0.1, 0.2])
@pytest.mark.parametrize("slack", [0.0, 0.01])
def test_the_margin_is_where_the_alarm_begins(share: float, slack: float) -> None:
    side = math.copysign(1.0, share - 0.15)
    edge = 0.15 + side * margin(40000, 0.15, share, slack=slack)
    assert unlikely((edge + side * 1e-6) * 40000, 40000, 0.15, slack=slack)
    assert not unlikely((edge - side * 1e-6) * 40000, 40000, 0.15, slack=slack)


def test_the_divergence_is_that_of_its_formula() -> None:
    assert float(divergence(0.0, 0.15)) == pytest.approx(-math.log(0.85))
    assert float(divergence(1.0, 0.25)) == pytest.approx(math.log(4))
    assert float(divergence(0.3, 0.3)) == 0 and np.isposinf(divergence(0.5, 0.0))
