"""Memory on the command line.

`finetune memory` and `finetune largest-batch` as a person meets them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app
from tests.tiny_encoders import write_encoder


def finetune(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_encoder(Path("m"), layers=1)
    return tmp_path


COMMON = ("--model", "m", "--device", "cpu", "--threads", "1", "--prompt_length", "8", "--max_seq_length", "16")


def test_the_table_and_the_picture(folder: Path) -> None:
    told = finetune("memory", *COMMON, "--batch_size", "4", "--output", "memory.png")
    assert told.exit_code == 0, told.output
    rows = [
        line.split()
        for line in told.output.splitlines()
        if line.startswith(("full", "head", "prompt", "prefix", "lora", "bias"))
    ]
    assert len(rows) == 6 and all(row[3].startswith("(") for row in rows)
    assert all(row[2] == row[3].strip("()") for row in rows), "what is saved is what the formula says"
    assert Path("memory.png").read_bytes().startswith(b"\x89PNG")


def test_texts_that_the_model_has_no_room_for_are_said_to_be_shorter(folder: Path) -> None:
    told = finetune("memory", *COMMON[:-1], "64", "--batch_size", "2", "--method", "head,prompt")
    assert told.stdout.splitlines()[0].startswith("MiB of one step, 2 texts of 64 tokens")
    assert told.stdout.splitlines()[1:3] == [
        "head: texts of 48 tokens, for which the model has room",
        "prompt: texts of 40 tokens, for which the model has room",
    ]


def test_a_picture_of_no_kind_is_refused_before_anything_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finetune.memory.measure.measure_step", lambda *_: pytest.fail("a step was measured"))
    assert finetune("memory", *COMMON, "--output", "m.txt").exit_code == 2


def test_numbers_as_json(folder: Path) -> None:
    told = finetune("memory", *COMMON, "--batch_size", "2", "--method", "head", "--json")
    (found,) = json.loads(told.stdout)
    assert found["saved"] == found["formula"]["saved"] == 2 * 16 * 4 and found["parameters"][0] == 34


def test_the_largest_batch(folder: Path) -> None:
    told = finetune("largest-batch", *COMMON, "--memory_limit", "400", "--start", "3", "--most", "6")
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines() == ["3: fits", "6: fits", "largest batch of full with 16 tokens: 6"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("memory", *COMMON, "--method", "head,adapter"), "method 'adapter' is not one of"),
        (("memory", *COMMON[:-4], "--method", "prompt"), "a prompt of 128 leaves no room in a model of 48 positions"),
        (("memory", *COMMON, "--output", "no/m.png"), "there is no folder no"),
        (("memory", *COMMON, "--output", "m.txt"), "m.txt: a picture is a png, svg or pdf"),
        (("memory", *COMMON, "--device", "gpu"), "device gpu cannot be used here"),
        (("largest-batch", *COMMON, "--start", "9", "--most", "8"), "can be tried first, got 9"),
    ],
)
def test_what_cannot_be_used_is_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    found = finetune(*arguments)
    assert found.exit_code == 2 and words in found.output, found.output
