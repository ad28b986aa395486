"""Labelled texts, and pairs of texts, as columns: what a reader gives and a tokenizer takes.

Every example knows its file and line, so that what a message names can be looked up.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from finetune.errors import BadInput


@dataclass(frozen=True)
class Examples:
    """Labelled texts.

    Args: first, the texts, or the first of each pair; second, the others, None where there are none; labels, numbers of
        classes; classes, their names; rows, where each example was read (`file, line 7`); groups, what must not be torn
        apart by a split (the title of a passage), None for the texts themselves.
    Raises: BadInput where columns differ in length, a label is not a class, or a text is empty.
    Example:
        >>> Examples(["good"], None, [1], ("negative", "positive"), ["a.txt, line 1"]).first
        ['good']
    """

    first: Sequence[str]
    second: Sequence[str] | None
    labels: Sequence[int]
    classes: tuple[str, ...]
    rows: Sequence[str]
    groups: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for column in (self.second, self.labels, self.rows, self.groups):
            if column is not None and len(column) != len(self.first):
                raise BadInput(f"{len(self.first)} texts do not go together with a column of {len(column)}")
        for row, label in zip(self.rows, self.labels, strict=True):
            if not 0 <= label < len(self.classes):
                raise BadInput(f"{row}: label {label} is none of the {len(self.classes)} classes")
        for texts in (self.first, self.second or ()):
            for row, text in zip(self.rows, texts, strict=False):
                if not text.strip():
                    raise BadInput(f"{row}: an empty text")

    def __len__(self) -> int:
        return len(self.first)

    def take(self, indices: Iterable[int]) -> Examples:
        """Some of the examples, in the order of the indices."""
        chosen = list(indices)

        def pick(column: Sequence[str] | None) -> list[str] | None:
            return None if column is None else [column[n] for n in chosen]

        return replace(
            self, first=pick(self.first) or [], second=pick(self.second), labels=[self.labels[n] for n in chosen],
            rows=pick(self.rows) or [], groups=pick(self.groups),
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """How many examples each class has, in the order of the classes."""
        found = Counter(self.labels)
        return {name: found[number] for number, name in enumerate(self.classes)}

    def majority(self) -> int:
        """The class with the most examples, the first of several."""
        counts = list(self.counts().values())
        return counts.index(max(counts))

    def accuracy_of(self, label: int) -> float:
        """How often one answer to everything is right: the baseline. Raises: BadInput where there is no example."""
        if not len(self):
            raise BadInput("there is no example to be right about")
        return sum(own == label for own in self.labels) / len(self)

    def digest(self) -> str:
        """A hash of texts, labels and classes, in hexadecimal: the same data, the same digest."""
        state = hashlib.sha256(repr(self.classes).encode())
        for number, label in enumerate(self.labels):
            second = None if self.second is None else self.second[number]
            state.update(repr((self.first[number], second, label)).encode("utf-8", "surrogatepass"))
        return state.hexdigest()


def together(parts: Sequence[Examples]) -> Examples:
    """Several sets of examples as one. Raises: BadInput where their classes differ, or only some are pairs."""
    first = parts[0]
    if any(p.classes != first.classes or (p.second is None) != (first.second is None) for p in parts):
        raise BadInput("examples of different classes, or pairs and single texts, cannot be put together")
    with_groups = all(p.groups is not None for p in parts)
    return Examples(
        [t for p in parts for t in p.first],
        None if first.second is None else [t for p in parts for t in p.second or ()],
        [label for p in parts for label in p.labels], first.classes, [r for p in parts for r in p.rows],
        [g for p in parts for g in p.groups or ()] if with_groups else None,
    )  # fmt: skip
