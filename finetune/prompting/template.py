"""Prompts for classification: an instruction, demonstrations, and the example whose label is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from finetune.data.examples import Examples
from finetune.errors import BadInput

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
