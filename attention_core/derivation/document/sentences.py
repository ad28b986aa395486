"""Paragraphs cut into sentences, each with its prose and its formulas in turn."""

from __future__ import annotations

import re
from dataclasses import dataclass

from attention_core.derivation.document.blocks import Paragraph

_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!i\.i)(?<!i\.i\.d)(?<!cf)(?<!resp)(?!(?<=et al)\.\s+[^A-Z\s])[.;?!]+(?=[\s*_)\"']|$)"
)
_QUOTED = re.compile(r"[\"\u201c][^\"\u201c\u201d]*[\"\u201d]")


@dataclass(frozen=True)
class Sentence:
    """One sentence: `parts` are prose at even places and formulas at odd ones; `end` is the mark that closes it.

    `start` is its place in the text of its paragraph.
    """

    line: int
    parts: tuple[str, ...]
    end: str
    start: int = 0

    @property
    def text(self) -> str:
        """The sentence as written, on one line."""
        pieces = [part if place % 2 == 0 else f"${part}$" for place, part in enumerate(self.parts)]
        return " ".join("".join(pieces).split()) + self.end

    @property
    def prose(self) -> str:
        """Its words, with a blank dollar pair where a formula stands."""
        return " ".join("$$".join(self.parts[::2]).split())

    @property
    def formulas(self) -> tuple[str, ...]:
        """Its formulas."""
        return self.parts[1::2]


def sentences_of(paragraph: Paragraph) -> list[Sentence]:
    r"""The sentences of a paragraph; words in quotation marks are left out, as they are somebody else's.

    Example:
        >>> [one.text for one in sentences_of(Paragraph(1, "Let $x > 0$. For $x = 1$:"))]
        ['Let $x > 0$.', 'For $x = 1$:']
    """
    text = _QUOTED.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), paragraph.text)
    out: list[Sentence] = []
    parts: list[str] = []
    begin = where = 0
    for place, part in enumerate(re.split(r"(?<!\\)\$", text)):
        if place % 2:
            parts.append(part)
        else:
            at = 0
            for end in _END.finditer(part):
                parts.append(part[at : end.start()])
                _add(out, paragraph, begin, parts, end.group())
                parts, at = [], end.end()
                begin = where + at
            parts.append(part[at:])
        where += len(part) + 1
    _add(out, paragraph, begin, parts, "")
    return out


def _add(out: list[Sentence], paragraph: Paragraph, begin: int, parts: list[str], end: str) -> None:
    if any(part.strip(" \t\n>*_-") for part in parts):
        blank = len(parts[0]) - len(parts[0].lstrip()) if parts else 0
        line = paragraph.line + paragraph.text.count("\n", 0, begin + blank)
        out.append(Sentence(line, tuple(parts), end, begin))
