"""Classification by prompting: prompts out of examples, labels out of answers, accuracy with an interval."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from finetune.characters.evaluate import wilson
from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import Progress, Replies, ask
from finetune.prompting.request import Controls, Mode, Model, Request
from finetune.prompting.template import YES_NO, Order, Template, choose_demonstrations, parse_label

Scoring = Literal["answer", "likelihood"]


@dataclass(frozen=True)
class Setting:
    """One way to prompt.

    Args:
        shots: demonstrations.
        seed: of their draw.
        balanced: the same number from each class.
        order: of the demonstrations.
        scoring: "answer" reads the completion, "likelihood" takes the likeliest label word.
        mode: completion or chat.
    """

    shots: int = 8
    seed: int = 0
    balanced: bool = True
    order: Order = "interleaved"
    scoring: Scoring = "answer"
    mode: Mode = "completion"

    def describe(self) -> str:
        """Return the setting in a few words.

        >>> Setting(8).describe()
        '8 balanced interleaved demonstrations, seed 0, answers read'
        """
        how = "answers read" if self.scoring == "answer" else "the likeliest label word"
        if not self.shots:
            return f"no demonstration, {how}"
        balance = "balanced" if self.balanced else "unbalanced"
        return f"{self.shots} {balance} {self.order} demonstrations, seed {self.seed}, {how}"


@dataclass(frozen=True)
class Result:
    """What a setting reached.

    Args:
        setting: how it was prompted.
        labels: the true classes.
        predicted: the class of each answer, None where none could be read.
        answers: the words that were read; the likeliest label word where words were scored.
        counts: examples of each class, by name.
        majority: the share of the most frequent class among the evaluated examples.
        prompt_tokens, completion_tokens: of all requests, stored ones included.
    """

    setting: Setting
    labels: tuple[int, ...]
    predicted: tuple[int | None, ...]
    answers: tuple[str, ...]
    counts: dict[str, int]
    majority: float
    prompt_tokens: int
    completion_tokens: int

    @property
    def correct(self) -> int:
        """How many predictions are right; an unreadable answer is not."""
        return sum(p == label for p, label in zip(self.predicted, self.labels, strict=True))

    @property
    def unreadable(self) -> int:
        """How many answers name no class, or several."""
        return sum(p is None for p in self.predicted)

    @property
    def accuracy(self) -> float:
        """Right predictions over all examples."""
        return self.correct / len(self.labels)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy."""
        return wilson(self.correct, len(self.labels))

    def lines(self) -> Iterator[str]:
        """Lines for a person: accuracy, interval, baselines and what was unreadable."""
        low, high = self.interval
        count, chance = len(self.labels), 1 / len(self.counts)
        yield f"accuracy {self.accuracy:.3f} (95 % interval {low:.3f} to {high:.3f}; {self.correct} of {count})"
        yield f"majority class {self.majority:.3f}, chance {chance:.3f}: {compare(self.interval, self.majority)}"
        if self.unreadable:
            yield f"{self.unreadable} of {count} answers could not be read as a label; they count as wrong"

    def to_json(self) -> dict[str, Any]:
        """Return the result as a record."""
        return {
            "setting": asdict(self.setting), "accuracy": self.accuracy, "interval": list(self.interval),
            "correct": self.correct, "count": len(self.labels), "unreadable": self.unreadable,
            "majority": self.majority, "chance": 1 / len(self.counts), "counts": self.counts,
            "prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens,
            "labels": list(self.labels), "predicted": list(self.predicted), "answers": list(self.answers),
        }  # fmt: skip


def compare(interval: tuple[float, float], baseline: float) -> str:
    """Say where an interval lies beside a baseline.

    >>> compare((0.4, 0.7), 0.6)
    'the interval contains the majority class'
    """
    low, high = interval
    if low > baseline:
        return "above the majority class with the whole interval"
    if high < baseline:
        return "below the majority class with the whole interval"
    return "the interval contains the majority class"


def build_requests(
    model: Model, template: Template, examples: Examples, demonstrations: Examples, setting: Setting, controls: Controls
) -> list[Request]:
    """Return one request for each example.

    A completion ends at the end of its line where the caller names no other stop. Scored words stand after a space, as
    they do in the demonstrations.
    """
    scored = setting.scoring == "likelihood"
    if scored:
        # What is scored is not sampled: only the model and the prompt decide the cached answer.
        controls = Controls()
    elif not controls.stop and setting.mode == "completion":
        controls = replace(controls, stop=("\n",))
    space = " " if setting.mode == "completion" else ""
    choices = tuple(space + word for word in template.words) if scored else ()
    return [
        Request(model.identity, template.prompt(examples, n, demonstrations), controls, setting.mode, choices)
        for n in range(len(examples))
    ]


def evaluate(
    model: Model, template: Template, train: Examples, examples: Examples, setting: Setting, *,
    controls: Controls | None = None, store: AnswerStore | None = None, progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Prompt for the label of every example, and count.

    Args:
        model: who is prompted.
        template: how examples become text.
        train: where demonstrations come from.
        examples: what is judged.
        setting: shots, order, balance, scoring.
        controls: of sampling; by default greedy, 8 tokens.
        store: answers of earlier runs.
        progress: called with (answered, all).
    Raises:
        BadInput: if there are no examples, or a request was not answered.
    """
    if not len(examples):
        raise BadInput("there is no example to classify")
    demonstrations = choose_demonstrations(
        train, examples, setting.shots, seed=setting.seed, balanced=setting.balanced, order=setting.order
    )
    wanted = controls if controls is not None else Controls(max_tokens=8)
    requests = build_requests(model, template, examples, demonstrations, setting, wanted)
    replies = ask(model, requests, store, progress)
    predicted, answers = read_predictions(replies, template, setting)
    tokens = replies.tokens()
    return Result(
        setting, tuple(examples.labels), tuple(predicted), tuple(answers), examples.counts(),
        examples.accuracy_of(examples.majority()), *tokens,
    )  # fmt: skip


def read_predictions(
    replies: Replies, template: Template, setting: Setting
) -> tuple[list[int | None], list[str]]:  # fmt: skip
    """Return the class and the words of each answer. Raises: BadInput if one is missing."""
    synonyms = YES_NO if {word.casefold() for word in template.words} == {"true", "false"} else ()
    predicted: list[int | None] = []
    words: list[str] = []
    for answer in replies.complete():
        if setting.scoring == "likelihood":
            best = max(range(len(answer.scores)), key=lambda n: answer.scores[n])
            ties = [n for n, score in enumerate(answer.scores) if score == answer.scores[best]]
            predicted.append(best if len(ties) == 1 else None)
            words.append(template.words[best] if len(ties) == 1 else "")
        else:
            predicted.append(parse_label(answer.texts[0], template.words, synonyms))
            words.append(answer.texts[0])
    return predicted, words


def to_text(results: Sequence[Result]) -> str:
    """Return results as JSON, for a file."""
    return json.dumps([result.to_json() for result in results], indent=1) + "\n"
