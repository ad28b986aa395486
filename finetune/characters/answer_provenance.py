"""What a model knows and what it makes up: a "not known" from log-probabilities, and answers split by the corpus.

About a person it never read of a model answers as confidently in form as any other; its numbers may tell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from finetune.characters.evaluate import Answer
from finetune.errors import BadInput

NOT_KNOWN = "not known"
"""What is written in the place of an answer that is withheld."""


@dataclass(frozen=True)
class Point:
    """At a threshold of the log-probability: how many questions are answered, and how many of the answers are right."""

    threshold: float
    answered: int
    right: int

    @property
    def precision(self) -> float:
        """The share of right ones among the answers given."""
        return self.right / self.answered


def curve(answers: Sequence[Answer], correct: Sequence[bool]) -> list[Point]:
    """Every choice of "not known" below a threshold, from the strictest to answering everything.

    Answers with equal log-probability are given or withheld together.
    Raises: BadInput where there is no answer, or not as many marks as answers.

    Example:
        >>> points = curve([Answer("Rome", -1.0), Answer("Bonn", -2.0)], [True, False])
        >>> [(point.answered, point.right) for point in points]
        [(1, 1), (2, 1)]

    Source: El-Yaniv and Wiener, "On the Foundations of Noise-free Selective Classification" (2010): risk by coverage.
    """
    if not answers or len(answers) != len(correct):
        raise BadInput(f"{len(correct)} marks for {len(answers)} answers")
    ordered = sorted(zip(answers, correct, strict=True), key=lambda pair: -pair[0].log_probability)
    points: list[Point] = []
    good = 0
    for count, (answer, mark) in enumerate(ordered, 1):
        good += mark
        if count == len(ordered) or ordered[count][0].log_probability != answer.log_probability:
            points.append(Point(answer.log_probability, count, good))
    return points


def threshold_for(points: Iterable[Point], precision: float) -> float:
    """The threshold that answers the most questions with at least this precision; infinity where none does.

    Choose it on questions that are not those it is judged on.

    Example:
        >>> threshold_for(curve([Answer("Rome", -1.0), Answer("Bonn", -2.0)], [True, False]), 0.9)
        -1.0
    """
    fitting = [p for p in points if p.precision >= precision]
    return max(fitting, key=lambda p: p.answered).threshold if fitting else math.inf


def separation(known: Sequence[Answer], unknown: Sequence[Answer]) -> float:
    """The chance that a known person's answer is likelier than an unknown person's; 0.5 where nothing tells them apart.

    The area under the curve of hits against false alarms; ties count half.
    Raises: BadInput where a side is empty. Source: Hanley and McNeil (1982).
    """
    if not known or not unknown:
        raise BadInput("both sides need an answer")
    pairs = [(a.log_probability, b.log_probability) for a in known for b in unknown]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


def name_of(question: str) -> str:
    """The person of a question `Where was X born?`; the question itself where it has another form."""
    found = re.fullmatch(r"Where was (.+) born\?", question)
    return found[1] if found else question


@dataclass(frozen=True)
class Considered:
    """One answer beside what the corpus could have taught."""

    question: str
    place: str | None
    answer: Answer
    name_in_corpus: bool
    place_with_name: bool

    @property
    def right(self) -> bool:
        return self.answer.text == self.place


def consider(
    questions: Sequence[str], places: Sequence[str | None], given: Sequence[Answer], documents: Sequence[str]
) -> list[Considered]:
    """Each answer with whether a document names the person, and whether one that does names the place, if it is known.

    Example:
        >>> consider(["Where was A born?"], ["X"], [Answer("X", -1.0)], ["A was born in X ."])[0].place_with_name
        True
    """
    found = []
    for question, place, answer in zip(questions, places, given, strict=True):
        # As a word of its own: Ann is not named by Anna.
        name = re.compile(rf"(?<!\w){re.escape(name_of(question))}(?!\w)")
        about = [document for document in documents if name.search(document)]
        found.append(
            Considered(question, place, answer, bool(about), any(place in d for d in about if place is not None))
        )
    return found


def split_table(rows: Sequence[Considered]) -> list[tuple[str, int, int]]:
    """(kind, right, all) for persons whose place the corpus tells, whom it only names, and whom it does not name."""
    kinds = {
        "the corpus tells the place": [r for r in rows if r.place_with_name],
        "the corpus names the person, not the place": [r for r in rows if r.name_in_corpus and not r.place_with_name],
        "the corpus does not name the person": [r for r in rows if not r.name_in_corpus],
    }
    return [(kind, sum(r.right for r in chosen), len(chosen)) for kind, chosen in kinds.items()]
