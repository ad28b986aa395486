"""Rounds of two revisions: the interval over rounds, the verdict, when to stop; on simulated machines, how often it errs.

Every process has a speed of its own here, as by where its memory lies. Nothing reads a real clock.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from attention_core.bench.revisions.pair import measure_round
from attention_core.bench.revisions.rounds import Change, RoundRule, RoundTimes, compare_rounds, take_rounds
from attention_core.bench.timing.statistics import compare
from attention_core.bench.timing.synthetic import MACHINES, SyntheticClock, Work

CALL, TRIALS, OWN = 8e-3, 20, 0.01
"""Seconds of a call; trials of each kind; standard deviation of the logarithm of a process's own speed."""
RULE = RoundRule(seconds=6.0)


def compare_on(machine: str, seed: int, ratio: float) -> tuple[Change, list[RoundTimes]]:
    """A head that takes `ratio` times as long, in processes with speeds of their own."""
    rng, clock = np.random.default_rng(seed), SyntheticClock(MACHINES[machine], seed)

    def take(number: int) -> RoundTimes:
        own = np.exp(OWN * rng.standard_normal(2))
        return measure_round((Work(CALL * own[0]), Work(CALL * ratio * own[1])), clock, RULE, number)

    rounds = take_rounds(take, RULE)
    return compare_rounds([one.log_ratio for one in rounds], RULE.limit), rounds


@pytest.mark.thorough(keep=("*shared*", "*throttled*"))
@pytest.mark.parametrize("machine", list(MACHINES))
def test_few_equal_revisions_are_called_different_and_most_slow_ones_are_found(machine: str) -> None:
    same = [compare_on(machine, 2 * seed, 1.0)[0].verdict for seed in range(TRIALS)]
    slow = [compare_on(machine, 2 * seed + 1, 1.05)[0].verdict for seed in range(TRIALS)]
    assert sum(verdict in ("FASTER", "SLOWER") for verdict in same) <= 0.05 * TRIALS, same
    assert slow.count("SLOWER") >= 0.9 * TRIALS, slow
    assert "SAME" not in slow and "FASTER" not in slow


def test_the_interval_holds_the_ratio_that_blocks_of_one_pair_miss() -> None:
    """Blocks within one pair of processes cannot see that one of them is slower for its whole life."""
    held = inside = 0
    for seed in range(TRIALS):
        change, rounds = compare_on("quiet", seed, 1.0)
        held += change.low <= 1 <= change.high
        one = compare(rounds[0].head, rounds[0].base)
        inside += one.low <= 1 <= one.high
    assert held >= 0.9 * TRIALS
    assert inside < 0.75 * TRIALS


@pytest.mark.parametrize(
    ("logs", "limit", "verdict"),
    [
        ([0.05, 0.051, 0.049, 0.05], 1.02, "SLOWER"),
        ([-0.05, -0.051, -0.049, -0.05], 1.02, "FASTER"),
        ([0.004, 0.005, 0.006, 0.005], 1.02, "SAME"),  # certain, and less than the limit
        ([0.05, 0.051, 0.049, 0.05], 1.06, "SAME"),
        ([0.05, 0.051, 0.049, 0.05], 1.05, "AMBIGUOUS"),  # at the limit
        ([-0.1, 0.2, 0.0, 0.1], 1.02, "AMBIGUOUS"),
        ([0.0, 0.0], 1.02, "SAME"),
    ],
)
def test_verdicts(logs: list[float], limit: float, verdict: str) -> None:
    assert compare_rounds(logs, limit).verdict == verdict


def test_the_interval_is_students_over_rounds() -> None:
    """Three rounds: mean 0.02, standard deviation 0.01, and t = 9.9248 with two degrees of freedom at 99 %."""
    found = compare_rounds([0.01, 0.02, 0.03])
    assert math.log(found.ratio) == pytest.approx(0.02)
    assert math.log(found.high) == pytest.approx(0.02 + 9.9248 * 0.01 / math.sqrt(3), abs=1e-6)
    assert math.log(found.low) == pytest.approx(0.02 - 9.9248 * 0.01 / math.sqrt(3), abs=1e-6)
    assert found.rounds == pytest.approx([math.exp(y) for y in (0.01, 0.02, 0.03)])


def rounds_of(logs: list[float], spent: float) -> tuple[list[RoundTimes], list[int]]:
    asked: list[int] = []

    def take(number: int) -> RoundTimes:
        asked.append(number)
        return RoundTimes(np.ones((3, 2)), np.full((3, 2), math.exp(logs[number % len(logs)])), spent)

    return take_rounds(take, RoundRule(seconds=10.0)), asked


@pytest.mark.parametrize(
    ("logs", "spent", "count"),
    [
        ([0.03], 0.1, 8),  # narrow at once, whatever it says
        ([0.0], 100.0, 8),  # no fewer, however slow
        ([-0.5, 0.5], 1.0, 10),  # wide: until the time is over
        ([-0.5, 0.5], 0.0, 40),
    ],
)
def test_rounds_end_by_width_and_time(logs: list[float], spent: float, count: int) -> None:
    rounds, asked = rounds_of(logs, spent)
    assert len(rounds) == count and asked == list(range(count))


def test_a_burst_in_a_block_does_not_move_its_round() -> None:
    head = np.ones((5, 2))
    head[2] = 9.0
    assert RoundTimes(np.ones((5, 2)), head, 1.0).log_ratio == 0.0
