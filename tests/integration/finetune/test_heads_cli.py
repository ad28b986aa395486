"""`finetune heads` on a run of `finetune classify`: the table, the JSON, the picture, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app
from tests.tiny_encoders import write_encoder, write_sst2


def finetune(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_encoder(Path("m"))
    write_sst2(Path("sst"))
    return tmp_path


def train(method: str) -> None:
    told = finetune("classify", "--model", "m", "--data", "sst", "--method", method, "--lr", "0.01", "--num_epochs", "1",
                    "--prompt_length", "2", "--device", "cpu", "--threads", "1", "--output_dir", method)  # fmt: skip
    assert told.exit_code == 0, told.output


def test_heads_are_measured_and_taken_out(folder: Path) -> None:
    train("full")
    told = finetune(
        "heads", "full", "--limit", "15", "--shares", "0.25,0.5", "--output", "h.json", "--picture", "h.png"
    )
    assert told.exit_code == 0, told.output
    assert "4 heads on 15 examples of dev: rank correlation" in told.output and "judged on test" in told.output
    found = json.loads(Path("h.json").read_text())
    assert [(row["measure"], row["heads"]) for row in found["pruned"]] == [
        ("none", 0), ("ablation", 1), ("ablation", 2), ("gradient", 1), ("gradient", 2)
    ]  # fmt: skip
    assert all(row["examples"] == 15 and row["seconds"] > 0 for row in found["pruned"])
    assert len(found["ablation"]) == 2 and len(found["gradient"][0]) == 2
    assert Path("h.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_pruned_is_one_line(folder: Path) -> None:
    train("prompt")
    for arguments, words in (
        (("prompt",), "was trained by prompt: heads are pruned of runs with --method full or head"),
        (("none",), "none/result.json"),
        (("prompt", "--shares", "0.5,1"), "numbers between 0 and 1"),
        (("prompt", "--output", "none/x.json"), "there is no folder"),
    ):
        told = finetune("heads", *arguments)
        assert told.exit_code == 2 and words in told.output, told.output
