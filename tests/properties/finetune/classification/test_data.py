"""The data of a run.

finetune.classification.data: sides as asked for, and what is said about them before anything is trained.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from finetune.classification.data import Sides, draw_examples, few, prepare_data
from finetune.data.examples import Examples
from finetune.data.splits import Leak
from finetune.errors import BadInput
from tests.tiny_encoders import write_sst2


def test_what_is_said_before_training(tmp_path: Path) -> None:
    write_sst2(tmp_path, train=30, dev=10, test=11)
    with open(tmp_path / "stsa.binary.train", "a") as file:
        file.write((tmp_path / "stsa.binary.test").read_text().splitlines()[3] + "\n")
    sides = prepare_data(str(tmp_path))
    lines = list(sides.report())
    assert lines[0] == "train: 31 examples (15 negative, 16 positive)"
    assert lines[3] == "majority baseline, 'positive' for all: train 51.6 %, dev 50.0 %, test 45.5 %"
    text, label = sides.train.first[0], sides.train.classes[sides.train.labels[0]]
    assert lines[4] == f"the first of train: {text!r} -> {label}"
    assert lines[5].startswith(f"on two sides: train: {tmp_path / 'stsa.binary.train'}, line 31 = test: ")
    assert sides.baselines()["test"] == 5 / 11
    clean = prepare_data(str(tmp_path), drop_leaks=True)
    assert len(clean.train) == 30 and len(clean.leaks) == 1, "what was dropped is still told"


def test_a_side_that_is_held_out_names_the_file_it_comes_from(tmp_path: Path) -> None:
    rows = ["sentence\tlabel", *(f"a film of {n} parts\t{n % 2}" for n in range(40))]
    for side in ("train", "dev"):
        (tmp_path / f"{side}.tsv").write_text("\n".join(rows).replace("film", side))
    lines = list(prepare_data(str(tmp_path)).report())
    assert lines[1].endswith("20 positive)")
    assert lines[2].startswith("test: 6 examples (") and lines[2].endswith(f"), held out of {tmp_path / 'train.tsv'}")


def test_a_long_pair_is_shown_cut_and_many_leaks_are_counted() -> None:
    pairs = Examples(["who\x1b?"], ["word " * 99], [1], ("no", "yes"), ["a, line 1"])
    leak = Leak("who?", "train: a, line 1", "dev: b, line 1")
    lines = list(Sides(pairs, pairs, None, [leak] * 9).report())
    cut = " ".join(["word"] * 39)
    assert lines[3] == f"the first of train: 'who\\x1b?' | '{cut} ...' -> yes"
    assert lines[4:] == [f"on two sides: {leak}"] * 5 + [
        "on two sides: 4 more; --drop_leaks trains without those of train"
    ]


def test_a_small_subset_has_all_classes_in_turn(tmp_path: Path) -> None:
    sides = prepare_data(str(write_sst2(tmp_path)), small_subset=True)
    assert [len(e) for e in sides.by_name().values()] == [10, 10, 10]
    assert all(e.counts() == {"negative": 5, "positive": 5} for e in sides.by_name().values())
    five = Examples(
        [f"t {n}" for n in range(40)], None, [n % 5 if n < 20 else 4 for n in range(40)], tuple("abcde"), ["r"] * 40
    )
    assert list(few(five, 10, 0).counts().values()) == [2] * 5


def test_fewer_training_examples_are_a_part_of_more(tmp_path: Path) -> None:
    sides = [prepare_data(str(write_sst2(tmp_path)), train_size=size).train for size in (7, 20)]
    assert [len(e) for e in sides] == [7, 20] and set(sides[0].rows) < set(sides[1].rows)
    other = prepare_data(str(tmp_path), train_size=7, seed=1).train
    assert other.rows != sides[0].rows and draw_examples(sides[1], 20, 1).rows != sides[1].rows
    for size in (0, 61):
        with pytest.raises(BadInput, match="of 60 training examples cannot be had"):
            prepare_data(str(tmp_path), train_size=size)


def test_one_class_alone_is_nothing_to_learn(tmp_path: Path) -> None:
    sides = prepare_data(str(write_sst2(tmp_path)), train_size=1)
    with pytest.raises(BadInput, match="all 1 training examples are of one class"):
        sides.check_trainable()


def test_the_hub_by_task_and_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def from_hub(*arguments: object) -> SimpleNamespace:
        asked.append(arguments)
        raise BadInput("no hub here")

    monkeypatch.setattr("finetune.classification.data.from_hub", from_hub)
    for data, task in (("hub:boolq", None), ("hub:other/sst2", "sst2")):
        with pytest.raises(BadInput, match="no hub here"):
            prepare_data(data, task, 3)
    assert asked == [("boolq", 3, None), ("sst2", 3, "other/sst2")]
