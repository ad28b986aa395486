"""The text of an experiment: a file, real data, or the reference that every Python brings along."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from finetune.data.corpus import read_text
from finetune.data.running_text import split
from finetune.data.vocabulary import Ids, Vocabulary
from finetune.errors import BadInput
from finetune.training.digests import digest

SHORTEST = 5_000
"""Characters below which a held-out tenth says nothing."""
REAL = Path("tinyshakespeare", "input.txt")


@dataclass(frozen=True)
class Text:
    """A text as numbers.

    Args:
        name: for people.
        digest: of all its characters.
        train, held_out: ids of its beginning, and of its last tenth.
        tokens: how many ids there are.
    """

    name: str
    digest: str
    train: Ids
    held_out: Ids
    tokens: int


NO_TEXT = Text("made-up sequences", "", Vocabulary("").encode(""), Vocabulary("").encode(""), 0)
"""What an experiment on made-up sequences is given."""


def read_experiment_text(path: str | None) -> Text:
    """Return the text to train on.

    It is that of `path`; else tinyshakespeare of the folder that ATTENTION_CORE_DATA names, if it is there; else the
    pages of `help("topics")`, which every Python has.

    Raises:
        BadInput: if a file cannot be read, or the text is too short.
    """
    if path is not None:
        return as_text(read_text(path), Path(path).name)
    folder = os.environ.get("ATTENTION_CORE_DATA")
    if folder and Path(folder, REAL).is_file():
        return as_text(read_text(Path(folder, REAL)), "tinyshakespeare")
    return as_text(reference(), f"the reference of Python {platform.python_version()} (pydoc)")


def reference() -> str:
    """Return the pages on Python's grammar that `help()` shows: some 450,000 characters of English and code."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics))


def as_text(text: str, name: str) -> Text:
    """Return a text as numbers. Raises: BadInput if it is too short or holds reserved characters."""
    if len(text) < SHORTEST:
        raise BadInput(f"{name} has {len(text)} characters; an experiment needs at least {SHORTEST}")
    vocabulary = Vocabulary.from_text(text, name)
    train, held_out = split(vocabulary.encode(text), 0.1)
    return Text(name, digest(text), train, held_out, len(vocabulary))
