"""Prompts for classification, and labels read from the answers.

A prompt is an instruction, demonstrations, and the example whose label is wanted. Demonstrations are drawn with a
seed, balanced or not, in an order that can be varied.

Reading a label out of a model's words is tolerant of form and strict about meaning. What is not clear is not guessed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from finetune.classification.data import draw_examples
from finetune.data.examples import Examples
from finetune.data.splits import normal
from finetune.errors import BadInput

Order = Literal["interleaved", "blocked", "reversed", "shuffled"]
ORDERS: tuple[Order, ...] = get_args(Order)


def choose_demonstrations(
    train: Examples,
    evaluated: Examples,
    count: int,
    *,
    seed: int = 0,
    balanced: bool = True,
    order: Order = "interleaved",
) -> Examples:
    """Draw demonstrations from the training examples, never one whose text is evaluated.

    Balanced, each class gives count / C of them, the first classes one more where that is not whole; otherwise they
    come as drawn. The draws of a larger count contain those of a smaller one.

    Args:
        train: where they come from.
        evaluated: the examples that are going to be judged.
        count: how many; 0 is zero-shot.
        seed: of the draw and of a shuffled order.
        balanced: the same number from each class.
        order: "interleaved" (the classes take turns), "blocked" (class after class), "reversed" (of interleaved),
            "shuffled".
    Raises:
        BadInput: if a class has too few examples.
    Source: few-shot prompts are biased towards frequent and recent labels: Zhao et al. (2021), "Calibrate before use".
    """
    taken = {key for column in (evaluated.first, evaluated.second or ()) for key in map(normal, column)}
    free = [
        n for n in range(len(train))
        if normal(train.first[n]) not in taken and (train.second is None or normal(train.second[n]) not in taken)
    ]  # fmt: skip
    pool = draw_examples(train.take(free), len(free), seed)
    if not balanced:
        chosen = list(range(min(count, len(pool))))
    else:
        classes = len(train.classes)
        chosen = []
        for label in range(classes):
            share = count // classes + (label < count % classes)
            own = [n for n, other in enumerate(pool.labels) if other == label][:share]
            if len(own) < share:
                raise BadInput(
                    f"{share} demonstrations of {train.classes[label]!r} are wanted, and train has {len(own)} "
                    "whose text is not evaluated"
                )
            chosen += own
    if len(chosen) < count:
        raise BadInput(f"{count} demonstrations of {len(pool)} training examples cannot be had")
    return pool.take(_order(chosen, [pool.labels[n] for n in chosen], order, seed))


def _order(chosen: list[int], labels: list[int], order: Order, seed: int) -> list[int]:
    by_class: dict[int, list[int]] = {}
    for number, label in zip(chosen, labels, strict=True):
        by_class.setdefault(label, []).append(number)
    groups = [by_class[label] for label in sorted(by_class)]
    if order == "blocked":
        return [number for group in groups for number in group]
    if order == "shuffled":
        return random.Random(seed).sample(chosen, len(chosen))
    turns = max(map(len, groups), default=0)
    interleaved = [group[turn] for turn in range(turns) for group in groups if turn < len(group)]
    return interleaved[::-1] if order == "reversed" else interleaved


FIELD = re.compile(r"\{(first|second|label)\}")


@dataclass(frozen=True)
class Template:
    """How an example becomes text.

    Args:
        instruction: what stands above everything; may be empty.
        example: with {first}, {second} (of pairs) and, at its end, {label}.
        words: the word of each class, in the order of the classes.
        separator: between demonstrations.
    Raises:
        BadInput: if {label} does not stand at the end of `example`, once, or two words are equal or empty.

    >>> Template("", "Text: {first}\\nMood: {label}", ("bad", "good")).render("so so", None)
    'Text: so so\\nMood:'
    """

    instruction: str
    example: str
    words: tuple[str, ...]
    separator: str = "\n\n"

    def __post_init__(self) -> None:
        if not self.example.rstrip().endswith("{label}") or self.example.count("{label}") != 1:
            raise BadInput("a template has {label} once, at its end: 'Text: {first} Label: {label}'")
        if "{first}" not in self.example:
            raise BadInput("a template has {first}, where the text goes: 'Text: {first} Label: {label}'")
        plain = [word.strip().casefold() for word in self.words]
        if not all(plain):
            raise BadInput("a label word is empty")
        if len(set(plain)) != len(plain):
            twice = next(word for word in self.words if plain.count(word.strip().casefold()) > 1)
            raise BadInput(f"two classes have the label word {twice!r}")

    def render(self, first: str, second: str | None, word: str | None = None) -> str:
        """Return one example as text; without a word it ends where the label is to come."""
        values = {"first": first, "second": second or "", "label": word or ""}
        # One pass over the template: braces inside a text stay what they are.
        return FIELD.sub(lambda field: values[field[1]], self.example.rstrip()).rstrip()

    def prompt(self, examples: Examples, number: int, demonstrations: Examples) -> str:
        """Return the prompt for one example behind its demonstrations."""
        parts = [self.instruction] if self.instruction else []
        for n, label in enumerate(demonstrations.labels):
            parts.append(self.render(*texts(demonstrations, n), self.words[label]))
        parts.append(self.render(*texts(examples, number)))
        return self.separator.join(parts)


def texts(examples: Examples, number: int) -> tuple[str, str | None]:
    """Return the text, or the pair of texts, of one example."""
    return examples.first[number], None if examples.second is None else examples.second[number]


TEMPLATES: Mapping[str, Template] = {
    "boolq": Template(
        "Read the passage and answer the question with True or False.",
        "Passage: {second}\nQuestion: {first}?\nAnswer: {label}",
        ("False", "True"),
    ),
    "sst2": Template(
        "Decide whether the sentence from a film review is positive or negative.",
        "Sentence: {first}\nSentiment: {label}",
        ("negative", "positive"),
    ),
    "yelp": Template(
        "Give the number of stars, 1 to 5, that goes with the review.",
        "Review: {first}\nStars: {label}",
        ("1", "2", "3", "4", "5"),
    ),
}
"""By task; the words are in the order of its classes."""


def template_of(task: str, examples: Examples, words: Sequence[str] = (), instruction: str | None = None) -> Template:
    """Return the template of a task, with other words or another instruction if they are given.

    Raises:
        BadInput: if the number of words is not that of the classes.
    """
    base = TEMPLATES[task]
    if words:
        if len(words) != len(examples.classes):
            raise BadInput(
                f"{len(words)} label words for {len(examples.classes)} classes ({', '.join(examples.classes)})"
            )
        base = replace(base, words=tuple(words))
    return base if instruction is None else replace(base, instruction=instruction)


def cut_words(examples: Examples, longest: int | None) -> Examples:
    """Return the examples with each text cut to so many words."""
    if longest is None:
        return examples

    def cut(column: Sequence[str]) -> list[str]:
        return [" ".join(words[:longest]) if len(words := text.split()) > longest else text for text in column]

    return replace(
        examples, first=cut(examples.first), second=None if examples.second is None else cut(examples.second)
    )


NEGATION = re.compile(r"(?:\b(?:not|neither|never|no longer|cannot)|n['’]t)\s+(?:\w+\s+)?$", re.IGNORECASE)


def parse_label(answer: str, words: Sequence[str], synonyms: Sequence[tuple[str, int]] = ()) -> int | None:
    """Return the class whose word an answer says, None if it says none, several, or denies one.

    The first line with words counts. Case, quotes and punctuation do not; a word that contains another ("Health Care"
    and "Health") is read as the longer one.

    Args:
        answer: the text of the model.
        words: of the classes, in their order.
        synonyms: further words with their classes ("yes", 1).

    >>> parse_label(' "True."', ("False", "True"))
    1
    >>> parse_label("not true", ("False", "True")) is None
    True
    """
    line = next((line for line in answer.splitlines() if re.search(r"\w", line)), "")
    named = sorted([*((word, n) for n, word in enumerate(words)), *synonyms], key=lambda pair: -len(pair[0]))
    classes: set[int] = set()
    for word, label in named:
        pattern = re.compile(rf"(?<!\w){re.escape(word.strip())}(?!\w)", re.IGNORECASE)
        for match in pattern.finditer(line):
            if NEGATION.search(line[: match.start()]):
                return None
            classes.add(label)
        line = pattern.sub(lambda match: "\0" * len(match[0]), line)  # a shorter word is not read inside it
    return classes.pop() if len(classes) == 1 else None


YES_NO = (("no", 0), ("yes", 1))
"""Synonyms of False and True."""
