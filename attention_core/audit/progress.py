"""What an audit says while it runs: how many faults, about how long they take, and how far it is.

On a terminal that is a bar, elsewhere a line now and then, always on standard error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from attention_core.terminal import make_console

FIRST = 4
"""Faults after which the time of the others is estimated."""
LINES = 8
"""Lines of progress, where no terminal shows a bar."""
MINUTE = 60.0


def describe_rest(done: int, whole: int, seconds: float) -> str:
    """About how long the rest takes, from what is done; "" before there is enough.

    >>> describe_rest(4, 40, 20.0), describe_rest(10, 40, 20.0), describe_rest(2, 40, 20.0)
    ('about 3 minutes left', 'about 60 seconds left', '')
    """
    if done < min(FIRST, whole) or done >= whole:
        return ""
    left = seconds / done * (whole - done)
    return f"about {left:.0f} seconds left" if left < 2 * MINUTE else f"about {left / MINUTE:.0f} minutes left"


class Pace:
    """The time that each stage of an audit takes.

    Args: clock, gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.start, self.stage = clock, clock(), (0, 0)

    def describe(self, done: int, whole: int) -> str:
        """About how long the rest of a stage takes; a stage begins where less is done than before."""
        if whole != self.stage[1] or done < self.stage[0] or not done:
            self.start = self.clock()
        self.stage = (done, whole)
        return describe_rest(done, whole, self.clock() - self.start)


class Lines:
    """Progress as lines: every stage, and how far a long one is.

    Args: write, takes a line; clock, gives seconds.
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.write, self.pace, self.last = write, Pace(clock), 0

    def tell(self, what: str, done: int, whole: int) -> None:
        """Write what is done now, where it is new or far enough from what was written last."""
        left = self.pace.describe(done, whole)
        if not done:
            self.last = 0
            self.write(what)
        elif left and (not self.last or (done - self.last) * LINES >= whole):
            self.last = done
            self.write(f"{what}: {done} of {whole}, {left}")


class Progress:
    """Progress on standard error: a bar on a terminal, else lines; nothing where it is to be quiet.

    Args: target, of the audit; quiet, say nothing.
    """

    def __init__(self, target: str, quiet: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self.console = make_console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.shows = self.console.is_terminal and not quiet
        self.bar = Progress(*columns, console=self.console, transient=True, disable=not self.shows)
        self.target, self.quiet = target, quiet

    def __enter__(self) -> Callable[[str, int, int], None]:
        from rich.markup import escape

        if not self.shows:
            return Lines(self.print_line if not self.quiet else lambda _: None).tell
        self.bar.start()
        task, pace = self.bar.add_task(escape(self.target), total=None), Pace()

        def tell(what: str, done: int, whole: int) -> None:
            left = pace.describe(done, whole)
            if whole and not done:
                self.print_line(what)
            description = escape(f"{what}, {left}" if left else what)
            self.bar.update(task, description=description, completed=done, total=whole or None)

        return tell

    def __exit__(self, *_: Any) -> None:
        self.bar.stop()

    def print_line(self, line: str) -> None:
        """Print one line that stays."""
        self.console.print(f"{self.target}: {line}", highlight=False, markup=False, soft_wrap=True)
