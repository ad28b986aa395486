"""`finetune standardise`, as a user runs it, with a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tiny_language_models import make_language_model

from finetune.cli.main import app


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_language_model(tmp_path_factory.mktemp("model") / "tiny", context=2048)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "labels.txt").write_text("pizza\nclinics\n\nbread\n")
    (tmp_path / "sectors.txt").write_text("Food\nHealth\n")
    (tmp_path / "known.csv").write_text("label,sector\npizza,Food\nclinics,Health\nbread,Food\n")
    (tmp_path / "counts.csv").write_text("sector,count\nFood,2\nHealth,1\n")
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["standardise", *map(str, arguments)])


def test_a_constrained_run_has_no_invalid_answer_and_checks(folder: Path, files: Path) -> None:
    result = run(
        files / "labels.txt", "--into", files / "sectors.txt", "--mapping", files / "known.csv", "--model", folder,
        "--constrained", "--output", files / "r.json", "--picture", files / "r.png", "--store", files / "a.db",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "3 of 3 answers are sectors, 0 are not" in result.stdout
    assert "L1 to the reference" in result.stdout
    assert (files / "r.png").read_bytes().startswith(b"\x89PNG")
    assert run(files / "r.json", "--check").stdout == "all 1 results add up\n"
    record = json.loads((files / "r.json").read_text())
    record[0]["invalid"] = 1
    (files / "r.json").write_text(json.dumps(record))
    wrong = run(files / "r.json", "--check")
    assert wrong.exit_code == 1
    assert "3 valid and 1 invalid answers are 4, not the 3 labels" in wrong.stdout


def test_two_models_and_an_aware_question(folder: Path, files: Path) -> None:
    result = run(
        files / "labels.txt", "--into", files / "sectors.txt", "--reference", files / "counts.csv", "--aware",
        "--model", folder, "--model", folder,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stdout.count("answers are sectors") == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["labels.txt"], "name the sectors"),
        (["labels.txt", "--into", "nofile"], "nofile"),
        (["labels.txt", "--into", "sectors.txt", "--aware"], "--aware shows a distribution"),
        (["labels.txt", "--into", "sectors.txt", "--mapping", "labels.txt"], "1 column, but should be 2"),
        (["labels.txt", "--into", "sectors.txt", "--reference", "known.csv"], "a count is a whole number"),
        (["labels.txt", "--check"], "is not JSON"),
        (["labels.txt", "--into", "sectors.txt", "--output", "no/where"], "no such folder"),
        (["labels.txt", "--into", "sectors.txt", "--model", "nothing"], "no model at"),
    ],
)
def test_bad_input_is_one_line(files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], line: str) -> None:
    monkeypatch.chdir(files)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
