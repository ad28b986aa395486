"""What `attention-core bench` tells while it measures: a line that changes in a terminal, lines now and then elsewhere.

It goes to standard error, so that a pipe gets the results alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from attention_core.terminal import make_console

if TYPE_CHECKING:
    from rich.console import Console

EVERY = 10.0
"""Seconds between two lines where nobody looks, as in the log of a CI run: enough to see that it lives, and at what."""


class Telling:
    """A context that gives a function to tell what is being measured.

    Args: quiet, tell nothing; console, standard error by default; clock, seconds.
    Example: with Telling(quiet=False) as told: told("cell 1 of 3").
    """

    def __init__(
        self, quiet: bool, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.quiet, self.clock = quiet, clock
        self.console = console or make_console(stderr=True)
        self.status = self.console.status("starting") if self.console.is_terminal and not quiet else None
        self.begun = clock()
        self.last = -EVERY

    def __enter__(self) -> Callable[[str], None]:
        self.begun = self.clock()
        if self.status is not None:
            self.status.start()
        return self.tell

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.status is not None:
            self.status.stop()

    def tell(self, text: str) -> None:
        """Show a text; off a terminal the first one, and then one in `EVERY` seconds, with the seconds that passed."""
        from rich.markup import escape

        passed = self.clock() - self.begun
        if self.status is not None:
            self.status.update(escape(text))
        elif not self.quiet and passed - self.last >= EVERY:
            self.last = passed
            self.console.print(escape(f"[{passed:.0f} s] {text}"), highlight=False, soft_wrap=True)
