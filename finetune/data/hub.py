"""The same data sets from Hugging Face's hub through the library `datasets`, which is an extra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finetune.data.examples import Examples
from finetune.data.labelled import BOOLQ, SST2, TASKS, TEST_OF_TRAIN, YELP
from finetune.data.splits import Splits, held_out
from finetune.data.tables import Columns, Table, classes_of
from finetune.errors import BadInput

COLUMNS: Mapping[str, tuple[tuple[str, ...], str, str | None, str]] = {
    "boolq": (BOOLQ, "question", "passage", "answer"),
    "sst2": (SST2, "text", None, "label"),
    "yelp": (YELP, "text", None, "label"),
}
"""Classes, and the columns of the first text, the second and the label."""


def from_hub(task: str, seed: int = 0, name: str | None = None) -> Splits:
    """A data set from the hub, as train, dev and test.

    BoolQ's test set, and Yelp's dev set, which the hub has not, are held out of train by hash.

    Args: task, a key of `labelled.TASKS`; seed, of what is held out; name, on the hub, None for the usual one.
    Raises: BadInput where the library is not installed, the hub cannot be reached, or a row is malformed.
    """
    if task not in TASKS:
        raise BadInput(f"the data set {task!r} is not one of {', '.join(TASKS)}")
    name = name or TASKS[task].hub
    data = _load(name)
    sides = {side: _examples(task, name, side, data[side]) for side in ("train", "validation", "test") if side in data}
    if "train" not in sides:
        raise BadInput(f"{name} has no train set, but {', '.join(data)}")
    train, dev, test = sides["train"], sides.get("validation"), sides.get("test")
    if dev is None:
        train, dev = held_out(train, len(train) // 10, seed)
    if test is None:
        train, test = held_out(train, round(len(train) * TEST_OF_TRAIN), seed + 1)
    return Splits(train, dev, test)


def table_from_hub(name: str, columns: Columns, seed: int = 0) -> Splits:
    """Any data set of the hub with columns of texts and labels; labels that the hub numbers get their names.

    Without a dev set a tenth of train is held out by hash; a test set whose labels are hidden (-1) is left out.

    Args: name, on the hub; columns; seed, of what is held out.
    Raises: BadInput as `from_hub`, and where a column is not there.
    """
    data = _load(name)
    if "train" not in data:
        raise BadInput(f"{name} has no train set, but {', '.join(data)}")
    tables = {side: _table(name, side, data[side], columns) for side in ("train", "validation", "test") if side in data}
    labels = tables["train"].labels
    if labels is None:
        raise BadInput(f"{name} has no column {columns.label!r}: name it with --label_column")
    classes = classes_of(labels)
    sides = {side: table.examples(classes) for side, table in tables.items() if table.labels is not None}
    train, dev = sides["train"], sides.get("validation")
    if dev is None:
        train, dev = held_out(train, max(1, len(train) // 10), seed)
    return Splits(train, dev, sides.get("test"))


def _table(name: str, side: str, data: Any, columns: Columns) -> Table:
    for column in (columns.text, columns.pair):
        if column is not None and column not in data.column_names:
            raise BadInput(f"{name} {side} has no column {column!r}, but {', '.join(map(repr, data.column_names))}")
    rows = [f"{name} {side}, row {number}" for number in range(1, len(data) + 1)]
    labels = None
    if columns.label in data.column_names:
        numbers = list(data[columns.label])
        names = getattr(data.features[columns.label], "names", None)
        if not any(isinstance(n, int) and n < 0 for n in numbers):
            labels = [str(names[n]) if names else str(n).strip() for n in numbers]
    second = None if columns.pair is None else list(map(str, data[columns.pair]))
    return Table(list(map(str, data[columns.text])), second, labels, rows)


def _load(name: str) -> Any:
    try:
        import datasets
    except ModuleNotFoundError:
        raise BadInput(
            "the hub needs the library datasets: python -m pip install 'attention-core[hub]', or take a folder"
        ) from None
    try:
        return datasets.load_dataset(name)
    except Exception as error:  # the library's own errors, the network's, the disk's
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadInput(f"{name} cannot be had from the hub ({type(error).__name__}: {line[:160]})") from None


def _examples(task: str, name: str, side: str, rows: Any) -> Examples:
    classes, first, second, label = COLUMNS[task]
    firsts: list[str] = []
    seconds: list[str] = []
    labels: list[int] = []
    for number, row in enumerate(rows, 1):
        try:
            labels.append(int(row[label]))
            for column, found in ((first, firsts), (second, seconds)):
                if column is not None:
                    found.append(row[column].replace("\\n", "\n"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{name} {side}, row {number}: {type(error).__name__}: {error}") from None
    places = [f"{name} {side}, row {number}" for number in range(1, len(labels) + 1)]
    return Examples(firsts, seconds if second else None, labels, classes, places)
