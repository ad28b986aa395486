"""finetune on the command line.

The `finetune` command as a person meets it: the assignment's commands, and one clear line for what cannot be used.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import re
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from safetensors.torch import save_file

from finetune.characters.evaluate import answers
from finetune.characters.recipe_numbers import PRETRAINING
from finetune.characters.recipes import load_parameters
from finetune.cli.main import app
from finetune.cli.options import one_line
from finetune.data.vocabulary import Vocabulary
from finetune.models.gpt import GPTConfig
from finetune.training import checkpoint

CORPUS = "Ada Byron. Ada Byron was born in London .\nAlan Turing. Alan Turing was born in Paris .\nWhere?\n"
NAMES = "Where was Ada born?\tLondon\nWhere was Alan born?\tParis\n"


def finetune(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wiki.txt").write_text(CORPUS, encoding="utf-8")
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    return tmp_path


def test_namedata_prints_examples_as_the_assignment_does(folder: Path) -> None:
    found = finetune("namedata", folder / "wiki.txt", folder / "names.tsv", "--block_size", "32")
    pad = "□"
    assert found.exit_code == 0, found.output
    assert found.output.splitlines() == [
        f"x: Where was Ada born?⁇London⁇{pad * 5}",
        f"y: {pad * 18}⁇London⁇{pad * 6}",
        f"x: Where was Alan born?⁇Paris⁇{pad * 5}",
        f"y: {pad * 19}⁇Paris⁇{pad * 6}",
    ]


def test_charcorruption_prints_documents_with_a_stretch_moved_to_the_end(folder: Path) -> None:
    found = finetune("charcorruption", folder / "wiki.txt", "--corruption_length", "block", "--block_size", "48")
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    assert len(lines) == 6
    for x, y, document in zip(lines[::2], lines[1::2], CORPUS.splitlines(), strict=True):
        assert len(x) == len(y) == 3 + 47 and x[4:] == y[3:-1]
        prefix, suffix, masked = (x[3:] + y[-1]).rstrip("□").split("⁇")
        assert masked and document.startswith(prefix + masked + suffix)
    again = finetune("charcorruption", folder / "wiki.txt", "--corruption_length", "block", "--block_size", "48")
    assert again.output == found.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("namedata", "none.txt"), "finetune: no such file: none.txt\n"),
        (("namedata", "wiki.txt", "wiki.txt"), "questions without places"),
        (("namedata", "wiki.txt", "names.tsv", "--block_size", "8"), "example 1 needs 27 characters"),
        (("charcorruption", "empty.txt"), "empty.txt is empty"),
        (("charcorruption", "reserved.txt"), "reserved.txt, line 2: '⁇' (U+2047) is reserved"),
        (("charcorruption", "latin.txt"), "latin.txt, line 1: not UTF-8"),
        (("charcorruption", "wiki.txt", "--block_size", "4"), "a block of 4 is too small"),
        (("namedata", "wiki.txt", "z.tsv"), "z.tsv: text 2: '7' (U+0037) at place 10 of 'Where was 7 born?⁇Paris⁇'"),
        (
            ("namedata", "wiki.txt", "z.tsv"),
            "in the corpus it was made from, wiki.txt; add a line with it there and pretrain "
            "anew, or leave this question out of z.tsv\n",
        ),
        (("namedata", "wiki.txt", "mask.tsv"), "mask.tsv, line 2: '⁇' (U+2047) is reserved"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(folder)
    Path("empty.txt").write_text("\n")
    Path("reserved.txt").write_text("a\nb⁇\n", encoding="utf-8")
    Path("latin.txt").write_bytes(b"M\xfcnchen\n")
    Path("z.tsv").write_text("Where was Ada born?\tParis\nWhere was 7 born?\tParis\n")
    Path("mask.tsv").write_text("Where was Ada born?\tParis\nWhere⁇\tParis\n", encoding="utf-8")
    found = finetune(*arguments)
    assert found.exit_code == 2 and words in found.output
    assert found.output.count("\n") == 1


SMALL = ("--n_layer", "1", "--n_head", "2", "--n_embd", "16", "--block_size", "48", "--threads", "1", "--device", "cpu")


def test_the_commands_of_the_assignment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As written there, but for the sizes, which a file gives."""
    monkeypatch.chdir(folder)
    Path("small.toml").write_text(
        'n_layer = 1\nn_head = 2\nn_embd = 16\nblock_size = 48\n[pretrain]\nepochs = 2\n[finetune]\nepochs = 3\n'
        "log_every = 1\n"
    )  # fmt: skip
    Path("test.tsv").write_text("Where was Ada born?\n")
    config = ("--config", "small.toml")
    for model in ("vanilla", "synthesizer", "rotary"):
        told = finetune("pretrain", model, "wiki.txt", "--writing_params_path", f"{model}.pretrain.params", *config)
        assert told.exit_code == 0, told.output
        assert f"pretraining of {model}: 2 steps" in told.stdout
        assert re.match(
            rf"finetune: pretraining of {model}, [\d,]+ parameters, on \d examples: 2 epochs in", told.stderr
        )
        told = finetune(
            "finetune", model, "wiki.txt", "--reading_params_path", f"{model}.pretrain.params",
            "--writing_params_path", f"{model}.finetune.params", "--finetune_corpus_path", "names.tsv", *config,
            "--metrics_path", "metrics.jsonl",
        )  # fmt: skip
        assert told.exit_code == 0, told.output
        assert [json.loads(line)["step"] for line in Path("metrics.jsonl").read_text().splitlines()] == [1, 2, 3]
        reading = ("--reading_params_path", f"{model}.finetune.params")
        told = finetune("evaluate", model, "wiki.txt", *reading, "--eval_corpus_path", "names.tsv", "--outputs_path",
                        "dev.predictions", "--details_path", "dev.tsv", *config)  # fmt: skip
        assert told.exit_code == 0, told.output
        assert told.stdout.startswith("Correct: ") and "out of 2: " in told.stdout.splitlines()[0]
        assert told.stderr.startswith(f"finetune evaluate: 2 questions of names.tsv for {model} of {model}.finetune")
        assert Path("dev.predictions").read_text(encoding="utf-8").count("\n") == 2
        assert Path("dev.tsv").read_text(encoding="utf-8").count("\n") == 3
        told = finetune("evaluate", model, "wiki.txt", *reading, "--eval_corpus_path", "test.tsv", "--outputs_path",
                        "test.predictions")  # fmt: skip
        assert told.stdout == "Predictions written to test.predictions; no targets provided\n"


def test_rehearsal_goes_through_the_corpus_beside_the_questions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two questions and three documents are five examples: three steps of two an epoch, and more targets."""
    monkeypatch.chdir(folder)
    common = ("finetune", "vanilla", "wiki.txt", "--finetune_corpus_path", "names.tsv", "--epochs", "2", "--batch_size",
              "2", "--log_every", "1", *SMALL)  # fmt: skip
    tokens = {}
    for name, more in (("plain", ()), ("rehearsed", ("--rehearse", "1")), ("other", ("--rehearse", "1", "--seed", "3")),
                       ("twice", ("--rehearse", "2"))):  # fmt: skip
        told = finetune(*common, *more, "--writing_params_path", name, "--metrics_path", f"{name}.jsonl",
                        "--checkpoint_path", "checkpoint" if name == "plain" else f"{name}.checkpoint")  # fmt: skip
        assert told.exit_code == 0, told.output
        records = [json.loads(line) for line in Path(f"{name}.jsonl").read_text().splitlines()]
        assert len(records) == {"plain": 2, "twice": 8}.get(name, 6)
        tokens[name] = records[-1]["tokens"]
    answers = sum(len(line.split("\t")[1]) + 2 for line in NAMES.splitlines())
    assert tokens["plain"] == 2 * answers
    assert tokens["rehearsed"] > 2 * answers + 2 * 3 * 6
    assert tokens["other"] != tokens["rehearsed"]  # other lengths were drawn
    assert tokens["twice"] - tokens["rehearsed"] not in (0, tokens["rehearsed"] - tokens["plain"])
    told = finetune(*common, "--rehearse", "1", "--writing_params_path", "x", "--checkpoint_path", "checkpoint")
    assert told.exit_code == 2 and "checkpoint was made with rehearse=0, this run has 1" in told.output


def targets(folder: Path, command: str, seed: int, *more: str | Path) -> int:
    """The targets that a run of three epochs counted: the lengths that were drawn, in one number."""
    path = folder / f"{command}{seed}"
    told = finetune(command, "vanilla", folder / "wiki.txt", "--writing_params_path", path, "--seed", str(seed),
                    "--epochs", "3", *more, *SMALL)  # fmt: skip
    assert told.exit_code == 0, told.output
    return int(checkpoint.load(path)["tokens"])


def test_a_pretraining_of_another_seed_has_other_corruptions(folder: Path) -> None:
    assert len({targets(folder, "pretrain", seed) for seed in range(3)}) == 3


def test_rehearsal_has_other_corruptions_than_a_pretraining_of_its_seed(folder: Path) -> None:
    """Each time through the corpus is a pretraining of a later seed: their targets and the answers' are all."""
    drawn = [targets(folder, "pretrain", seed) for seed in range(3, 6)]
    assert len(set(drawn)) == 3
    both = targets(folder, "finetune", 3, "--finetune_corpus_path", folder / "names.tsv", "--rehearse", "2")
    answers = sum(len(line.split("\t")[1]) + 2 for line in NAMES.splitlines())
    assert both == 3 * answers + drawn[1] + drawn[2]


def test_the_recipe_is_told_what_there_is_to_train_on(folder: Path) -> None:
    """The epochs go by whether there was a pretraining, the schedule by all examples, rehearsed documents included."""
    good = folder / "good"
    made = finetune("pretrain", "vanilla", folder / "wiki.txt", "--writing_params_path", good, "--epochs", "1", *SMALL)
    assert made.exit_code == 0, made.output
    before, rehearsed = ("--reading_params_path", good), ("--rehearse", "2")
    found = []
    for number, more in enumerate([(), before, (*before, *rehearsed)]):
        path = folder / f"checkpoint{number}"
        told = finetune("finetune", "vanilla", folder / "wiki.txt", "--finetune_corpus_path", folder / "names.tsv",
                        "--writing_params_path", folder / "p", "--checkpoint_path", path, "--save_every", "100",
                        *more, *SMALL)  # fmt: skip
        assert told.exit_code == 0, told.output
        recipe = checkpoint.load(path)["config"]
        found.append((recipe["epochs"], recipe["final_tokens"]))
    # Two questions, and three documents each time; beyond the warm-up, which would otherwise bound it from below.
    assert found == [(75, 200 * 2 * 48), (10, 200 * 2 * 48), (10, 200 * (2 + 2 * 3) * 48)]
    assert PRETRAINING["warmup_tokens"] + 1 < 200 * 2 * 48


def test_the_seed_decides_the_weights_that_training_begins_with(folder: Path) -> None:
    """At a rate of zero the parameters that are written are those."""
    found = []
    for number, seed in enumerate([(), ("--seed", "3"), ("--seed", "3"), ("--seed", "4")]):
        path = folder / str(number)
        told = finetune("pretrain", "vanilla", folder / "wiki.txt", "--writing_params_path", path, "--epochs", "1",
                        "--learning_rate", "0", *seed, *SMALL)  # fmt: skip
        assert told.exit_code == 0, told.output
        found.append(checkpoint.load(path)["model"]["head.weight"])
    none, three, again, four = found
    assert torch.equal(three, again)
    assert not any(torch.equal(a, b) for a, b in [(none, three), (three, four), (none, four)])


def test_threads_are_those_asked_for(folder: Path) -> None:
    arguments = ("pretrain", "vanilla", folder / "wiki.txt", "--writing_params_path", folder / "p", "--epochs", "1")
    at, before = SMALL.index("--threads"), torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert finetune(*arguments, *SMALL).exit_code == 0
        asked = torch.get_num_threads()
        torch.set_num_threads(2)
        assert finetune(*arguments, *SMALL[:at], *SMALL[at + 2 :]).exit_code == 0
        left = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
    assert (asked, left) == (1, 2)


def test_a_block_longer_than_the_examples_is_no_hindrance(folder: Path) -> None:
    """Strings of the form "block" leave one place of the block empty; the file tells the form."""
    path, corpus = folder / "p", folder / "wiki.txt"
    shorter = ("--corruption_length", "block")
    made = finetune("pretrain", "vanilla", corpus, "--writing_params_path", path, "--epochs", "1", *SMALL, *shorter)
    assert made.exit_code == 0, made.output
    for more in (shorter, ()):
        told = finetune("finetune", "vanilla", corpus, "--reading_params_path", path, "--finetune_corpus_path",
                        folder / "names.tsv", "--writing_params_path", folder / "q", "--epochs", "1", *SMALL,
                        *more)  # fmt: skip
        assert told.exit_code == 0, told.output


def test_one_line_that_a_document_holds_whole_is_a_corpus(folder: Path) -> None:
    """A block of 48 has documents of 42 characters: what is not cut need not be refused."""
    line, path = folder / "line.txt", folder / "p"
    status = []
    for length in (42, 43):
        line.write_text("a" * length + "\n")
        told = finetune("pretrain", "vanilla", line, "--writing_params_path", path, "--epochs", "1", *SMALL)
        status.append((told.exit_code, "is one line of" in told.output))
    assert status == [(0, False), (2, True)]


def test_an_interrupted_run_goes_on_from_its_checkpoint(folder: Path) -> None:
    whole, cut = folder / "whole.params", folder / "cut.params"
    common = ("--metrics_path", folder / "m.jsonl", "--log_every", "1", "--batch_size", "2", *SMALL)
    corpus = folder / "wiki.txt"
    assert (
        finetune("pretrain", "vanilla", corpus, "--writing_params_path", whole, "--epochs", "4", *common).exit_code == 0
    )
    records = (folder / "m.jsonl").read_text().splitlines()
    for epochs in ("2", "4", "4"):
        told = finetune("pretrain", "vanilla", corpus, "--writing_params_path", cut, "--epochs", epochs, *common,
                        "--checkpoint_path", folder / "c")  # fmt: skip
        assert told.exit_code == 0, told.output
    assert "nothing left to do" in told.output
    assert whole.read_bytes() == cut.read_bytes()
    steps = [json.loads(line)["step"] for line in (folder / "m.jsonl").read_text().splitlines()]
    assert steps == list(range(1, 9)) == [json.loads(line)["step"] for line in records]


def test_unlikely_answers_are_withheld(folder: Path) -> None:
    """An untrained model's two answers: a threshold between them withholds one; the curve has a row for each."""
    good, corpus, out = folder / "good", folder / "wiki.txt", folder / "out"
    assert (
        finetune("pretrain", "vanilla", corpus, "--writing_params_path", good, "--epochs", "1", *SMALL).exit_code == 0
    )
    common = ("evaluate", "vanilla", corpus, "--reading_params_path", good, "--device", "cpu", "--outputs_path", out)
    plain = finetune(*common, "--eval_corpus_path", folder / "names.tsv", "--curve_path", folder / "curve",
                     "--details_path", folder / "details")  # fmt: skip
    assert plain.exit_code == 0 and "not known" not in out.read_text(encoding="utf-8"), plain.output
    scores = [float(line.split("\t")[4]) for line in (folder / "details").read_text(encoding="utf-8").splitlines()[1:]]
    assert scores[0] != scores[1]
    head, *rows = [line.split("\t") for line in (folder / "curve").read_text().splitlines()]
    assert head == ["threshold", "answered", "right", "precision"]
    assert [(float(row[0]), int(row[1])) for row in rows] == [(max(scores), 1), (min(scores), 2)]
    told = finetune(*common, "--eval_corpus_path", folder / "names.tsv", "--withhold_below", str(sum(scores) / 2))
    assert "Answered: 1, of which 0 right; not known: 1\n" in told.output
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line == "not known" for line in lines] == [score == min(scores) for score in scores]
    (folder / "q.tsv").write_text("Where was Ada born?\n")
    out.unlink()
    told = finetune(*common, "--eval_corpus_path", folder / "q.tsv", "--curve_path", folder / "curve")
    assert not out.exists(), "said before the questions are answered"
    assert told.exit_code == 2 and "has questions without places, and so no curve" in told.output


def test_an_answer_as_likely_as_the_threshold_is_given(folder: Path) -> None:
    """Below is below: the least likely answer's own log-probability withholds none, the next larger number that one."""
    good, out = folder / "good", folder / "out"
    made = finetune("pretrain", "vanilla", folder / "wiki.txt", "--writing_params_path", good, "--epochs", "1", *SMALL)
    assert made.exit_code == 0, made.output
    vocabulary = Vocabulary.from_text(CORPUS)
    model = load_parameters(good, GPTConfig(len(vocabulary), 48), vocabulary)
    # The table of details rounds: the numbers themselves are asked for, on as many threads as the command has.
    found = answers(model, vocabulary, [line.split("\t")[0] for line in NAMES.splitlines()])
    least = min(answer.log_probability for answer in found)
    for threshold, withheld in ((least, 0), (math.nextafter(least, math.inf), 1)):
        told = finetune("evaluate", "vanilla", folder / "wiki.txt", "--reading_params_path", good, "--eval_corpus_path",
                        folder / "names.tsv", "--outputs_path", out, "--withhold_below", repr(threshold), "--device", "cpu")  # fmt: skip
        assert told.exit_code == 0 and f"not known: {withheld}\n" in told.output, told.output
        assert out.read_text(encoding="utf-8").splitlines().count("not known") == withheld


def test_answers_go_to_a_device_a_line_each(folder: Path) -> None:
    """An answer of an untrained model may hold a line end; a device is written, and is a device afterwards."""
    assert one_line("Rome\n\tor Paris\r\n") == "Rome  or Paris"
    good = folder / "good"
    made = finetune("pretrain", "vanilla", folder / "wiki.txt", "--writing_params_path", good, "--epochs", "1", *SMALL)
    assert made.exit_code == 0, made.output
    told = finetune("evaluate", "vanilla", folder / "wiki.txt", "--reading_params_path", good, "--eval_corpus_path",
                    folder / "names.tsv", "--outputs_path", os.devnull, "--device", "cpu")  # fmt: skip
    assert told.exit_code == 0, told.output
    assert not Path(os.devnull).is_file()


def test_the_baseline_counts_one_answer(folder: Path) -> None:
    told = finetune("baseline", "--answer", "London", "--eval_corpus_path", folder / "names.tsv")
    assert told.output == "Correct: 1 out of 2: 50.0%\n"


def test_the_real_baseline(data_dir: Path) -> None:
    told = finetune("baseline", "--eval_corpus_path", data_dir / "birthplaces" / "birth_dev.tsv")
    assert told.output == "Correct: 25 out of 500: 5.0%\n"


TRAIN = ("pretrain", "vanilla", "wiki.txt", "--writing_params_path", "p", "--epochs", "1", *SMALL)
READ = ("evaluate", "vanilla", "wiki.txt", "--eval_corpus_path", "names.tsv", "--block_size", "48", "--device", "cpu")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*READ, "--reading_params_path", "none"), "no such file: none"),
        ((*READ, "--reading_params_path", "pickle"), "pickle is a pickle, which can run code"),
        ((*READ, "--reading_params_path", "short"), "short is not a complete safetensors file"),
        ((*READ, "--reading_params_path", "good", "--outputs_path", "no/o"), "no/o cannot be written: there is no folder no"),
        ((*READ, "--reading_params_path", "good", "--config", "bad.toml"), "bad.toml is not valid TOML"),
        ((*READ, "--reading_params_path", "good", "--config", "deep.toml"), "deep.toml is not valid TOML"),
        ((*READ, "--reading_params_path", "good", "--config", "odd.toml"), "evaluate has no option 'speed'"),
        (("evaluate", "rotary", *READ[2:], "--reading_params_path", "good"), "good holds a vanilla model, but the options say rotary"),
        (("evaluate", "vanilla", "other.txt", *READ[3:], "--reading_params_path", "good"), "good was made with another corpus"),
        ((*TRAIN[:4], "no/p"), "no/p cannot be written: there is no folder no"),
        ((*TRAIN[:4], "."), ". cannot be written: it is a folder"),
        ((*TRAIN[:4], "pipe"), "pipe cannot be written: it is not a regular file"),
        ((*READ, "--reading_params_path", "good", "--config", "table.toml"), "table.toml: [evaluat] is not a command"),
        ((*READ, "--reading_params_path", "checkpoint"), "checkpoint is the checkpoint of an unfinished run"),
        (("pretrain", "rotary", *TRAIN[2:], "--n_head", "16"), "rotary positions turn pairs of features, but a head has 1"),
        ((*TRAIN, "--n_head", "3"), "n_embd=16 is not divisible by n_head=3"),
        ((*TRAIN, "--warmup_tokens", "10", "--final_tokens", "5"), "warm-up of 10 tokens"),
        ((*TRAIN, "--device", "gpu"), "device gpu cannot be used here"),
        ((*TRAIN, "--reading_params_path", "good", "--block_size", "64"), "for a block of 48, but 64 was given; leave --block_size out"),
        (("baseline", "--eval_corpus_path", "questions.tsv"), "has questions without places"),
        ((*READ, "--reading_params_path", "good", "--n_embd", "32"), "good holds a model with n_embd = 16, but 32 was given; leave --n_embd out"),
        ((*READ, "--reading_params_path", "good", "--config", "wide.toml"), "n_layer = 1, but 3 was given"),
        ((*READ, "--reading_params_path", "stranger"), "stranger: 'a' is not the name of a weight of minGPT"),
        (("evaluate", "vanilla", "wiki.txt", "--eval_corpus_path", "z.tsv", "--reading_params_path", "good"),
         "z.tsv: question 1: '7' (U+0037) at place 10 of"),
        (("evaluate", "vanilla", "wiki.txt", "--eval_corpus_path", "z.tsv", "--reading_params_path", "good"),
         "made from, wiki.txt; add a line with it there and pretrain anew, or leave this question out of z.tsv"),
        (("finetune", "vanilla", "wiki.txt", "--finetune_corpus_path", "z.tsv", *TRAIN[3:]),
         "made from, wiki.txt; add a line with it there and pretrain anew, or leave this question out of z.tsv"),
        (("finetune", "vanilla", "wiki.txt", "--finetune_corpus_path", "z.tsv", *TRAIN[3:]), "z.tsv: text 1: '7' (U+0037)"),
        (("pretrain", "vanilla", "line.txt", *TRAIN[3:]), "line.txt is one line of 200 characters, of which a document gives"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(folder)
    made = finetune("pretrain", "vanilla", "wiki.txt", "--writing_params_path", "good", "--epochs", "1", *SMALL,
                    "--checkpoint_path", "checkpoint")  # fmt: skip
    assert made.exit_code == 0, made.output
    Path("pickle").write_bytes(pickle.dumps({"a": 1}))
    os.mkfifo("pipe")
    Path("table.toml").write_text("[evaluat]\nn_layer = 1\n")
    Path("short").write_bytes(Path("good").read_bytes()[:-100])
    Path("other.txt").write_text(CORPUS + "Zoë\n", encoding="utf-8")
    Path("bad.toml").write_text("epochs =")
    Path("deep.toml").write_text("epochs = " + "[" * 200_000)
    Path("odd.toml").write_text("speed = 1")
    Path("questions.tsv").write_text("Where was Ada born?\n")
    Path("z.tsv").write_text("Where was 7 born?\tParis\n")
    Path("wide.toml").write_text("n_layer = 3\n")
    Path("line.txt").write_text("a" * 200)
    save_file({"a": torch.zeros(2)}, "stranger")
    found = finetune(*arguments)
    assert found.exit_code == 2 and words in found.output, found.output
    assert found.output.startswith("finetune: ") and found.output.count("\n") == 1
