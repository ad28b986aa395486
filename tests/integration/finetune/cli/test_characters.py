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
    head, first, *rest = told.stdout.splitlines()
    assert head == "seconds\tcharacters\tbits per character\tperplexity"
    last = rest[-2].split("\t")  # before the sample
    assert abs(float(first.split("\t")[2]) - math.log2(10)) < 0.3 and float(last[2]) < float(first.split("\t")[2]) / 2
    assert float(last[3]) == pytest.approx(2 ** float(last[2]), rel=2e-3)  # both have three places
    assert int(last[1]) == 10 * 134 * 16  # 2,160 characters are trained on, 134 stretches of 16 an epoch
    assert rest[-1].startswith("abcdefgh") and len(rest[-1]) == 8 + 24 and set(rest[-1]) <= set("abcdefgh")
    more = run(*common, "--epochs", "12")
    assert more.stdout.splitlines()[1].split("\t")[1:] == last[1:]  # it begins where the first one ended
    steps = [json.loads(line)["step"] for line in (tmp_path / "m").read_text().splitlines()]
    assert steps == list(range(1, 12 * 3 + 1))


def test_minutes_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("abcdefgh" * 300, encoding="utf-8")
    told = run(tmp_path / "text", *SMALL, "--minutes", "0", "--sample", "0")
    assert told.exit_code == 0 and told.stdout.count("\n") == 2 and told.stdout.splitlines()[1].startswith("0\t0\t")


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


OWN = """
import torch

def self_attention(Q, K, V, n_heads=1, causal=True):
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (Q, K, V))
    A = q @ k.transpose(-1, -2) / (Q.shape[-1] / n_heads) ** 0.5
    if causal:
        A = torch.where(torch.ones(A.shape[-2:], dtype=torch.bool).tril(), A, -torch.inf)
    return (A.softmax(-1) @ v).transpose(1, 2).flatten(2)

def late(Q, K, V, n_heads=1, causal=True):
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (Q, K, V))
    A = (q @ k.transpose(-1, -2) / (Q.shape[-1] / n_heads) ** 0.5).softmax(-1)
    return ((A.tril() if causal else A) @ v).transpose(1, 2).flatten(2)

def short(Q, K, V, n_heads, causal):
    return Q[:, :1]

class Module: pass
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text and a file of attention functions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("to be, or not to be: that is the question\n" * 80, encoding="utf-8")
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("own")
def test_a_right_function_of_ones_own_trains_to_the_figures_of_the_models_own() -> None:
    words = ("text", *SMALL, "--epochs", "2", "--dropout", "0", "--sample", "5", "--learning_rate", "1e-2")
    mine, usual = run(*words, "--attention", "mine.py:self_attention"), run(*words)
    assert mine.exit_code == 0 and "mine.py:self_attention: conforms" in mine.stderr, mine.output
    figures = [[float(cell) for cell in r.stdout.splitlines()[2].split("\t")[1:]] for r in (mine, usual)]
    # three places are printed; the sums run in another order
    assert figures[0] == pytest.approx(figures[1], rel=0.01)


@pytest.mark.slow
@pytest.mark.usefixtures("own")
def test_a_refuted_function_is_not_trained_unless_that_is_wanted() -> None:
    refused = run("text", *SMALL, "--attention", "mine.py:late", "--epochs", "1")
    assert refused.exit_code == 2 and not refused.stdout
    for part in (
        "mine.py:late: refuted (",
        "attention-core verify --contract self-attention mine.py:late",
        "--unverified",
    ):
        assert part in refused.stderr
    wanted = run("text", *SMALL, "--attention", "mine.py:late", "--unverified", "--epochs", "1")
    assert wanted.exit_code == 0 and "mine.py:late: not verified" in wanted.stderr


@pytest.mark.usefixtures("own")
def test_words_are_tokens_and_a_picture_is_drawn() -> None:
    told = run("text", *SMALL, "--words", "--vocabulary_size", "9", "--epochs", "3", "--sample", "6", "--prompt", "to be",
               "--picture", "run.png", "--log_every", "1")  # fmt: skip
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    assert lines[0] == "seconds\twords\tbits per word\tperplexity" and lines[-1] != "" and "to be" in told.stdout
    # 13 words, signs and line ends a line, of 11 kinds; those of the two that are not kept are 2 in 13
    assert "1040 words, 9 kinds are kept, 15.4% are unknown" in told.stderr and Path("run.png").read_bytes().startswith(
        b"\x89PNG"
    )


@pytest.mark.usefixtures("own")
def test_another_function_does_not_go_on_with_a_run() -> None:
    words = (
        "text",
        *SMALL,
        "--attention",
        "mine.py:self_attention",
        "--unverified",
        "--checkpoint_path",
        "c",
        "--sample",
        "0",
    )
    assert run(*words, "--epochs", "1").exit_code == 0
    Path("mine.py").write_text(OWN.replace("** 0.5", "** 0.25"), encoding="utf-8")
    other = run(*words, "--epochs", "2")
    assert other.exit_code == 2 and "another attention" in other.stderr


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--attention", "mine.py"], "should be FILE.py:NAME"),
        (["--attention", "none.py:f"], "there is no file 'none.py'"),
        (["--attention", "mine.py:nothing"], "nothing"),
        (["--attention", "mine.py:Module"], "is not a function"),
        (["--attention", "mine.py:short", "--unverified"], "returned (20, 1, 16), but should return (20, 16, 16)"),
        (["--attention", "mine.py:late", "--model", "rotary"], "not of another model"),
        (["--unverified"], "which is missing"),
        (["--picture", "run.gif"], "a picture is a png, svg or pdf"),
    ],
)
def test_an_attention_that_cannot_be_used_is_one_line(words: list[str], message: str) -> None:
    told = run("text", *SMALL, "--epochs", "1", *words)
    assert told.exit_code == 2 and message in told.stderr and told.stderr.splitlines()[-1].count(message) == 1
