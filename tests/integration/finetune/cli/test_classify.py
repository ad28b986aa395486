"""Classification on the command line.

`finetune classify` as a person meets it: the assignments' command lines, and one line for what cannot be used.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app
from tests.tiny_encoders import sentences, write_boolq, write_encoder, write_sst2

USE = """
import json
import torch
torch.set_num_threads(1)
from finetune.classification.result import load_trained
from finetune.data.collate import collate
from finetune.data.examples import Examples
from finetune.data.texts import encode
model, pretrained, classes = load_trained(sys.argv[1])
texts = ["the film was good", "awful"]
found = encode(pretrained.tokenizer, Examples(texts, None, [0, 0], classes, ["1", "2"]), 20)
with torch.no_grad():
    print(json.dumps(model(**collate(found.ids, None, pretrained.tokenizer.pad_id, found.types)).tolist()))
"""


def finetune(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_encoder(Path("m"))
    write_sst2(Path("sst"))
    write_boolq(Path("boolq"))
    return tmp_path


SMALL = ("--device", "cpu", "--threads", "1")


def test_the_command_of_the_first_assignment(folder: Path) -> None:
    """python base_classification.py --small_subset --device cuda --model ... --batch_size "64" --lr 1e-4 --num_epochs 20"""
    Path("data").mkdir()
    Path("boolq").rename("data/boolq")
    told = finetune("classify", "--small_subset", "--device", "cpu", "--model", "m", "--batch_size", "64", "--lr", "1e-4",
                    "--num_epochs", "20")  # fmt: skip
    assert "full tuning of m on data/boolq, seed 0" in told.output, "its data lie where the assignment has them"
    assert "nothing is kept: --output_dir FOLDER" in told.output
    assert told.exit_code == 1, "what was not learnt is no success"
    assert (
        told.output.count("epoch ") >= 20
        and "test: accuracy " in told.output
        and "majority class 0.5000" in told.output
    )
    last = [line for line in told.output.splitlines() if line.startswith("epoch ")][-1]
    assert "accuracy 1.000; dev" not in last, "so small a rate teaches this model nothing"
    assert "the small subset was not learnt by heart" in told.output
    told = finetune("classify", "--small_subset", "--device", "cpu", "--model", "m", "--batch_size", "2", "--lr", "1e-2",
                    "--num_epochs", "40", "--data", "data/boolq")  # fmt: skip
    last = [line for line in told.output.splitlines() if line.startswith("epoch ")][-1]
    assert told.exit_code == 0 and "accuracy 1.000; dev" in last and "by heart" not in told.output


def test_the_command_of_the_second_assignment(folder: Path) -> None:
    """classifier_mlm.py of its section 3, problem 3, with another data set."""
    Path("text").write_text("the film was good .\nwho was it ?\n" * 5)
    told = finetune(
        "classify", "--model_type", "bert", "--model_name_or_path", "m", "--task_name", "sst2", "--do_train", "--do_eval",
        "--data_dir", "sst", "--per_gpu_train_batch_size", "32", "--learning_rate", "3e-5", "--num_train_epochs", "3",
        "--logging_steps", "1", "--max_seq_length", "40", "--output_dir", "out", "--evaluate_during_training",
        "--train_data_file", "text", "--block_size", "40", "--mlm_alpha", "0.5", "--line_by_line",
        "--overwrite_output_dir", *SMALL,
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    assert "masked-LM on 10 blocks, 0 of them cut, with the weight 0.5" in told.output
    records = [json.loads(line) for line in Path("out/metrics.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records] == [1, 2, 3, 4, 5, 6] and all("masked_lm_loss" in r for r in records)
    assert json.loads(Path("out/result.json").read_text())["config"]["learning_rate"] == 3e-5
    assert Path("out/curves.png").exists()


def test_options_have_the_dashes_of_the_printed_page(folder: Path) -> None:
    """Source 002 prints `-do_train`, `--block_size` and, for the fonts' sake, an em dash before `model_name_or_path`."""
    told = finetune("classify", "-model_type", "bert", "\N{EM DASH}model_name_or_path", "m", "\N{EM DASH}task_name", "sst2",
                    "-do_train", "-do_eval", "\N{EM DASH}data_dir", "sst", "\N{EM DASH}num_train_epochs", "1", "-overwrite_output_dir",
                    "--method=head", "-learning_rate=1e-2", *SMALL)  # fmt: skip
    assert told.exit_code == 0 and "head: 34 of" in told.output, told.output
    assert finetune("classify", "-nothing", "1", "--model", "m").exit_code == 2


def test_a_model_of_one_process_is_used_in_another(folder: Path) -> None:
    """Trained here, loaded here and in a fresh process, which agree to the bit."""
    told = finetune("classify", "--model", "m", "--data", "sst", "--method", "lora", "--lr", "0.01", "--num_epochs", "2",
                    "--output_dir", "out", *SMALL)  # fmt: skip
    assert told.exit_code == 0, told.output
    there = subprocess.run(
        [sys.executable, "-c", "import sys" + USE, "out"], capture_output=True, text=True, check=True
    ).stdout
    here = io.StringIO()
    with contextlib.redirect_stdout(here):
        exec(USE, {"sys": type("of", (), {"argv": ["", "out"]})})
    assert there == here.getvalue() and len(json.loads(there)) == 2


def write_reviews(path: Path, count: int = 80) -> Path:
    """A table of other columns than any known data set."""
    rows = "".join(f'{n},"{text}",{("bad", "good")[label]}\n' for n, (label, text) in enumerate(sentences(count, 3)))
    path.write_text(f"id,review,mood\n{rows}")
    return path


def test_any_table_is_trained_on_and_predicted(folder: Path) -> None:
    write_reviews(Path("reviews.csv"))
    told = finetune("classify", "--model", "m", "--data", "reviews.csv", "--text-column", "review", "--label-column", "mood",
                    "--lr", "0.02", "--num_epochs", "30", "--batch_size", "8", "--early_stopping", "4", "--label_smoothing",
                    "0.1", "--class_weights", "balanced", "--dev_size", "5", "--output_dir", "out", *SMALL)  # fmt: skip
    assert told.exit_code == 0, told.output
    assert told.output.startswith("finetune classify: full tuning of m on reviews.csv, seed 0\ntrain: ")
    assert "dev: 5 examples" in told.output and "by class, on test:" in told.output
    result = json.loads(Path("out/result.json").read_text())
    assert set(result["test"]["classes"]) == {"bad", "good"} and result["problems"] == []
    assert sum(map(sum, result["test"]["confusion"])) == result["test"]["examples"]
    assert Path("out/confusion.png").exists()
    epochs = [json.loads(line)["epochs"] for line in Path("out/metrics.jsonl").read_text().splitlines()]
    if len(epochs) < 30:
        assert result["best"]["epochs"] == epochs[-1] - 4 and "no better evaluation in the last 4" in told.output
    told = finetune("predict", "out", "reviews.csv", "--output", "answers.csv")
    assert told.exit_code == 0 and "80 predictions" in told.output and "accuracy " in told.output, told.output
    assert Path("answers.csv").read_text().startswith("row,label,prediction,probability,p(bad),p(good)\n")
    assert json.loads(Path("answers.json").read_text())["examples"] == 80 and Path("answers.png").exists()


def test_a_run_that_was_ended_early_is_not_gone_on_with(folder: Path) -> None:
    command = ("classify", "--model", "m", "--data", "sst", "--lr", "1e-6", "--num_epochs", "9", "--early_stopping", "1",
               "--logging_steps", "1", "--batch_size", "8", "--output_dir", "out", *SMALL)  # fmt: skip
    first = finetune(*command)
    assert first.exit_code == 0 and "no better evaluation in the last 1" in first.output, first.output
    records = Path("out/metrics.jsonl").read_text()
    again = finetune(*command)
    assert again.exit_code == 0 and Path("out/metrics.jsonl").read_text() == records
    assert again.output.splitlines()[-6:] == first.output.splitlines()[-6:]


@pytest.mark.parametrize(("rate", "status"), [("1e6", (1, 2)), ("1e-3", (0,))])
def test_a_run_that_diverges_says_so(folder: Path, rate: str, status: tuple[int, ...]) -> None:
    told = finetune("classify", "--model", "m", "--data", "sst", "--optimizer", "sgd", "--lr", rate, "--max_grad_norm", "0",
                    "--num_epochs", "4", "--warmup_ratio", "0.3", "--batch_size", "8", *SMALL)  # fmt: skip
    assert told.exit_code in status, told.output
    assert ("diverged" in told.output or "weights" in told.output or "the loss is nan" in told.output) == (
        status != (0,)
    )


@pytest.mark.thorough
def test_libraries_are_not_heard(folder: Path) -> None:
    """A run with transformers' own model, in a process of its own: nothing but our lines on either stream."""
    command = [sys.executable, "-m", "finetune.cli.main", "classify", "--model", "m", "--data", "sst", "--backend",
               "transformers", "--num_epochs", "1", *SMALL]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.startswith("finetune classify: full tuning of m on sst")


def test_options_from_a_file_and_a_run_that_is_asked_for_twice(folder: Path) -> None:
    Path("c.toml").write_text('model = "m"\ndata = "sst"\n[classify]\nmethod = "head"\nnum_epochs = 2\nthreads = 1\n')
    first = finetune("classify", "--config", "c.toml", "--output_dir", "out", "--device", "cpu")
    assert first.exit_code == 0 and "head: 34 of" in first.output, first.output
    again = finetune("classify", "--config", "c.toml", "--output_dir", "out", "--device", "cpu")
    assert again.exit_code == 0 and "features of 60 texts were kept" in again.output
    assert first.output.splitlines()[-3:] == again.output.splitlines()[-3:]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "none/at/all", "--data", "sst"), "no such folder: none/at/all"),
        (("--model", "m", "--data", "none"), "no such file or folder: none"),
        (("--model", "m", "--data", "broken"), "stsa.binary.dev, line 2: label '7' is neither 0 nor 1"),
        (("--model", "m", "--data", "sst", "--model_type", "roberta"), "m is of the type bert, not roberta"),
        (("--model", "m", "--data", "sst", "--train_size", "1"), "are of one class"),
        (("--model", "m", "--data", "sst", "--method", "prompt"), "a prompt of 128 leaves no room in a model of 48"),
        (("--model", "m", "--data", "sst", "--method", "head", "--mlm_alpha", "1"), "would change nothing"),
        (("--model", "m", "--data", "nowhere", "--mlm_alpha", "1", "--train_data_file", "none"), "no such file: none"),
        (("--model", "m", "--data", "sst", "--max_seq_length", "2"), "leaves no room for text"),
        (("--model", "m", "--data", "sst", "--device", "gpu"), "device gpu cannot be used here"),
        (("--model", "other", "--data", "sst"), "the tokenizer of another model"),
        (("--model", "short", "--data", "sst"), "is not a complete safetensors file"),
        (("--model", "m", "--data", "sst", "--output_dir", "full/r"), "cannot be made"),
        (("--model", "m", "--data", "t.csv", "--text_column", "no"), "t.csv, line 2: there is no column 'no'"),
        (("--model", "m", "--data", "t.csv", "--text_column", "a"), "has no column 'label': name it with --label_column"),
        (("--model", "m", "--data", "t.csv", "--text_column", "a", "--task", "sst2"), "is not the data set sst2"),
        (("--model", "m", "--data", "sst", "--pair_column", "b"), "pair_column belongs to a table"),
        (("--model", "m", "--data", "sst", "--class_weights", "1,2,3"), "names 3 weights for 2 classes"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    write_sst2(Path("broken"))
    Path("broken/stsa.binary.dev").write_text("1 fine\n7 odd\n")
    write_encoder(Path("other"))
    Path("other/vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + "".join(f"w{n}\n" for n in range(300)))
    write_encoder(Path("short"))
    Path("short/model.safetensors").write_bytes(Path("short/model.safetensors").read_bytes()[:-50])
    Path("full").write_text("")
    Path("t.csv").write_text("a,b\nx,y\n")
    found = finetune("classify", *arguments)
    assert found.exit_code == 2 and words in found.output, found.output
    assert found.output.splitlines()[-1].startswith("finetune: ")


def test_the_assignments_type_prefix_is_vectors_before_the_embeddings(folder: Path) -> None:
    run = ("classify", "--small_subset", *SMALL, "--model", "m", "--data", "boolq", "--num_epochs", "1")
    told = finetune(*run, "--type", "prefix", "--prompt_length", "4").output
    again = finetune(*run, "--method", "prompt", "--prompt_length", "4").output
    assert "--type prefix: 4 vectors before the embeddings, as in the assignment" in told
    counts = [line for line in again.splitlines() if "parameters are trained" in line]
    assert counts and counts[0] in told
    deep = finetune(*run, "--method", "prefix", "--prompt_length", "4").output
    assert counts[0] not in deep


def test_type_and_method_must_agree(folder: Path) -> None:
    told = finetune("classify", *SMALL, "--model", "m", "--data", "boolq", "--type", "prefix", "--method", "prefix")
    assert told.exit_code == 2
    assert "--type prefix is --method prompt, but --method prefix was given: leave one out" in told.output


def test_text_for_masked_lm_without_a_weight_is_told(folder: Path) -> None:
    told = finetune(
        "classify", "--model", "m", "--data", "sst", "--train_data_file", "text", "--num_epochs", "1", *SMALL
    )
    assert told.exit_code == 0
    assert "no masked-LM: text is not read without a weight, such as --mlm_alpha 0.1\n" in told.output


@pytest.mark.parametrize(
    ("kept", "words"),
    [(True, "interrupted; out keeps the last whole epoch, and the same command continues from there"), (False, "interrupted")],
)  # fmt: skip
def test_an_interrupted_run_says_what_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, words: str
) -> None:
    def interrupt(*_: object) -> None:
        Path("out").mkdir()
        if kept:
            Path("out", "checkpoint").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("finetune.classification.result.classify", interrupt)
    told = finetune("classify", "--model", "m", "--data", "sst", "--output_dir", "out", *SMALL)
    assert told.exit_code == 130 and told.output.splitlines()[-1] == f"finetune: {words}"
