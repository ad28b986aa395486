# The wall clock counts what it is told to count; the worker's note and its messages survive what kernels print.
"""Clocks and workers of benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attention_core.bench.clocks import WallClock, clock_for
from attention_core.bench.workers import NOTE, Note, Workers
from attention_core.bench.workload import Workload
from attention_core.conformance.implementation import TargetError, Unavailable


def test_the_wall_clock_makes_every_call() -> None:
    clock, calls = clock_for("cpu"), []
    assert isinstance(clock, WallClock)
    assert 0 < clock.resolution < 1e-2
    assert clock.time(lambda: calls.append(1), 13) > 0
    assert len(calls) == 13


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(timeout=30.0) as found:
        yield found


def test_limits_are_measured(workers: Workers) -> None:
    messages = list(workers.job("limits", dtypes=["float32"], device="cpu"))
    assert [m["event"] for m in messages[:-1]] == ["alive"]
    found = messages[-1]
    assert found["flops"]["float32"] > 0 and found["exponentials"] > 0
    assert all(rate > 0 for rate in found["bandwidth"].values())


def test_a_probe_tells_memory_and_operators(workers: Workers) -> None:
    n = 512
    workload = Workload(H=2, n_q=n, n_kv=n, d=16).to_json()
    (found,) = workers.job("probe", workload=workload, kernel="core:dot_product", device="cpu")
    scores = 2 * n * n * 4
    assert found["allocator"] >= scores
    assert found["process"] is None or found["process"] > scores / 2
    assert {row["operator"]: row["calls"] for row in found["operators"]}["aten::bmm"] == 2
    assert sum(row["share"] for row in found["operators"]) == pytest.approx(1)
    (small,) = workers.job("probe", workload=workload, kernel="torch:flash", device="cpu")
    assert small["allocator"] < scores / 4


def test_what_a_job_raises_is_told_and_the_next_one_runs(workers: Workers) -> None:
    with pytest.raises(TargetError, match="no kernel 'torch:nothing'"):
        list(workers.job("probe", workload=Workload().to_json(), kernel="torch:nothing", device="cpu"))
    with pytest.raises(Unavailable, match="KeyError: 'nothing'"):
        list(workers.job("nothing"))
    workload = Workload(H=1, n_q=4, n_kv=4).to_json()
    (found,) = workers.job("probe", workload=workload, kernel="torch:default", device="cpu")
    assert found["event"] == "probed"


def test_a_job_left_halfway_leaves_nothing_behind(workers: Workers) -> None:
    for _ in workers.job("limits", dtypes=["float32"], device="cpu"):
        break
    workload = Workload(H=1, n_q=4, n_kv=4).to_json()
    (found,) = workers.job("probe", workload=workload, kernel="torch:default", device="cpu")
    assert found["event"] == "probed"


def test_a_note_is_read_whole_or_cut() -> None:
    with Workers() as idle:
        note = Note(idle.note.name)
        for text in ("long " * 20, "short", "", "ä" * NOTE):
            note.write(text)
            assert idle._read_note()[:100] == text[:100]


def test_a_worker_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Workers() as broken, pytest.raises(TargetError, match="the process that times kernels did not start"):
        list(broken.job("limits", dtypes=[], device="cpu"))
