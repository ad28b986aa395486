"""Predictions: the probabilities of the trained model itself, in the order of the file, however texts are batched."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from finetune.classification.classify import run_of
from finetune.classification.config import ClassifyConfig
from finetune.classification.predict import Predictions, predict, probabilities_of, read_texts, write_predictions
from finetune.classification.result import classify, config_of_run, load_trained
from finetune.data.collate import collate
from finetune.data.examples import Examples
from finetune.data.tables import Columns, Table
from finetune.data.texts import encode
from finetune.errors import BadInput
from tests.tiny_encoders import sentences, write_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table, and the table."""
    made = tmp_path_factory.mktemp("run")
    write_encoder(made / "m")
    rows = "".join(f"{text}\t{('bad', 'good')[label]}\n" for label, text in sentences(60, 3))
    (made / "reviews.tsv").write_text(f"review\tmood\n{rows}")
    config = ClassifyConfig(
        str(made / "m"), str(made / "reviews.tsv"), text_column="review", label_column="mood", learning_rate=0.01, epochs=2,
        batch_size=8, device="cpu", output_dir=str(made / "out"),
    )  # fmt: skip
    classify(config, say=lambda line: None)
    return made


def test_each_text_gets_the_probabilities_of_the_model_alone(folder: Path) -> None:
    found = predict(folder / "out", folder / "reviews.tsv", batch_size=7)
    model, pretrained, classes = load_trained(folder / "out")
    assert found.classes == classes == ("bad", "good")
    texts = read_texts(folder / "reviews.tsv", Columns("review", "mood"), None)
    assert found.labels == texts.labels
    for number in (0, 5, 17, 59):
        alone = encode(pretrained.tokenizer, Examples([texts.first[number]], None, [0], classes, ["a"]), 48)
        with torch.no_grad():
            logits = model(**collate(alone.ids, None, pretrained.tokenizer.pad_id, alone.types))[0].double()
        want = torch.softmax(logits, -1)
        # Float32 through two layers of 16: the kernels of another batch size sum in another order.
        assert torch.allclose(
            torch.tensor(found.probabilities[number], dtype=torch.float64), want, atol=2.0**-15, rtol=0
        )


@pytest.mark.parametrize(("precision", "wanted"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_predictions_and_scores_are_computed_in_the_precision_of_the_run(
    folder: Path, precision: str, wanted: torch.dtype
) -> None:
    config = replace(config_of_run(folder / "out"), precision=precision, output_dir=None)
    run, seen = run_of(config, lambda line: None), list[torch.dtype]()
    linear = next(module for module in run.classifier.modules() if isinstance(module, nn.Linear))
    linear.register_forward_hook(lambda _, __, out: seen.append(out.dtype))
    probabilities_of(run.classifier, run.pretrained, Table(["good", "bad"], None, None, ["a", "b"]), config, 8)
    assert set(seen) == {wanted}
    seen.clear()
    run.score(run.source("dev", run.sides.dev))
    assert set(seen) == {wanted}


def test_a_file_without_labels_is_answered_and_not_judged(folder: Path) -> None:
    (folder / "new.txt").write_text("the film was good\n\nawful\n")
    (folder / "new.csv").write_text("review\nthe film was good\nawful\n")
    lines, table = predict(folder / "out", folder / "new.txt"), predict(folder / "out", folder / "new.csv")
    assert lines.scores() is None and lines.probabilities == table.probabilities and lines.rows[1].endswith("line 3")


FOUND = Predictions(("no", "a,b"), [[0.25, 0.75], [0.5, 0.5]], ["f, line 1", "f, line 2"], ["no", "a,b"], 0)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_predictions(FOUND, tmp_path / "p.csv")
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert [row["prediction"] for row in rows] == ["a,b", "no"] and rows[0]["p(a,b)"] == "0.750000"
    assert rows[0]["label"] == "no" and rows[0]["row"] == "f, line 1"
    write_predictions(FOUND, tmp_path / "p.jsonl")
    first = json.loads((tmp_path / "p.jsonl").read_text().splitlines()[0])
    assert first["probabilities"] == {"no": 0.25, "a,b": 0.75} and first["probability"] == 0.75
    with pytest.raises(BadInput, match=r"written as one of .csv, .tsv, .jsonl"):
        write_predictions(FOUND, tmp_path / "p.xlsx")


def test_labels_that_the_run_does_not_know_are_named() -> None:
    scores = FOUND.scores()
    assert scores is not None and scores["accuracy"] == 0 and scores["confusion"] == [[0, 1], [1, 0]]
    with pytest.raises(BadInput, match="f, line 2: the label 'maybe' is not one of the run's: no, a,b"):
        Predictions(FOUND.classes, FOUND.probabilities, FOUND.rows, ["no", "maybe"], 0).scores()


def test_what_says_nothing_of_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(BadInput, match="say what it is: --text_column for a table"):
        read_texts(tmp_path / "a.csv", None, None)
