"""A study changes one thing a row, and its table says what came out."""

from __future__ import annotations

import math

import pytest

from finetune.data.examples import Examples
from finetune.prompting.evaluate import Setting
from finetune.prompting.request import Answer, Request
from finetune.prompting.study import HEAD, settings, study, table
from finetune.prompting.template import Template

CLASSES = ("negative", "positive")
WORDS = Template("Mood?", "Text: {first}\nMood: {label}", CLASSES)


def examples(labels: list[int], prefix: str) -> Examples:
    texts = [f"{prefix} {n} {'good' if label else 'bad'}" for n, label in enumerate(labels)]
    return Examples(texts, None, labels, CLASSES, [f"line {n}" for n in range(len(labels))])


TRAIN = examples([0, 1] * 20, "train")
JUDGED = examples([1, 1, 1, 0, 0], "judged")


class Right:
    """A model that reads the text above the label's place."""

    identity, parallel = "right", 1

    def answer(self, request: Request) -> Answer:
        said = "positive" if request.prompt.splitlines()[-2].endswith("good") else "negative"
        if request.choices:
            return Answer(scores=tuple(0.0 if choice.strip() == said else -math.inf for choice in request.choices))
        return Answer((said,), ("stop",), 5, 1)

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("scoring", ["answer", "likelihood"])
def test_each_setting_departs_from_the_base_in_one_thing(scoring: str) -> None:
    base = Setting(4, scoring=scoring)
    for name, setting in settings(base, (0, 2)):
        changed = [field for field in base.__dataclass_fields__ if getattr(setting, field) != getattr(base, field)]
        # What is not balanced is drawn as it comes, and so has no turns to take.
        assert len(changed) == (2 if name == "not balanced" else 1), name


def test_a_study_changes_one_thing_a_row() -> None:
    rows = study(Right(), WORDS, TRAIN, JUDGED, Setting(4), shots=(0, 2), seeds=range(3), words=("bad", "good"))
    names = [row.name for row in rows]
    assert names == [
        "0 demonstrations", "2 demonstrations", "class after class", "reversed", "shuffled", "not balanced",
        "likeliest word", "words bad, good",
    ]  # fmt: skip
    assert [len(row.results) for row in rows] == [1, 3, 3, 3, 3, 3, 3, 3]
    assert {row.results[0].accuracy for row in rows[:-1]} == {1.0}
    # The model says "positive", which is neither of the other words.
    assert rows[-1].cells()[1:] == ["0.000", "0.000 to 0.000", "0.000 to 0.434", "100%"]
    lines = table(rows).splitlines()
    assert lines[0] == "| " + " | ".join(HEAD) + " |"
    assert len(lines) == 2 + len(rows)
