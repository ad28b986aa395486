"""The probabilities that laws about chance rest on."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.laws.chance import (
    FALSE_ALARM,
    agreements,
    at_every_distance,
    margin,
    unlikely,
)


@pytest.mark.parametrize("q", [0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("trials", [64, 1000, 16384])
def test_unlikely_counts_have_the_stated_probability(trials: int, q: float, stats: ModuleType) -> None:
    counts = np.arange(trials + 1)
    accused = unlikely(counts, trials, q)
    # The exact probability of all accused counts, which Chernoff's bound exceeds.
    assert 0 < stats.binom.pmf(counts, trials, q)[accused].sum() < FALSE_ALARM
    assert accused[np.abs(counts / trials - q) >= margin(trials, q)].all()
    assert not accused[round(trials * q)]


def test_agreements_count_equal_places_of_every_pair() -> None:
    kept = np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 1]], bool)
    assert agreements(kept).tolist() == [2, 0, 2]


def shown(mask: Any) -> Any:
    """The rows of a mask behind one another, n apart: +-1, and 0 where nothing is shown."""
    *_, n, h = mask.shape
    signs = np.zeros((mask.size // h, n))
    signs[:, :h] = np.where(mask, 1, -1).reshape(-1, h)
    return signs.reshape(-1)


@pytest.mark.parametrize("shape", [(2, 3, 8, 4), (1, 2, 6, 3), (1, 2, 8, 3)])
@pytest.mark.parametrize("two", [False, True])
def test_agreements_at_every_distance_are_those_that_one_counts(shape: tuple[int, ...], two: bool) -> None:
    rng = np.random.default_rng(0)
    masks = [rng.random(shape) < 0.5 for _ in range(1 + two)]
    first, second = shown(masks[0]), shown(masks[-1])
    count, wanted = len(first), []
    for distance in range(1 - count if two else 1, count):
        x = first[: count - distance] if distance >= 0 else first[-distance:]
        y = second[distance:] if distance >= 0 else second[: count + distance]
        if (x * y).any():
            wanted.append(((x * y > 0).sum(), (x * y != 0).sum()))
    assert list(zip(*at_every_distance(*masks), strict=True)) == wanted


def test_sixty_four_places_used_again_are_seen() -> None:
    rng = np.random.default_rng(1)
    mask = rng.random((1, 2, 64, 32)) < 0.5
    same, places = at_every_distance(mask)
    assert not unlikely(same, places, 0.5, len(same)).any()
    assert unlikely(np.array([64]), np.array([64]), 0.5, len(same)).all()
    assert not unlikely(np.array([48]), np.array([48]), 0.5, len(same)).any()
