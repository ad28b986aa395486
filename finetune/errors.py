"""The one exception for what a user can mend: a file, an option, a size.

The command line prints its text as one line; nothing else is caught there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class BadInput(ValueError):
    """What was given cannot be used; the text says what it is and how to mend it, in one line."""


class UnknownCharacter(BadInput):
    """A text has a character that the vocabulary has not."""


@contextmanager
def prefix_errors(what: str | Path) -> Iterator[None]:
    """Within, errors name a file or an example. Raises: its BadInput, after that name."""
    try:
        yield
    except BadInput as error:
        raise type(error)(f"{what}: {error}") from None


def count_columns(count: int) -> str:
    """The number of columns of a row, in words.

    >>> count_columns(1), count_columns(3)
    ('1 column', '3 columns')
    """
    return "1 column" if count == 1 else f"{count} columns"
