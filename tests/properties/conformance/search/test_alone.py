"""Counterexamples that depend on earlier calls, in processes of their own.

Counterexamples of state: the program shows the earlier call that it needs, fails where it is run alone, or says that
it may pass.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attention_core.conformance.engine.verify import verify_target
from attention_core.conformance.report.law_result import AS_WRONG_ALONE, Counterexample
from attention_core.conformance.search.alone import Fresh, fewest
from attention_core.conformance.subjects.evidence import Evidence, Shown
from attention_core.conformance.worker.exchange import Request, Response, Value, array
from attention_core.conformance.worker.history import KEPT, History
from attention_core.conformance.worker.runner import WorkerRunner
from attention_core.worker.processes import family

STALE = '''
import torch

tables = {}

def rotate(x, positions):
    """The table of some positions stays in the dtype that asked for it first."""
    half = x.shape[-1] // 2
    key = (tuple(positions.tolist()), half)
    if key not in tables:
        angle = positions.double()[:, None] * 10000.0 ** (-torch.arange(half).double() / half)
        tables[key] = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    cos, sin = (t.float() for t in tables[key])
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)
'''


def first_shown(path: Path, target: str, **fields: str) -> Counterexample:
    from attention_core.conformance.report.ranking import choose_counterexamples

    report = verify_target(f"{path}:{target}", fields, effort="quick")
    return choose_counterexamples(report.laws)[0]


def test_the_program_makes_the_call_that_left_the_state_and_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "stale.py"
    path.write_text(STALE)
    found = first_shown(path, "rotate", contract="rotary")
    assert "all calls in this order" in found.snippet and "may pass" not in found.snippet and found.alone
    done = subprocess.run([sys.executable, "-c", found.snippet], capture_output=True, text=True)
    assert done.returncode == 1 and "AssertionError" in done.stderr


NARROW = '''
import numpy as np

def attention(q, k, v):
    """Sums of float16 in float16: wrong in long rows, whatever was called before."""
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    w = np.exp(s - s.max(-1, keepdims=True))
    w = w / w.sum(-1, keepdims=True)
    return sum(w[..., i, None] * v[..., None, i, :] for i in range(v.shape[-2])).astype(q.dtype)
'''


def test_a_law_of_state_says_where_earlier_calls_are_not_the_cause(tmp_path: Path) -> None:
    (tmp_path / "narrow.py").write_text(NARROW)
    names, fields = ("calls_in_between_leave_no_trace",), {"array": "numpy", "dtypes": ("float16",)}
    report = verify_target(f"{tmp_path / 'narrow.py'}:attention", fields, effort="standard", laws=names)
    assert report.laws[0].status == "refuted"
    assert report.laws[0].message.endswith(AS_WRONG_ALONE)
    assert "all calls in this order" not in report.counterexamples[0].snippet


class Counting:
    """A process in which a call fails after one of two, by the number that they carry."""

    def __init__(self, *needed: float) -> None:
        self.needed, self.trials = set(needed), 0

    def trial(self, requests: list[Request]) -> list[Response]:
        self.trials += 1
        seen = {float(request.args[0].base[0]) for request in requests[:-1]}
        values = np.array([1.0 if self.needed <= seen else 0.0])
        return [Response("ok", outputs=(Value("float64", (1,), values),)) for _ in requests]


def call(number: float, size: int = 1) -> Request:
    return Request((array(np.full(size, number), "float64"),), {})


def test_the_fewest_calls_are_kept_in_their_order() -> None:
    evidence = Evidence((Shown(call(-1.0), "out", (0,)),), 1.0, 0.0, 0.1)
    calls = [call(float(n)) for n in range(200)]
    for needed in ((7.0,), (3.0, 150.0)):
        process = Counting(*needed)
        kept = [float(r.args[0].base[0]) for r in fewest(process, calls, evidence)]
        assert kept == list(needed)
        assert process.trials < 100


def test_history_keeps_the_first_and_the_last_calls_that_can_be_read() -> None:
    history = History()
    for n in range(3 * KEPT):
        history.note(call(float(n)))
        history.note(call(-1.0, 5000))
    short, few, first, last = history.blocks()
    assert len(short) == 2 * KEPT
    numbers = [[float(r.args[0].base[0]) for r in block] for block in (few, first, last)]
    assert numbers[1] == list(range(KEPT)) and numbers[2] == list(range(2 * KEPT, 3 * KEPT))
    assert numbers[0] == numbers[2][-len(numbers[0]) :]


COUNTS = """
import os
import torch
loaded = os.getpid()

def scaled(query, key, value):
    weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1)
    return weights @ value
"""


def worker_of(tmp_path: Path, text: str) -> WorkerRunner:
    path = tmp_path / "counts.py"
    path.write_text(text)
    return WorkerRunner(f"{path}:scaled", factory=False, array="torch", device="cpu")


def until(holds: Callable[[], bool]) -> None:
    """Wait for what the system does in its own time; a test that waits for ever has failed."""
    while not holds():
        time.sleep(0.01)


ONE = Request(tuple(array(np.ones((1, 1, 2, 2)), "float32") for _ in range(3)), {})


@pytest.mark.skipif(sys.platform != "linux", reason="only there a spare is forked")
def test_trials_are_made_by_the_workers_spare_and_no_process_is_started(tmp_path: Path) -> None:
    runner = worker_of(tmp_path, COUNTS)
    try:
        fresh = Fresh(runner, "torch")
        runner.run(ONE)
        (response,) = fresh.trial([ONE]) or ()
        assert response.status == "ok" and fresh.own is None
        assert runner.run(ONE).status == "ok"
        assert runner.description["spare"] in [process.pid for process in family(runner.process.pid)]  # type: ignore[union-attr]
    finally:
        processes = family(runner.description["spare"])
        runner.close()
    assert processes and all(process.wait(10) is None for process in processes)  # raises where one goes on


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only there a spare is forked")
def test_a_worker_of_several_threads_forks_no_spare_and_a_process_is_started(tmp_path: Path) -> None:
    more = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    runner = worker_of(tmp_path, more + COUNTS)
    fresh = Fresh(runner, "torch")
    try:
        runner.run(ONE)
        assert runner.description["spare"] == 0
        (response,) = fresh.trial([ONE]) or ()
        assert response.status == "ok" and fresh.own is not None
    finally:
        fresh.close()
        runner.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only there a spare is forked")
def test_a_trial_that_hangs_ends_the_spare_and_not_the_worker(tmp_path: Path) -> None:
    hangs = "import os, time\nparent = os.getppid()\n"
    slow = COUNTS.replace("    weights", "    if os.getpid() != loaded:\n        time.sleep(100)\n    weights")
    runner = worker_of(tmp_path, hangs + slow)
    runner.timeout = 1.0
    fresh = Fresh(runner, "torch")
    try:
        runner.run(ONE)
        worker = runner.process
        assert fresh.trial([ONE]) is None
        assert runner.process is worker and runner.run(ONE).status == "ok"
        (spare,) = [each for each in family(worker.pid) if each.pid == runner.description["spare"]] or [None]  # type: ignore[union-attr]
        until(lambda: spare is None or spare.status() == "zombie")
    finally:
        fresh.close()
        runner.close()
