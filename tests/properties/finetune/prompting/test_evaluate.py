"""Accuracy by prompting: against a model whose answers are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from finetune.characters.evaluate import wilson
from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.prompting.evaluate import Setting, compare, evaluate
from finetune.prompting.request import Answer, Controls, Request
from finetune.prompting.template import Template

CLASSES = ("negative", "positive")
WORDS = Template("Mood?", "Text: {first}\nMood: {label}", CLASSES)


def examples(labels: list[int], prefix: str) -> Examples:
    texts = [f"{prefix} {n} {'good' if label else 'bad'}" for n, label in enumerate(labels)]
    return Examples(texts, None, labels, CLASSES, [f"line {n}" for n in range(len(labels))])


TRAIN = examples([0, 1] * 20, "train")
JUDGED = examples([1, 1, 1, 0, 0], "judged")


class Answering:
    """A model that is a function of the prompt."""

    identity, parallel = "known", 1

    def __init__(self, say: Callable[[str], str]) -> None:
        self.say, self.requests = say, []

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        said = self.say(request.prompt)
        if request.choices:
            return Answer(
                (), (), 5, 0, tuple(0.0 if choice.strip() == said else -math.inf for choice in request.choices)
            )
        return Answer((said,), ("stop",), 5, 1)

    def close(self) -> None:
        """Nothing is open."""


def right(prompt: str) -> str:
    return "positive" if prompt.splitlines()[-2].endswith("good") else "negative"


@pytest.mark.parametrize("scoring", ["answer", "likelihood"])
def test_a_model_that_is_right_has_all_right(scoring: str) -> None:
    result = evaluate(Answering(right), WORDS, TRAIN, JUDGED, Setting(4, scoring=scoring))
    assert (result.accuracy, result.correct, result.unreadable) == (1.0, 5, 0)
    assert result.interval == wilson(5, 5)
    assert result.majority == 0.6


@pytest.mark.parametrize("scoring", ["answer", "likelihood"])
def test_one_answer_to_all_is_the_majority_and_the_line_says_so(scoring: str) -> None:
    result = evaluate(Answering(lambda _: "positive"), WORDS, TRAIN, JUDGED, Setting(4, scoring=scoring))
    assert result.accuracy == result.majority == 0.6
    assert "the interval contains the majority class" in "\n".join(result.lines())


def test_what_cannot_be_read_counts_as_wrong_and_is_counted() -> None:
    result = evaluate(Answering(lambda _: "perhaps"), WORDS, TRAIN, JUDGED, Setting(0))
    assert (result.accuracy, result.unreadable, result.predicted) == (0.0, 5, (None,) * 5)
    assert "5 of 5 answers could not be read as a label; they count as wrong" in list(result.lines())


def test_words_that_tie_are_not_guessed() -> None:
    class Undecided(Answering):
        def answer(self, request: Request) -> Answer:
            return Answer(scores=(-1.0, -1.0))

    assert evaluate(Undecided(right), WORDS, TRAIN, JUDGED, Setting(scoring="likelihood")).unreadable == 5


def test_demonstrations_stand_before_the_example_and_are_the_same_for_all() -> None:
    model = Answering(right)
    evaluate(model, WORDS, TRAIN, JUDGED, Setting(8, seed=3))
    heads = {request.prompt.rsplit("\n\n", 1)[0] for request in model.requests}
    assert len(heads) == 1
    (head,) = heads
    moods = [line.removeprefix("Mood: ") for line in head.splitlines() if line.startswith("Mood: ")]
    assert moods == ["negative", "positive"] * 4
    assert "judged" not in head
    assert model.requests[0].controls == Controls(max_tokens=8, stop=("\n",))


def test_scored_requests_do_not_depend_on_sampling() -> None:
    first, second = Answering(right), Answering(right)
    evaluate(first, WORDS, TRAIN, JUDGED, Setting(scoring="likelihood"), controls=Controls(seed=1))
    evaluate(second, WORDS, TRAIN, JUDGED, Setting(scoring="likelihood"), controls=Controls(seed=2, max_tokens=3))
    assert first.requests == second.requests


def test_nothing_to_judge_is_one_line() -> None:
    with pytest.raises(BadInput, match="no example"):
        evaluate(Answering(right), WORDS, TRAIN, JUDGED.take([]), Setting())


@pytest.mark.parametrize(
    ("interval", "line"),
    [((0.7, 0.9), "above"), ((0.1, 0.5), "below"), ((0.5, 0.7), "contains"), ((0.6, 0.7), "contains")],
)
def test_an_interval_beside_a_baseline(interval: tuple[float, float], line: str) -> None:
    assert line in compare(interval, 0.6)
