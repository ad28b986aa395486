"""Reading a label out of a model's words: tolerant of form, strict about meaning. What is not clear is not guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence

NEGATION = re.compile(r"(?:\b(?:not|neither|never|no longer|cannot)|n['’]t)\s+(?:\w+\s+)?$", re.IGNORECASE)


def parse_label(answer: str, words: Sequence[str], synonyms: Sequence[tuple[str, int]] = ()) -> int | None:
    """Return the class whose word an answer says, None if it says none, several, or denies one.

    The first line with words counts. Case, quotes and punctuation do not; a word that contains another ("Health Care"
    and "Health") is read as the longer one.

    Args:
        answer: what the model said.
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
