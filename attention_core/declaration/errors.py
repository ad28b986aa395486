"""Why a target cannot be tested as given, in one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_core.declaration.plain_text import plain


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
