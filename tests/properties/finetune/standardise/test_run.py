"""Standardising with a model whose answers are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from finetune.errors import BadInput
from finetune.prompting.request import Answer, Request
from finetune.standardise.run import Task, standardise

SECTORS = ("Health", "Health Care", "Food")
LABELS = ("clinics", "pizza", "yoga", "bread")
MAPPING = dict(zip(LABELS, ("Health Care", "Food", "Health", "Food"), strict=True))


class Saying:
    """A model that is a function of the prompt."""

    identity, parallel = "known", 1

    def __init__(self, say: Callable[[str], str]) -> None:
        self.say, self.prompts = say, []

    def answer(self, request: Request) -> Answer:
        self.prompts.append(request.prompt)
        said = self.say(request.prompt)
        if request.choices:
            return Answer(scores=tuple(0.0 if c.strip() == said else -math.inf for c in request.choices))
        return Answer((said,), ("stop",), 1, 1)

    def close(self) -> None:
        """Nothing is open."""


def industry(prompt: str) -> str:
    return prompt.splitlines()[-2].removeprefix("Industry: ")


def right(prompt: str) -> str:
    return MAPPING[industry(prompt)]


@pytest.mark.parametrize("constrained", [False, True])
def test_right_answers_are_right(constrained: bool) -> None:
    outcome = standardise(Saying(right), Task(LABELS, SECTORS, MAPPING), constrained=constrained)
    assert (outcome.counts, outcome.invalid) == ([1, 1, 2], 0)
    assert [row[1:] for row in outcome.by_sector()] == [(1, 1), (1, 1), (2, 2)]
    assert "L1 to the reference: 0" in "\n".join(outcome.lines())


def test_answers_outside_the_set_are_counted_and_quoted() -> None:
    outcome = standardise(Saying(lambda p: "Wellness" if industry(p) == "yoga" else right(p)), Task(LABELS, SECTORS))
    assert (outcome.counts, outcome.invalid) == ([0, 1, 2], 1)
    assert "outside the set: 'Wellness' (1)" in "\n".join(outcome.lines())


def test_strict_takes_a_name_only_as_it_is_written() -> None:
    model = Saying(lambda p: f" {right(p).lower()}. ")
    assert standardise(model, Task(LABELS, SECTORS)).invalid == 0
    assert standardise(model, Task(LABELS, SECTORS), strict=True).invalid == 4
    assert standardise(Saying(lambda p: f" {right(p)}\n"), Task(LABELS, SECTORS), strict=True).invalid == 0


def test_an_aware_question_shows_the_choices_before_it() -> None:
    model = Saying(lambda p: "nonsense" if industry(p) == "pizza" else right(p))
    target = {"Health": 1, "Health Care": 1, "Food": 2}
    standardise(model, Task(LABELS, SECTORS, MAPPING, target))
    shown = [line for prompt in model.prompts for line in prompt.splitlines() if line.startswith("Your choices")]
    assert shown == [
        "Your choices so far: Health 0, Health Care 0, Food 0",
        "Your choices so far: Health 0, Health Care 1, Food 0",
        "Your choices so far: Health 0, Health Care 1, Food 0",  # nonsense chose nothing
        "Your choices so far: Health 1, Health Care 1, Food 0",
    ]
    assert all("come close to: Health 1, Health Care 1, Food 2" in prompt for prompt in model.prompts)
    assert not any("so far" in Task(LABELS, SECTORS).question(label) for label in LABELS)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (((), SECTORS), "0 labels"), ((LABELS, ("a",)), "1 sectors"), ((("", "a"), SECTORS), "a label is empty"),
        ((("Pizza", "pizza "), SECTORS), "the label 'pizza' stands twice"), ((LABELS, ("a", " A")), "'a' stands twice"),
        ((LABELS, SECTORS, {**MAPPING, "yoga": "Sport"}), "the mapping names 'Sport'"),
        ((LABELS, SECTORS, {"yoga": "Food"}), "no sector for the label 'clinics'"),
        ((LABELS, SECTORS, None, {"Sport": 1}), "the target names 'Sport'"),
    ],
)  # fmt: skip
def test_a_task_that_cannot_be_is_one_line(arguments: tuple[object, ...], line: str) -> None:
    with pytest.raises(BadInput, match=line):
        Task(*arguments)


def test_a_server_cannot_be_constrained() -> None:
    model = Saying(right)
    model.parallel = 8
    with pytest.raises(BadInput, match="need a local model"):
        standardise(model, Task(LABELS, SECTORS), constrained=True)
