"""Sinks for a trainer's records.

finetune.training.metrics: lines of JSON that go on after an interruption, and TensorBoard's absence told.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from finetune.errors import BadInput
from finetune.training.metrics import jsonl, tensorboard


def steps(path: Path) -> list[int]:
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def test_records_are_lines_that_go_on_after_an_interruption(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    sink = jsonl(path)
    for step in range(1, 6):
        sink({"step": step, "loss": 0.5})
    assert steps(path) == [1, 2, 3, 4, 5]
    path.write_text(path.read_text() + '{"step": 3, "lo')  # cut short by a kill
    jsonl(path, after_step=3)({"step": 4})
    assert steps(path) == [1, 2, 3, 4]
    path.write_bytes(path.read_bytes() + b'\xff\xfe{"step": 2}\n')  # damaged
    jsonl(path, after_step=3)({"step": 4})
    assert steps(path) == [1, 2, 3, 4]
    jsonl(path)({"step": 1})
    assert steps(path) == [1]


def test_an_unwritable_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        jsonl(tmp_path / "none" / "m.jsonl")


def test_tensorboard_gets_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer's face is stood in for: TensorBoard is not among the tested versions."""
    written: list[tuple[Any, ...]] = []

    class SummaryWriter:
        def __init__(self, folder: str) -> None:
            written.append((folder,))

        def add_scalar(self, *given: Any) -> None:
            written.append(given)

        def flush(self) -> None:
            written.append(("flush",))

    stand_in = ModuleType("torch.utils.tensorboard")
    stand_in.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", stand_in)
    tensorboard("runs")({"step": 7, "loss": 0.5, "note": "text"})
    assert written == [("runs",), ("loss", 0.5, 7), ("flush",)]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(BadInput, match="TensorBoard is not installed"):
        tensorboard("runs")
