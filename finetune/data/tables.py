"""Any table of labelled texts: CSV, TSV or JSON lines, with the columns that a user names.

The ending of a file's name says how it is written. In a TSV (or .txt) a quotation mark is a letter: the format has no
quoting.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.data.corpus import read_json_line, read_text
from finetune.data.examples import Examples
from finetune.data.labelled import SHARES, csv_rows
from finetune.data.splits import Splits, held_out, split
from finetune.errors import BadInput, count_columns

ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
SIDES: Mapping[str, tuple[str, ...]] = {
    "train": ("train",), "dev": ("dev", "valid", "validation", "val"), "test": ("test",)
}  # fmt: skip
"""The stems that the files of a folder may have."""
HELD_OUT = 0.1
"""The share of train that becomes dev where a folder has no file for it."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Args: text, of the text, or of the first of each pair; label; pair, of the second text, None where there is none.
    """

    text: str
    label: str = "label"
    pair: str | None = None

    def __post_init__(self) -> None:
        names = [name for name in (self.text, self.label, self.pair) if name is not None]
        if len(set(names)) < len(names):
            raise BadInput(f"the columns {', '.join(names)} must be different ones")


@dataclass(frozen=True)
class Table:
    """The texts of a table, and its labels as they are written; None where it has no column of labels."""

    first: list[str]
    second: list[str] | None
    labels: list[str] | None
    rows: list[str]

    def examples(self, classes: Sequence[str]) -> Examples:
        """The table with class numbers as labels. Raises: BadInput, naming the row of a label that is not a class."""
        numbers = {name: number for number, name in enumerate(classes)}
        found = []
        for row, label in zip(self.rows, self.labels or (), strict=True):
            if label not in numbers:
                shown = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
                raise BadInput(f"{row}: the label {label[:40]!r} is not one of train's: {shown}")
            found.append(numbers[label])
        return Examples(self.first, self.second, found, tuple(classes), self.rows)


def read_table(path: str | Path, columns: Columns) -> Table:
    """Read the named columns of a file.

    A label may be a text, a whole number or true/false; it is kept as it is written.

    Raises: BadInput where the file's ending is not one of `ENDINGS`, a column is not there, or a row is malformed.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise BadInput(f"{path}: a table is one of {', '.join(ENDINGS)}")
    rows = list(_json_rows(path) if ending in (".jsonl", ".ndjson") else _delimited_rows(path, ending))
    if not rows:
        raise BadInput(f"{path} holds no example")
    texts: dict[str, list[str]] = {name: [] for name in (columns.text, columns.pair) if name is not None}
    labelled = columns.label in rows[0][1]
    labels: list[str] = []
    for row, fields in rows:
        for name, found in texts.items():
            found.append(_text(row, fields, name))
        if labelled:
            labels.append(_label(row, fields, columns.label))
    second = None if columns.pair is None else texts[columns.pair]
    return Table(texts[columns.text], second, labels if labelled else None, [row for row, _ in rows])


def _json_rows(path: str | Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        row = f"{path}, line {number}"
        fields = read_json_line(line, row)
        if not isinstance(fields, dict):
            raise BadInput(f"{row}: should be an object with a key for each column")
        yield row, fields


def _delimited_rows(path: str | Path, ending: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found: Iterator[tuple[str, list[str]]]
    if ending == ".csv":
        found = csv_rows(path, csv.reader(io.StringIO(read_text(path), newline=""), strict=True))
    else:
        lines = enumerate(read_text(path).split("\n"), 1)
        found = ((f"{path}, line {number}", line.split("\t")) for number, line in lines if line.strip())
    head: list[str] | None = None
    for row, fields in found:
        if head is None:
            head = [name.strip() for name in fields]
            twice = next((name for name in head if head.count(name) > 1), None)
            if twice is not None:
                raise BadInput(f"{path} has two columns called {twice!r}")
            continue
        if len(fields) != len(head):
            raise BadInput(f"{row}: {count_columns(len(fields))}, but should be {len(head)}")
        yield row, dict(zip(head, fields, strict=True))


def _text(row: str, fields: Mapping[str, Any], name: str) -> str:
    if name not in fields:
        raise BadInput(f"{row}: there is no column {name!r}, but {', '.join(map(repr, list(fields)[:12]))}")
    if not isinstance(fields[name], str):
        raise BadInput(f"{row}: {name} should be a text, got {str(fields[name])[:40]!r}")
    return str(fields[name])


def _label(row: str, fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int) or not str(value).strip():
        raise BadInput(f"{row}: {name} should be a text, a whole number, true or false, got {str(value)[:40]!r}")
    return str(value).strip()


def classes_of(labels: Sequence[str]) -> tuple[str, ...]:
    """The classes in their order: by number where all are whole numbers, else by letters.

    Example:
        >>> classes_of(["10", "9", "9"])
        ('9', '10')
    """
    names = set(labels)
    numeric = all(name.removeprefix("-").isdecimal() for name in names)
    return tuple(sorted(names, key=(lambda name: (int(name), name)) if numeric else None))


def read_table_splits(
    path: str | Path, columns: Columns, seed: int = 0, dev: str | None = None, test: str | None = None
) -> Splits:  # fmt: skip
    """The train, dev and test sets of tables.

    A folder has train, dev (or valid, validation, val) and test with an ending of `ENDINGS`; without dev, a tenth of
    train is held out by hash, without test there is none. One file is split by hash (`labelled.SHARES`), or is train
    where `dev` names another. A test file without the column of labels is not read: `finetune predict` answers it.

    Args: path, a folder or a file; columns; seed, of splits made here; dev, test, files that take the place of those.
    Raises: BadInput where a file or column is not there, or dev or test has a label that train has not.
    """
    path = Path(path)
    if not path.exists():
        raise BadInput(f"no such file or folder: {path}")
    files = _folder_files(path) if path.is_dir() else {"train": path}
    files |= {side: Path(name) for side, name in (("dev", dev), ("test", test)) if name is not None}
    tables = {side: read_table(file, columns) for side, file in files.items()}
    for side in ("train", "dev"):
        if side in tables and tables[side].labels is None:
            raise BadInput(f"{files[side]} has no column {columns.label!r}: name it with --label_column")
    classes = classes_of(tables["train"].labels or ())
    sides = {side: table.examples(classes) for side, table in tables.items() if table.labels is not None}
    if path.is_file() and "dev" not in sides and "test" not in sides:
        return Splits(*split(sides["train"], SHARES, seed))
    if "dev" not in sides:
        sides["train"], sides["dev"] = held_out(sides["train"], max(1, round(HELD_OUT * len(sides["train"]))), seed)
    return Splits(sides["train"], sides["dev"], sides.get("test"))


def _folder_files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for side, stems in SIDES.items():
        there = [folder / f"{stem}{ending}" for stem in stems for ending in ENDINGS]
        present = [file for file in there if file.is_file()]
        if len(present) > 1:
            raise BadInput(f"{folder} has {present[0].name} and {present[1].name}: which one is {side}?")
        if present:
            found[side] = present[0]
    if "train" not in found:
        raise BadInput(f"{folder} has no train{{{','.join(ENDINGS)}}}")
    return found
