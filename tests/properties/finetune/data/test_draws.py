"""The counter-based random numbers.

finetune.data.draws: draws depend on what they are asked for and on nothing else, and look like chance.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from finetune.data import draws

MANY = draws.keys(5, 2, np.arange(60_000))


def test_a_key_does_not_know_its_batch() -> None:
    whole = draws.keys(3, 1, np.arange(10))
    for chosen in ([7], [9, 0], list(range(10))[::-1]):
        assert (draws.keys(3, 1, chosen) == whole[chosen]).all()


def test_seed_epoch_and_example_all_matter() -> None:
    found = {int(draws.keys(seed, epoch, [n])[0]) for seed in (-1, 0, 1) for epoch in range(20) for n in range(50)}
    assert len(found) == 3 * 20 * 50


def test_uniform_is_uniform_and_its_numbers_are_independent(stats: ModuleType) -> None:
    """p-values of right numbers are uniform: below 1e-6 once in a million seeds, and the seed is fixed."""
    for number in (0, 1, 1000):
        drawn = draws.uniform(MANY, number)
        assert drawn.min() >= 0 and drawn.max() < 1
        assert stats.kstest(drawn, "uniform").pvalue > 1e-6
    neighbours = np.histogram2d(draws.uniform(MANY, 0), draws.uniform(MANY, 1), bins=10)[0]
    assert stats.chisquare(neighbours.reshape(-1)).pvalue > 1e-6
    epochs = np.histogram2d(draws.uniform(MANY, 0), draws.uniform(draws.keys(5, 3, np.arange(60_000)), 0), bins=10)[0]
    assert stats.chisquare(epochs.reshape(-1)).pvalue > 1e-6
    examples = np.histogram2d(draws.uniform(MANY[:-1], 0), draws.uniform(MANY[1:], 0), bins=10)[0]
    assert stats.chisquare(examples.reshape(-1)).pvalue > 1e-6


def test_integers_reach_both_ends_equally(stats: ModuleType) -> None:
    thrown = draws.integer(MANY, 4, 1, 6)
    counts = np.bincount(thrown, minlength=8)
    assert counts[0] == counts[7] == 0
    assert stats.chisquare(counts[1:7]).pvalue > 1e-6
    assert (draws.integer(MANY[:5], 0, 3, 3) == 3).all()


def test_many_numbers_are_those_asked_one_by_one() -> None:
    table = draws.uniform(MANY[:4, None], np.arange(7)[None])
    for n in range(7):
        assert (table[:, n] == draws.uniform(MANY[:4], n)).all()
