"""Labelled texts.

finetune.data.examples: columns that belong together, counts, baselines, and a digest that sees every change.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from finetune.data.examples import Examples, together
from finetune.errors import BadInput

FILM = Examples(
    ["good", "bad", "fine"], None, [1, 0, 1], ("negative", "positive"), ["f, line 1", "f, line 2", "f, line 3"]
)
PAIR = Examples(
    ["is it", "was it"], ["It is.", "No."], [1, 0], ("false", "true"), ["p, line 1", "p, line 2"], ["a", "b"]
)


def test_counts_and_the_majority_class() -> None:
    assert FILM.counts() == {"negative": 1, "positive": 2} and FILM.majority() == 1
    assert FILM.accuracy_of(1) == pytest.approx(2 / 3, abs=0)
    assert PAIR.majority() == 0, "the first of several"
    with pytest.raises(BadInput, match="no example to be right about"):
        FILM.take([]).accuracy_of(0)


def test_taking_keeps_columns_together() -> None:
    found = PAIR.take([1])
    assert (found.first, found.second, found.labels, found.rows, found.groups) == (
        ["was it"],
        ["No."],
        [0],
        ["p, line 2"],
        ["b"],
    )
    assert FILM.take([2, 0]).rows == ["f, line 3", "f, line 1"]


def test_together_is_one_after_the_other() -> None:
    both = together([PAIR, PAIR.take([0])])
    assert both.first == ["is it", "was it", "is it"] and both.second == ["It is.", "No.", "It is."]
    assert both.groups == ["a", "b", "a"] and both.labels == [1, 0, 1]
    with pytest.raises(BadInput, match="cannot be put together"):
        together([PAIR, FILM])


@pytest.mark.parametrize(
    "other",
    [
        replace(PAIR, labels=[0, 0]),
        replace(PAIR, first=["is it", "was it "]),
        replace(PAIR, second=["It is.", "Yes."]),
        replace(PAIR, classes=("no", "yes")),
        PAIR.take([1, 0]),
        PAIR.take([0]),
        replace(PAIR, first=["is", "itwas it"]),
    ],
)
def test_the_digest_sees_every_change(other: Examples) -> None:
    assert PAIR.digest() == PAIR.take([0, 1]).digest()
    assert PAIR.digest() != other.digest()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": [1, 0]}, "3 texts do not go together with a column of 2"),
        ({"labels": [1, 2, 0]}, "f, line 2: label 2 is none of the 2 classes"),
        ({"labels": [1, -1, 0]}, "f, line 2: label -1 is none"),
        ({"first": ["good", "bad", " \t"]}, "f, line 3: an empty text"),
        ({"second": ["x", "", "y"]}, "f, line 2: an empty text"),
    ],
)
def test_what_does_not_belong_together_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        replace(FILM, **change)  # type: ignore[arg-type]
