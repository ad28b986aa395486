"""What a submission replaces in its process is named."""

from __future__ import annotations

import sys
import time
import types

import numpy as np
import pytest
import torch

from attention_core.grading.watch import WATCHED, Watch


@pytest.mark.parametrize(
    ("owner", "name"),
    [(time, "perf_counter"), (torch, "allclose"), (torch.Tensor, "__eq__"), (torch.testing, "assert_close"),
     (torch.cuda, "synchronize"), (torch.cuda.Event, "elapsed_time"), (np, "allclose"),
     (torch.nn.functional, "scaled_dot_product_attention")],
)  # fmt: skip
def test_a_function_that_is_replaced_is_named(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    watch = Watch()
    assert watch.changes() == []
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *a, **k: True)
        found = watch.changes()
    assert len(found) == 1 and found[0].endswith(name)


def test_a_module_that_is_replaced_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "time", types.ModuleType("time"))
        assert watch.changes() == ["sys.modules['time']"]


def test_functions_of_the_grader_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    from attention_core.worker import frames

    watch = Watch()
    with monkeypatch.context() as patch:
        patch.setattr(frames, "send", print)
        assert "attention_core.worker.frames.send" in watch.changes()


def test_a_trace_function_is_named() -> None:
    before, watch = sys.getprofile(), Watch()
    try:
        sys.setprofile(lambda *_: None)
        found = watch.traces()
    finally:
        sys.setprofile(before)
    assert "sys.setprofile" in found


@pytest.mark.compiles
def test_torchs_compiler_replaces_nothing_that_is_watched() -> None:
    watch = Watch()
    torch.compile(lambda x: x + 1, backend="eager")(torch.zeros(2))
    assert watch.changes() == []


def test_what_is_watched_is_there() -> None:
    labels = {label for label, *_ in Watch().kept}
    missing = [
        f"{owner}.{name}" for owner, names in WATCHED.items() for name in names if f"{owner}.{name}" not in labels
    ]
    assert [name for name in missing if "benchmark" not in name] == []
