"""The experiment bench_selftest.

The comparison of harnesses: on a machine without noise every harness finds 5 % and calls the same the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from attention_core.bench.timing.synthetic import MACHINES, Machine

FOLDER = Path(__file__).parents[3] / "experiments" / "bench_selftest"


@pytest.fixture(scope="module")
def harnesses() -> ModuleType:
    import importlib.util

    spec = importlib.util.spec_from_file_location("bench_harnesses", FOLDER / "harnesses.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


NAMES = ["attention-core bench", "pytest-benchmark, mean", "pytest-benchmark, median", "pytest-benchmark, min",
         "torch.utils.benchmark, median"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_still_machine_fools_nobody(harnesses: ModuleType, name: str) -> None:
    assert list(harnesses.HARNESSES) == NAMES
    judge = harnesses.HARNESSES[name]
    still = Machine(noise=1e-4)
    for ratio, verdict in ((1.0, "SAME"), (1.05, "SLOWER"), (1 / 1.05, "FASTER")):
        assert judge(harnesses.simulated(still, 0, 1e-2, ratio)) == verdict


def test_a_drifting_machine_fools_those_that_time_one_after_the_other(harnesses: ModuleType) -> None:
    pairs = [lambda seed, ratio: harnesses.simulated(MACHINES["drifting"], seed, 1e-2, ratio)]
    rates = {name: harnesses.rates(pairs[0], harnesses.HARNESSES[name], 3) for name in NAMES}
    assert rates["attention-core bench"] == (0.0, 0.0)
    assert rates["torch.utils.benchmark, median"][0] == rates["pytest-benchmark, median"][0] == 1.0


def test_a_measured_pair_calls_as_often_as_it_says(harnesses: ModuleType) -> None:
    calls: list[int] = []
    pair = harnesses.measured(lambda: calls.append(1), 20, 21)
    pair.first()
    assert len(calls) == 20
    pair.second()
    assert len(calls) == 41
