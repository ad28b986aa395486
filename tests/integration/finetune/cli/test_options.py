"""What finetune refuses, and what it tells beside a result.

The `finetune` command and what must not happen in silence: going on with other data, files written over each other,
numbers that are none, values in a configuration that an option does not take. One line and status 2 each.
"""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from finetune.cli import options as cli_options
from finetune.cli.main import app
from finetune.data.corpus import read_questions
from finetune.errors import BadInput
from finetune.training.checkpoint import load

CORPUS = "Ada Byron. Ada Byron was born in London .\nAlan Turing. Alan Turing was born in Paris .\nWhere?\n"
NAMES = "Where was Ada born?\tLondon\nWhere was Alan born?\tParis\nWhere was Alan Turing born?\tParis\n"
SMALL = ("--n_layer", "1", "--n_head", "2", "--n_embd", "16", "--block_size", "48", "--threads", "1", "--device", "cpu")
PRETRAIN = ("pretrain", "vanilla", "wiki.txt", "--writing_params_path", "p", "--checkpoint_path", "k", *SMALL)
FINETUNE = ("finetune", "vanilla", "wiki.txt", "--finetune_corpus_path", "names.tsv", "--writing_params_path", "f",
            "--checkpoint_path", "k", *SMALL)  # fmt: skip


def finetune(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def refused(words: str, *arguments: str | Path) -> None:
    """One line that holds the words, and status 2."""
    found = finetune(*arguments)
    assert found.exit_code == 2 and words in found.output, found.output
    assert found.output.startswith("finetune: ") and found.output.count("\n") == 1, found.output


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("wiki.txt").write_text(CORPUS, encoding="utf-8")
    Path("names.tsv").write_text(NAMES, encoding="utf-8")
    # As many lines and as many characters, but other ones.
    Path("other.txt").write_text(CORPUS.replace("A", "Z").replace("B", "Y"), encoding="utf-8")
    Path("moved.tsv").write_text(NAMES.replace("London", "Paris", 1), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--n_head", "4"), "the checkpoint was made with n_head=2, this run has 4"),
        (("--dropout", "0.5"), "made with dropout=0.1, this run has 0.5"),
        (("--trailing_mask",), "made with trailing_mask=False, this run has True"),
        (("--corruption_length", "block"), "made with corruption_length='block + 1', this run has 'block'"),
        (("--block_size", "56"), "made with block_size=48, this run has 56"),
        (("--reading_params_path", "start"), "made with other parameters to begin with (--reading_params_path)"),
    ],
)  # fmt: skip
def test_a_run_goes_on_as_it_began(more: tuple[str, ...], words: str) -> None:
    assert finetune(*PRETRAIN, "--epochs", "1").exit_code == 0
    assert finetune(*PRETRAIN, "--epochs", "1", "--checkpoint_path", "k2", "--seed", "4",
                    "--writing_params_path", "start").exit_code == 0  # fmt: skip
    refused(words, *PRETRAIN, "--epochs", "2", *more)
    assert finetune(*PRETRAIN, "--epochs", "2").exit_code == 0


def test_a_run_goes_on_with_its_own_data() -> None:
    assert finetune(*PRETRAIN, "--epochs", "1", "--learning_rate", "6e-4").exit_code == 0
    refused("made with another corpus", "pretrain", "vanilla", "other.txt", *PRETRAIN[3:], "--epochs", "2",
            "--learning_rate", "6e-4")  # fmt: skip
    refused("command='pretraining', this run has 'fine-tuning'", *FINETUNE, "--epochs", "2", "--batch_size", "128")
    Path("k").unlink()
    assert finetune(*FINETUNE, "--epochs", "1").exit_code == 0
    refused("made with other questions", *FINETUNE, "--epochs", "2", "--finetune_corpus_path", "moved.tsv")
    refused("made with rehearse=0, this run has 1", *FINETUNE, "--epochs", "2", "--rehearse", "1")
    assert finetune(*FINETUNE, "--epochs", "2").exit_code == 0


def test_a_character_model_goes_on_with_its_own_text() -> None:
    Path("long.txt").write_text(6 * CORPUS)
    Path("other.txt").write_text(6 * CORPUS.replace("A", "Z"))
    common = ("--minutes", "0.01", "--held_out", "0.4", "--sample", "0", "--checkpoint_path", "k", *SMALL)
    assert finetune("characters", "long.txt", *common).exit_code == 0
    refused("made with another text", "characters", "other.txt", *common)
    refused("made with held_out=0.4, this run has 0.41", "characters", "long.txt", *common, "--held_out", "0.41")
    refused("made with n_head=2, this run has 4", "characters", "long.txt", *common, "--n_head", "4")
    refused("the held-out end (--held_out): a text of", "characters", "long.txt", *common, "--held_out", "0.01")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*PRETRAIN, "--writing_params_path", "wiki.txt"), "wiki.txt is named twice"),
        ((*PRETRAIN, "--writing_params_path", "./k"), "k is named twice"),
        ((*PRETRAIN, "--metrics_path", "p"), "p is named twice"),
        ((*FINETUNE, "--writing_params_path", "names.tsv"), "names.tsv is named twice"),
        (("characters", "wiki.txt", "--checkpoint_path", "wiki.txt"), "wiki.txt is named twice"),
        (("evaluate", "vanilla", "wiki.txt", "--reading_params_path", "p", "--eval_corpus_path", "names.tsv",
          "--outputs_path", "o", "--details_path", "o"), "o is named twice"),
    ],
)  # fmt: skip
def test_nothing_is_written_over(arguments: tuple[str, ...], words: str) -> None:
    refused(words, *arguments)
    assert Path("wiki.txt").read_text() == CORPUS and Path("names.tsv").read_text() == NAMES


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[finetune]\nrehearse = true", "rehearse should be a whole number, not True"),
        ("[finetune]\nepochs = [1, 2]", "epochs should be a whole number, not [1, 2]"),
        ("[finetune]\nepochs = 1.9", "epochs should be a whole number, not 1.9"),
        ("seed = true", "seed should be a whole number, not True"),
        ("trailing_mask = 1", "trailing_mask should be true or false, not 1"),
        ("compile = 'yes'", "compile should be true or false, not 'yes'"),
        ("dropout = '0.1'", "dropout should be a number, not '0.1'"),
        ("dropout = nan", "dropout: nan is not a finite number."),
        ("dropout = 2", "dropout: 2.0 is not in the range"),
        ("optimizer = 3", "optimizer should be a text in quotes, not 3"),
        ("optimizer = 'adam'", "optimizer: 'adam' is not one of"),
        ("writing_params_path = 5", "writing_params_path should be a text in quotes, not 5"),
        ("config = 'c2.toml'", "config names a file like this one"),
        ("finetune = 3", "finetune is a command: its options belong in the table [finetune]"),
        ("[[pretrain]]\nepochs = 2", "pretrain is a command: its options belong in the table [pretrain]"),
    ],
)  # fmt: skip
def test_a_configuration_is_checked_by_its_options(toml: str, words: str) -> None:
    Path("c.toml").write_text(toml)
    refused(f"c.toml: {words}", *FINETUNE, "--config", "c.toml")


@pytest.mark.parametrize(
    "arguments",
    [
        (*PRETRAIN, "--seed", str(2**63)),
        (*FINETUNE, "--rehearse", "1", "--seed", str(2**63 - 1)),
        ("charcorruption", "wiki.txt", "--seed", str(10**20)),
        ("characters", "wiki.txt", "--held_out", "nan"),
        ("characters", "wiki.txt", "--minutes", "nan"),
        ("characters", "wiki.txt", "--temperature", "inf"),
        (*PRETRAIN, "--learning_rate", "inf"),
        (*PRETRAIN, "--weight_decay", "nan"),
    ],
)
def test_numbers_that_nothing_can_be_done_with(arguments: tuple[str, ...]) -> None:
    found = finetune(*arguments)
    assert found.exit_code == 2 and "Invalid value for" in found.output


def test_a_temperature_near_0_is_greedy() -> None:
    Path("long.txt").write_text(6 * CORPUS)
    told = finetune("characters", "long.txt", "--minutes", "0", "--held_out", "0.4", "--sample", "5", "--temperature",
                    "1e-300", *SMALL)  # fmt: skip
    assert told.exit_code == 0, told.output


def test_weights_that_are_no_numbers_are_not_kept() -> None:
    """The last step's weights are seen by no loss: they are looked at before they are written."""
    found = finetune(*PRETRAIN, "--epochs", "1", "--learning_rate", "1e38", "--warmup_tokens", "0")
    first, line = found.stderr.splitlines()
    assert found.exit_code == 2 and first.startswith("finetune: pretraining of vanilla, ")
    assert (
        line.startswith("finetune: ")
        and "step 1 made weights that are infinite or no numbers, and are not kept" in line
    )
    assert not Path("p").exists() and not Path("k").exists()


def test_a_file_tells_the_form_of_its_strings() -> None:
    """Rehearsal is of the strings that pretraining had, unless others are asked for."""
    made = finetune("pretrain", "vanilla", "wiki.txt", "--writing_params_path", "p", "--trailing_mask", "--epochs", "1",
                    "--corruption_length", "block", *SMALL)  # fmt: skip
    assert made.exit_code == 0, made.output
    for more, form in (
        ((), {"block": 48, "variant": "block", "trailing_mask": True}),
        (("--no_trailing_mask",), {"block": 48, "variant": "block", "trailing_mask": False}),
    ):
        told = finetune("finetune", "vanilla", "wiki.txt", "--reading_params_path", "p", "--writing_params_path", "f",
                        "--finetune_corpus_path", "names.tsv", "--rehearse", "1", "--epochs", "1", "--threads", "1",
                        "--device", "cpu", *more)  # fmt: skip
        assert told.exit_code == 0, told.output
        assert load("f")["form"] == form
    refused("p holds a model for a block of 48, but 24 was given", "evaluate", "vanilla", "wiki.txt",
            "--reading_params_path", "p", "--eval_corpus_path", "names.tsv", "--block_size", "24")  # fmt: skip


def test_a_warm_up_that_was_not_over_is_told() -> None:
    told = finetune(*FINETUNE, "--epochs", "2")
    tokens = 2 * sum(len(line.split("\t")[1]) + 2 for line in NAMES.splitlines())
    assert f"the warm-up of 10240 targets was not over after {tokens}, and the rate at 0% of 0.0006" in told.stderr
    told = finetune(*FINETUNE, "--epochs", "2", "--warmup_tokens", "5", "--checkpoint_path", "k2")
    assert "warm-up" not in told.output


def test_questions_without_places_have_details_too() -> None:
    assert finetune(*PRETRAIN, "--epochs", "1").exit_code == 0
    Path("asked.tsv").write_text("Where was Ada Byron born?\nWhere was Al born?\n")
    told = finetune("evaluate", "vanilla", "wiki.txt", "--reading_params_path", "p", "--eval_corpus_path", "asked.tsv",
                    "--details_path", "d", "--withhold_below", "0", "--outputs_path", "o")  # fmt: skip
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[1] == "Answered: 0; not known: 2"
    head, *rows = [line.split("\t") for line in Path("d").read_text().splitlines()]
    known = [dict(zip(head, row, strict=True)) for row in rows]
    assert [row["name_in_corpus"] for row in known] == ["1", "0"]  # Al is not named by Alan
    assert all(row["place"] == row["right"] == row["place_with_name"] == "" for row in known)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\tb\tc\n", "line 1: 3 columns, but should be question<TAB>place"),
        ("a\tb\nc\n", "line 2: 1 column, but should be question<TAB>place"),
        ("\na\nb\tc\n", "line 3: 2 columns, but should be one, a question, as in line 2"),
    ],
)
def test_columns_are_told_by_their_lines(text: str, words: str) -> None:
    Path("q.tsv").write_text(text)
    with pytest.raises(BadInput, match="q.tsv, " + words.replace("<", "[<]")):
        read_questions("q.tsv")


def test_a_corpus_of_white_space_is_empty() -> None:
    Path("blank.txt").write_text("  \n\t\n")
    refused("blank.txt is empty", "pretrain", "vanilla", "blank.txt", *PRETRAIN[3:])


def test_a_log_gets_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no terminal is: what is written follows the clock, here one that runs by 25 seconds a look."""
    clock = iter(range(0, 10**6, 25))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    sink = cli_options._lines("pretraining", 9, 180)
    shown: list[str] = []
    monkeypatch.setattr(cli_options.click, "echo", lambda text, err: shown.append(text))
    for epoch in range(7):
        sink({"epoch": epoch, "loss": 1.0, "step": 20 * (epoch + 1)})
    assert shown == [
        "pretraining epoch 3/9 loss 1.000, about 2 minutes left",  # 40 steps in 50 seconds, 120 to go
        "pretraining epoch 6/9 loss 1.000, about 75 seconds left",
    ]
    show = cli_options._step_lines("training")
    for step in range(1, 8):
        show(step, 900)
    assert shown[2:] == [
        "training: step 3 of 900, about 6 hours left", "training: step 6 of 900, about 6 hours left"
    ]  # fmt: skip


def test_a_terminal_gets_a_bar_of_steps_below_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr("rich.console.Console", lambda stderr: console)
    with cli_options.step_progress("training") as show:
        show(450, 900)
        console.print("a line")
    assert "450/900" in screen.getvalue() and "a line\n" in screen.getvalue()
    assert screen.getvalue().rstrip().endswith("\x1b[2K"), "the bar is wiped out at the end"


def test_a_log_says_about_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that was resumed at step 100 is not thought to have done the steps before."""
    seconds = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    sink, show = cli_options._lines("pretraining", 650, 31_950), cli_options._step_lines("training")
    for step in range(100, 113):
        sink({"epoch": step // 50, "loss": 3.25, "step": step})
        show(step, 1000)
        seconds[0] += 10.0
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "pretraining epoch 3/650 loss 3.250, about 4 days left", "training: step 106 of 1000, about 2 hours left",
        "pretraining epoch 3/650 loss 3.250, about 4 days left", "training: step 112 of 1000, about 2 hours left",
    ]  # fmt: skip
