"""A character model on any text.

finetune characters: bits per character fall, the same command goes on, and what cannot be used is one line.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app

SMALL = ("--n_layer", "1", "--n_head", "2", "--n_embd", "16", "--block_size", "16", "--threads", "1", "--device", "cpu")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["characters", *map(str, arguments)], catch_exceptions=False)


def test_tensorboard_is_asked_for_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not among the tested versions; without it the command says so, before it trains."""
    (tmp_path / "text").write_text("abcdefgh" * 300, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    told = run(tmp_path / "text", *SMALL, "--tensorboard_path", tmp_path / "runs", "--minutes", "0.02")
    assert told.exit_code == 2 and "TensorBoard is not installed" in told.output and "seconds" not in told.output


def test_bits_fall_and_a_run_goes_on(tmp_path: Path) -> None:
    """A text of one repeated word: from a choice among ten characters (eight letters, PAD and MASK) towards none."""
    (tmp_path / "text").write_text("abcdefgh" * 300, encoding="utf-8")
    common = (tmp_path / "text", *SMALL, "--checkpoint_path", tmp_path / "c", "--learning_rate", "1e-2", "--sample", "24",
              "--prompt", "abcdefgh", "--metrics_path", tmp_path / "m", "--log_every", "1")  # fmt: skip
    told = run(*common, "--epochs", "10")
    assert told.exit_code == 0, told.output
    head, first, *rest = told.output.splitlines()
    assert head == "seconds\tcharacters\tbits per character"
    last = rest[-2].split("\t")  # before the sample
    assert abs(float(first.split("\t")[2]) - math.log2(10)) < 0.3 and float(last[2]) < float(first.split("\t")[2]) / 2
    assert int(last[1]) == 10 * 134 * 16  # 2,160 characters are trained on, 134 stretches of 16 an epoch
    assert rest[-1].startswith("abcdefgh") and len(rest[-1]) == 8 + 24 and set(rest[-1]) <= set("abcdefgh")
    more = run(*common, "--epochs", "12")
    assert more.output.splitlines()[1].split("\t")[1:] == last[1:]  # it begins where the first one ended
    steps = [json.loads(line)["step"] for line in (tmp_path / "m").read_text().splitlines()]
    assert steps == list(range(1, 12 * 3 + 1))


def test_minutes_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("abcdefgh" * 300, encoding="utf-8")
    told = run(tmp_path / "text", *SMALL, "--minutes", "0", "--sample", "0")
    assert told.exit_code == 0 and told.output.count("\n") == 2 and told.output.splitlines()[1].startswith("0\t0\t")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none",), "no such file: none"),
        (("empty",), "finetune: empty is empty: there is nothing to train on"),
        (("short",), "has no stretch of 16 and one more"),
        (("text", "--prompt", "xyz"), "'x' (U+0078) at place 0 of 'xyz' is not in the vocabulary"),
        (("text", "--device", "gpu"), "device gpu cannot be used here"),
        (("text", "--prompt", ""), "a prompt has at least one character"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("")
    Path("short").write_text("abc")
    Path("text").write_text("abcdefgh" * 300)
    told = run(*SMALL, "--minutes", "0", *arguments)
    assert told.exit_code == 2 and words in told.output and told.output.count("\n") == 1
