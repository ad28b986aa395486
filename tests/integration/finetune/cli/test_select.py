"""Selection on the command line.

`finetune select` as a person meets it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app
from tests.tiny_encoders import write_encoder, write_sst2


def finetune(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_encoder(Path("m"), layers=1)
    write_sst2(Path("sst"), train=24, dev=12, test=12)
    return tmp_path


COMMON = ("--study", "s", "--data", "sst", "--model", "m", "--device", "cpu", "--threads", "1", "--batch_size", "8")


def test_the_grid_of_the_assignment(folder: Path) -> None:
    """Rates {1e-4, 5e-4, 1e-3}, and epochs; in two goes."""
    grid = ("select", *COMMON, "--method", "head", "--lr", "1e-4,5e-4,1e-3", "--num_epochs", "1", "--num_epochs", "2")
    first = finetune(*grid, "--trials_here", "2")
    assert first.exit_code == 0 and "4 trials wait and 0 run elsewhere" in first.output, first.output
    second = finetune(*grid)
    assert second.exit_code == 0, second.output
    assert second.output.count("dev accuracy") == 4 and "majority class" in second.output and "(best)" in second.output
    assert Path("s/results.md").exists() and Path("s/study.db").exists()
    third = finetune(*grid)
    assert third.output.splitlines()[-5:] == second.output.splitlines()[-5:]


def test_a_search_in_a_range(folder: Path) -> None:
    told = finetune("select", *COMMON, "--method", "head", "--lr", "1e-3..1e-1", "--num_epochs", "1", "--search", "3")
    assert told.exit_code == 0 and told.output.count("dev accuracy") == 3, told.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "adapter"), "method 'adapter' is not one of"),
        (("--lr", "fast"), "--lr should be numbers, separated by commas, got fast"),
        (("--lr", "1e-3..1e-1"), "needs a number of trials"),
        (("--num_epochs", "1,1"), "epochs should be different values"),
        (("--storage", "nonsense://x"), "cannot be used"),
        (("--train_size", "99"), "of 24 training examples cannot be had"),
    ],
)
def test_what_cannot_be_used_is_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    found = finetune("select", *COMMON, *arguments)
    assert found.exit_code == 2 and words in found.output, found.output
    assert found.output.splitlines()[-1].startswith("finetune: ")


def test_a_model_is_needed(folder: Path) -> None:
    found = finetune("select", "--study", "s", "--data", "sst")
    assert found.exit_code == 2 and "give at least one --model" in found.output
