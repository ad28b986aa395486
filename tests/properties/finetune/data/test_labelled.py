"""Readers of labelled data.

finetune.data.labelled: BoolQ, SST-2 and Yelp from files, and one clear line for each way a row can be wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finetune.data.labelled import TASKS, read_boolq, read_splits, read_sst2, read_yelp
from finetune.data.splits import position
from finetune.errors import BadInput
from tests.tiny_encoders import write_boolq, write_sst2

ROW = {"question": "is it", "title": "It", "answer": True, "passage": "It is."}


def test_boolq_is_pairs_grouped_by_title(tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "answer": False, "title": None}, {k: v for k, v in ROW.items() if k != "title"}]
    (tmp_path / "b").write_text("\n" + "\n".join(map(json.dumps, rows)) + "\n")
    found = read_boolq(tmp_path / "b")
    assert found.first == ["is it"] * 3 and found.second == ["It is."] * 3
    assert found.labels == [1, 0, 1] and found.classes == ("false", "true")
    assert found.groups == ["It", "It is.", "It is."]
    assert found.rows == [f"{tmp_path / 'b'}, line {n}" for n in (2, 3, 4)]


def test_sst2_in_both_of_its_forms(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1 a charming film\n\n0 no 1 .\n")
    found = read_sst2(tmp_path / "a")
    assert (found.first, found.labels) == (["a charming film", "no 1 ."], [1, 0])
    assert found.rows[1].endswith(", line 3") and found.classes == ("negative", "positive")
    (tmp_path / "b").write_text("sentence\tlabel\na charming\tfilm\t1\n")
    assert (read_sst2(tmp_path / "b").first, read_sst2(tmp_path / "b").labels) == (["a charming\tfilm"], [1])


def test_yelp_in_both_of_its_forms(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('"5","so ""good""\\nand cheap"\n"1","no"\n')
    found = read_yelp(tmp_path / "a")
    assert (found.first, found.labels) == (['so "good"\nand cheap', "no"], [4, 0])
    (tmp_path / "b").write_text('text,label1,label2\n"two\nlines",Business Category: Bars,Review Stars: 2.0\nbad,x,1\n')
    found = read_yelp(tmp_path / "b")
    assert (found.first, found.labels) == (["two\nlines", "bad"], [1, 0])
    assert [row.rpartition(" ")[2] for row in found.rows] == ["2", "4"], "a row is where it begins"


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (read_boolq, "{", "line 1: not valid JSON"),
        (read_boolq, "[1]", "line 1: should be an object"),
        (read_boolq, json.dumps(ROW) + "\n" + json.dumps({**ROW, "passage": 3}), "line 2: passage should be a string, got 3"),
        (read_boolq, json.dumps({**ROW, "answer": "yes"}), "line 1: answer should be true or false, got 'yes'"),
        (read_boolq, json.dumps({**ROW, "answer": 1}), "answer should be true or false, got 1"),
        (read_boolq, json.dumps({**ROW, "passage": " "}), "line 1: an empty text"),
        (read_boolq, json.dumps({**ROW, "passage": "half \ud800"}), "line 1: an escape from"),
        (read_boolq, "[" * 100000, "line 1: not valid JSON"),
        (read_boolq, "\n", "holds no example"),
        (read_sst2, "1 fine\n2 odd\n", "line 2: label '2' is neither 0 nor 1"),
        (read_sst2, "1\n", "line 1: should be a label and a sentence, got '1'"),
        (read_sst2, "1 \n", "line 1: an empty text"),
        (read_sst2, "sentence\tlabel\nfine\tpositive\n", "line 2: label 'positive'"),
        (read_yelp, '"5","a"\n"6","b"\n', "line 2: stars '6' are none of 1 to 5"),
        (read_yelp, '"5","a","b"\n', "line 1: 3 columns, but should be 2"),
        (read_yelp, '"5","a\nb\n', "line 1: no CSV"),
        (read_yelp, "text,stars\nfine,3\n", "line 1: there is no column label2 beside text, stars"),
        (read_yelp, "text,label1,label2\nfine,x,Review Stars: 4.5\n", "line 2: stars 'Review Stars: 4.5'"),
    ],
)  # fmt: skip
def test_a_malformed_row_is_named(tmp_path: Path, read: Any, text: str, words: str) -> None:
    (tmp_path / "data").write_text(text)
    with pytest.raises(BadInput) as caught:
        read(tmp_path / "data")
    assert words in str(caught.value) and str(tmp_path / "data") in str(caught.value)


def test_a_folder_is_known_by_its_files(tmp_path: Path) -> None:
    boolq, sst2 = read_splits(write_boolq(tmp_path / "b")), read_splits(write_sst2(tmp_path / "s"))
    assert {k: len(v) for k, v in boolq.by_name().items()} == {"train": 24, "dev": 12, "test": 12}
    assert {k: len(v) for k, v in sst2.by_name().items()} == {"train": 60, "dev": 20, "test": 20}
    assert boolq.train.second is not None and sst2.train.second is None
    for task in TASKS:
        for layout in TASKS[task].layouts:
            assert "train" in layout and "dev" in layout


GLUE_ROWS = [f"a film of {n} parts\t{n % 2}" for n in range(40)]


@pytest.mark.parametrize(
    ("test", "own"),
    [
        ("sentence\tlabel\nfine\t1\ndull\t0\n", True),
        ("sentence\tlabel\nfine\t-1\ndull\t-1\n", False),
        ("index\tsentence\n0\tfine\n1\tdull\n", False),
        ("1 fine\n0 dull\n", True),
        ("", False),
    ],
)
def test_a_test_set_with_labels_is_read_and_nothing_is_taken_from_train(tmp_path: Path, test: str, own: bool) -> None:
    for side in ("train", "dev"):
        (tmp_path / f"{side}.tsv").write_text("\n".join(["sentence\tlabel", *GLUE_ROWS]))
    (tmp_path / "test.tsv").write_text(test)
    found = read_splits(tmp_path)
    assert found.test is not None
    assert (len(found.train) == 40) is own and (found.test.first[:1] == ["fine"]) is own


def test_answers_of_boolqs_test_set_are_read(tmp_path: Path) -> None:
    for side in ("train", "dev", "test"):
        rows = [json.dumps({**ROW, "question": f"{side} {n}", "title": f"{side} {n}"}) for n in range(20)]
        (tmp_path / f"{side}.jsonl").write_text("\n".join(rows))
    found = read_splits(tmp_path)
    assert found.test is not None and found.test.first[0] == "test 0" and len(found.train) == 20
    without = [json.dumps({name: ROW[name] for name in ("question", "passage")})]
    (tmp_path / "test.jsonl").write_text("\n".join(without))
    assert len(read_splits(tmp_path).train) < 20


def test_a_malformed_row_of_a_labelled_test_set_is_named(tmp_path: Path) -> None:
    for side in ("train", "dev"):
        (tmp_path / f"{side}.tsv").write_text("\n".join(["sentence\tlabel", *GLUE_ROWS]))
    (tmp_path / "test.tsv").write_text("sentence\tlabel\nfine\t1\ndull\tno\n")
    with pytest.raises(BadInput, match=r"test\.tsv, line 3: label 'no'"):
        read_splits(tmp_path)


def test_without_a_labelled_test_set_one_is_held_out_of_train(tmp_path: Path) -> None:
    write_boolq(tmp_path, train=100)
    (tmp_path / "split_train.jsonl").rename(tmp_path / "train.jsonl")
    (tmp_path / "split_val.jsonl").rename(tmp_path / "dev.jsonl")
    found = read_splits(tmp_path, "boolq", 4)
    assert found.test is not None
    assert (len(found.train), len(found.dev), len(found.test)) == (85, 12, 15)
    assert not set(found.train.groups or ()) & set(found.test.groups or ())
    assert max(position(g, 4) for g in found.test.groups or ()) < min(position(g, 4) for g in found.train.groups or ())


def test_one_file_is_split_by_hash(tmp_path: Path) -> None:
    path = write_sst2(tmp_path, train=300) / "stsa.binary.train"
    found = read_splits(path, "sst2", 1)
    assert sum(len(e) for e in found.by_name().values()) == 300 and found.test is not None
    assert read_splits(path, "sst2", 1).dev.rows == found.dev.rows != read_splits(path, "sst2", 2).dev.rows


@pytest.mark.parametrize(
    ("name", "task", "words"),
    [
        (".", "mnli", "the data set 'mnli' is not one of boolq, sst2, yelp"),
        ("none", None, "no such file or folder"),
        ("stsa.binary.dev", None, "say which data set it is"),
        (".", "yelp", "files of no layout of yelp: its train set is one of full_dev.csv, full_test.csv, train.csv"),
    ],
)
def test_a_folder_that_is_none_is_refused(tmp_path: Path, name: str, task: str | None, words: str) -> None:
    write_sst2(tmp_path)
    with pytest.raises(BadInput, match=words):
        read_splits(tmp_path / name, task)


def test_the_real_files(data_dir: Path) -> None:
    """Their sizes and the share of train's majority class on dev, as the data's description has them."""
    found = {name: read_splits(data_dir / name) for name in ("boolq", "sst", "yelp")}
    sizes = {name: [len(e) for e in s.by_name().values()] for name, s in found.items()}
    assert sizes == {"boolq": [2331, 315, 624], "sst": [6920, 872, 1821], "yelp": [10000, 500, 500]}
    assert found["boolq"].dev.accuracy_of(found["boolq"].train.majority()) == 199 / 315
    assert not any("\\n" in text for text in found["yelp"].test.first), "ends of lines are ends of lines"  # type: ignore[union-attr]
