"""Student's intervals: numbers of a table, coverage, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from finetune.errors import BadInput
from finetune.experiments.conclusions import level_of_each, student_interval


def test_the_quantiles_are_those_of_the_tables() -> None:
    # t with 4 degrees of freedom at 97.5 % is 2.7764; the mean of -2 ... 2 has the standard error sqrt(0.5)
    found = student_interval([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert (
        found.mean == 0 and found.high == pytest.approx(2.7764 * math.sqrt(0.5), rel=1e-4) and found.low == -found.high
    )


def test_equal_values_have_no_width_and_one_value_has_no_bound() -> None:
    assert (student_interval([3.0] * 5).low, student_interval([3.0] * 5).high) == (3.0, 3.0)
    assert student_interval([3.0]).high == math.inf


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    generator, trials = np.random.default_rng(0), 2000
    covered = 0
    for _ in range(trials):
        found = student_interval(generator.normal(1.0, 2.0, 5).tolist(), 0.9)
        covered += found.low <= 1.0 <= found.high
    # five standard deviations of a binomial with p = 0.9
    assert abs(covered - 0.9 * trials) < 5 * math.sqrt(trials * 0.09)


def test_levels_add_up_to_the_whole() -> None:
    assert 20 * (1 - level_of_each(20)) == pytest.approx(0.05) and level_of_each(0) == pytest.approx(0.95)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf, 1.0]])
def test_what_is_not_a_number_is_refused(values: list[float]) -> None:
    with pytest.raises(BadInput, match="finite"):
        student_interval(values)
