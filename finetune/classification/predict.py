"""A trained classifier on new texts: the class of each with the probabilities of all, written as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from finetune.characters.evaluate import wilson
from finetune.classification.config import ClassifyConfig
from finetune.classification.pretrained import Pretrained
from finetune.classification.result import config_of_run, load_trained, report
from finetune.classification.scores import evaluating
from finetune.data.collate import collate
from finetune.data.corpus import read_text
from finetune.data.examples import Examples
from finetune.data.labelled import TASKS
from finetune.data.tables import ENDINGS, Columns, Table, read_table
from finetune.data.texts import encode
from finetune.errors import BadInput
from finetune.models.classifier import Classifier
from finetune.models.gpt import at_least_single
from finetune.training.checkpoint import replace_file
from finetune.training.train import multiply_in

OUTPUTS = (".csv", ".tsv", ".jsonl")


@dataclass(frozen=True)
class Predictions:
    """What a classifier makes of texts.

    Args: classes, their names; probabilities, of each class for each text; rows, where each text was read; labels, the
        true class of each text by name, None where they are not known; cut, texts that were too long.
    """

    classes: tuple[str, ...]
    probabilities: list[list[float]]
    rows: list[str]
    labels: list[str] | None
    cut: int

    @property
    def chosen(self) -> list[int]:
        """The class with the highest probability, the first of equal ones."""
        return [row.index(max(row)) for row in self.probabilities]

    def scores(self) -> dict[str, Any] | None:
        """Accuracy with interval and the figures of each class; None where the labels are not known.

        Raises: BadInput for a label that is not a class of the run.
        """
        if self.labels is None:
            return None
        numbers = {name: number for number, name in enumerate(self.classes)}
        for row, label in zip(self.rows, self.labels, strict=True):
            if label not in numbers:
                raise BadInput(f"{row}: the label {label[:40]!r} is not one of the run's: {', '.join(self.classes)}")
        labels = [numbers[label] for label in self.labels]
        right = sum(a == b for a, b in zip(labels, self.chosen, strict=True))
        return {
            "accuracy": right / len(labels), "interval": list(wilson(right, len(labels))), "examples": len(labels),
            **report(labels, self.chosen, self.classes),
        }  # fmt: skip


def predict(
    folder: str | Path, data: str | Path, *, model: str | None = None, columns: Columns | None = None,
    task: str | None = None, batch_size: int = 64,
) -> Predictions:  # fmt: skip
    """Let the classifier that `finetune classify` left in a folder answer the texts of a file.

    Args: folder, of the run; data, a table, a .txt file with one text a line, or a file of a known data set; model, the
        encoder's folder where it has moved; columns, None for the run's; task, None for the run's.
    Raises: BadInput where the folder holds no finished run, or the file cannot be read as its texts.
    """
    config = config_of_run(folder)
    texts = read_texts(data, columns or (None if task else config.columns), task or config.task)
    classifier, pretrained, classes = load_trained(folder, model)
    probabilities, cut = probabilities_of(classifier, pretrained, texts, config, batch_size)
    return Predictions(classes, probabilities, texts.rows, texts.labels, cut)


def read_texts(path: str | Path, columns: Columns | None, task: str | None) -> Table:
    """The texts of a file, with labels where it has them.

    Raises: BadInput where nothing says how it is to be read.
    """
    if columns is not None:
        if Path(path).suffix == ".txt" and columns.text not in read_text(path).split("\n", 1)[0].split("\t"):
            return _plain_lines(path)
        return read_table(path, columns)
    if task is not None:
        if task not in TASKS:
            raise BadInput(f"the data set {task!r} is not one of {', '.join(TASKS)}")
        found = TASKS[task].read(path)
        second = None if found.second is None else list(found.second)
        return Table(list(found.first), second, [found.classes[label] for label in found.labels], list(found.rows))
    if Path(path).suffix == ".txt":
        return _plain_lines(path)
    raise BadInput(
        f"{path}: say what it is: --text_column for a table ({', '.join(ENDINGS)}), --task for a file of "
        f"{', '.join(TASKS)}; a .txt file has one text a line"
    )


def _plain_lines(path: str | Path) -> Table:
    lines = [(f"{path}, line {n}", line) for n, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    if not lines:
        raise BadInput(f"{path} holds no text")
    return Table([line for _, line in lines], None, None, [row for row, _ in lines])


def probabilities_of(
    classifier: Classifier, pretrained: Pretrained, texts: Table, config: ClassifyConfig, batch_size: int
) -> tuple[list[list[float]], int]:  # fmt: skip
    """The probability of each class for each text, softmax of the logits, and how many texts were cut.

    The classifier multiplies in the precision that its run was trained in.
    """
    examples = Examples(texts.first, texts.second, [0] * len(texts.first), ("unknown",), texts.rows)
    encoded = encode(
        pretrained.tokenizer, examples, min(config.max_seq_length, pretrained.block_size - config.prompt_positions)
    )
    order = sorted(range(len(encoded)), key=lambda n: (len(encoded.ids[n]), n))  # texts of like lengths pad little
    found: list[list[float]] = [[] for _ in order]
    with evaluating(classifier), multiply_in(config.precision, next(classifier.parameters()).device):
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            types = [encoded.types[n] for n in chosen] if pretrained.segments else None
            batch = collate([encoded.ids[n] for n in chosen], None, pretrained.tokenizer.pad_id, types)
            rows = torch.softmax(at_least_single(classifier(**batch)), -1).tolist()
            for number, row in zip(chosen, rows, strict=True):
                found[number] = row
    return found, encoded.cut


def write_predictions(found: Predictions, path: str | Path) -> None:
    """Write a row a text: where it was read, its label where that is known, the class, and all probabilities.

    Raises: BadInput where the file's ending is none of `OUTPUTS`.
    """
    ending = check_ending(path)
    records: list[dict[str, Any]] = []
    for number, chosen in enumerate(found.chosen):
        probabilities = found.probabilities[number]
        record: dict[str, Any] = {"row": found.rows[number]}
        if found.labels is not None:
            record["label"] = found.labels[number]
        record |= {"prediction": found.classes[chosen], "probability": probabilities[chosen]}
        by_class = dict(zip(found.classes, probabilities, strict=True))
        records.append(record | ({"probabilities": by_class} if ending == ".jsonl" else _columns(by_class)))
    replace_file(path, _text_of(records, ending).encode())


def check_ending(path: str | Path) -> str:
    """The ending of a file of predictions. Raises: BadInput where it is none of `OUTPUTS`."""
    ending = Path(path).suffix.lower()
    if ending not in OUTPUTS:
        raise BadInput(f"{path}: predictions are written as one of {', '.join(OUTPUTS)}")
    return ending


def _columns(by_class: Mapping[str, float]) -> dict[str, float]:
    return {f"p({name})": value for name, value in by_class.items()}


def _text_of(records: Sequence[Mapping[str, Any]], ending: str) -> str:
    if ending == ".jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({name: f"{value:.6f}" if isinstance(value, float) else value for name, value in record.items()})
    return buffer.getvalue()
