"""Data from the hub.

finetune.data.hub: the hub's rows as ours; the library stands in, since a test reaches no network.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from finetune.data.hub import from_hub
from finetune.errors import BadInput

BOOLQ = [{"question": f"is it {n}", "answer": n % 2 == 0, "passage": f"It is {n}."} for n in range(40)]


def stand_in(monkeypatch: pytest.MonkeyPatch, told: Any) -> list[str]:
    """A library that knows one data set, or raises; the names that were asked for."""
    asked: list[str] = []

    def load_dataset(name: str) -> Any:
        asked.append(name)
        if isinstance(told, Exception):
            raise told
        return told

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return asked


def test_boolq_without_a_test_set_has_one_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = stand_in(monkeypatch, {"train": BOOLQ, "validation": BOOLQ[:7]})
    found = from_hub("boolq")
    assert asked == ["google/boolq"] and found.test is not None
    assert (len(found.train), len(found.dev), len(found.test)) == (34, 7, 6)
    assert found.dev.second is not None and found.dev.second[3] == "It is 3." and found.dev.labels[:3] == [1, 0, 1]
    assert found.dev.rows[0] == "google/boolq validation, row 1"


def test_yelp_and_sst2(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"text": f"so good {n}\\nand cheap", "label": n % 5} for n in range(50)]
    stand_in(monkeypatch, {"train": rows, "test": rows[:5]})
    found = from_hub("yelp")
    assert (len(found.train), len(found.dev)) == (45, 5) and found.test is not None and len(found.test) == 5
    assert found.test.first[0] == "so good 0\nand cheap" and found.test.labels == [0, 1, 2, 3, 4]
    asked = stand_in(monkeypatch, dict.fromkeys(("train", "validation", "test"), rows[:2]))
    assert from_hub("sst2", name="other/sst2").train.labels == [0, 1] and asked == ["other/sst2"]


@pytest.mark.parametrize(
    ("task", "told", "words"),
    [
        ("mnli", {}, "'mnli' is not one of"),
        (
            "boolq",
            ConnectionError("no route\nto host"),
            r"google/boolq cannot be had from the hub \(ConnectionError: no route\)",
        ),
        ("boolq", {"test": BOOLQ}, "has no train set, but test"),
        ("boolq", {"train": [{"question": "q"}]}, "google/boolq train, row 1: KeyError"),
        (
            "boolq",
            {"train": [*BOOLQ, {**BOOLQ[0], "passage": None}]},
            "train, row 41: AttributeError",
        ),
        ("sst2", {"train": [{"text": 3, "label": 0}]}, "row 1: AttributeError"),
        ("sst2", {"train": [{"text": "x", "label": -1}]}, "row 1: label -1 is none of the 2 classes"),
    ],
)
def test_what_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch, task: str, told: Any, words: str) -> None:
    stand_in(monkeypatch, told)
    with pytest.raises(BadInput, match=words):
        from_hub(task)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(BadInput, match=r"attention-core\[hub\]"):
        from_hub("boolq")
