"""BoolQ, SST-2 and Yelp from files: every way a row can be wrong is one line that names the file and the row.

A folder is searched for the names that its files have in the wild; a single file is split by hash.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from finetune.data.corpus import read_json_line, read_text
from finetune.data.examples import Examples, together
from finetune.data.splits import Splits, held_out, split
from finetune.errors import BadInput, count_columns

SHARES = (0.8, 0.1, 0.1)
"""Of train, dev and test where a data set comes as one file."""
TEST_OF_TRAIN = 1427 / 9427
"""What the assignment holds out of BoolQ's train set, whose own test set has no answers."""
BOOLQ, SST2 = ("false", "true"), ("negative", "positive")
YELP = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")


def read_boolq(path: str | Path) -> Examples:
    """BoolQ: JSON lines with question, passage, answer (true or false) and mostly a title; pairs (question, passage).

    What shares a title, or else a passage, is one group. Raises: BadInput, naming the line.

    Example:
        >>> _ = Path("b.jsonl").write_text('{"question": "is it", "passage": "It is.", "answer": true}')
        >>> read_boolq("b.jsonl").labels
        [1]
    """
    first, second, labels, rows, groups = [], [], [], [], []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        row = f"{path}, line {number}"
        data = read_json_line(line, row)
        if not isinstance(data, dict):
            raise BadInput(f"{row}: should be an object with question, passage and answer")
        for name in ("question", "passage"):
            if not isinstance(data.get(name), str):
                raise BadInput(f"{row}: {name} should be a string, got {data.get(name)!r}")
        if not isinstance(data.get("answer"), bool):
            raise BadInput(f"{row}: answer should be true or false, got {data.get('answer')!r}")
        first.append(data["question"])
        second.append(data["passage"])
        labels.append(int(data["answer"]))
        rows.append(row)
        groups.append(str(data.get("title") or data["passage"]))
    return _some(path, Examples(first, second, labels, BOOLQ, rows, groups))


def read_sst2(path: str | Path) -> Examples:
    """SST-2: lines `label sentence`, or GLUE's table with the columns sentence and label; 0 negative, 1 positive.

    Raises: BadInput, naming the line.

    Example:
        >>> _ = Path("sst.txt").write_text("1 a charming film")
        >>> read_sst2("sst.txt").labels
        [1]
    """
    first, labels, rows = [], [], []
    lines = read_text(path).split("\n")
    glue = lines[0].split("\t") == ["sentence", "label"]
    for number, line in enumerate(lines, 1):
        if not line.strip() or (glue and number == 1):
            continue
        row = f"{path}, line {number}"
        parts = line.rsplit("\t", 1)[::-1] if glue else line.split(" ", 1)
        if len(parts) != 2:
            raise BadInput(f"{row}: should be a label and a sentence, got {line[:60]!r}")
        if parts[0] not in ("0", "1"):
            raise BadInput(f"{row}: label {parts[0][:20]!r} is neither 0 nor 1")
        first.append(parts[1].strip())
        labels.append(int(parts[0]))
        rows.append(row)
    return _some(path, Examples(first, None, labels, SST2, rows))


def read_yelp(path: str | Path) -> Examples:
    """Yelp's reviews with 1 to 5 stars: CSV, `"stars","text"` without a header, or with the columns text and label2.

    Of the first form, `\\n` (two characters) in a text is the end of a line, and is made one: in the other form, which
    one may train on, it is one already. label2 reads `Review Stars: 4.0`.

    Raises: BadInput, naming the line that the row begins in.

    Example:
        >>> _ = Path("yelp.csv").write_text('"5","so good"')
        >>> read_yelp("yelp.csv").labels
        [4]
    """
    first, labels, rows = [], [], []
    table = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    header: list[str] | None = None
    for row, fields in csv_rows(path, table):
        if header is None:
            header = fields if "text" in fields else []
            if header and "label2" not in header:
                raise BadInput(f"{row}: there is no column label2 beside {', '.join(header)}")
            if header:
                continue
        if len(fields) != (len(header) or 2):
            raise BadInput(f"{row}: {count_columns(len(fields))}, but should be {len(header) or 2}")
        named = dict(zip(header, fields, strict=True)) if header else {"label2": fields[0], "text": fields[1]}
        stars = named["label2"].removeprefix("Review Stars: ").removesuffix(".0").strip()
        if stars not in ("1", "2", "3", "4", "5"):
            raise BadInput(f"{row}: stars {named['label2'][:20]!r} are none of 1 to 5")
        first.append(named["text"] if header else named["text"].replace("\\n", "\n"))
        labels.append(int(stars) - 1)
        rows.append(row)
    return _some(path, Examples(first, None, labels, YELP, rows))


def csv_rows(path: str | Path, table: Iterator[list[str]]) -> Iterator[tuple[str, list[str]]]:
    """The rows of a CSV file that are not empty, each with the line that it begins in. Raises: BadInput."""
    line = 1
    while True:
        row = f"{path}, line {line}"
        try:
            fields = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadInput(f"{row}: no CSV ({error})") from None
        line = table.line_num + 1  # type: ignore[attr-defined]  # a csv.reader has it
        if fields:
            yield row, fields


def _some(path: str | Path, examples: Examples) -> Examples:
    if not len(examples):
        raise BadInput(f"{path} holds no example")
    return examples


@dataclass(frozen=True)
class Task:
    """A data set: how a file of it is read, and the names that its files have, the first that are all there."""

    read: Callable[[str | Path], Examples]
    layouts: tuple[Mapping[str, tuple[str, ...]], ...]
    hub: str
    """Its name on Hugging Face's hub."""


TASKS: Mapping[str, Task] = {
    "boolq": Task(
        read_boolq,
        (
            {"train": ("split_train.jsonl",), "dev": ("split_val.jsonl",), "test": ("split_test.jsonl",)},
            {"train": ("train.jsonl",), "dev": ("dev.jsonl",)},
            {"train": ("train.jsonl",), "dev": ("val.jsonl",)},
        ),
        "google/boolq",
    ),
    "sst2": Task(
        read_sst2,
        (
            {"train": ("stsa.binary.train",), "dev": ("stsa.binary.dev",), "test": ("stsa.binary.test",)},
            {"train": ("train.tsv",), "dev": ("dev.tsv",)},
        ),
        "SetFit/sst2",
    ),
    "yelp": Task(
        read_yelp,
        (
            {"train": ("full_dev.csv", "full_test.csv"), "dev": ("small_valid.csv",), "test": ("small_test.csv",)},
            {"train": ("train.csv",), "dev": ("dev.csv",), "test": ("test.csv",)},
            {"train": ("train.csv",), "dev": ("valid.csv",), "test": ("test.csv",)},
        ),
        "Yelp/yelp_review_full",
    ),
}


def has_labels(path: Path) -> bool:
    """Whether the first row of a test set of BoolQ or SST-2 has a label: published ones have none, or -1.

    Example:
        >>> _ = Path("t.tsv").write_text("index\\tsentence\\n0\\tfine")
        >>> has_labels(Path("t.tsv"))
        False
    """
    lines = [line for line in read_text(path).split("\n") if line.strip()]
    if path.suffix == ".jsonl":
        row = read_json_line(lines[0], f"{path}, line 1") if lines else {}
        return isinstance(row, dict) and "answer" in row
    if lines and lines[0].split("\t") == ["sentence", "label"]:
        return len(lines) > 1 and lines[1].rsplit("\t", 1)[-1].strip() != "-1"
    return bool(lines) and lines[0].split(" ", 1)[0] in ("0", "1")


def read_splits(path: str | Path, task: str | None = None, seed: int = 0) -> Splits:
    """The train, dev and test sets of a folder, or of one file.

    A folder must have the files of a layout in `TASKS`. Where it has no test set, or one without labels (BoolQ as
    published, GLUE), as many of train as the assignment takes are held out for it; one file is split as `SHARES` says,
    by hash and `seed`.

    Args: path; task, a key of `TASKS`, None to find it by the names of the files; seed, of splits made here.
    Raises: BadInput where the files are not there, or a row is malformed.
    """
    path = Path(path)
    if task is not None and task not in TASKS:
        raise BadInput(f"the data set {task!r} is not one of {', '.join(TASKS)}")
    if path.is_file():
        if task is None:
            raise BadInput(f"{path}: say which data set it is (one of {', '.join(TASKS)})")
        return Splits(*split(TASKS[task].read(path), SHARES, seed))
    if not path.is_dir():
        raise BadInput(f"no such file or folder: {path}")
    for name in TASKS if task is None else (task,):
        for layout in TASKS[name].layouts:
            if all((path / file).is_file() for files in layout.values() for file in files):
                read = TASKS[name].read
                sides = {side: together([read(path / file) for file in files]) for side, files in layout.items()}
                own = path / f"test{Path(layout['train'][0]).suffix}"
                if "test" not in sides and own.is_file() and has_labels(own):
                    sides["test"] = read(own)
                if "test" not in sides:
                    count = round(len(sides["train"]) * TEST_OF_TRAIN)
                    sides["train"], sides["test"] = held_out(sides["train"], count, seed)
                return Splits(sides["train"], sides["dev"], sides["test"])
    tasks = TASKS if task is None else (task,)
    known = sorted({file for name in tasks for layout in TASKS[name].layouts for file in layout["train"]})
    raise BadInput(
        f"{path} has the files of no layout of {', '.join(tasks)}: its train set is one of {', '.join(known)}"
    )
