"""bench/measure.py: Measurement.look_again.

Kernels that are right when they are judged, and something else once they are timed: each is told, the others stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_core.bench.worker.client import NOTE
from attention_core.bench.worker.errors import Judge
from attention_core.bench.worker.measure import CHANGES, CLOCKS, KEPT, LATER, THREADS, measure
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload

KERNELS = '''
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

CALLS = [0]

def warm():
    """Whether it has been judged: the probe and the judgement call it a few times, the warm-up four times at least."""
    CALLS[0] += 1
    return CALLS[0] > 12

def good(query, key, value):
    return sdpa(query, key, value)

def zeros(query, key, value):
    out = sdpa(query, key, value)
    return out * 0 if warm() else out

def nan(query, key, value):
    out = sdpa(query, key, value)
    return out * float("nan") if warm() else out

def narrower(query, key, value):
    out = sdpa(query, key, value)
    return out[..., :1] if warm() else out

def scalar(query, key, value):
    out = sdpa(query, key, value)
    return out.sum() if warm() else out

def another(query, key, value):
    """Right at every call, but another number each time."""
    out = sdpa(query, key, value)
    return out * (1 + 2.0**-22) if warm() else out

def writes(query, key, value):
    out = sdpa(query, key, value)
    if warm():
        query.mul_(1.0001)
    return out

ANSWERS = {}

def keeps(query, key, value):
    """By the objects that it gets, as who forgets that their values may be others."""
    return ANSWERS.setdefault(query.data_ptr(), sdpa(query, key, value))

def keeps_products(query, key, value):
    """Half of the work is kept; what is left depends on the inputs."""
    scores = ANSWERS.setdefault(("scores", query.data_ptr()), query.detach() @ key.detach().mT)
    return torch.softmax(scores * query.shape[-1] ** -0.5, -1) @ value

def turned(query, key, value, attn_mask=None, is_causal=False, enable_gqa=False):
    """In the layout (B, n, H, d)."""
    tensors = (t.transpose(-3, -2) for t in (query, key, value))
    out = sdpa(*tensors, attn_mask=attn_mask, is_causal=is_causal, enable_gqa=enable_gqa)
    return out.transpose(-3, -2)

def threads(query, key, value):
    torch.set_num_threads(2)
    return sdpa(query, key, value)

def clock(query, key, value):
    """Time stands still while it works."""
    import time
    now = time.perf_counter_ns()
    time.perf_counter_ns = lambda: now
    return sdpa(query, key, value)

def harness(query, key, value):
    from attention_core.bench.timing.clocks import WallClock
    WallClock.time = lambda self, function, count: (function(), 1e-9)[1]
    return sdpa(query, key, value)
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("later")
    (path / "k.py").write_text(KERNELS)
    (path / "note").write_bytes(bytes(NOTE))
    return path


def messages(folder: Path, names: Sequence[str], direction: str = "fwd", **sizes: Any) -> list[dict[str, Any]]:
    """What a job tells, of kernels of the file by their short names, or of others."""
    told: list[dict[str, Any]] = []
    job = {
        "workload": Workload(**{"B": 1, "H": 2, "n_q": 48, "n_kv": 48, "d": 8, "direction": direction} | sizes).to_json(),
        "kernels": {name: name if ":" in name else f"{folder}/k.py:{name}" for name in names}, "device": "cpu",
        "baseline": names[0],
        "plan": {"seconds": 0.05, "least": 6, "most": 6, "width": 0.005}, "repeats": {}, "inner": 1,
        "note": str(folder / "note"),
    }  # fmt: skip
    measure(job, told.append)
    return [message for message in told if message["event"] != "alive"]


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
@pytest.mark.parametrize("name", ["zeros", "nan"])
def test_what_is_wrong_once_it_is_warm_is_refuted_and_has_no_times(folder: Path, name: str, direction: str) -> None:
    *_, judged, sampled = messages(folder, ["good", name], direction)
    assert (judged["event"], judged["kernel"], judged["where"]) == ("checked", name, LATER)
    assert judged["errors"]["out"]["refuted"]
    assert list(sampled["times"]) == ["good"] and not sampled["again"]


@pytest.mark.parametrize(("name", "shape"), [("narrower", "(1, 2, 48, 1)"), ("scalar", "()")])
def test_a_result_of_another_shape_is_told(folder: Path, name: str, shape: str) -> None:
    *_, failed, sampled = messages(folder, ["good", name])
    assert (failed["status"], failed["kernel"]) == ("refuted", name)
    assert failed["message"].startswith(f"{LATER}: out: got shape {shape}")
    assert list(sampled["times"]) == ["good"]


def test_another_right_result_is_right(folder: Path) -> None:
    *checked, sampled = messages(folder, ["good", "another"])
    assert [message["kernel"] for message in checked] == ["good", "another"]
    assert list(sampled["times"]) == ["good", "another"]


def test_who_keeps_an_answer_is_told(folder: Path) -> None:
    *_, failed, sampled = messages(folder, ["good", "keeps"])
    assert (failed["status"], failed["kernel"], failed["message"]) == ("refuted", "keeps", KEPT)
    assert list(sampled["times"]) == ["good"] and not sampled["again"]


def test_who_keeps_a_part_of_it_is_refuted(folder: Path) -> None:
    *_, judged, sampled = messages(folder, ["good", "keeps_products"])
    assert (judged["event"], judged["kernel"], judged["where"]) == ("checked", "keeps_products", LATER)
    assert judged["errors"]["out"]["rms"] > 0.1 and judged["errors"]["out"]["refuted"]
    assert list(sampled["times"]) == ["good"]


@pytest.mark.parametrize(
    "sizes",
    [
        {"H": 8, "H_kv": 2},
        {"B": 2, "H": 3, "dtype": "bfloat16"},
        {"form": "3d"},
        {"form": "5d", "d_v": 5},
        {"form": "strided", "dtype": "float16"},
        {"mask": read_mask("causal"), "n_q": 16},
        {"mask": read_mask("bias"), "n_q": 1, "dtype": "bfloat16"},
        {"mask": read_mask("window:5"), "dtype": "float64"},
    ],
    ids=str,
)
@pytest.mark.parametrize("direction", ["fwd", "bwd"])
def test_what_kernels_give_for_turned_inputs_is_the_same_to_the_bit(
    folder: Path, direction: str, sizes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no kernel of the table pays for another truth: each is judged once."""
    judged: list[int] = []
    judge = Judge.judge
    monkeypatch.setattr(Judge, "judge", lambda *args: judged.append(1) or judge(*args))  # type: ignore[func-returns-value]
    kernels = ["torch:math", "auto", "core:tiled", "core:dot_product@layout=bhnd", "turned@layout=bnhd"]
    *told, sampled = messages(folder, kernels, direction, **sizes)
    checked = [message["kernel"] for message in told if message["event"] == "checked"]
    assert len(judged) == len(checked) >= 2 and set(sampled["times"]) == set(checked)


def test_who_changes_inputs_while_timed_is_told_and_the_others_asked_again(folder: Path) -> None:
    *told, sampled = messages(folder, ["good", "writes"])
    (failed,) = (message for message in told if message["event"] == "failed_kernel")
    assert (failed["status"], failed["kernel"], failed["message"]) == ("refuted", "writes", CHANGES)
    assert sampled["again"]


def test_who_sets_the_number_of_threads_is_told_and_the_others_keep_theirs(folder: Path) -> None:
    before = torch.get_num_threads()
    *_, failed, sampled = messages(folder, ["good", "threads"])
    assert torch.get_num_threads() == before
    assert (failed["status"], failed["kernel"], failed["message"]) == ("failed", "threads", THREADS)
    assert list(sampled["times"]) == ["good"] and not sampled["again"]


@pytest.mark.parametrize(("name", "replaced"), [("clock", "time.perf_counter_ns"), ("harness", "WallClock.time")])
def test_who_replaces_the_clock_is_refuted_and_the_others_keep_their_times(
    folder: Path, name: str, replaced: str
) -> None:
    *_, failed, sampled = messages(folder, ["good", name])
    assert (failed["status"], failed["kernel"], failed["message"]) == ("refuted", name, CLOCKS.format(replaced))
    assert list(sampled["times"]) == ["good"]
    assert (sampled["times"]["good"][0][0]) > 1e-7
