"""Growth with the length.

Exponents of growth: exact powers come back, intervals hold the truth as often as they say, bends widen them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from attention_core.bench.report.growth import exponent, family, series_of, student
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload

LENGTHS = (256, 512, 1024, 2048)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 1.5])
def test_exact_powers_come_back(power: float) -> None:
    found = exponent(LENGTHS, [3 * n**power for n in LENGTHS])
    assert found is not None
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.high - found.low < 1e-6


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.30265), (3, 3.18245), (5, 2.57058), (10, 2.22814), (60, 2.00030)]
)
def test_students_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert student(0.95, freedom) == pytest.approx(t, rel=1e-5)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(1000):
        noise = np.exp(0.05 * rng.standard_normal(len(LENGTHS)))
        found = exponent(LENGTHS, list(noise * np.array(LENGTHS, float) ** 2))
        assert found is not None
        held += found.low <= 2 <= found.high
    assert abs(held / 1000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 1000)


def test_only_the_longest_lengths_count() -> None:
    lengths = [1, 4, *LENGTHS]
    found = exponent(lengths, [1e9, 1e9, *(n**2 for n in LENGTHS)])
    assert found is not None and found.value == pytest.approx(2)


def test_a_bend_widens_the_interval() -> None:
    found = exponent(LENGTHS, [n + n**2 / 500 for n in LENGTHS])
    assert found is not None
    assert 1 < found.value < 2
    assert found.high - found.low > 0.1


@pytest.mark.parametrize(
    ("n", "values"), [([1, 2], [1.0, 2.0]), ([4, 4, 4], [1.0, 2.0, 3.0]), (LENGTHS, [math.nan, 0.0, 1.0, 2.0])]
)
def test_too_few_points_have_no_exponent(n: list[int], values: list[float]) -> None:
    assert exponent(n, values) is None


def results(*cells: Cell) -> Results:
    return Results({}, {}, {}, cells=list(cells))


def cell(n: int, seconds: float | None, **changes: object) -> Cell:
    column = Column(
        "timed" if seconds else "cannot",
        seconds=seconds,
        low=seconds and seconds / 2,
        high=seconds and 2 * seconds,
        probe={"allocator": 8 * n, "process": None},
    )
    return Cell(Workload(**{"n_q": n, "n_kv": n, **changes}), "k", {"k": column})


def test_series_are_of_otherwise_equal_workloads() -> None:
    found = series_of(
        results(cell(512, 4.0), cell(256, 1.0), cell(1024, 16.0), cell(256, 1.0, dtype="bfloat16"), cell(128, None))
    )
    (one,) = found
    assert (one.n, one.values["time"]) == ((256, 512, 1024), (1.0, 4.0, 16.0))
    assert one.ends == ((0.5, 2.0), (2.0, 8.0), (8.0, 32.0))
    assert one.workload == "B=1 H=8 n_q=n_kv=n d=64 float32 fwd"
    grown = one.exponent("time")
    assert grown is not None and grown.value == pytest.approx(2)
    memory = one.exponent("allocator")
    assert memory is not None and memory.value == pytest.approx(1)
    assert one.exponent("process") is None


def test_families_in_words() -> None:
    assert family(cell(64, 1.0, n_q=1)) == "B=1 H=8 n_q=1, n_kv=n d=64 float32 fwd"
    assert family(cell(64, 1.0, label="GPT-2 64", mask=read_mask("causal"))) == (
        "GPT-2: B=1 H=8 n_q=n_kv=n d=64 float32 fwd mask causal"
    )
