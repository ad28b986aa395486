"""Why a target cannot be tested as given, in one line each, and words of a target as they can be shown.

Nothing that is shown moves a cursor, colours a terminal or breaks an encoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters save tab and line feed, marks that turn the direction of text, and lone surrogates."""
PASSWORD = re.compile(r"(?<=://)([^\s/@:]*):[^\s/@]+(?=@)")
"""In an address: the user and the password, up to the host."""


def plain(text: str) -> str:
    r"""The text as it may be shown: without passwords of addresses, and with escapes for what moves a cursor.

    Example:
        >>> plain("\x1b[31mred\ud800")
        '\\x1b[31mred\\ud800'
        >>> plain("no answer from postgresql://me:secret@host/db")
        'no answer from postgresql://me:***@host/db'
    """
    text = PASSWORD.sub(r"\1:***", text)
    return UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class TargetError(Exception):
    """The target cannot be tested as given: one line that says what is wrong and how to mend it."""


class OtherForm(TargetError):
    """The target is not called as its contract has it, but perhaps as another one has it.

    Args:
        message: one line, as of any `TargetError`.
        changes: fields of the record under which it may be judged.
    """

    def __init__(self, message: str, changes: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.changes = changes


def summarize_error(error: BaseException) -> str:
    """An exception in one line: its class and the first line of its message."""
    lines = str(error).strip().splitlines()
    return plain(f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__)


class Unavailable(Exception):
    """A known target that cannot run on this machine; the text says why."""
