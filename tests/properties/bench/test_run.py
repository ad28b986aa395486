"""Running benchmarks.

A run over kernels that behave and kernels that do not: each costs its own column, and nothing that is finished is lost.
Verdicts are given here; that the suite is asked is tested on the command line (tests/integration/bench/test_bench.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attention_core.bench import run as module
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.run import Settings, run_benchmark
from attention_core.bench.targets import Call
from attention_core.bench.timing.sampling import Samples, StoppingRule
from attention_core.bench.verdicts import source
from attention_core.bench.worker import measure as measuring
from attention_core.bench.worker.client import NOTE, Workers
from attention_core.bench.worker.measure import fingerprint, restore
from attention_core.bench.workloads.inputs import draw
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError

KERNELS = '''
import os, time, torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

CALLS = [0]

def good(query, key, value, is_causal=False):
    return sdpa(query, key, value, is_causal=is_causal)

def wrong(query, key, value):
    return sdpa(query, key, value) * 1.01

def raises(query, key, value):
    raise MemoryError("no room for this")

def dies(query, key, value):
    print("last words", flush=True)
    os.kill(os.getpid(), 11)

def later(query, key, value):
    """Dies when it is timed, after its probe and its error."""
    CALLS[0] += 1
    if CALLS[0] > 12:
        os._exit(7)
    return sdpa(query, key, value)

def midway(query, key, value):
    CALLS[0] += 1
    if CALLS[0] > 12:
        raise RuntimeError("no luck today")
    return sdpa(query, key, value)

def quits(query, key, value):
    os._exit(0)

def writes(query, key, value):
    """Right, but for a key that it leaves changed; the others see the same tensors."""
    out = sdpa(query, key, value)
    key.mul_(2.0)
    return out

def writes_mask(query, key, value, attn_mask=None):
    out = sdpa(query, key, value, attn_mask=attn_mask)
    if attn_mask is not None:
        attn_mask.logical_not_()
    return out

def writes_later(query, key, value):
    CALLS[0] += 1
    if CALLS[0] == 9:
        value.add_(1.0)
    return sdpa(query, key, value)

def keeps_writing(query, key, value):
    CALLS[0] += 1
    if CALLS[0] > 12:
        value.add_(1.0)
    return sdpa(query, key, value)

def hangs(query, key, value):
    time.sleep(1000)

def shape(query, key, value):
    return sdpa(query, key, value)[..., :1]

def nan(query, key, value):
    return sdpa(query, key, value) * float("nan")

def leaves(query, key, value):
    raise SystemExit("goodbye")

def stops(query, key, value):
    CALLS[0] += 1
    if CALLS[0] > 12:
        raise KeyboardInterrupt("by itself")
    return sdpa(query, key, value)

def closes(query, key, value):
    """Raises where its error is judged: there the first call is not the small one."""
    CALLS[0] += 1
    if CALLS[0] == 1 and query.shape[-2] > 16:
        raise GeneratorExit("early")
    return sdpa(query, key, value)

def nothing(query, key, value):
    return None

def words(query, key, value):
    return "attention"

def empty(query, key, value):
    return ()

def loud(query, key, value):
    print("x" * 100000)
    return sdpa(query, key, value)
'''
LIMITS = {"flops": {"float32": 1e12, "bfloat16": 1e12}, "exponentials": 1e12, "bandwidth": {"1": 1e12}}
SIZES = {"B": 1, "H": 2, "n_q": 48, "n_kv": 48, "d": 8}
QUICK: dict[str, Any] = {"seconds": 0.05, "least": 6, "most": 6}


class Shared(Workers):
    """Workers that stay from test to test: starting them takes seconds."""

    def __call__(self, threads: int, timeout: float, device: str) -> Shared:
        self.timeout = timeout
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is closed."""


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    found = Shared()
    yield found
    found.close()


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch, shared: Shared) -> None:
    """Verdicts and limits that cost nothing, and one set of workers."""
    monkeypatch.setattr(module, "Workers", shared)
    told = {"verdict": "conforms", "reason": "", "effort": "quick"}
    refuted = {"verdict": "refuted", "reason": "agrees_with_truth", "effort": "quick"}
    absent = {"verdict": "error", "reason": "it needs the module 'absent'", "effort": "quick"}
    special = {"core:naive_causal": refuted, "transformers:eager": absent}
    monkeypatch.setattr(module, "verdict", lambda named, *rest: special.get(named.name, told))
    monkeypatch.setattr(module, "limits", lambda workers, dtypes, device: LIMITS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    (path / "k.py").write_text(KERNELS)
    return path


def test_every_kernel_costs_its_own_column(folder: Path) -> None:
    k = lambda name: f"{folder}/k.py:{name}"  # noqa: E731
    names = ["wrong", "raises", "dies", "later", "midway", "shape", "loud"]
    asked = (
        [k("writes")]
        + [k(name) for name in names]
        + [k("quits"), "core:naive_causal", "transformers:eager", "core:rotary", "auto"]
    )
    results = run_benchmark(asked, [Workload(**SIZES)], Settings(baseline=k("good"), **QUICK))
    (cell,) = results.cells
    found = {name.rpartition(":")[2]: (c.status, c.message) for name, c in cell.kernels.items()}
    assert found["wrong"][0] == "refuted"
    assert "on these inputs: the error of out is" in found["wrong"][1]
    assert found["raises"] == ("failed", "MemoryError: no room for this")
    assert found["dies"] == ("failed", "its process was ended by signal SIGSEGV")
    assert found["later"] == ("failed", "its process ended with status 7")
    assert found["midway"] == ("failed", "raised RuntimeError: no luck today")
    assert found["quits"] == ("failed", "its process ended with status 0")
    assert found["writes"] == ("refuted", "on these inputs: it changes its inputs")
    assert found["shape"][0] == "failed" and "out: got shape (1, 2, 48, 1)" in found["shape"][1]
    assert found["naive_causal"] == ("refuted", "agrees_with_truth")
    assert found["eager"] == ("unavailable", "it needs the module 'absent'")
    assert found["rotary"] == ("cannot", "its contract is rotary")
    for name in ("good", "loud", "auto"):
        assert found[name] == ("timed", "")
    timed = cell.kernels[k("good")]
    assert timed.comparison is not None and timed.comparison.ratio == 1.0
    assert timed.seconds is not None and timed.seconds > 0 and len(timed.samples) == 6
    assert timed.share is not None and cell.limit is not None
    assert timed.share == pytest.approx(cell.limit / timed.seconds)
    assert timed.probe["operators"][0]["operator"].startswith("aten::")
    assert timed.probe["allocator"] >= 2 * 48 * 8 * 4
    assert timed.inner * timed.seconds >= 100 * cell.resolution
    assert cell.kernels[k("wrong")].errors["out"]["refuted"]
    assert all(column.seconds is None for column in cell.kernels.values() if column.status != "timed")


@pytest.mark.parametrize("mask", ["none", "bool"])
def test_the_first_kernel_that_writes_spoils_no_other(folder: Path, mask: str) -> None:
    """The truth and the other kernels' tensors are those that were drawn, though the baseline comes first and wrote."""
    cell = Workload(**SIZES, mask=read_mask(mask))
    writes = f"{folder}/k.py:writes" + ("_mask" if mask == "bool" else "")
    (found,) = run_benchmark(["core:tiled"], [cell], Settings(baseline=writes, **QUICK)).cells
    assert found.kernels[writes].status == "refuted"
    assert found.kernels["core:tiled"].status == "timed", found.kernels["core:tiled"].message


def test_inputs_that_change_while_they_are_timed_are_told(folder: Path) -> None:
    k = f"{folder}/k.py:writes_later"
    (cell,) = run_benchmark([k], [Workload(**SIZES)], Settings(**QUICK)).cells
    for column in cell.kernels.values():
        assert (column.status, column.message) == ("failed", "its inputs were changed while it was timed")
        assert column.seconds is None


def test_without_the_kernel_that_changes_inputs_the_others_are_timed_again(folder: Path) -> None:
    k = f"{folder}/k.py:keeps_writing"
    (cell,) = run_benchmark([k, "core:tiled"], [Workload(**SIZES)], Settings(**QUICK)).cells
    told = {name: (column.status, column.message) for name, column in cell.kernels.items()}
    assert told.pop(k) == ("refuted", "on these inputs: it changes its inputs")
    assert set(told.values()) == {("timed", "")}
    assert all((column.seconds is None) == (name == k) for name, column in cell.kernels.items())


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
def test_what_a_kernel_raised_or_returned_is_said(folder: Path, direction: str) -> None:
    """Also what would end a process; the others go on beside it."""
    k = lambda name: f"{folder}/k.py:{name}"  # noqa: E731
    names = ["leaves", "stops", "closes", "nothing", "words", "empty", "nan"]
    cell = Workload(**SIZES, direction=direction)
    (found,) = run_benchmark([k(n) for n in names], [cell], Settings(baseline=k("good"), **QUICK)).cells
    told = {name: (found.kernels[k(name)].status, found.kernels[k(name)].message) for name in ["good", *names]}
    assert told == {
        "good": ("timed", ""),
        "leaves": ("failed", "SystemExit: goodbye"),
        "stops": ("failed", "raised KeyboardInterrupt: by itself"),
        "closes": ("failed", "raised GeneratorExit: early"),
        "nothing": ("failed", "returned NoneType where a tensor was expected"),
        "words": ("failed", "returned str where a tensor was expected"),
        "empty": ("failed", "returned tuple where a tensor was expected"),
        "nan": ("refuted", "on these inputs: the error of out is not finite"),
    }


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"over_bound": 3.25, "max": 1e-3}, "is 3.25 times its bound"),
        ({"over_bound": math.inf, "max": math.inf}, "is not finite"),
        ({"over_bound": math.inf, "max": 0.5}, "is 0.5, and its bound is 0"),
        ({"over_bound": None, "max": math.inf}, "is not finite"),
    ],
)
def test_how_an_error_leaves_its_bound(error: dict[str, Any], words: str) -> None:
    assert module.beyond(error) == words


def test_a_hang_is_told(folder: Path) -> None:
    settings = Settings(baseline="torch:default", timeout=1.0, **QUICK)
    (cell,) = run_benchmark([f"{folder}/k.py:hangs"], [Workload(**SIZES)], settings).cells
    hung = cell.kernels[f"{folder}/k.py:hangs"]
    assert (hung.status, hung.message) == ("failed", "no answer within 1 s")
    assert cell.kernels["torch:default"].status == "timed"


class Interrupted(Exception):
    """Stands for Ctrl-C."""


def test_finished_cells_are_kept_and_not_measured_again() -> None:
    cells = [Workload(**{**SIZES, "n_q": n, "n_kv": n}) for n in (8, 16)]
    kept: list[str] = []

    def save(results: Results) -> None:
        kept.append(results.to_json())
        if len(kept) == 1:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_benchmark(["core:tiled"], cells, Settings(**QUICK), save=save)
    first = Results.from_dict(__import__("json").loads(kept[0]))
    assert [c.workload.n_q for c in first.cells] == [8]
    told: list[str] = []
    whole = run_benchmark(["core:tiled"], cells, Settings(**QUICK), previous=first, progress=told.append)
    assert [c.workload.n_q for c in whole.cells] == [8, 16]
    assert whole.cells[0].kernels["core:tiled"].samples == first.cells[0].kernels["core:tiled"].samples
    assert not any("n=8 " in line or "is it right" in line for line in told)


def test_other_settings_are_not_gone_on_from() -> None:
    done = run_benchmark([], [Workload(**SIZES)], Settings(**QUICK))
    with pytest.raises(TargetError, match="cannot resume: setting threads was 1, and is 2"):
        run_benchmark([], [Workload(**SIZES)], Settings(threads=2, **QUICK), previous=done)


@pytest.mark.parametrize(
    ("part", "name", "words"),
    [
        ("machine", "processor", "machine was another, and is"),
        ("machine", "cores", "number of cores was another, and is"),
        ("machine", "device", "device was another, and is cpu; name another --json file"),
        ("versions", "jax", "version of jax was another, and is not there"),
        ("versions", "torch", "version of torch was another, and"),
    ],
)
def test_another_machine_or_version_is_not_gone_on_from(part: str, name: str, words: str) -> None:
    done = run_benchmark([], [], Settings(**QUICK))
    getattr(done, part)[name] = "another"
    with pytest.raises(TargetError, match=words):
        run_benchmark([], [], Settings(**QUICK), previous=done)


def test_a_checksum_takes_every_shape_and_sees_every_value() -> None:
    call = Call(lambda: None, (torch.zeros(()), torch.zeros(0), torch.ones(2, 3).T), {"b": torch.ones(1)}, "bhnd", "bhnd",
                None, Workload(**SIZES))  # fmt: skip
    before = fingerprint(call)
    assert len(before) == 4 and fingerprint(call) == before
    for tensor in (call.tensors[0], call.tensors[2][2, 1], call.kwargs["b"]):
        tensor.fill_(0.5)
        assert fingerprint(call) != before
        before = fingerprint(call)


def test_the_gradient_of_the_output_is_looked_at_and_drawn_again() -> None:
    inputs = draw(Workload(**SIZES, direction="bwd"))
    drawn = inputs.cotangent
    assert drawn is not None
    call = Call(lambda: None, (inputs.query, inputs.key, inputs.value), {}, "bhnd", "bhnd", drawn, inputs.workload)
    before = fingerprint(call)
    drawn.zero_()
    assert fingerprint(call) != before
    restore(inputs)
    assert inputs.cotangent is drawn and fingerprint(call) == before


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    """A measuring job of two right kernels, as a worker gets it."""
    (tmp_path / "note").write_bytes(bytes(NOTE))
    return {
        "workload": Workload(H=1, n_q=4, n_kv=4, d=8).to_json(), "device": "cpu", "note": str(tmp_path / "note"),
        "kernels": {"A": "torch:default", "B": "torch:math"}, "baseline": "B", "repeats": {"B": 1.05}, "inner": 20,
        "plan": {"seconds": 3.0, "least": 5, "most": 7, "width": 0.25},
    }  # fmt: skip


def test_a_job_is_sampled_as_it_asks(job: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """And the truth, which the timing does not need, is forgotten before."""
    asked: list[Any] = []

    def sampled(functions: Any, clock: Any, plan: StoppingRule, **rest: Any) -> Samples:
        asked.extend([list(functions), clock.resolution, plan, rest["baseline"], rest["repeats"], rest["inner"]])
        return Samples({}, {}, {}, {}, {})

    told: list[dict[str, Any]] = []
    monkeypatch.setattr(measuring, "sample", sampled)
    monkeypatch.setattr(measuring, "clock_for", lambda device: SimpleNamespace(resolution=0.125))
    monkeypatch.setattr(measuring.Judge, "forget", lambda judge: told.append({"event": "forgotten"}))
    measuring.measure(job, told.append)
    assert asked == [["A", "B"], 0.125, StoppingRule(3.0, 5, 7, 0.25), "B", {"B": 1.05}, 20]
    assert [m["event"] for m in told] == ["alive", "checked"] * 2 + ["forgotten", "alive", "sampled"]
    assert told[-1]["resolution"] == 0.125


def test_a_job_gives_a_sign_of_life_every_second(job: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """More would cost time, and fewer would be called a hang; the note is written before every call."""
    noted: list[str] = []

    def sampled(
        functions: Any, clock: Any, plan: StoppingRule, before_call: Callable[[str, str], None], **rest: Any
    ) -> Samples:
        for now in (100.5, 101.5, 102.0, 103.0):
            monkeypatch.setattr(measuring, "time", SimpleNamespace(monotonic=lambda now=now: now))
            before_call("A", f"at {now}")
            noted.append(Path(job["note"]).read_bytes().partition(b"\0")[0].decode())
        return Samples({}, {}, {}, {}, {})

    told: list[dict[str, Any]] = []
    monkeypatch.setattr(measuring, "sample", sampled)
    monkeypatch.setattr(measuring, "time", SimpleNamespace(monotonic=lambda: 100.0))
    measuring.measure(job, told.append)
    assert [m["phase"] for m in told if "phase" in m] == ["sampling", "at 101.5", "at 103.0"]
    assert noted == ["A"] * 4


def test_another_kernel_is_measured_beside_those_of_its_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A ratio needs both in one run: the whole cell is measured again, and stands once."""
    asked: list[list[str]] = []

    def cell(workers: object, workload: Workload, named: Any, *rest: object) -> Cell:
        asked.append(list(named))
        return Cell(workload, "torch:default", {name: Column("cannot") for name in named})

    monkeypatch.setattr(module, "run_cell", cell)
    done = run_benchmark(["core:tiled"], [Workload(**SIZES)], Settings(**QUICK))
    more = run_benchmark(["core:tiled", "core:fused"], [Workload(**SIZES)], Settings(**QUICK), previous=done)
    assert [list(c.kernels) for c in more.cells] == [["torch:default", "core:tiled", "core:fused"]]
    assert asked == [["torch:default", "core:tiled"], ["torch:default", "core:tiled", "core:fused"]]


def given_cells(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Cells that cost nothing; the kernels that they were measured with."""
    asked: list[list[str]] = []

    def cell(workers: object, workload: Workload, named: Any, *rest: object) -> Cell:
        asked.append(list(named))
        return Cell(workload, "torch:default", {name: Column("cannot") for name in named})

    monkeypatch.setattr(module, "run_cell", cell)
    return asked


def test_no_finished_column_is_lost_by_going_on_with_other_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = given_cells(monkeypatch)
    cells = [Workload(**SIZES), Workload(**{**SIZES, "n_q": 8, "n_kv": 8})]
    done = run_benchmark(["core:tiled", "core:fused"], cells, Settings(**QUICK))
    more = run_benchmark(["core:dot_product"], cells[:1], Settings(**QUICK), previous=done)
    whole = ["torch:default", "core:dot_product", "core:tiled", "core:fused"]
    assert asked[2:] == [whole]
    assert [sorted(c.kernels) for c in more.cells] == [sorted(whole), ["core:fused", "core:tiled", "torch:default"]]
    assert [c.workload for c in more.cells] == cells
    run_benchmark(["core:tiled"], cells, Settings(**QUICK), previous=more)
    assert len(asked) == 3, "what is asked for is there"


def test_a_kernel_of_the_cell_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given_cells(monkeypatch)
    (tmp_path / "k.py").write_text(KERNELS)
    cells = [Workload(**SIZES)]
    monkeypatch.setattr(module, "verdict", lambda named, *rest: {"verdict": "conforms", "reason": "", "source": source(named)})  # fmt: skip
    done = run_benchmark([f"{tmp_path}/k.py:good"], cells, Settings(**QUICK))
    (tmp_path / "k.py").unlink()
    with pytest.raises(TargetError, match=r"cannot resume: the file of .*k.py:good has changed since; name another"):
        run_benchmark(["core:tiled"], cells, Settings(**QUICK), previous=done)
    done.cells[0].kernels["torch:gone"] = Column("cannot")
    with pytest.raises(TargetError, match=r"cannot resume: torch:gone was measured in the same cell, and no kernel"):
        run_benchmark(["core:tiled"], cells, Settings(**QUICK), previous=done)
    assert len(done.cells[0].kernels) == 3


def test_a_cell_that_never_fitted_here_is_not_gone_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_benchmark([], [], Settings(**QUICK))
    done.cells.append(Cell(Workload(n_q=10**14, n_kv=10**14), "torch:default", {}))
    with pytest.raises(TargetError, match="may be filled here"):
        run_benchmark([], [], Settings(**QUICK), previous=done)


def test_limits_of_more_dtypes_stand_beside_the_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    given_cells(monkeypatch)
    monkeypatch.setattr(module, "limits", lambda workers, dtypes, device: {
        "flops": dict.fromkeys(dtypes, 1.0 + len(dtypes[0])), "exponentials": float(len(dtypes[0])), "bandwidth": {"1": 2.0}})  # fmt: skip
    done = run_benchmark([], [Workload(**SIZES)], Settings(**QUICK))
    other = run_benchmark([], [Workload(**SIZES, dtype="bfloat16")], Settings(**QUICK), previous=done)
    assert other.limits == {"flops": {"float32": 8.0, "bfloat16": 9.0}, "exponentials": 7.0, "bandwidth": {"1": 2.0}}


def test_limits_are_measured_for_a_dtype_that_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(module, "run_cell", lambda workers, workload, *rest: Cell(workload, "torch:default", {}))
    monkeypatch.setattr(module, "limits", lambda workers, dtypes, device: asked.append(list(dtypes)) or
                        {"flops": dict.fromkeys(dtypes, 1.0)})  # fmt: skip
    done = run_benchmark([], [Workload(**SIZES)], Settings(**QUICK))
    both = [Workload(**SIZES), Workload(**SIZES, dtype="bfloat16")]
    run_benchmark([], both, Settings(**QUICK), previous=done)
    assert asked == [["float32"], ["bfloat16"]]
    run_benchmark([], [Workload(**SIZES, dtype="float16")], Settings(**QUICK))
    assert asked[2:] == [["float16", "float32"]], "in which a kernel may compute"


def test_a_ratio_is_the_kernels_time_over_the_baselines() -> None:
    cell = Cell(Workload(**SIZES), "base", {"base": Column("timed"), "slow": Column("timed")}, limit=0.5)
    same = dict.fromkeys(("base", "slow"), 1)
    found = {
        "times": {"base": [[1.0, 1.0]] * 20, "slow": [[2.0, 2.0]] * 20}, "inner": same, "first": same,
        "warm_up": {"base": [], "slow": []}, "settled": dict.fromkeys(same, True),
    }  # fmt: skip
    module.fill(cell, found, "base")
    slow = cell.kernels["slow"]
    assert slow.comparison is not None and slow.comparison.ratio == pytest.approx(2)
    assert (slow.comparison.verdict, slow.seconds, slow.share) == ("SLOWER", 2.0, 0.25)


def test_what_does_not_fit_on_the_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "device_memory", lambda device: 100)
    with pytest.raises(TargetError, match=r"needs at least .* and 100 B may be filled here"):
        run_benchmark([], [Workload(**SIZES)], Settings(device="cuda", **QUICK))


def test_without_its_baseline_a_cell_has_no_ratios(folder: Path) -> None:
    workload = Workload(**SIZES, mask=read_mask("bool"))
    settings = Settings(baseline=f"{folder}/k.py:good", **QUICK)
    (cell,) = run_benchmark(["torch:default"], [workload], settings).cells
    assert cell.kernels[settings.baseline].status == "cannot"
    assert cell.kernels["torch:default"].comparison is None
    assert cell.kernels["torch:default"].seconds is not None


@pytest.mark.parametrize(
    ("kernels", "workload", "words"),
    [
        (["nobody:nothing"], Workload(**SIZES), "no module named 'nobody'"),
        (["torch:nothing"], Workload(**SIZES), "no kernel 'torch:nothing'"),
        ([], Workload(n_q=10**7, n_kv=10**7, mask=read_mask("bias")), "GiB may be filled here"),
    ],
)
def test_bad_asking_is_told_before_anything_runs(kernels: list[str], workload: Workload, words: str) -> None:
    with pytest.raises(TargetError) as found:
        run_benchmark(kernels, [workload], Settings(**QUICK))
    assert words in str(found.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def right(query, key, value): ...", "has no attribute 'rigth'; did you mean 'right'? it has: right"),
        ("import absent_package", "it needs the module 'absent_package'"),
        ("def (", "cannot be imported: SyntaxError"),
    ],
)
def test_a_slip_in_a_name_is_told_before_the_others_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str
) -> None:
    judged: list[str] = []
    monkeypatch.setattr(module, "verdict", lambda named, *rest: judged.append(named.name))
    (tmp_path / "slip.py").write_text(source)
    with pytest.raises(TargetError) as found:
        run_benchmark(["core:tiled", f"{tmp_path}/slip.py:rigth"], [Workload(**SIZES)], Settings(**QUICK))
    assert words in str(found.value) and judged == []


def test_what_is_not_for_this_machine_or_dies_while_it_loads_has_its_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere.py").write_text(
        "from attention_core.declaration.implementation import Unavailable\nraise Unavailable('it needs a GPU')"
    )
    (tmp_path / "dies.py").write_text("import os\nos._exit(3)")
    names = [f"{tmp_path}/{name}.py:f" for name in ("elsewhere", "dies")]
    (cell,) = run_benchmark(["core:tiled", *names], [Workload(**SIZES)], Settings(**QUICK)).cells
    found = [(cell.kernels[name].status, cell.kernels[name].message) for name in names]
    assert found == [("failed", "it needs a GPU"), ("failed", "its process ended with status 3")]
    assert cell.kernels["core:tiled"].status == "timed"


def test_times_of_a_process_with_another_clock_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that slows the clock of its process down is seen by the parent's, whatever else it hides."""

    class Lying:
        def job(self, kind: str, **values: Any) -> Iterator[dict[str, Any]]:
            yield {"event": "alive", "phase": "sampling"}
            now[0] += 5.0
            yield {"event": "sampled", "times": {"A": [[1e-6, 1e-6]]}, "seconds": self.claimed, "resolution": 1e-9}

        def __init__(self, claimed: float) -> None:
            self.claimed = claimed

    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    for claimed, status in ((5.0, "timed"), (0.05, "failed")):
        columns = {"A": Column("timed")}
        found = module.one_measurement(Lying(claimed), {}, columns)  # type: ignore[arg-type]
        assert columns["A"].status == status
        assert bool(found["times"]) is (status == "timed")
    assert "0.05 s, and they took 5 s" in columns["A"].message
