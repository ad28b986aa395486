r"""Displays as statements, each with its conditions, its tag and its options.

A display loses the frames that only align it; `splitter` cuts what is left into statements. Options above a display
belong to all its steps, one inside belongs to the next line with a relation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from attention_core.derivation.document.blocks import FRAMES, Display, Option, misspelt
from attention_core.derivation.document.row_labels import without_row_labels
from attention_core.derivation.document.segments import Piece, in_brackets
from attention_core.derivation.document.side_notes import balance_brackets
from attention_core.derivation.document.splitter import split_statements
from attention_core.derivation.document.typed import as_formula
from attention_core.derivation.latex.commands import read_braces
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.syntax import Chain, Statement, Unreadable
from attention_core.derivation.latex.tokens import Tok, depth_zero
from attention_core.derivation.quick_patterns import compile_quick

_FRAME = re.compile(rf"\\(?:begin|end)\{{(?:{'|'.join(FRAMES)})\*?\}}(?:\s*\{{\d+\}})?")
_ENVIRONMENT = re.compile(r"(?<!\\)%[^\n]*|\\(begin|end)\s*\{([^{}]*)\}")
_SYSTEM = re.compile(r"(?:\s|%[^\n]*\n|\\text\{[^{}]*\}\s*:)*\\begin\{cases\}\s*(?=\\begin\{aligned\})")
_STYLED = re.compile(r"\s*\{(?=\s*\\(?:text|display|script)style(?![a-zA-Z]))")
_ARRAY = re.compile(r"\s*\\begin\{array\}\s*\{[rcl\s@{}!]*\}")
_ARRAY_END = compile_quick(r"\\end\{array\}\s*[.,;]?\s*(?:\\(?:tag|label)\*?\s*\{[^{}]*\}\s*)*$")
_BOX = compile_quick(r"\\f?box(?:ed)?\s*\{")
_ROW_OPENS = re.compile(r"(?:^|\\\\|&|\\q?quad|\\(?:implies|Rightarrow|iff))\s*$")
_ROW_ENDS = re.compile(r"\s*[.,;]?\s*(?:\\\\|\\tag|$)")
_TEXT = re.compile(r"\\(?:text\w*|mbox)\s*\{([^{}]*)\}")
_COMMENT = re.compile(r"(?m)^[ \t]*%.*$")
_END_OF_ROW = re.compile(r"(?:\\\\|&|\\(?:right|left)$|\s|[.,;]$)+$")
_ENDS_OF_ROW = ("\\", "&", ".", ",", ";", r"\right", r"\left")  # of whatever this matches
_RELATES = re.compile(r"[=<>]|\\(?:leq?|geq?|neq?|approx|sim|in|to|ll|gg|perp|implies|iff)(?![a-zA-Z])")
MAX_RELATIONS = 500  # of one display
_INNER_OPTION = re.compile(
    r"^[ \t]*%[ \t]*(within|as|expect|check|assume|margin)[ \t]*:[ \t]*(.*?)[ \t]*$", re.MULTILINE
)


@dataclass
class DisplayStatement:
    """One statement of a display as written."""

    statement: Statement
    line: int
    conditions: tuple[Chain, ...] = ()
    tag: str = ""
    tags: dict[int, str] = field(default_factory=dict)
    own_tags: dict[int, str] = field(default_factory=dict)  # by the place of a relation, where a line has several
    options: dict[int, list[Option]] = field(default_factory=dict)
    offered: tuple[Chain, ...] = ()  # after a comma: conditions, or claims
    beside: tuple[Chain, ...] = ()  # after a gap: conditions if they are about indices, else claims
    quoted: tuple[str, ...] = ()  # reasons that hold a formula, which is not checked
    reasons: tuple[str, ...] = ()  # these formulas without their words
    unread_words: tuple[str, ...] = ()  # that stand between formulas and are not understood
    lenient: bool = False  # whether what is not understood beside it leaves it open, and does not make it unreadable
    defines: bool = False
    source: str = ""
    parts: tuple[str, ...] = ()


def _require_environments(text: str, line: int) -> None:
    """Every environment is closed by its own name.

    Raises:
        Unreadable: one that is not, with the line of what has no partner.
    """
    opened: list[tuple[str, int]] = []
    for found in _ENVIRONMENT.finditer(text):
        which, name = found.group(1), found.group(2)
        here = opened.pop() if which == "end" and opened else None
        if which == "begin":
            opened.append((name, found.start()))
        elif which == "end" and (here is None or here[0] != name):
            missing = f"closes \\begin{{{here[0]}}}" if here else "has no \\begin before it"
            raise Unreadable(f"\\end{{{name}}} {missing}", line + text.count("\n", 0, found.start()))
    if opened:
        name, start = opened[-1]
        message = f"\\begin{{{name}}} is never closed: \\end{{{name}}} is missing in this display"
        raise Unreadable(message, line + text.count("\n", 0, start))


def without_frames(text: str) -> str:
    """The content of the frames `aligned`, `gather` and so on, every line where it was."""
    plain = _without_array(_without_braces(_FRAME.sub(lambda m: " ", _without_system(text))))
    return balance_brackets(_without_boxes(without_row_labels(plain) if "&" in plain else plain))


def _without_braces(text: str) -> str:
    r"""The text of a display that stands in braces as a whole, as in `{\textstyle a = b}`."""
    opened = _STYLED.match(text)
    if opened is None:
        return text
    start = opened.end() - 1
    _, end = read_braces(text, start, 0)
    if text[end:].strip(" \t\n.,;") or not _RELATES.search(text[start:end]):
        return text
    return f"{text[:start]} {text[start + 1 : end - 1]} {text[end:]}"


def _without_array(text: str) -> str:
    r"""The text of a display that is nothing but an `array`, which aligns its relations."""
    opened, closed = _ARRAY.match(text), _ARRAY_END.search(text)
    if opened is None or closed is None or text.count(r"\begin{array}") != 1:
        return text
    inner = text[opened.end() : closed.start()]
    if not _RELATES.search(inner):
        return text
    return re.sub(r"[^\n]", " ", opened.group()) + inner + re.sub(r"[^\n.,;]", " ", closed.group())


def _without_system(text: str) -> str:
    r"""The text of a system of equations without the brace `\\begin{cases}` in front of it."""
    opened = _SYSTEM.match(text)
    if opened is None or text.count(r"\begin{cases}") != 1 or not text.rstrip(" \t\n.,").endswith(r"\end{cases}"):
        return text
    head = "".join(c if c == "\n" else " " for c in opened.group())
    return head + text[opened.end() :].replace(r"\end{cases}", "")


def _without_boxes(text: str) -> str:
    r"""The text with `\boxed{a = b}` as `a = b` where that has its row to itself."""
    for found in reversed(list(_BOX.finditer(text))):
        inner, after = read_braces(text, found.end() - 1, 0)
        alone = _ROW_OPENS.search(text[: found.start()]) and _ROW_ENDS.match(text, after)
        if alone and _RELATES.search(inner):
            text = f"{text[: found.start()]} {inner} {text[after:]}"
    return text


def statements_of(display: Display, lenient: bool = False) -> list[DisplayStatement]:
    """The statements of a display, which are not to be changed; raises `Unreadable` where it cannot be read.

    Args:
        display: The display.
        lenient: Whether words between formulas that are not understood are kept, and not refused.
    """
    if len(display.text) > KEPT_LENGTH:
        return _read_statements(display, lenient)
    found = _kept_statements(display, lenient)
    if isinstance(found, Unreadable):
        raise Unreadable(found.message, found.line)
    return list(found)


KEPT_DISPLAYS, KEPT_LENGTH = 1024, 4000
"""How many displays are kept as statements, and up to which length: several readers look at each."""


@lru_cache(maxsize=KEPT_DISPLAYS)
def _kept_statements(display: Display, lenient: bool) -> tuple[DisplayStatement, ...] | Unreadable:
    """The statements of a display, or why there are none."""
    try:
        return tuple(_read_statements(display, lenient))
    except Unreadable as error:
        return Unreadable(error.message, error.line)


def _read_statements(display: Display, lenient: bool) -> list[DisplayStatement]:
    """The statements of a display, read anew."""
    if display.error:
        raise Unreadable(display.error, display.line)
    _require_environments(display.text, display.line)
    text = without_frames(as_formula(display.text) if lenient else display.text)
    options = [
        Option(
            m.group(1),
            m.group(2),
            display.line + text.count("\n", 0, m.start()),
        )
        for m in _INNER_OPTION.finditer(text)
    ]
    for option in options:
        if not option.value:
            raise Unreadable(f"the option '% {option.key}:' is empty", option.line)
    for place, row in enumerate(text.split("\n")):
        if wrong := misspelt(row):
            raise Unreadable(wrong, display.line + place)
    tokens = tokenize(text, display.line, authors=lenient)
    relations = [t for t in tokens if t.kind in ("REL", "ARROW")]
    if len(relations) > MAX_RELATIONS:
        message = f"the display has more than {MAX_RELATIONS} relations: split it above this line, or shorten the chain"
        raise Unreadable(message, relations[MAX_RELATIONS].line)
    starts = sorted({t.start for t in tokens})
    out = [one for piece in split_statements(tokens, lenient) for one in _build_statements(piece, text, starts)]
    if not out:
        raise Unreadable("the display has no formula", display.line)
    for one in out:
        one.lenient = lenient
    _give_options(out, list(display.options), options)
    return out


def _build_statements(piece: Piece, text: str, starts: list[int]) -> list[DisplayStatement]:
    statement = parse_tokens(piece.tokens)
    conditions = [chain for part in piece.conditions for chain in condition_chains(part)]
    offered = [chain for part in piece.offered for chain in condition_chains(in_brackets(part) or part)]
    cuts = [i for i, t in depth_zero(piece.tokens) if t.kind in ("REL", "ARROW", "AND")]
    runs = [piece.tokens[a:b] for a, b in zip([0, *(c + 1 for c in cuts)], [*cuts, len(piece.tokens)], strict=True)]
    parts = tuple(_source(run, text, starts) for run in runs)
    tag = piece.tags[-1][1] if piece.tags else ""
    source = _source(piece.tokens, text, starts)
    tags = {line: word for line, word, _ in piece.tags}
    whole = DisplayStatement(statement, piece.tokens[0].line, tuple(conditions), tag, tags, _tags_in_one_line(piece))
    whole.reasons = tuple(_source(run, text, starts) for _, run in piece.quoted)
    whole.quoted = tuple(
        _join_reason(words, reason) for (words, _), reason in zip(piece.quoted, whole.reasons, strict=True)
    )
    whole.unread_words = tuple(piece.unread_words)
    whole.beside = tuple(chain for part in piece.beside for chain in condition_chains(part))
    whole.offered, whole.defines, whole.source, whole.parts = tuple(offered), piece.defines, source, parts
    if piece.moves or piece.arrow:  # "as S \\to \\infty" says the same as the option
        shown = _source(piece.moves, text, starts) or piece.arrow
        moves = Option("as", shown, piece.tokens[0].line)
        whole.options = {line: [moves] for line in relation_lines(statement)}
    if statement.arrows or len(statement.chains) == 1:
        return [whole]
    out, place = [], 0  # "a = b and c = d" without an implication is several statements
    for chain in statement.chains:
        mine = parts[place : place + len(chain.exprs)]
        place += len(chain.exprs)
        out.append(
            replace(
                whole,
                statement=Statement((chain,)),
                parts=mine,
                own_tags={},
                options={k: list(v) for k, v in whole.options.items()},
            )
        )
    return out


def _join_reason(words: str, reason: str) -> str:
    r"""A reason with its words in front, or as `\text{since $a = b$}` has both."""
    whole = _TEXT.fullmatch(reason)
    return (whole[1] if whole is not None and words in whole[1] else f"{words} {reason}").strip()


def _tags_in_one_line(piece: Piece) -> dict[int, str]:
    """The tags of relations that share a line with others, by the places of these relations in their chain."""
    lines = [line for line, _, _ in piece.tags]
    out: dict[int, str] = {}
    before = 0
    for line, word, count in piece.tags:
        if lines.count(line) > 1:
            out |= dict.fromkeys(range(before, count), word)
        before = count
    return out


def _source(run: list[Tok], text: str, starts: list[int]) -> str:
    """The text that some tokens were read from, on one line."""
    if not run:
        return ""
    after = bisect_right(starts, run[-1].start)
    end = starts[after] if after < len(starts) else len(text)
    found = text[run[0].start : end]
    found = _COMMENT.sub(" ", found) if "%" in found else found
    found = " ".join(found.split()).lstrip("& ")
    return _END_OF_ROW.sub("", found) if found.endswith(_ENDS_OF_ROW) else found


def condition_chains(tokens: list[Tok]) -> list[Chain]:
    r"""The conditions that these tokens spell; `i \ne a, b` are two."""
    cuts = [i for i, t in depth_zero(tokens) if t.kind == "COMMA"]
    first = tokens[: cuts[0]] if cuts else tokens
    others = [tokens[a + 1 : b] for a, b in pairwise([*cuts, len(tokens)])]
    differs = next((i for i, t in depth_zero(first) if t.kind == "REL" and t.value == "!="), None)
    if cuts and differs is not None and not any(t.kind == "REL" for part in others for t in part):
        parts = [first, *([*first[: differs + 1], *part] for part in others)]
        return [chain for part in parts for chain in parse_tokens(part).chains]
    return list(parse_tokens(tokens).chains)


def relation_lines(statement: Statement) -> list[int]:
    """The lines of all relations and arrows of a statement."""
    return sorted([line for chain in statement.chains for line in chain.lines] + list(statement.lines))


def _give_options(written: list[DisplayStatement], above: list[Option], inside: list[Option]) -> None:
    """Options above the display belong to all its steps; one inside belongs to the next line with a relation."""
    for one in written:
        for line in relation_lines(one.statement):
            one.options.setdefault(line, []).extend(above)
    everything = sorted({line for one in written for line in relation_lines(one.statement)})
    for option in inside:
        target = next((line for line in everything if line > option.line), None)
        if target is None:
            raise Unreadable(f"the option '{option.key}' has no step below it", option.line)
        for one in written:
            if target in one.options:
                one.options[target].append(option)
