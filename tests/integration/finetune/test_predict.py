"""`finetune predict` as a person meets it: what is answered, and one line for what cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli.main import app
from tests.tiny_encoders import write_encoder, write_sst2


def finetune(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on SST-2."""
    monkeypatch.chdir(tmp_path)
    write_encoder(Path("m"))
    write_sst2(Path("sst"))
    told = finetune("classify", "--model", "m", "--data", "sst", "--method", "head", "--num_epochs", "1", "--device", "cpu",
                    "--threads", "1", "--output_dir", "run")  # fmt: skip
    assert told.exit_code == 0, told.output
    return tmp_path


def test_a_file_of_the_data_set_and_lines_of_text(run: Path) -> None:
    told = finetune("predict", "run", "sst/stsa.binary.dev", "--task", "sst2", "--output", "p.tsv")
    assert told.exit_code == 0 and "20 predictions" in told.output and "accuracy " in told.output, told.output
    assert Path("p.tsv").read_text().splitlines()[0] == "row\tlabel\tprediction\tprobability\tp(negative)\tp(positive)"
    Path("new.txt").write_text("a good film\nan awful plot\n")
    told = finetune("predict", "run", "new.txt", "--output", "q.jsonl")
    assert told.exit_code == 0 and "2 predictions" in told.output and "accuracy" not in told.output
    assert len(Path("q.jsonl").read_text().splitlines()) == 2 and not Path("q.png").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none", "new.txt", "--output", "p.csv"), "none/result.json"),
        (("run", "none.txt", "--output", "p.csv"), "no such file: none.txt"),
        (("run", "new.csv", "--output", "p.csv"), "say what it is: --text_column for a table"),
        (("run", "new.csv", "--output", "p.csv", "--text_column", "b"), "there is no column 'b'"),
        (("run", "new.csv", "--output", "p.pdf", "--text_column", "a"), "written as one of .csv, .tsv, .jsonl"),
        (("run", "new.csv", "--output", "none/p.csv", "--text_column", "a"), "there is no folder none"),
        (("run", "new.csv", "--output", "new.csv", "--text_column", "a"), "named twice"),
        (("run", "labelled.csv", "--output", "p.csv", "--text_column", "a"), "the label 'x' is not one of the run's"),
    ],
)
def test_what_cannot_be_answered_is_one_line(run: Path, arguments: tuple[str, ...], words: str) -> None:
    Path("new.csv").write_text("a\ngood\n")
    Path("labelled.csv").write_text("a,label\ngood,x\n")
    told = finetune("predict", *arguments)
    assert told.exit_code == 2 and words in told.output, told.output
    assert not Path("p.csv").exists()
