"""The worker process against floods, hunger, children, patches and deep recursion.

What a hostile or unlucky target may do to its worker, and that the parent goes on with a result that names the case.
NumPy targets: their workers start quickly. Crash, hang, exit, noise and secrets on the command line: test_cli.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from attention_core.conformance.subjects.outcomes import is_refusal
from attention_core.conformance.worker.exchange import Request, Response, array
from attention_core.conformance.worker.runner import WorkerRunner
from attention_core.worker.process import LAST_WORDS, memory_limit
from attention_core.worker.processes import find_marked_processes

TARGETS = """
import os, sys, time
import numpy as np

def good(x): return x + 1
def endless(x):
    while True:
        print("noise" * 10000)
def hungry(x):
    held = []
    while True:
        held.append(np.empty(1 << 22))
def children(x):
    if os.fork() == 0:
        time.sleep(1000)
    return x + 1
def doubles(x):
    os.fork()
    return x + 1
def deep(x): return deep(x)
def impatient(x): raise KeyboardInterrupt
def orphan(x):
    if os.fork() == 0:  # leaves the session, and its parent, as a daemon does
        os.setsid()
        if (pid := os.fork()) == 0:
            time.sleep(1000)
        with open(os.path.join(os.path.dirname(__file__), "daemon"), "w") as file:
            file.write(str(pid))
        os._exit(0)
    os.wait()
    return x + 1
def orphan_of_a_crash(x):
    orphan(x)
    os.kill(os.getpid(), 9)
def holds_the_lock(x):
    import ctypes
    ctypes.PyDLL(None).sleep(1000)
def closes(x):
    for descriptor in range(3, 64):
        try:
            os.close(descriptor)
        except OSError:
            pass
    return x + 1
def loses_its_device(x, lost=[]):
    if x.size == 1 or lost:
        lost.append(True)
        raise RuntimeError("CUDA error: misaligned address\\nCUDA kernel errors might be reported asynchronously")
    return x + 1
class Hostile(Exception):
    def __str__(self): raise RuntimeError("no words")
def speechless(x): raise Hostile
def long_winded(x): raise ValueError("word " * 1000000)
def patched(x):
    np.array = np.asarray = np.frombuffer = lambda *a, **k: 0
    return x + 1
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("isolation") / "t.py"
    found.write_text(TARGETS)
    return found


@pytest.fixture
def runner(file: Path, request: pytest.FixtureRequest) -> Iterator[WorkerRunner]:
    target = f"{file}:{request.param}"
    patience = 3.0 if request.param == "endless" else 60.0  # only the first is meant to run out
    made = WorkerRunner(target, factory=False, array="numpy", device="cpu", timeout=patience, memory=1 << 30)
    yield made
    made.close()


def ask(runner: WorkerRunner) -> Response:
    return runner.run(Request((array(np.zeros(3), "float64"),)))


def on(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("runner", [name], indirect=True)


@on("endless")
def test_an_endless_flood_is_a_hang_and_costs_no_room(runner: WorkerRunner) -> None:
    runner.start()
    assert runner.process is not None
    tail = runner.process.tail
    answer = ask(runner)
    assert answer.status == "hung"
    assert re.fullmatch(r"no answer within 3 s(?: of its own \(.*\))?, in which it printed \d+ MB", answer.message)
    assert 0 < len(tail.kept) <= LAST_WORDS


@on("hungry")
def test_hunger_is_an_error_of_the_call(runner: WorkerRunner) -> None:
    answer = ask(runner)
    assert answer.status == "raised"
    assert answer.failure is not None
    assert "MemoryError" in answer.failure.types
    assert not is_refusal(answer.failure.types, answer.failure.message)


def test_torchs_own_words_for_hunger_are_no_refusal() -> None:
    words = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to ..."
    assert not is_refusal(("RuntimeError", "Exception"), words)
    assert is_refusal(("RuntimeError", "Exception"), "expected 4 dimensions")


def test_a_worker_may_fill_most_of_the_memory_and_cuda_is_not_limited() -> None:
    limit = memory_limit("cpu")
    assert limit is not None
    assert limit > 1 << 30
    assert memory_limit("cuda") is None


@on("children")
def test_children_end_with_their_worker(runner: WorkerRunner) -> None:
    assert ask(runner).status == "ok"
    runner.close()  # would wait for the pipe that the child holds, if the child were left alive


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the environment of processes is not looked at")
@pytest.mark.parametrize(("runner", "status"), [("orphan", "ok"), ("orphan_of_a_crash", "died")], indirect=["runner"])
def test_a_child_in_a_session_of_its_own_ends_with_its_worker(runner: WorkerRunner, status: str, file: Path) -> None:
    runner.describe()
    assert runner.process is not None
    mark = runner.process.mark
    assert ask(runner).status == status
    runner.close()
    assert [process for process in find_marked_processes(mark) if process.status() != "zombie"] == []
    pid = int(file.with_name("daemon").read_text())  # of the child itself, however it is looked for
    assert ends(pid)


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone: the kernel takes a moment, in which its environment is empty already."""
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == "zombie":
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


PARENT = """
import os, sys
import numpy as np
from attention_core.conformance.worker.exchange import Request, array
from attention_core.conformance.worker.runner import WorkerRunner

runner = WorkerRunner(sys.argv[1], factory=False, array="numpy", device="cpu")
runner.describe()
print(runner.process.pid, flush=True)
runner.run(Request((array(np.zeros(3), "float64"),)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread watches, which needs the interpreter's lock")
def test_a_worker_whose_target_holds_the_lock_dies_with_its_parent(file: Path) -> None:
    command = [sys.executable, "-c", PARENT, f"{file}:holds_the_lock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        while not still(worker):
            pass
        parent.kill()
    worker.wait(60)  # raises where it lives on


def still(worker: psutil.Process) -> bool:
    """Whether a worker has come to the call that sleeps: its processor time no longer changes."""
    before = worker.cpu_times()
    time.sleep(1.5)
    return bool(worker.cpu_times() == before)


@on("doubles")
def test_a_target_that_comes_back_twice_answers_once(runner: WorkerRunner) -> None:
    """Each of its children would answer, too, and fork at the next call: two, four, eight."""
    for _ in range(4):
        assert ask(runner).status == "ok"
    assert runner.process is not None
    time.sleep(0.5)  # for children to end
    tasks = Path(f"/proc/{runner.process.pid}/task/{runner.process.pid}/children")
    children, spare = tasks.read_text().split() if tasks.exists() else [], runner.description["spare"]
    assert all("\nState:\tZ" in Path(f"/proc/{pid}/status").read_text() for pid in children if int(pid) != spare)


@pytest.mark.parametrize(
    ("runner", "status", "words"),
    [
        ("deep", "raised", "RecursionError"),
        ("impatient", "died", "signal SIGINT"),
        ("closes", "died", "the process ended with status"),
        ("speechless", "raised", "(no message: the exception cannot be shown)"),
        ("long_winded", "raised", "word word"),
    ],
    indirect=["runner"],
)
def test_strange_ends_are_results(runner: WorkerRunner, status: str, words: str) -> None:
    answer = ask(runner)
    assert answer.status == status
    failure = answer.failure
    told = answer.message if failure is None else f"{failure.types} {failure.message}"
    assert words in told
    assert len(told) < 5000


@on("patched")
def test_a_patched_library_hurts_the_worker_alone(runner: WorkerRunner) -> None:
    assert ask(runner).status in ("died", "raised", "ok")
    np.testing.assert_array_equal(np.asarray([1.0]), np.array([1.0]))


@on("good")
def test_the_next_call_after_a_lost_worker_is_answered(runner: WorkerRunner) -> None:
    assert ask(runner).status == "ok"
    assert runner.process is not None
    runner.process.popen.kill()
    assert ask(runner).status == "died"
    again = ask(runner)
    assert again.status == "ok"
    assert again.outputs[0].values.tolist() == [1.0, 1.0, 1.0]


COMPILED = """
import sys, time, types
sys.modules["tvm"] = types.ModuleType("tvm")  # what shows that calls are compiled
known = set()
def compiled(x):
    if x.shape not in known:
        known.add(x.shape)
        time.sleep(1.5)
    return x + 1
def slow(x):
    time.sleep(1.5)
    return x + 1
"""


def test_a_first_call_that_compiles_is_no_hang(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(COMPILED)
    for name, statuses in (("compiled", ["ok"] * 3), ("slow", ["ok", "hung"])):
        runner = WorkerRunner(f"{tmp_path}/t.py:{name}", factory=False, array="numpy", device="cpu", timeout=1.0)
        found = []
        for size in (3, 3, 4)[: len(statuses)]:
            found.append(runner.run(Request((array(np.zeros(size), "float64"),))).status)
        runner.close()
        assert found == statuses


KEEPS = """import jax.numpy as jnp

masks = {}


def attention(query, key, value, is_causal=False):
    scores = query @ jnp.swapaxes(key, -1, -2) * query.shape[-1] ** -0.5
    shape = scores.shape[-2:]
    if shape not in masks:
        masks[shape] = jnp.tril(jnp.ones(shape, bool))
    scores = jnp.where(masks[shape], scores, -jnp.inf) if is_causal else scores
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ value
"""


def test_what_a_trace_of_jax_leaves_behind_refutes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="JAX is not installed: its programs are not tested here")
    (tmp_path / "keeps.py").write_text(KEEPS)
    options: dict[str, Any] = {"factory": False, "array": "jax", "device": "cpu"}
    runner = WorkerRunner(f"{tmp_path / 'keeps.py'}:attention", compiles=True, **options)
    try:
        for dtype in ("float32", "bfloat16"):  # the second call meets the mask of the first one's trace
            x = array(np.ones((1, 1, 2, 2)), dtype)
            response = runner.run(Request((x, x, x), {"is_causal": True}))
            assert response.status == "ok", response.failure
        assert not runner.options["compiles"]
    finally:
        runner.close()


@pytest.mark.parametrize("runner", ["loses_its_device"], indirect=True)
def test_a_call_behind_one_that_lost_the_device_is_answered(runner: WorkerRunner) -> None:
    """After such an error every call of a process fails: the next one gets a process that works."""
    answer = runner.run(Request((array(np.zeros(1), "float64"),)))
    assert answer.status == "died" and "lost its device (CUDA error: misaligned address)" in answer.message
    answer = runner.run(Request((array(np.zeros(2), "float64"),)))
    assert answer.status == "ok"
