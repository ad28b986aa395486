"""Documents cut into blocks with line numbers.

Where things stand in a document: headings, paragraphs with inline formulas, displays and the options above them.
Markdown and TeX alike; only lines are looked at here, no formula is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from operator import attrgetter

from attention_core.derivation.document.blocks import (
    FRAMES,
    Block,
    Code,
    Display,
    Option,
    Paragraph,
    heading_on,
    misspelt,
    option_on,
)
from attention_core.derivation.document.forms import parts_of, unread_form, usual_forms
from attention_core.derivation.document.macros import Circular, expand_document, without_preamble
from attention_core.derivation.quick_patterns import compile_quick

MAX_CHARACTERS = 2_000_000
MAX_BLOCKS = 4000  # displays, paragraphs and headings of one document
_BEGIN = re.compile(r"\\begin\{([a-zA-Z]+)(\*?)\}")
_LONE = re.compile(r"(?<![\\$])\$(?!\$)")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")  # marks that no reader sees, and that change no formula
_OPENING = compile_quick(r"(?<!\\)\$\$|(?<!\\)\\\[|\\begin\{[a-zA-Z]+\*?\}|<!--")
_MORE = re.compile(r"[^ .,;:\t]")
_DOLLAR = re.compile(r"(?<!\\)\$")
_COMMENT = re.compile(r"(?<!\\)%")
_ITEM_ALONE = re.compile(r"[> \t]*(?:[-*+]|\d{1,3}[.)])[ \t]*")  # the mark of a list that only a display follows
_QUOTE = re.compile(r"^[ \t]*>[> \t]*")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_INDENTED = re.compile(r"^(?: {4}| {0,3}\t)\s*\S")
_TEX = re.compile(r"\\(?:documentclass|begin\{document\}|usepackage|(?:sub)*section\*?\{|chapter\*?\{)")
MATHEMATICAL = re.compile(r"(?i)(math|eq|align|gather|multline|split)")  # names of environments
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*(\S*)")


@dataclass
class _Reader:
    """Reads line by line; `column` is where the rest of the current line starts. Nothing is copied or read twice."""

    lines: list[str]
    tex: bool = False  # TeX has no code spans, no indented code and no HTML comments
    at: int = 0
    column: int = 0
    blocks: list[Block] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    prose_line: int = 0
    dollars: int = 0  # how many $ the paragraph has so far
    options: list[Option] = field(default_factory=list)
    listed: bool = False  # within a list, indented lines are not code
    blank: bool = True  # whether the line before is blank
    spans: list[tuple[int, int]] = field(default_factory=list)  # code in the line that is read
    spans_of: int = -1

    def flush(self) -> None:
        """End the paragraph that is being gathered."""
        if any(line.strip() for line in self.prose):
            behind = bool(self.blocks) and isinstance(self.blocks[-1], Display)
            self.blocks += parts_of(Paragraph(self.prose_line, "\n".join(self.prose)), behind)
        self.prose, self.dollars = [], 0

    def add_prose(self, text: str) -> None:
        """Add a line, or a part of one, to the paragraph."""
        if not self.prose:
            self.prose_line = self.at + 1
        self.prose.append(text)
        self.dollars += len(_DOLLAR.findall(text))

    def next_line(self) -> None:
        """Go to the start of the next line."""
        self.at, self.column = self.at + 1, 0

    def unread(self, line: int, text: str, error: str) -> None:
        """A place that is in order in no reading, as a display with an error."""
        self.flush()
        self.blocks.append(Display(line, text, tuple(self.options), error))
        self.options = []

    def orphans(self) -> None:
        """Options that no display follows directly belong to none, and must not reach a later one."""
        options, self.options = self.options, []
        for one in options:
            error = (
                f"the option '% {one.key}: {one.value}' belongs to no display: it stands right above the one it is for"
            )
            self.blocks.append(Display(one.line, f"% {one.key}: {one.value}", (), error))

    def option(self, option: Option) -> None:
        """An option above a display."""
        if self.prose:
            self.orphans()
        self.flush()
        if option.value:
            self.options.append(option)
        else:
            self.blocks.append(Display(option.line, f"% {option.key}:", (), f"the option '% {option.key}:' is empty"))

    def display(self, close: str, keep: str = "", quoted: bool = False, inside: bool = False) -> None:
        """Gather a display from the current place on, up to `close`; the current place is then after it.

        `quoted` lines start with `>`; what opens `inside` a paragraph ends with it at the latest.
        """
        self.flush()
        line, gathered, closed = self.at + 1, [keep], False
        while True:
            text = self.lines[self.at]
            end = _find_close(text, close, self.column, self.tex)
            if end is not None:
                gathered.append(text[self.column : end] + (close if keep else ""))
                self.column, closed = end + len(close), True
                break
            gathered.append(text[self.column :] + "\n")
            self.next_line()
            if self.at >= len(self.lines):
                break
            rest = self.lines[self.at]
            if quoted and (mark := _QUOTE.match(rest)):
                self.column = mark.end()
            if not rest.strip() and close == "$$" and (inside or self.at + 1 - line > 200 or self._is_prose_next()):
                break
        error = "" if closed else f"the display is never closed: {close} is missing"
        if inside and not closed and close == "$$":
            error += " (a dollar sign in prose is \\$)"
        self.unread(line, "".join(gathered), error)
        if closed and not _MORE.search(self.lines[self.at], self.column):
            self.next_line()

    def _is_prose_next(self) -> bool:
        """Whether a sentence with a formula follows the current blank line: no display holds one."""
        follows = next((one for one in self.lines[self.at :] if one.strip()), "")
        return bool(_LONE.search(follows)) and r"\text" not in follows

    def fence(self, mark: str, language: str) -> None:
        """A fenced block: mathematics is a display, anything else is code."""
        self.flush()
        line, gathered = self.at + 2, []
        self.next_line()
        closing = re.compile(rf"^\s*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
        while self.at < len(self.lines) and not closing.match(self.lines[self.at]):
            gathered.append(self.lines[self.at])
            self.next_line()
        error = "" if self.at < len(self.lines) else f"the fenced block is never closed: {mark} is missing"
        self.next_line()
        if language == "math":
            self.unread(line, "\n".join(gathered), error)
        elif error and any(_OPENING.search(one) for one in gathered):
            self.unread(line, "", error)
        else:
            self.code(line, "\n".join(gathered))

    def code(self, line: int, text: str) -> None:
        """Keep the words of code that is not read."""
        if text.strip():
            self.blocks.append(Code(line, text))

    def end_paragraph(self) -> None:
        """Keep the prose above a blank line; options above it belong to no display."""
        if any(one.strip() for one in self.prose):
            self.flush()
            self.orphans()
        self.flush()

    def step(self) -> None:
        """Read one line, or what is left of it, or a whole display."""
        text, line = self.lines[self.at], self.at + 1
        if self.column:
            self.line(text)
            return
        blank, self.blank = self.blank, not text.strip()
        option, heading = option_on(text, line), heading_on(text, line)
        fence = _FENCE.match(text) if "```" in text or "~~~" in text else None
        if not self.tex and blank and not self.listed and not self.prose and _INDENTED.match(text):
            self.blank = True  # code goes on
            self.code(line, text.strip())
        elif option:
            self.option(option)
        elif misspelt(text):
            self.flush()
            self.blocks.append(Display(line, text.strip(), (), misspelt(text)))
        elif heading:
            self.flush()
            self.orphans()
            self.listed = False
            self.blocks.append(heading)
        elif fence:
            self.fence(fence.group(1), fence.group(2))
            return
        elif self.blank:
            self.end_paragraph()
        elif text.lstrip().startswith("%"):
            pass
        elif not self.tex and (wrong := unread_form(text)):
            self.flush()
            self.blocks.append(Display(line, text.strip()[:200], (), wrong))
        else:
            if _ITEM.match(text):
                self.listed = True
            elif blank and not text[0].isspace():
                self.listed = False
            self.line(text)
            return
        self.next_line()

    def line(self, text: str) -> None:
        """A line of prose from the current column on, up to the first display or comment that opens in it."""
        start, counted, dollars = self.column, self.column, self.dollars
        for opening in self.openings(text):
            begin = _BEGIN.match(opening.group())
            if begin and begin.group(1) not in FRAMES and not MATHEMATICAL.search(begin.group(1)):
                continue  # a theorem, a list
            dollars += len(_DOLLAR.findall(text, counted, opening.start()))
            counted = opening.start()
            if begin and dollars % 2:
                continue  # within an inline formula
            before = text[start : opening.start()]
            if before.strip("> \t"):
                self.add_prose(before)
            self.column = opening.end()
            if opening.group() == "<!--":
                self.comment(text)
                return
            quoted = re.match(r"[ \t]*(>[> \t]*)", before)
            if begin:
                self.display(f"\\end{{{begin.group(1)}{begin.group(2)}}}", begin.group(), bool(quoted))
            else:
                item = bool(_ITEM_ALONE.fullmatch(before)) and not text[opening.end() :].strip()
                inside = not item and bool(before.strip("> \t") or self.prose or start)
                self.display("$$" if opening.group() == "$$" else r"\]", "", bool(quoted), inside)
            return
        self.add_prose(text[start:])
        self.next_line()

    def openings(self, text: str) -> Iterator[re.Match[str]]:
        """What opens a display or a comment, outside code spans."""
        if self.spans_of != self.at:  # once a line, the last span first: those that lie after fall away
            self.spans_of, self.spans = self.at, [] if self.tex or "`" not in text else list(_code_spans(text))[::-1]
        spans = self.spans
        for opening in _OPENING.finditer(text, self.column):
            while spans and spans[-1][1] <= opening.start():
                spans.pop()
            covered = bool(spans) and spans[-1][0] <= opening.start()
            bracket = opening.group() == r"\[" and not self.tex and not self.is_closed(opening.end())
            if not covered and not bracket and not (self.tex and opening.group() == "<!--"):
                yield opening

    def is_closed(self, start: int) -> bool:
        r"""Whether `\]` follows in the paragraph, or nothing stands around `\[`: else it is a bracket of Markdown."""
        text = self.lines[self.at]
        if not text[: start - 2].strip(" \t>*-+") or r"\]" in text[start:]:
            return True
        following = takewhile(str.strip, self.lines[self.at + 1 : self.at + 200])
        return any(r"\]" in one for one in following)

    def comment(self, text: str) -> None:
        """Skip a comment, of one line or more; the paragraph goes on after it."""
        line = self.at + 1
        end = text.find("-->", self.column)
        while end < 0:
            self.next_line()
            if self.at >= len(self.lines):
                self.unread(line, "", "the comment <!-- is never closed: --> is missing")
                return
            end = self.lines[self.at].find("-->")
        self.column = end + 3
        if not _MORE.search(self.lines[self.at], self.column):
            self.next_line()


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where `code` stands in a line: backticks up to as many backticks; ``quotes'' of TeX are none."""
    runs = [(m.start(), m.end()) for m in re.finditer(r"`+", text)]
    later: dict[int, list[int]] = {}
    for place in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[place][1] - runs[place][0], []).append(place)
    place = 0
    while place < len(runs):
        start, end = runs[place]
        same = later[end - start]
        while same and same[-1] <= place:
            same.pop()
        escaped = start > 0 and text[start - 1] == "\\"
        if same and not escaped and "''" not in text[end : runs[same[-1]][0]]:
            yield start, runs[same[-1]][1]
            place = same[-1]
        place += 1


def _find_close(text: str, close: str, start: int, tex: bool) -> int | None:
    r"""Where `close` stands from `start` on, outside a comment; `50%$$` of Markdown holds none."""
    end = text.find(close, start)
    comment = None if end < 0 else _COMMENT.search(text, start, end)
    return None if end < 0 or (comment and (tex or not text[: comment.start()].strip())) else end


def blocks_of(text: str) -> list[Block]:
    """The blocks of a document in their order; of more than `MAX_BLOCKS` the first ones, and one more."""
    text = _INVISIBLE.sub("", text)
    tex = bool(_TEX.search(text))
    expanded, circular = expand_document(text)
    reader = _Reader(usual_forms(without_preamble(expanded) if tex else expanded, tex).splitlines(), tex)
    while reader.at < len(reader.lines) and len(reader.blocks) <= MAX_BLOCKS:
        reader.step()
    reader.flush()
    reader.orphans()
    blocks = reader.blocks
    if expanded != text:  # displays that held definitions alone
        blocks = [one for one in blocks if not isinstance(one, Display) or one.text.strip() or one.error]
    blocks = join_continued(blocks)
    return sorted([*blocks, *map(_refuse_macro, circular)], key=attrgetter("line")) if circular else blocks


def _refuse_macro(one: Circular) -> Display:
    """What stands for the definition of a command that calls itself."""
    way = " through ".join(f"\\{name}" for name in (one.name, *one.through))
    message = f"the definition of {way} leads back to itself, and is not expanded: let it stand for something else"
    return Display(one.line, rf"\{one.name}", error=message)


def has_display(text: str) -> bool:
    """Whether a document has a display.

    Args:
        text: The document.
    """
    return any(isinstance(block, Display) for block in blocks_of(text))


_UNSEEN = r"(?:\s|&|\{\}|\\[hv]?phantom\s*\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\})*"
_RELATION = r"(?:=|\\(?:le|ge|leq|geq|approx|equiv|propto|implies|Rightarrow|iff)(?![a-zA-Z]))"
GOES_ON = re.compile(rf"^{_UNSEEN}(?={_RELATION})")
FRAMED_GOES_ON = re.compile(
    rf"^(?P<frame>\s*\\begin\{{(?:aligned|align\*?|split|gathered|equation\*?)\}}\s*){_UNSEEN}(?={_RELATION})"
)


def join_continued(blocks: list[Block]) -> list[Block]:
    r"""Blocks where a display that begins with a relation is part of the one right before it, as its next row.

    Args:
        blocks: The blocks of a document.
    """
    out: list[Block] = []
    for block in blocks:
        last = out[-1] if out else None
        if (
            isinstance(block, Display)
            and isinstance(last, Display)
            and not (block.error or last.error or block.options)
            and GOES_ON.match(block.text)
            and not _BEGIN.match(last.text.lstrip())
        ):
            gap = "\n" * max(0, block.line - last.line - last.text.count("\n"))
            out[-1] = Display(last.line, f"{last.text} \\\\ {gap}{block.text}", last.options)
        else:
            out.append(block)
    return out
