"""Splits that a seed and the text decide, and the check that no text stands on two sides.

The side of an example depends on it alone: more examples, or another order, move none from one side to another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from finetune.data.examples import Examples
from finetune.errors import BadInput


@dataclass(frozen=True)
class Splits:
    """Train, dev and test; without labels for it, no test."""

    train: Examples
    dev: Examples
    test: Examples | None = None

    def by_name(self) -> dict[str, Examples]:
        """The sides that there are, by name."""
        return {"train": self.train, "dev": self.dev} | ({} if self.test is None else {"test": self.test})


def position(text: str, seed: int = 0) -> float:
    """Where a text falls on [0, 1): the first 53 bits of SHA-256 of the seed and the text.

    Example:
        >>> position("a", 0) == position("a", 0) != position("a", 1)
        True
    """
    word = int.from_bytes(hashlib.sha256(f"{seed}\0{text}".encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return (word >> 11) * 2.0**-53


def keys_of(examples: Examples) -> Sequence[str]:
    """What decides an example's side: its group where it has one, else its text (of a pair the second, the passage)."""
    if examples.groups is not None:
        return examples.groups
    return [normal(text) for text in (examples.second if examples.second is not None else examples.first)]


def split(examples: Examples, shares: Sequence[float], seed: int = 0) -> list[Examples]:
    """Examples in parts whose expected sizes are `shares` of the whole; what has one key stays together.

    Args: examples; shares, at least 0, with sum 1; seed. Returns: a part for each share, in the order of reading.
    Raises: BadInput where the shares do not sum to 1, or a part with a share is empty.

    Example:
        >>> words = Examples([f"text {n}" for n in range(50)], None, [0] * 50, ("a",), [*range(50)])
        >>> sum(len(part) for part in split(words, (0.8, 0.1, 0.1)))
        50
    """
    if any(share < 0 for share in shares) or abs(sum(shares) - 1) > 1e-9:
        raise BadInput(f"the shares of a split are at least 0 and sum to 1, got {', '.join(map(str, shares))}")
    ends = [sum(shares[: n + 1]) for n in range(len(shares) - 1)]
    sides = [sum(position(key, seed) >= end for end in ends) for key in keys_of(examples)]
    found = [examples.take(n for n, side in enumerate(sides) if side == number) for number in range(len(shares))]
    for share, part in zip(shares, found, strict=True):
        if share and not len(part):
            raise BadInput(
                f"no example of {len(examples)} falls into a part with a share of {share}: take another seed"
            )
    return found


def held_out(examples: Examples, count: int, seed: int = 0) -> tuple[Examples, Examples]:
    """The rest, and about `count` examples: those whose keys come first by `position`, keys never torn apart.

    The last key that is taken may bring more than `count`.

    Raises: BadInput where nothing would be left.
    """
    keys = keys_of(examples)
    order = sorted(set(keys), key=lambda key: (position(key, seed), key))
    size: dict[str, int] = {}
    for key in keys:
        size[key] = size.get(key, 0) + 1
    out: set[str] = set()
    total = 0
    for key in order:
        if total >= count:
            break
        out.add(key)
        total += size[key]
    if not 0 < total < len(examples):
        raise BadInput(f"{count} of {len(examples)} examples cannot be held out")
    return (
        examples.take(n for n, key in enumerate(keys) if key not in out),
        examples.take(n for n, key in enumerate(keys) if key in out),
    )


def normal(text: str) -> str:
    """A text without regard to case and white space, which is how two copies of it usually differ."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True)
class Leak:
    """One text on two sides: `first` and `second` are `side: file, line`."""

    text: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} = {self.second}: {self.text[:60]!r}"


def leaks(sides: Mapping[str, Examples]) -> list[Leak]:
    """The examples that stand on more than one side, as `normal` reads them; both texts of a pair must agree.

    Returns: a leak for every row of a later side whose text an earlier one has, naming the first such row.
    Two sides without a leak give [].
    """
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    found: list[Leak] = []
    for side, examples in sides.items():
        own: dict[tuple[str, str], tuple[str, str]] = {}
        for number, text in enumerate(examples.first):
            key = (normal(text), "" if examples.second is None else normal(examples.second[number]))
            if key in seen:
                there, row = seen[key]
                found.append(Leak(text, f"{there}: {row}", f"{side}: {examples.rows[number]}"))
            own.setdefault(key, (side, examples.rows[number]))
        for key, place in own.items():
            seen.setdefault(key, place)
    return found


def without_leaks(sides: Mapping[str, Examples]) -> dict[str, Examples]:
    """The sides without the examples of `train` that a later one has; the others stay as they are published."""
    later = {k: v for k, v in sides.items() if k != "train"}
    texts = {
        (normal(t), "" if e.second is None else normal(e.second[n]))
        for e in later.values() for n, t in enumerate(e.first)
    }  # fmt: skip
    train = sides["train"]
    kept = train.take(
        n for n, t in enumerate(train.first)
        if (normal(t), "" if train.second is None else normal(train.second[n])) not in texts
    )  # fmt: skip
    return {"train": kept, **later}
