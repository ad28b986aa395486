r"""Where a step stands in its text.

A step knows its line. An editor marks it from its first to its last character, so the relation is looked for there as
it was written, with `&` and breaks between its parts; where it stands otherwise, its line is marked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from attention_core.derivation.records import StepReport

NEAR = 12  # lines in front of a step's own and after it that may belong to its relation
LONGEST = 2_000  # characters of a relation that is looked for


@dataclass(frozen=True)
class Span:
    """A piece of a text: lines from 0 on, characters within them, the end not included."""

    line: int
    start: int
    last: int
    end: int

    def holds(self, line: int) -> bool:
        """Whether a line, from 0 on, is one of its lines."""
        return self.line <= line <= self.last


def span_of(step: StepReport, lines: list[str]) -> Span:
    r"""Where the relation of a step stands.

    Args:
        step: The step, as it was reported.
        lines: The lines of its document.

    Returns:
        From its first to its last character, else its line without the space around it.

    Example:
        >>> from attention_core.derivation import check_document
        >>> text = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 $$\n"
        >>> span_of(check_document(text).steps[0], text.splitlines())
        Span(line=2, start=3, last=2, end=28)
    """
    at = min(max(step.line - 1, 0), max(len(lines) - 1, 0))
    first = max(0, at - NEAR)
    window = "\n".join(lines[first : at + NEAR + 1])
    text = step.text.rsplit(r"\implies ", 1)[-1]
    if text and len(text) <= LONGEST:
        for found in re.finditer(_as_written(text), window):
            start, end = (_place(window, k) for k in found.span())
            span = Span(first + start[0], start[1], first + end[0], end[1])
            if span.holds(at):
                return span
    line = lines[at] if lines else ""
    return Span(at, len(line) - len(line.lstrip()), at, len(line.rstrip()))


def _as_written(text: str) -> str:
    """A pattern of a relation with any space, breaks of rows and marks of alignment between its words."""
    return r"(?:\s|&|\\\\)*".join(re.escape(word) for word in text.split())


def _place(text: str, offset: int) -> tuple[int, int]:
    """Line and character of an offset."""
    before = text[:offset]
    return before.count("\n"), offset - (before.rfind("\n") + 1)


__all__ = ["Span", "span_of"]
