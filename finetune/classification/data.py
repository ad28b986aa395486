"""The data of a classification run: read, cut to size on request, checked for leaks, its test set sealed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import shorten

from finetune.data.examples import Examples
from finetune.data.hub import from_hub, table_from_hub
from finetune.data.labelled import TASKS, read_splits
from finetune.data.splits import Leak, Splits, leaks, position, without_leaks
from finetune.data.tables import Columns, read_table_splits
from finetune.errors import BadInput

SMALL = 10
"""Examples of each side of `--small_subset`, as the assignment takes them."""
SHOWN = 200
"""Characters of each text of the example that a run shows."""
LISTED = 5
"""Texts on two sides that a run lists; `result.json` has all of them."""


@dataclass(frozen=True)
class Sides:
    """Train and dev to be seen, test to be sealed, and what leaks between them."""

    train: Examples
    dev: Examples
    test: Examples | None
    leaks: list[Leak]

    def by_name(self) -> dict[str, Examples]:
        """All sides by name."""
        return Splits(self.train, self.dev, self.test).by_name()

    def train_and_dev(self) -> dict[str, Examples]:
        """Train and dev."""
        return {"train": self.train, "dev": self.dev}

    def check_trainable(self) -> None:
        """Raises: BadInput where the training examples have one class alone."""
        present = [name for name, count in self.train.counts().items() if count]
        if len(present) < 2:
            raise BadInput(
                f"all {len(self.train)} training examples are of one class, {present[0]!r}: nothing to learn"
            )

    def baselines(self) -> dict[str, float]:
        """The accuracy on each side of the class that is the most frequent in train."""
        return {side: examples.accuracy_of(self.train.majority()) for side, examples in self.by_name().items()}

    def report(self) -> Iterator[str]:
        """Lines that say what there is, before anything is trained."""
        for side, examples in self.by_name().items():
            counts = ", ".join(f"{count} {name}" for name, count in examples.counts().items())
            shared = files_of(examples) & files_of(self.train) if side != "train" else set()
            source = f", held out of {', '.join(sorted(shared))}" if shared else ""
            yield f"{side}: {len(examples)} examples ({counts}){source}"
        answer = self.train.classes[self.train.majority()]
        message = ", ".join(f"{side} {100 * share:.1f} %" for side, share in self.baselines().items())
        yield f"majority baseline, {answer!r} for all: {message}"
        texts = [column[0] for column in (self.train.first, self.train.second) if column is not None]
        shown = " | ".join(repr(shorten(text, SHOWN, placeholder=" ...")) for text in texts)
        yield f"the first of train: {shown} -> {self.train.classes[self.train.labels[0]]}"
        for leak in self.leaks[:LISTED]:
            yield f"on two sides: {leak}"
        if len(self.leaks) > LISTED:
            yield f"on two sides: {len(self.leaks) - LISTED} more; --drop_leaks trains without those of train"


def files_of(examples: Examples) -> set[str]:
    """The files that examples were read from.

    Example:
        >>> files_of(Examples(["fine"], None, [0], ("a",), ["data/train.tsv, line 2"]))
        {'data/train.tsv'}
    """
    return {row.rpartition(", ")[0] for row in examples.rows} - {""}


def prepare_data(
    data: str, task: str | None = None, seed: int = 0, small_subset: bool = False, train_size: int | None = None,
    drop_leaks: bool = False, *, columns: Columns | None = None, dev_data: str | None = None,
    test_data: str | None = None, dev_size: int | None = None, test_size: int | None = None,
) -> Sides:  # fmt: skip
    """Read a data set, and cut it down.

    Args: data, a folder, a file, or `hub:NAME`, NAME a task or a name on the hub; task, a key of TASKS; seed, of splits
        and subsets; small_subset, 10 examples a side, all classes in turn; train_size, so many training examples, drawn
        by hash; drop_leaks, without the training examples that stand on another side; columns, of a table that data is;
        dev_data, test_data, tables that take the place of its; dev_size, test_size, at most so many of those, by hash.
    Raises: BadInput for whatever is wrong.
    """
    if columns is not None and data.startswith("hub:"):
        splits = table_from_hub(data.removeprefix("hub:"), columns, seed)
    elif columns is not None:
        splits = read_table_splits(data, columns, seed, dev_data, test_data)
    elif data.startswith("hub:"):
        name = data.removeprefix("hub:")
        known = task or name
        splits = from_hub(known, seed, None if name in TASKS else name)
    else:
        splits = read_splits(data, task, seed)
    sides = splits.by_name()
    found = leaks(sides)
    if drop_leaks:
        sides = without_leaks(sides)
    if small_subset:
        sides = {side: few(examples, SMALL, seed) for side, examples in sides.items()}
    if train_size is not None:
        if not 1 <= train_size <= len(sides["train"]):
            raise BadInput(f"{train_size} of {len(sides['train'])} training examples cannot be had")
        sides["train"] = draw_examples(sides["train"], train_size, seed)
    for side, most in (("dev", dev_size), ("test", test_size)):
        if side in sides and most is not None:
            sides[side] = draw_examples(sides[side], min(most, len(sides[side])), seed)
    return Sides(sides["train"], sides["dev"], sides.get("test"), found)


def draw_examples(examples: Examples, count: int, seed: int) -> Examples:
    """So many examples, by the hash of seed and text; a larger count has those of a smaller one."""
    order = sorted(range(len(examples)), key=lambda n: (position(_text(examples, n), seed), n))
    return examples.take(order[:count])


def few(examples: Examples, count: int, seed: int) -> Examples:
    """So many examples, the classes taking turns, each by hash."""
    order = draw_examples(examples, len(examples), seed)
    by_class = {label: [n for n, own in enumerate(order.labels) if own == label] for label in sorted(set(order.labels))}
    turns = [n for turn in range(len(order)) for rows in by_class.values() for n in rows[turn : turn + 1]]
    return order.take(turns[:count])


def _text(examples: Examples, number: int) -> str:
    second = "" if examples.second is None else examples.second[number]
    return f"{examples.first[number]}\0{second}"
