"""Tables of any columns: what is read is what stands there, and every malformed row is one line that names it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.tables import Columns, classes_of, read_table, read_table_splits
from finetune.errors import BadInput

COLUMNS = Columns("review", "stars")
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0\ufeff", exclude_categories=("Cs",)), min_size=1)


def write_csv(path: Path, rows: list[list[str]], head: tuple[str, ...] = ("id", "review", "stars")) -> Path:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([head, *rows])
    path.write_text(buffer.getvalue(), encoding="utf-8", newline="")
    return path


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=5))
def test_csv_and_json_lines_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """Commas, quotation marks and ends of lines within a text included."""
    folder = tmp_path_factory.mktemp("tables")
    rows = [[str(n), text, "good"] for n, text in enumerate(texts)]
    assert read_table(write_csv(folder / "a.csv", rows), COLUMNS).first == texts
    lines = "".join(json.dumps({"review": text, "stars": "good"}) + "\n" for text in texts)
    (folder / "a.jsonl").write_text(lines, encoding="utf-8")
    found = read_table(folder / "a.jsonl", COLUMNS)
    assert found.first == texts and found.labels == ["good"] * len(texts)


def test_a_quotation_mark_in_a_tsv_is_a_letter(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('review\tstars\n"no end\t1\nfine\t2\n')
    assert read_table(tmp_path / "a.tsv", COLUMNS).first == ['"no end', "fine"]


def test_labels_are_texts_numbers_or_truth_values(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"review": "a", "stars": true}\n{"review": "b", "stars": 3}\n')
    assert read_table(tmp_path / "a.jsonl", COLUMNS).labels == ["true", "3"]
    assert classes_of(["10", "9", "-1"]) == ("-1", "9", "10") and classes_of(["b", "a", "10"]) == ("10", "a", "b")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.xls", "", "a table is one of .csv, .tsv, .txt, .jsonl, .ndjson"),
        ("a.csv", "", "holds no example"),
        ("a.csv", "review,stars\n", "holds no example"),
        ("a.csv", "review,review\na,b\n", "two columns called 'review'"),
        ("a.csv", "text,stars\na,b\n", "line 2: there is no column 'review', but 'text', 'stars'"),
        ("a.csv", "review,stars\na,b\nc\n", "line 3: 1 column, but should be 2"),
        ("a.csv", "review,stars\na,\n", "line 2: stars should be a text, a whole number"),
        ("a.csv", 'review,stars\n"a,b\n', "no CSV"),
        ("a.jsonl", '{"review": "a", "stars": 1}\n{"stars": 2}\n', "line 2: there is no column 'review'"),
        ("a.jsonl", '{"review": 5, "stars": 1}\n', "line 1: review should be a text, got '5'"),
        ("a.jsonl", '{"review": "a", "stars": 1.5}\n', "line 1: stars should be a text"),
        ("a.jsonl", "[1]\n", "line 1: should be an object"),
        ("a.jsonl", "{\n", "line 1: not valid JSON"),
        ("a.jsonl", '{"review": "a \\udfff", "stars": 1}\n', "line 1: an escape from"),
    ],
)  # fmt: skip
def test_a_malformed_table_is_one_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput) as caught:
        read_table(tmp_path / name, COLUMNS)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def table(path: Path, labels: list[str]) -> Path:
    return write_csv(path, [[str(n), f"{path.stem} text {n}", label] for n, label in enumerate(labels)])


def test_the_files_of_a_folder_and_files_in_their_place(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["b", "a"] * 10)
    table(tmp_path / "valid.csv", ["a"] * 3)
    table(tmp_path / "other.csv", ["b"] * 4)
    sides = read_table_splits(tmp_path, COLUMNS)
    assert (len(sides.train), len(sides.dev), sides.test) == (20, 3, None) and sides.train.classes == ("a", "b")
    assert list(sides.dev.labels) == [0, 0, 0]
    sides = read_table_splits(
        tmp_path / "train.csv", COLUMNS, dev=str(tmp_path / "valid.csv"), test=str(tmp_path / "other.csv")
    )
    assert sides.test is not None and (len(sides.train), len(sides.dev), len(sides.test)) == (20, 3, 4)


def test_without_dev_some_of_train_is_held_out_and_nothing_is_lost(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["b", "a"] * 20)
    sides = read_table_splits(tmp_path, COLUMNS)
    assert len(sides.dev) == 4 and sorted([*sides.train.first, *sides.dev.first]) == sorted(
        f"train text {n}" for n in range(40)
    )


def test_a_label_that_train_does_not_have_is_named(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["b", "a"])
    table(tmp_path / "dev.csv", ["a", "c"])
    with pytest.raises(BadInput, match=r"dev.csv, line 3: the label 'c' is not one of train's: a, b"):
        read_table_splits(tmp_path, COLUMNS)
    with pytest.raises(BadInput, match="has no column 'label': name it with --label_column"):
        read_table_splits(tmp_path, Columns("review"))


def test_two_files_for_one_side_are_refused(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ["b", "a"])
    table(tmp_path / "dev.csv", ["a"])
    table(tmp_path / "val.csv", ["a"])
    with pytest.raises(BadInput, match=r"has dev\.csv and val\.csv: which one is dev"):
        read_table_splits(tmp_path, COLUMNS)
