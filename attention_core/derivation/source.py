# Where things stand in a document: headings, paragraphs with inline formulas, displays and the options above them.
# Markdown and TeX alike; only lines are looked at here, no formula is read.
"""Documents cut into blocks with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_CHARACTERS = 2_000_000
OPTIONS = ("within", "as", "expect", "check", "assume", "margin")
_OPTION = re.compile(rf"^\s*(?:<!--\s*)?%\s*({'|'.join(OPTIONS)})\s*:\s*(.*?)\s*(?:-->)?\s*$")
_HEADING = re.compile(r"^(#{1,6})\s+(.*)$")
_SECTION = re.compile(r"^\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?\s*\{")
_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
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
_BEGIN = re.compile(r"\\begin\{([a-zA-Z]+)(\*?)\}")
_OPENING = re.compile(r"(?<![\\`])\$\$|(?<!\\)\\\[|\\begin\{[a-zA-Z]+\*?\}")
MATHEMATICAL = re.compile(r"(?i)(math|eq|align|gather|multline|split)")  # names of environments
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*(\S*)")


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


@dataclass(frozen=True)
class Display:
    """One display: its content without the outer frame, the line its content starts on, the options above it."""

    line: int
    text: str
    options: tuple[Option, ...] = ()
    error: str = ""


Block = Heading | Paragraph | Display


@dataclass
class _Reader:
    lines: list[str]
    at: int = 0
    blocks: list[Block] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    prose_line: int = 0
    options: list[Option] = field(default_factory=list)

    def flush(self) -> None:
        """End the paragraph that is being gathered."""
        if any(line.strip() for line in self.prose):
            self.blocks.append(Paragraph(self.prose_line, "\n".join(self.prose)))
        self.prose = []

    def add_prose(self, text: str, line: int) -> None:
        if not self.prose:
            self.prose_line = line
        self.prose.append(text)

    def display(self, start: str, close: str, line: int, keep: str = "", quoted: bool = False) -> None:
        """Gather a display: `start` is what follows its opening on its first line, `close` what ends it.

        What follows the display on its last line is read as a line of its own; `quoted` lines start with `>`.
        """
        self.flush()
        gathered, rest, closed, tail = [keep], start, False, ""
        while True:
            end = _find_close(rest, close)
            if end is not None:
                gathered.append(rest[:end] + (close if keep else ""))
                tail = rest[end + len(close) :]
                closed = True
                break
            gathered.append(rest + "\n")
            self.at += 1
            if self.at >= len(self.lines):
                tail = ""
                break
            rest = self.lines[self.at]
            rest = re.sub(r"^[ \t]*>[> \t]*", "", rest) if quoted else rest
            if not rest.strip() and close == "$$" and self.at - line > 200:
                tail = ""
                break
        error = "" if closed else f"the display is never closed: {close} is missing"
        self.blocks.append(Display(line, "".join(gathered), tuple(self.options), error))
        self.options = []
        if tail.strip(" .,;:\t"):
            self.line(tail)
        else:
            self.at += 1

    def fence(self, mark: str, language: str) -> None:
        """A fenced block: mathematics is a display, anything else is skipped."""
        self.flush()
        line, gathered = self.at + 2, []
        self.at += 1
        closing = re.compile(rf"^\s*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
        while self.at < len(self.lines) and not closing.match(self.lines[self.at]):
            gathered.append(self.lines[self.at])
            self.at += 1
        error = "" if self.at < len(self.lines) else f"the fenced block is never closed: {mark} is missing"
        self.at += 1
        if language == "math":
            self.blocks.append(Display(line, "\n".join(gathered), tuple(self.options), error))
            self.options = []

    def step(self) -> None:
        """Read one line, or a whole display."""
        text, line = self.lines[self.at], self.at + 1
        heading, section, fence = (p.match(text) for p in (_HEADING, _SECTION, _FENCE))
        option = _OPTION.match(text)
        if option:
            self.flush()
            self.options.append(Option(option.group(1), option.group(2), line))
        elif heading or section:
            self.flush()
            level = len(heading.group(1)) if heading else _LEVELS[section.group(1)] if section else 1
            self.blocks.append(Heading(line, level, text.strip("# \t")))
        elif fence:
            self.fence(fence.group(1), fence.group(2))
            return
        elif not text.strip():
            self.flush()
        elif text.lstrip().startswith("%"):
            pass
        else:
            self.line(text)
            return
        self.at += 1

    def line(self, text: str) -> None:
        """A line of prose, and the displays that open in it."""
        line = self.at + 1
        for opening in _OPENING.finditer(text):
            begin = _BEGIN.match(opening.group())
            if begin and begin.group(1) not in FRAMES and not MATHEMATICAL.search(begin.group(1)):
                continue  # a theorem, a list
            before = "\n".join([*self.prose, text[: opening.start()]])
            if begin and len(re.findall(r"(?<!\\)\$", before)) % 2:
                continue  # within an inline formula
            if text[: opening.start()].strip("> \t"):
                self.add_prose(text[: opening.start()], line)
            quoted = re.match(r"[ \t]*(>[> \t]*)", text[: opening.start()])
            rest = text[opening.end() :]
            if begin:
                self.display(rest, f"\\end{{{begin.group(1)}{begin.group(2)}}}", line, begin.group(), bool(quoted))
            else:
                self.display(rest, "$$" if opening.group() == "$$" else r"\]", line, "", bool(quoted))
            return
        self.add_prose(text, line)
        self.at += 1


def _find_close(text: str, close: str) -> int | None:
    """Where `close` stands outside a comment."""
    comment = re.search(r"(?<!\\)%", text)
    end = text.find(close)
    if end < 0 or (comment and comment.start() < end):
        return None
    return end


def blocks_of(text: str) -> list[Block]:
    """The blocks of a document in their order."""
    reader = _Reader(text.splitlines())
    while reader.at < len(reader.lines):
        reader.step()
    reader.flush()
    return reader.blocks
