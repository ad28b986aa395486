r"""The author's own commands, expanded, and what a complete TeX file says outside of its body.

A definition (`\newcommand`, `\def`, `\let`, `\DeclareMathOperator`, `\DeclarePairedDelimiter`) holds from its place on,
wherever it stands but in code; the macros that a page gives MathJax or KaTeX hold for all of it. Every line stays where
it was. What calls itself, or grows beyond a bound, is left as it is written, and then is a command that is not
understood; so is a definition that gives a command of LaTeX another meaning. Styles, accents, Greek letters and the
names of functions may be defined anew: authors do that to `\vec`, `\epsilon` and `\tr`.

What stands outside of the body says nothing, as a rule: packages, sizes of pages, what makes the title. A title and
whatever may change how formulas are read stay, and every line stays where it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile

from attention_core.derivation.latex.lexer import is_known_command
from attention_core.derivation.latex.tokens import ACCENTS, ALPHABETS, FUNCTIONS, GREEK, STYLES

_BODY = re.compile(r"^[^%\n]*?\\begin\{document\}", re.MULTILINE)
_END = re.compile(r"^[^%\n]*?(\\end\{document\})", re.MULTILINE)
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_TITLE = rf"\\title\s*(?:\[[^\]]*\])?{_GROUP}"
# A macro may give a sign another meaning, and a file that is read in may say anything.
_HEAD_DEFINES = (
    r"\\(?:(?:re|provide)?newcommand|providecommand|[egx]?def|let|(?:New|Renew|Provide|Declare)Document\w+|"
    r"DeclareMathOperator|DeclarePairedDelimiter\w*|input|include|subtitle|thanks)(?![a-zA-Z])[^\n]*"
)
_KEPT = re.compile(rf"{_TITLE}|{_HEAD_DEFINES}")
_NAMES_ITSELF = re.compile(r"\\DeclareMathOperator\*?\s*\{?\\([a-zA-Z]+)\}?\s*\{\1\}\s*$")
_FURNITURE = re.compile(r"\\(?:maketitle|tableofcontents|begin\{document\}|newpage|clearpage|centering)(?![a-zA-Z])")


def without_preamble(text: str) -> str:
    r"""The body of a TeX file, with the title and the definitions above it; text without a body as it is.

    Example:
        >>> without_preamble("\\documentclass{article}\\title{Keys}\n\\begin{document}\nLet $x > 0$.\n\\end{document}")
        '\\title{Keys}\n\nLet $x > 0$.\n'
    """
    found = _BODY.search(text)
    if found is None:
        return text
    before = _COMMENT.sub("", text[: found.end()])
    kept, at = [], 0
    for one in _KEPT.finditer(before):
        words = "" if _NAMES_ITSELF.match(one.group()) else one.group()
        kept += [_newlines(before[at : one.start()]), words]
        at = one.end()
    body = text[found.end() :]
    end = _END.search(body)
    body = body if end is None else body[: end.start(1)]
    return "".join(kept) + _newlines(before[at:]) + _FURNITURE.sub("", body)


def _newlines(text: str) -> str:
    """The line breaks of a text, so that what follows keeps its line."""
    return "\n" * text.count("\n")


MAX_DEPTH = 12
MAX_GROWTH = 500_000  # characters that all calls of a document may add
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)(?!\s*\{?math)[^\n]*\n.*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+|.)", re.DOTALL)
_DOCUMENT = frozenset(f"{which}DocumentCommand" for which in ("New", "Renew", "Provide", "Declare"))
_DEFINES = frozenset(
    [
        "newcommand",
        "renewcommand",
        "providecommand",
        "DeclareMathOperator",
        "DeclareRobustCommand",
        "def",
        "gdef",
        "edef",
    ]
) | {"xdef", "let", "DeclarePairedDelimiter", *_DOCUMENT}
_DEFS = frozenset(["def", "gdef", "edef", "xdef"])
_PREFIXES = frozenset([r"\global", r"\long", r"\outer", r"\protected"])  # of a definition, as LyX writes them
_REDEFINED = STYLES | ACCENTS | GREEK | ALPHABETS | frozenset(FUNCTIONS)
_STYLED_WORD = re.compile(r"\\(?:text\w*|math\w+|operatorname)\s*\{([^{}]*)\}")
_ARGUMENTS = re.compile(r"\{((?:\s*[mrO](?:\{[^{}]*\})?)*)\s*\}\s*")
_TARGET = re.compile(r"\s*=?\s*(\\(?:[a-zA-Z]+|.)|[^\s\\{}$])")
_ENDS_IN_COMMAND = re.compile(r"\\[a-zA-Z]+$")
_SIGN = r"[a-zA-Z]+|[<>+*/|!?;:@\d]"
_NAME = re.compile(rf"\*?\s*(?:\{{\s*\\({_SIGN})\s*\}}|\\({_SIGN}))\s*")  # an accent, or a bracket, is not defined anew
_COUNT = re.compile(r"\[(\d)\]\s*")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]\s*")
_PARAMETERS = re.compile(r"((?:#\d)*)\s*")


@dataclass(frozen=True)
class Macro:
    """A command of the author: how many arguments it takes, the first one if it is left out, and what it stands for."""

    count: int
    first: str | None
    body: str
    final: bool = False  # whether the body is what it is: `\let` takes over what a command means at its place


@dataclass(frozen=True)
class Circular:
    """A definition that leads back to itself: where it stands, its name, and the commands it goes through."""

    line: int
    name: str
    through: tuple[str, ...] = ()


@dataclass
class _Expander:
    macros: dict[str, Macro] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # where they are defined
    active: list[str] = field(default_factory=list)  # those that are being expanded
    circular: dict[str, Circular] = field(default_factory=dict)
    sized: set[str] = field(default_factory=set)  # those of `\DeclarePairedDelimiter`, called with `*` or `[\big]` too
    grown: int = 0
    first: int = 1  # the line where the text that is read begins

    def document(self, text: str) -> str:
        """The text, with definitions left out."""
        out: list[str] = []
        at = 0
        for fence in _FENCE.finditer(text):
            self.first = 1 + text.count("\n", 0, at)
            out += [self.run(text[at : fence.start()], 0), fence.group()]
            at = fence.end()
        self.first = 1 + text.count("\n", 0, at)
        return "".join([*out, self.run(text[at:], 0)])

    def run(self, text: str, depth: int) -> str:
        """A text with all calls in it expanded."""
        out: list[str] = []
        at = 0
        while found := _COMMAND.search(text, at):
            out.append(text[at : found.start()])
            name, at = found.group()[1:], found.end()
            if name in _DEFINES and depth == 0 and (end := self.define(name, text, at)):
                while out and (out[-1] in _PREFIXES or not out[-1].strip(" \t")):
                    out.pop()
                out.append(re.sub(r"[^\n]", "", text[found.start() : end]))
                if (named := _NAME.match(text, at)) is not None:
                    self.lines[named[1] or named[2]] = self.first + text.count("\n", 0, found.start())
                at = end
            elif name in self.macros and depth < MAX_DEPTH and (call := self.call(name, text, at, depth)):
                body, end = call
                apart = body[:1].isalpha() and _ENDS_IN_COMMAND.search("".join(out[-2:])[-60:])
                out.append((" " if apart else "") + body + "\n" * text.count("\n", at, end))
                at = end
            else:
                out.append(found.group())
        return "".join([*out, text[at:]])

    def define(self, kind: str, text: str, at: int) -> int:
        """Read a definition behind its command; where it ends, 0 if it is not understood."""
        named = _NAME.match(text, at)
        if named is None:
            return 0
        name = named[1] or named[2]
        if kind == "let":
            return self.let(name, text, named.end())
        if kind == "DeclarePairedDelimiter":
            return self.pair(name, text, named.end())
        at, count, first = _signature(kind, text, named.end())
        inner = None if at < 0 else _group(text, at)
        if inner is None:
            return 0
        body, end = inner
        if is_known_command(name):
            said = FUNCTIONS.get(_STYLED_WORD.sub(r"\1", body).strip())
            if kind.startswith("provide") or (kind == "DeclareMathOperator" and said == FUNCTIONS.get(name, "")):
                return end
            if name not in _REDEFINED or rf"\{name}" in _COMMAND.findall(body):
                return 0
        body = " ".join(body.split("\n"))
        if kind == "DeclareMathOperator":
            body = rf"\operatorname{{{body}}}"
        self.macros[name] = Macro(count, first, body)
        return end

    def let(self, name: str, text: str, at: int) -> int:
        r"""Read `\let\name=\other`; where it ends."""
        target = _TARGET.match(text, at)
        if target is None or (is_known_command(name) and name not in _REDEFINED):
            return 0
        other = self.macros.get(target[1][1:]) if target[1].startswith("\\") else None
        self.macros[name] = other or Macro(0, None, target[1], final=True)
        return target.end()

    def pair(self, name: str, text: str, at: int) -> int:
        r"""Read `\DeclarePairedDelimiter{\norm}{\lVert}{\rVert}`; where it ends."""
        left = _group(text, at)
        right = None if left is None else _group(text, left[1])
        if left is None or right is None or is_known_command(name):
            return 0
        self.macros[name] = Macro(1, None, rf"\left{left[0]} #1 \right{right[0]}")
        self.sized.add(name)
        return right[1]

    def call(self, name: str, text: str, at: int, depth: int) -> tuple[str, int] | None:
        """What a call stands for and where it ends, None if its arguments are not there or it grows too far."""
        macro = self.macros[name]
        if name in self.active:
            self.note_circle(name)
            return None
        if name in self.circular:
            return None
        given: list[str] = []
        if name in self.sized and (size := _SIZE.match(text, at)):
            at = size.end()
        if macro.first is not None:
            optional = _OPTIONAL.match(text, at)
            given.append(optional[1] if optional else macro.first)
            at = optional.end() if optional else at
        while len(given) < macro.count:
            inner = _group(text, at)
            if inner is None:
                return None
            given.append(inner[0])
            at = inner[1]
        parts = re.split(r"#(\d)", macro.body)
        if any(not 0 < int(number) <= len(given) for number in parts[1::2]):
            return None
        parts[1::2] = [" ".join(given[int(number) - 1].split("\n")) for number in parts[1::2]]
        body = "".join(parts)
        self.grown += len(body)
        if self.grown > MAX_GROWTH:
            return None
        self.active.append(name)
        expanded = body if macro.final else self.run(body, depth + 1)
        self.active.pop()
        if name in self.circular:
            return None  # it stays as it is written
        joint = " " if _ENDS_IN_COMMAND.search(expanded[-60:]) and text[at : at + 1].isalpha() else ""
        return expanded + joint, at

    def note_circle(self, name: str) -> None:
        """Note all commands of a circle, at the definition of the one that closes it."""
        circle = self.active[self.active.index(name) :]
        one = Circular(self.lines.get(name, 1), name, tuple(circle[1:]))
        self.circular |= dict.fromkeys(circle, one)


def _signature(kind: str, text: str, at: int) -> tuple[int, int, str | None]:
    """Where the body of a definition starts, -1 if it cannot be told, how many arguments it has, and the first one."""
    if kind in _DEFS:
        parameters = _PARAMETERS.match(text, at)
        assert parameters is not None
        return parameters.end(), parameters[1].count("#"), None
    if kind in _DOCUMENT:
        named = _ARGUMENTS.match(text, at)
        return (-1, 0, None) if named is None or "O" in named[1] else (named.end(), len(named[1].split()), None)
    counted = None if kind == "DeclareMathOperator" else _COUNT.match(text, at)
    if counted is None:
        return at, 0, None
    optional = _OPTIONAL.match(text, counted.end())
    if optional is None:
        return counted.end(), int(counted[1]), None
    return optional.end(), int(counted[1]), optional[1]


_SIZE = re.compile(r"\*|\s*\[\s*\\[bB]igg?\s*\]")
_TABLE = re.compile(r"(?i)[\"']?\bmacros[\"']?\s*:\s*(?:\{|\n(?=(?P<deep>[ \t]+)))")
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_ENTRY = re.compile(
    rf"[\"']?\\*(?P<name>[a-zA-Z]+)[\"']?\s*:\s*(?:(?P<body>{_QUOTED})|\[\s*(?P<many>{_QUOTED})\s*,\s*(?P<count>\d)[^\]]*\])"
)
MAX_TABLE = 20_000  # characters of the macros of a page


def macros_of_page(text: str) -> dict[str, Macro]:
    r"""The macros that a page hands to MathJax or KaTeX.

    Args:
        text: The document, with `macros: {RR: "\\mathbb{R}", bold: ["\\mathbf{#1}", 1]}` in a script or a header.

    Example:
        >>> macros_of_page('macros: {RR: "\\\\mathbb{R}"}')["RR"].body
        '\\mathbb{R}'
    """
    found: dict[str, Macro] = {}
    for table in _TABLE.finditer(text):
        inside = text[table.end() : table.end() + MAX_TABLE]
        if deep := table["deep"]:
            lines = inside.split("\n")
            inside = "\n".join(takewhile(lambda line: line.startswith(deep), lines))
        at = 0
        while entry := _ENTRY.match(inside, at + len(inside[at:]) - len(inside[at:].lstrip(" \t\r\n,"))):
            written = (entry["body"] or entry["many"])[1:-1].replace("\\\\", "\\")
            if not is_known_command(entry["name"]) or entry["name"] in _REDEFINED:
                found[entry["name"]] = Macro(int(entry["count"] or 0), None, written)
            at = entry.end()
    return found


def _group(text: str, at: int) -> tuple[str, int] | None:
    """The argument at a place and where it ends: a group in braces, a command or a character."""
    while at < len(text) and text[at] in " \t\n":
        at += 1
    if at >= len(text) or text[at] in "}$&":
        return None
    if text[at] != "{":
        found = _COMMAND.match(text, at)
        return (found.group(), found.end()) if found else (text[at], at + 1)
    depth, start = 0, at
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        depth += (text[at] == "{") - (text[at] == "}")
        at += 1
        if depth == 0:
            return text[start + 1 : at - 1], at
    return None


def expand_macros(text: str) -> str:
    r"""Expand the commands that a document defines.

    Args:
        text: The document.

    Returns:
        The text without the definitions, every line where it was.

    Example:
        >>> expand_macros(r"\newcommand{\R}{\mathbb{R}} $x \in \R^d$")
        ' $x \\in \\mathbb{R}^d$'
    """
    return expand_document(text)[0]


def expand_document(text: str) -> tuple[str, list[Circular]]:
    r"""Expand the commands that a document defines, but for those that call themselves.

    Args:
        text: The document.

    Returns:
        The text without the definitions, every line where it was, and the definitions that lead back to themselves.

    Example:
        >>> expand_document("\\newcommand{\\x}{a \\x} $\\x$")
        (' $\\x$', [Circular(line=1, name='x', through=())])
    """
    of_page = macros_of_page(text) if "acros" in text else {}
    if not of_page and not any(f"\\{name}" in text for name in _DEFINES):
        return text, []
    expander = _Expander(of_page)
    expanded = expander.document(text)
    return expanded, list(dict.fromkeys(expander.circular.values()))
