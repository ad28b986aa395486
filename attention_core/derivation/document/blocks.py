"""Blocks of a document, the options of displays, and the sentences of paragraphs.

What a document is made of: headings, paragraphs, displays, and the options that stand above a display as comments.
`source` cuts a document into them; a comment that only looks like an option is recognised here.

Paragraphs are cut into sentences, each with its prose and its formulas in turn.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

OPTIONS = ("within", "as", "expect", "check", "assume", "margin")
_OPTION = re.compile(rf"^\s*(?:<!--\s*)?%\s*({'|'.join(OPTIONS)})\s*:\s*(.*?)\s*(?:-->)?\s*$")
_LIKE_OPTION = re.compile(r"^\s*(?:<!--\s*)?%\s*([A-Za-z]+)\s*:")
_HEADING = re.compile(r"^(#{1,6})\s+(.*)$")
_SECTION = re.compile(r"^\s*\\(title|part|chapter|section|subsection|subsubsection|paragraph)\*?\s*\{")
_LEVELS = {"title": 0, "part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
FRAMES = (
    "align",
    "aligned",
    "gather",
    "gathered",
    "equation",
    "alignat",
    "multline",
    "split",
    "eqnarray",
    "displaymath",
    "flalign",
    "math",
)


@dataclass(frozen=True)
class Option:
    """A `%` comment above a step."""

    key: str
    value: str
    line: int


@dataclass(frozen=True)
class Heading:
    """A heading and its level."""

    line: int
    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Prose with inline formulas."""

    line: int
    text: str


_LABELLED = re.compile(
    r"^\s*>[\s>]*(?:\[!|\*\*|__|#|\\textbf|[*_]?(?:theorems?|lemmas?|propositions?|corollar(?:y|ies)|definitions?|"
    r"assumptions?|claims?|notes?|remarks?|examples?|exercises?|proof|questions?|problems?|set-?up|setting|notation|"
    r"hints?|tips?|recall|warning|important)\b)",
    re.IGNORECASE,
)


def is_quotation(paragraph: Paragraph) -> bool:
    """Whether a paragraph is a block quotation of Markdown, and not one of its boxes with a label.

    Example:
        >>> [is_quotation(Paragraph(1, text)) for text in ("> Let $x > 0$.", "> **Lemma.** Let $x > 0$.", "Let")]
        [True, False, False]
    """
    lines = [line for line in paragraph.text.split("\n") if line.strip()]
    return bool(lines) and lines[0].lstrip().startswith(">") and not _LABELLED.match(lines[0])


@dataclass(frozen=True)
class Display:
    """One display: its content without the outer frame, the line its content starts on, the options above it."""

    line: int
    text: str
    options: tuple[Option, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Code:
    """Code, as it is not mathematics, goes unchecked, but its words may say what holds."""

    line: int
    text: str


Block = Heading | Paragraph | Display | Code


def option_on(text: str, line: int) -> Option | None:
    """The option that a line is, None of any other line."""
    found = _OPTION.match(text) if "%" in text else None
    return Option(found.group(1), found.group(2), line) if found else None


def heading_on(text: str, line: int) -> Heading | None:
    """The heading that a line is, of Markdown or of TeX, None of any other line."""
    heading = _HEADING.match(text) if text[:1] == "#" else None
    section = _SECTION.match(text) if "\\" in text else None
    if heading:
        level = len(heading.group(1))
    elif section:
        level = _LEVELS[section.group(1)]
    else:
        return None
    return Heading(line, level, text.strip("# \t"))


def misspelt(text: str) -> str:
    """What is wrong with a comment that looks like an option and is none, '' of any other line."""
    found = _LIKE_OPTION.match(text) if "%" in text else None
    if not found or found.group(1) in OPTIONS:
        return ""
    near = difflib.get_close_matches(found.group(1).lower(), OPTIONS, 1, 0.75)
    meant = near[0] if near and (len(near[0]) > 2 or found.group(1).lower() == near[0]) else ""
    return f"'% {found.group(1)}:' is not an option: did you mean '% {meant}:'?" if meant else ""


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

    @cached_property
    def text(self) -> str:
        """The sentence as written, on one line."""
        pieces = [part if place % 2 == 0 else f"${part}$" for place, part in enumerate(self.parts)]
        return " ".join("".join(pieces).split()) + self.end

    @cached_property
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
    return list(_sentences(paragraph.line, paragraph.text))


_LAYOUT = re.compile(
    r"</?(?:a|b|big|blockquote|br|center|details|div|em|figcaption|figure|font|h[1-6]|header|hr|i|img|li|ol|p|picture|"
    r"section|small|source|span|strong|summary|u|ul)(?:\s+[\w:-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>]*))?)*\s*/?>",
    re.IGNORECASE,
)
"""Tags of HTML that place and dress words, and pictures with their texts; those of tables and of code are none."""

_CONTENTS = re.compile(r"^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?\[[^\[\]\n]*\]\(#[^()\s]*\)[ \t]*$", re.MULTILINE)
"""A line of a table of contents: a link to a place in the document, and nothing else."""

KEPT_PARAGRAPHS, KEPT_SENTENCES = 1024, 2048
"""Of how many paragraphs and sentences is kept what their words say: several readers look at each, and an editor reads
a document anew whenever a line of it changes. Forty documents of a hundred lines have as many."""


@lru_cache(maxsize=KEPT_PARAGRAPHS)
def _sentences(line: int, written: str) -> tuple[Sentence, ...]:
    paragraph = Paragraph(line, written)
    text = _QUOTED.sub(_blank, paragraph.text)
    out: list[Sentence] = []
    parts: list[str] = []
    begin = where = 0
    for place, part in enumerate(re.split(r"(?<!\\)\$", text)):
        if place % 2:
            parts.append(part)
        else:
            part = _LAYOUT.sub(_blank, part) if "<" in part else part
            part = _CONTENTS.sub(_blank, part) if "](#" in part else part
            at = 0
            for end in _END.finditer(part):
                parts.append(part[at : end.start()])
                _add(out, paragraph, begin, parts, end.group())
                parts, at = [], end.end()
                begin = where + at
            parts.append(part[at:])
        where += len(part) + 1
    _add(out, paragraph, begin, parts, "")
    return tuple(out)


def _blank(found: re.Match[str]) -> str:
    """As many blanks, on as many lines."""
    return re.sub(r"[^\n]", " ", found.group())


def _add(out: list[Sentence], paragraph: Paragraph, begin: int, parts: list[str], end: str) -> None:
    if any(part.strip(" \t\n>*_-") for part in parts):
        blank = len(parts[0]) - len(parts[0].lstrip()) if parts else 0
        line = paragraph.line + paragraph.text.count("\n", 0, begin + blank)
        out.append(Sentence(line, tuple(parts), end, begin))
