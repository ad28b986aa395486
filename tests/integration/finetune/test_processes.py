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
from tests.tiny_encoders import write_encoder, write_sst2

RUNS = Path(__file__).with_name("finetune_runs.py")


def launched(world: int, folder: Path) -> Any:
    """What the first of `world` processes printed at the end.

    Started by torchrun: `accelerate launch --cpu --num_processes 2` starts a single one.
    """
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    done = subprocess.run(
        [*torchrun(world, port), str(RUNS), str(folder)], env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{world} processes, 0 threads left" in done.stdout, done.stdout
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("[[")]
    return json.loads(told)


def torchrun(world: int, port: int) -> list[str]:
    """The command that starts so many processes of what stands behind it."""
    return [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(world), "--master_port", str(port)]


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


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.thorough
def test_two_processes_train_a_classifier_as_one(tmp_path: Path) -> None:
    """The head alone, on features: no dropout, a convex loss, so the order of sums is all that differs."""
    write_encoder(tmp_path / "m")
    write_sst2(tmp_path / "sst", dev=15)
    options = ["-m", "finetune.cli.main", "classify", "--model", str(tmp_path / "m"), "--data", str(tmp_path / "sst"), "--method",
               "head", "--dropout", "0", "--optimizer", "sgd", "--lr", "0.01", "--num_epochs", "3", "--batch_size", "7",
               "--device", "cpu", "--threads", "1"]  # fmt: skip
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    found = {}
    for world, command in ((1, [sys.executable]), (2, torchrun(2, port))):
        folder = tmp_path / str(world)
        done = subprocess.run([*command, *options, "--output_dir", str(folder)], env={**os.environ, "OMP_NUM_THREADS": "1"},
                              capture_output=True, text=True, timeout=300)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("best on dev") == 1, "one process speaks"
        found[world] = records(folder)
    steps = 3 * 9
    # Each step adds up gradients of at most 2 |x| an example in another order; |x| < 8 behind a layer norm of 16.
    error = steps * 0.01 * 7 * 16 * torch.finfo(torch.float32).eps
    for one, two in zip(found[1], found[2], strict=True):
        assert (one["step"], one["epochs"]) == (two["step"], two["epochs"])
        for name in ("train_loss", "dev_loss"):
            assert abs(one[name] - two[name]) <= 16 * error, name
    results = [json.loads((tmp_path / str(world) / "result.json").read_text()) for world in (1, 2)]
    assert results[0]["test"]["confusion"] == results[1]["test"]["confusion"]
    assert sum(map(sum, results[1]["dev"]["confusion"])) == 15


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
