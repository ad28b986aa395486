r"""Names of sizes that no document gives: those of the rows and columns of what is undeclared.

Readings show them, so they are letters that a person would choose, and then letters with a number, `n_1`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from itertools import count

FRESH = ("n", "d", "m", "p", "q", "r", "h", "l")
"""The usual letters, the most usual first."""
_MORE = ("k", "s", "N", "M", "D", "K", "H", "L")
_NUMBERED = ("n", "d", "m", "p", "q", "k")


def free_name(taken: Container[str], may_number: Callable[[str], bool] = lambda _: True) -> str:
    r"""Return a name for a size that a document does not use.

    Args:
        taken: The names in its formulas.
        may_number: Whether a letter with a number is a name of its own, and not an entry of what the letter stands for.

    Example:
        >>> free_name("nd"), free_name([*FRESH, *_MORE]), free_name([*FRESH, *_MORE, "n_{1}"], "dm".__contains__)
        ('m', 'n_{1}', 'd_{1}')
    """
    for letter in (*FRESH, *_MORE):
        if letter not in taken:
            return letter
    letters = [letter for letter in _NUMBERED if may_number(letter)] or [r"\nu"]
    return next(name for number in count(1) for letter in letters if (name := f"{letter}_{{{number}}}") not in taken)


__all__ = ["FRESH", "free_name"]
