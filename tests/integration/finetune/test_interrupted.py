"""Interrupting `finetune pretrain` and `finetune characters`.

Real signals to real commands: 130 or 143, one line, a checkpoint, and the same command ends at the same bits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import finetune
from finetune.cli.main import app
from finetune.training import checkpoint

HOME = Path(finetune.__file__).parents[1]
SMALL = ("--n_layer", "1", "--n_head", "2", "--n_embd", "16", "--block_size", "48", "--threads", "1", "--device", "cpu")
PATIENCE = 300.0
"""Seconds until something that must happen counts as not happening."""


def interrupted(folder: Path, number: int, *arguments: str) -> tuple[int, str]:
    """A command that gets a signal once it has written three records; its status and what it said of errors."""
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "finetune.cli.main", *arguments, "--metrics_path", "m", "--log_every", "1"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
        # a shell's background jobs ignore Ctrl-C, and so would what they start
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )  # fmt: skip
    end = time.monotonic() + PATIENCE
    while not (folder / "m").exists() or (folder / "m").read_text().count("\n") < 3:
        assert time.monotonic() < end and process.poll() is None, "three steps are made"
        time.sleep(0.02)
    process.send_signal(number)
    _, told = process.communicate(timeout=PATIENCE)
    return process.returncode, told


@pytest.mark.thorough
def test_ctrl_c_keeps_the_last_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochs of two steps without end, then as many as the checkpoint has, and two more: one run all the same."""
    monkeypatch.chdir(tmp_path)
    Path("wiki.txt").write_text("Ada Byron was born in London .\nAlan Turing was born in Paris .\nWhere?\n")
    common = ("pretrain", "vanilla", "wiki.txt", "--batch_size", "2", *SMALL)
    status, told = interrupted(tmp_path, signal.SIGINT, *common, "--writing_params_path", "cut", "--checkpoint_path", "c",
                               "--epochs", "1000000", "--save_every", "1000000")  # fmt: skip
    state = checkpoint.load("c")
    assert status == 130, told
    first, _, last = told.partition("\n")
    assert first.startswith("finetune: pretraining of vanilla, ")
    assert last == (
        f"finetune: interrupted after step {state['step']}, which is kept in c (--checkpoint_path); the same command "
        "continues from there\n"
    )
    assert state["step"] >= 3 and not Path("cut").exists()
    epochs = ("--epochs", str(state["epoch"] + 2))
    run = CliRunner().invoke
    assert run(app, [*common, "--writing_params_path", "cut", "--checkpoint_path", "c", *epochs]).exit_code == 0
    assert run(app, [*common, "--writing_params_path", "whole", *epochs]).exit_code == 0
    assert Path("cut").read_bytes() == Path("whole").read_bytes()


@pytest.mark.thorough
def test_a_character_model_goes_on_with_its_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("abcdefgh" * 300)
    common = ("characters", "text", *SMALL, "--checkpoint_path", "c")
    status, told = interrupted(tmp_path, signal.SIGTERM, *common)
    state = checkpoint.load("c")
    first, _, last = told.partition("\n")
    assert first.startswith("finetune characters: vanilla, ")
    assert status == 143 and last.startswith(f"finetune: interrupted after step {state['step']}, which is kept in c"), (
        told
    )
    assert state["step"] >= 3 and state["seconds"] > 0
    checkpoint.save("c", {**state, "seconds": 100.4})
    told = CliRunner().invoke(app, [*common, "--minutes", "0", "--sample", "0"]).stdout
    assert told.splitlines()[1].startswith(f"100\t{state['tokens']}\t")
    assert told.count("\n") == 2  # no time is left of these minutes, whatever was spent before
