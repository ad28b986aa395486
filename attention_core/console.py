"""The console of a command, and a progress bar on it.

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPED = 200
"""Columns of output that is not a terminal: tables are then not folded."""


def escape_unencodable() -> None:
    """Let standard output write a character that its encoding lacks as an escape (`\\u2047`), as standard error does.

    A pipe on Windows and the locale C have small encodings, and a name or a result would end the command.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def make_console(stderr: bool = False) -> Console:
    """A console of the terminal's width; of `PIPED` columns where there is none."""
    from rich.console import Console

    console = Console(stderr=stderr, emoji=False)
    return console if console.is_terminal else Console(stderr=stderr, emoji=False, width=max(console.width, PIPED))


class Bar:
    """A progress bar on standard error for work that is counted, when somebody looks."""

    def __init__(self, target: str, quiet: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = make_console(stderr=True)
        self.bar = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
        self.target = target

    def __enter__(self) -> Any:
        from rich.markup import escape

        self.bar.start()
        task = self.bar.add_task(escape(self.target), total=None)

        def tell(what: str, done: int, whole: int) -> None:
            self.bar.update(task, description=escape(what), completed=done, total=whole or None)

        return tell

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
