"""Clocks and workers of benchmarks.

The wall clock counts what it is told to count; the worker's note and its messages survive what kernels print.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attention_core.bench.timing import clocks
from attention_core.bench.timing.clocks import CudaClock, WallClock, clock_for
from attention_core.bench.worker import client as workers_module
from attention_core.bench.worker import entry as worker
from attention_core.bench.worker import probe
from attention_core.bench.worker.client import NOTE, Lost, Note, Workers
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError, Unavailable
from attention_core.worker.environment import THREADS
from attention_core.worker.frames import TimedOut


def test_the_wall_clock_makes_every_call() -> None:
    clock, calls = clock_for("cpu"), []
    assert isinstance(clock, WallClock)
    assert 0 < clock.resolution < 1e-2
    assert clock.time(lambda: calls.append(1), 13) > 0
    assert len(calls) == 13


def test_the_wall_clock_tells_seconds() -> None:
    """Of a counter of nanoseconds that makes steps of 250."""
    clock = WallClock(itertools.count(0, 250).__next__)
    assert clock.resolution == pytest.approx(250e-9)
    assert clock.time(lambda: None, 3) == pytest.approx(250e-9)


def test_replacing_pythons_clock_changes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, resolution = WallClock(), clocks.measured_resolution()

    def call() -> None:
        monkeypatch.setattr(time, "perf_counter_ns", lambda: 0)
        monkeypatch.setattr(clocks, "NOW_NS", lambda: 0)
        monkeypatch.setattr(clocks, "repeat", lambda *_: iter(()))

    assert clock.time(call, 1) > 0 and resolution > 0
    assert clock.time(lambda: None, 1000) > 0


@pytest.mark.parametrize("owner", [time, WallClock])
def test_a_replaced_clock_is_named_and_put_back(owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    guard, own = clocks.ClockGuard(), owner.time
    assert guard.restore() == []
    monkeypatch.setattr(owner, "time", lambda *_: 0.0)
    assert guard.restore() == [f"{owner.__name__}.time"]
    assert owner.time is own and guard.restore() == []


@pytest.mark.parametrize(
    ("here", "there", "differ"), [(10.0, 10.9, False), (10.0, 1.0, True), (0.5, 0.0, False), (3.0, 0.0, True)]
)
def test_clocks_differ_by_more_than_a_message_waits(here: float, there: float, differ: bool) -> None:
    assert clocks.clocks_differ(here, there) is differ


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(timeout=30.0) as found:
        yield found


@pytest.mark.thorough
def test_limits_are_measured(workers: Workers) -> None:
    messages = list(workers.job("limits", dtypes=["float32"], device="cpu"))
    assert [m["event"] for m in messages[:-1]] == ["alive"]
    found = messages[-1]
    assert found["flops"]["float32"] > 0 and found["exponentials"] > 0
    assert all(rate > 0 for rate in found["bandwidth"].values())


def test_a_probe_tells_memory_and_operators(workers: Workers) -> None:
    n = 512
    workload = Workload(H=2, n_q=n, n_kv=n, d=16).to_json()
    *alive, found = workers.job("probe", workload=workload, kernel="core:dot_product", device="cpu")
    scores = 2 * n * n * 4
    assert found["allocator"] >= scores
    assert found["process"] is None or found["process"] > scores / 2
    assert {row["operator"]: row["calls"] for row in found["operators"]}["aten::bmm"] == 2
    assert sum(row["share"] for row in found["operators"]) == pytest.approx(1)
    assert [message["event"] for message in alive] == ["alive", "alive"], "each call may take as long as is allowed"
    *_, small = workers.job("probe", workload=workload, kernel="torch:flash", device="cpu")
    assert small["allocator"] < scores / 4


def test_the_peak_is_the_most_that_is_held_at_once() -> None:
    """Not the sum of all allocations, and not what is held at the end."""
    size = 1 << 20

    def one_after_another() -> torch.Tensor:
        for _ in range(4):
            torch.empty(size, dtype=torch.uint8)
        return torch.empty(size // 4, dtype=torch.uint8)

    def at_once() -> list[torch.Tensor]:
        return [torch.empty(size, dtype=torch.uint8) for _ in range(4)]

    assert probe.profile(one_after_another)[1] == size and probe.profile(at_once)[1] == 4 * size


FORGETS = """
import torch
from attention_core.bench.worker import probe

size = 1 << 28
torch.ones(size, dtype=torch.uint8)
probe.clear_peak()
before = probe.resident()
torch.ones(size // 4, dtype=torch.uint8)
print((probe.resident()["VmHWM"] - before["VmRSS"]) / size)
"""


@pytest.mark.skipif(probe.resident()["VmHWM"] is None, reason="the system does not report the peak of a process")
def test_the_peak_of_the_process_begins_anew() -> None:
    """In a process of its own, as a worker is: in an old one, memory that tests have freed is used again."""
    ended = subprocess.run([sys.executable, "-c", FORGETS], capture_output=True, text=True, check=True)
    assert 1 / 5 < float(ended.stdout) < 1 / 2, "the larger one before it is forgotten"


def test_what_a_job_raises_is_told_and_the_next_one_runs(workers: Workers) -> None:
    with pytest.raises(TargetError, match="no kernel 'torch:nothing'"):
        list(workers.job("probe", workload=Workload().to_json(), kernel="torch:nothing", device="cpu"))
    with pytest.raises(Unavailable, match="KeyError: 'nothing'"):
        list(workers.job("nothing"))
    workload = Workload(H=1, n_q=4, n_kv=4).to_json()
    *_, found = workers.job("probe", workload=workload, kernel="torch:default", device="cpu")
    assert found["event"] == "probed"


def test_a_job_left_halfway_leaves_nothing_behind(workers: Workers) -> None:
    for _ in workers.job("limits", dtypes=["float32"], device="cpu"):
        break
    workload = Workload(H=1, n_q=4, n_kv=4).to_json()
    *_, found = workers.job("probe", workload=workload, kernel="torch:default", device="cpu")
    assert found["event"] == "probed"


HANGS = """
import os, time
def attend(query, key, value):
    with open({path!r}, "w") as stream:
        stream.write(str(os.getpid()))
    time.sleep(600)
"""
COMMAND = """
from attention_core.bench.worker.client import Workers
from attention_core.bench.workloads.workload import Workload
with Workers() as workers:
    list(workers.job("probe", workload=Workload(H=1, n_q=4, n_kv=4).to_json(), kernel={target!r}, device="cpu"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ending with the parent is Linux's")
def test_a_job_ends_with_a_command_that_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    (tmp_path / "hangs.py").write_text(HANGS.format(path=str(told)))
    program = COMMAND.format(target=f"{tmp_path / 'hangs.py'}:attend")
    command = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        assert within(lambda: told.exists() and told.read_text() != "", 120)
        job = int(told.read_text())
        assert Path(f"/proc/{job}").exists()
        command.kill()
        command.wait()
        assert within(lambda: not running(job), 60)
    finally:
        command.kill()


def within(true: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes true; the limit only ends a test that fails."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_note_is_read_whole_or_cut() -> None:
    with Workers() as idle:
        note = Note(idle.note.name)
        for text in ("long " * 20, "short", "", "ä" * NOTE):
            note.write(text)
            assert idle._read_note()[:100] == text[:100]


def test_a_job_that_says_nothing_has_no_note_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of the job before must not be blamed."""

    def silent(*_: object) -> None:
        raise TimedOut

    with Workers() as idle:
        monkeypatch.setattr(workers_module, "send", lambda *_: None)
        monkeypatch.setattr(workers_module, "receive", silent)
        nobody = SimpleNamespace(read=-1, write=-1, watch=lambda limit: limit, end=lambda: None)
        monkeypatch.setattr(idle, "process", nobody)
        Note(idle.note.name).write("the one before")
        with pytest.raises(Lost) as lost:
            list(idle.job("limits"))
        assert lost.value.running == ""


def test_a_file_named_like_a_module_of_pythons_own_hinders_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel finds its neighbours all the same, as a file and as a module."""
    monkeypatch.chdir(tmp_path)
    Path("glob.py").write_text("raise ImportError('my own glob')")
    Path("helper.py").write_text("from torch.nn.functional import scaled_dot_product_attention as attend")
    Path("mine.py").write_text("from helper import attend\ndef f(query, key, value): return attend(query, key, value)")
    with Workers() as workers:
        for kernel in ("mine.py:f", "mine:f"):
            assert list(workers.job("load", kernel=kernel, device="cpu")) == []


@pytest.mark.parametrize("given", ["", "elsewhere"])
def test_a_worker_finds_the_package_wherever_it_was_found(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(workers_module.__file__).parents[3])
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/site-packages")
    assert workers_module.module_path(given).split(os.pathsep) == [root, *filter(None, [given])]
    monkeypatch.setattr("sysconfig.get_path", lambda name: root)
    assert workers_module.module_path(given) == given


class Started(Exception):
    """Stands for a worker that starts."""


def test_a_worker_starts_with_its_threads_and_no_other_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, str] = {}

    def popen(*_: object, env: dict[str, str], **__: object) -> None:
        started.update(env)
        raise Started

    monkeypatch.setattr("subprocess.Popen", popen)
    monkeypatch.setenv("KERNELS_OF_SOMEBODY", "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with Workers(threads=3) as idle, pytest.raises(Started):
        list(idle.job("limits"))
    assert {started[name] for name in THREADS} == {"3"} and started["PYTHONHASHSEED"] == "0"
    assert "KERNELS_OF_SOMEBODY" not in started


def test_a_job_is_held_to_its_threads_and_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[object] = []
    monkeypatch.setattr("torch.set_num_threads", held.append)
    monkeypatch.setattr(worker, "limit_memory", held.append)
    monkeypatch.setitem(worker.JOBS, "some", lambda job, tell: held.append("runs"))
    told: list[dict[str, object]] = []
    worker.run_job({"kind": "some", "threads": 3, "memory": 4096}, told.append)
    assert held == [3, 4096, "runs"] and told == [{"event": "done"}]


def test_a_worker_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Workers() as broken, pytest.raises(TargetError, match="the process that times kernels did not start"):
        list(broken.job("limits", dtypes=[], device="cpu"))


def test_the_cache_is_overwritten_before_a_sample_and_outside_of_it() -> None:
    """On a clock whose device is a list of what it was asked."""
    asked: list[str] = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            asked.append("record")

        def synchronize(self) -> None:
            asked.append("synchronize")

        def elapsed_time(self, end: object) -> float:
            return 3.0

    clock = CudaClock.__new__(CudaClock)
    clock.device = "cuda"
    clock.flush = SimpleNamespace(zero_=lambda: asked.append("flush"))
    clock.torch = SimpleNamespace(cuda=SimpleNamespace(Event=Event, device=lambda _: contextlib.nullcontext()))
    assert clock.time(lambda: asked.append("call"), 2) == 3e-3
    assert asked == ["flush", "record", "call", "call", "record", "synchronize"]
