"""Numbers and words in what people write: on the command line of `bench`, in shapes, in saved results."""

from __future__ import annotations

DIGITS = 15


def parse_whole_number(text: str) -> int | None:
    """A number of at most `DIGITS` decimal digits; None for other texts.

    Example: parse_whole_number("12") is 12, parse_whole_number("-1") is None.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else None


def shorten(text: str) -> str:
    """A text that fits a line. Example: shorten("n=1") is "n=1"."""
    return text if len(text) <= 80 else f"{text[:80]}..."
