"""Training with Hugging Face Accelerate.

finetune.training.processes: two processes over gloo take the same steps as one, and go on after an interruption.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.errors import BadInput
from finetune.training.processes import OneProcess, processes

RUNS = Path(__file__).with_name("finetune_runs.py")


def launched(world: int, folder: Path) -> Any:
    """What the first of `world` processes printed at the end, started as a person starts them: accelerate launch."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_machines", "1", "--mixed_precision", "no",
               "--num_processes", str(world), "--dynamo_backend", "no", "--main_process_port", str(port)]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(RUNS), str(folder)], env=environment, capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("[[")]
    return json.loads(told)


def test_two_processes_are_one_and_resume(tmp_path: Path) -> None:
    """float64, no dropout: the same sums in another order, over nine steps. The last batch of each epoch, one example,
    leaves the second process idle. An interruption changes nothing at all."""
    (tmp_path / "one").mkdir()
    one = runs().all_runs(str(tmp_path / "one"))[0]
    two, cut, rest = launched(2, tmp_path)
    assert len(one) == len(two) == 9
    for a, b in zip(one, two, strict=True):
        assert a["tokens"] == b["tokens"]
        assert abs(a["loss"] - b["loss"]) < 1e-9 and abs(a["gradient_norm"] - b["gradient_norm"]) < 1e-9
    assert cut == two[:4] and rest == two[4:]


def runs() -> Any:
    """The module of the runs, whose file stands beside this one."""
    spec = spec_from_file_location("finetune_runs", RUNS)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_process_needs_no_accelerate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "accelerate", None)
    assert type(processes("cpu")) is OneProcess
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(BadInput, match=r"several processes need Hugging Face Accelerate"):
        processes("cpu")


def test_a_device_that_is_not_there_is_told() -> None:
    missing = "cuda:99" if torch.cuda.is_available() else "cuda"
    with pytest.raises(BadInput, match=f"device {missing} cannot be used here"):
        OneProcess(missing)
    with pytest.raises(BadInput, match="device gpu cannot be used here"):
        OneProcess("gpu")
