r"""Notes beside the formulas of a row: `x &= y && \text{add } 0 = a - a`, `\qquad (\text{since } a = b)`.

A note is a reason, and not a step; its formulas are kept with their statement, as those of `\text{since $a = b$}` are.
It begins with words, in a column of its own or, behind a wide gap, in brackets of its own; what authors do to a side
may also stand behind a gap alone. Words that bind, join or define do so here as elsewhere. Other words may say when a
step holds: they leave it open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from attention_core.derivation.document.segments import (
    ARROWS,
    BINDS,
    CHANGES,
    GOES_ON,
    JOINS,
    OPENS_REASON,
    bare,
    has_relation,
)
from attention_core.derivation.latex.tokens import Tok, depth_zero

_DONE = re.compile(
    r"^(?:(?:where|here|now|then|next|first|finally|simply|again|we|one|can|may|have|also) ){0,4}"
    r"(?:add|subtract|cancel|collect|combin|complet|differentiat|distribut|divid|drop|evaluat|expand|factor|group|"
    r"insert|integrat|introduc|multipl|plug|rearrang|recall|recogni[sz]|regroup|renam|reorder|replac|rewrit|simplif|"
    r"split|swap|telescop|transpos|undo|us)(?:e|es|ed|ing|y|ying|ies|ied|s|(?:t|p|g|l)(?:ed|ing))?\b"
)
"""What authors do to get from one side to the next."""
_CLAIMS = re.compile(
    r"\b(?:have|gets?|gives?|giving|obtain\w*|finds?|yield\w*|follows?|sees?|shows?|is|are|becomes?)\b"
)
_LEADS = frozenset([*BINDS, *JOINS, *ARROWS, "let", "put", "define", "as", "or"])
_ROOM = (r"\quad", r"\qquad")
_BRACKETS = {"LPAR": "RPAR", "LBRACK": "RBRACK", "LSET": "RSET"}
_TYPED = {"(": ")", "[": "]"}  # within words
_ENDS = frozenset(["STOP", "COMMA", "SEMI", "GAP", "AMP", "TAG"])
_SIGNS = frozenset([*GOES_ON, "UNDER", "CARET", "TRANS", "LPAR", "LBRACK", "RPAR", "COLON", *_ENDS])


@dataclass(frozen=True)
class Note:
    """A note: its words, its other tokens, and whether the words only say why a step is right."""

    words: str
    tokens: list[Tok]
    known: bool


_OPENS = re.compile(r"\\(?:text(?:rm|it|bf|normal)?|mbox)\s*\{\s*(\()[^{}()$]*\}")
_IN_TEXT = re.compile(r"\\(?:text(?:rm|it|bf|normal)?|mbox)\s*\{[^{}]*\}")


def balance_brackets(text: str) -> str:
    r"""Return a display in which brackets that open within words and close outside open outside, too.

    Args:
        text: The display. Its length stays as it is.

    Example:
        >>> balance_brackets(r"a = b \quad \text{(since } b = c)")
        'a = b \\quad (\\text{since } b = c)'
    """
    for found in _OPENS.finditer(text):
        row = _IN_TEXT.sub(lambda words: " " * len(words[0]), re.split(r"\\\\", text[found.end() :], maxsplit=1)[0])
        depth = list(accumulate((sign == "(") - (sign == ")") for sign in row))
        if -1 in depth:
            head = text[found.start() : found.start(1)]
            text = f"{text[: found.start()]}({head}{text[found.end(1) :]}"
    return text


def take_note(row: list[Tok]) -> tuple[list[Tok], Note | None]:
    r"""Return a row without the note at its end, and this note, if there is one.

    Args:
        row: The tokens of a row.

    Returns:
        The row, and the note. A note that begins with "for", "and" or the like only loses its brackets, and stays.
    """
    outside = {i for i, _ in depth_zero(row)}
    for i, token in enumerate(row):
        if i not in outside or not (token.kind == "AMP" or (token.kind == "GAP" and token.value in _ROOM)):
            continue
        before, rest = row[: i + 1], [*row[i + 1 :]]
        while rest and rest[0].kind in ("AMP", "GAP"):
            before.append(rest.pop(0))
        if not rest or not _is_complete(before):
            continue
        if inside := _unwrap(rest):
            return _read_brackets(before, rest, inside)
        if (note := _read_words(before, rest, token.kind == "AMP")) is not None:
            return [*before, *(t for t in rest if t.kind == "TAG")], note
    return row, None


def _is_complete(before: list[Tok]) -> bool:
    """Whether a statement, or nothing, stands in front of a place of a row."""
    kept = [t for t in before if t.kind not in ("AMP", "GAP")]
    return not kept or (has_relation(kept) and kept[-1].kind not in GOES_ON)


def _unwrap(rest: list[Tok]) -> list[Tok]:
    """What stands in the brackets around all of the rest of a row, if it has words; nothing without such brackets."""
    kept = [t for t in rest if t.kind not in _ENDS - {"COMMA"}]
    while kept and kept[-1].kind == "COMMA":
        kept.pop()
    if len(kept) < 3:
        return []
    if kept[0].kind in _BRACKETS:
        inner = [i for i, _ in depth_zero(kept)]
        alone = inner == [0] or all(i in (0, len(kept) - 1) for i in inner)
        inside = kept[1:-1] if alone and kept[-1].kind == _BRACKETS[kept[0].kind] else []
        return inside if any(t.kind == "TEXT" for _, t in depth_zero(inside)) or _word_of(inside) else []
    closes = _TYPED.get(kept[0].value[:1], "?") if kept[0].kind == kept[-1].kind == "TEXT" else "?"
    last = kept[-1].value.rstrip(" .,;")
    if not last.endswith(closes):
        return []
    ended = [kept[-1]._replace(value=last[:-1])] if last[:-1].strip() else []
    opened = [kept[0]._replace(value=kept[0].value[1:])] if kept[0].value[1:].strip() else []
    return [*opened, *kept[1:-1], *ended] if opened or ended else []


def _word_of(tokens: list[Tok]) -> str:
    r"""The words that some tokens begin with; a single one, `\text{add}`, where it is a verb that no sign follows."""
    if not tokens or tokens[0].kind == "TEXT":
        return tokens[0].value.strip() if tokens else ""
    behind = next((t.kind for t in tokens[1:] if t.kind != "GAP"), "")
    if tokens[0].kind != "NAME" or not tokens[0].value.startswith(r"\text{") or behind in _SIGNS or not behind:
        return ""
    word = tokens[0].value.removeprefix(r"\text{").removesuffix("}")
    return word if _is_known(word) or bare(word) in _LEADS else ""


def _is_known(words: str) -> bool:
    return bool(_DONE.match(bare(words)) or OPENS_REASON.search(bare(words)))


def _read_brackets(before: list[Tok], rest: list[Tok], inside: list[Tok]) -> tuple[list[Tok], Note | None]:
    """A row and the note in brackets at its end; without the brackets alone, if its words bind or join."""
    words = _word_of(inside)
    ends = [t for t in rest if t.kind == "TAG"]
    if bare(words) in _LEADS:  # a claim is a statement of its own, in a column of its own
        apart = [Tok("AMP", "", rest[0].line, rest[0].start)] * (2 if bare(words) in JOINS else 0)
        return [*before, *apart, inside[0]._replace(kind="TEXT", value=words), *inside[1:], *ends], None
    tokens = inside[1:] if words else inside
    words = words or next(t.value for _, t in depth_zero(inside) if t.kind == "TEXT")  # `(a = b \text{ by symmetry})`
    if not has_relation(tokens) and any(CHANGES.search(bare(t.value)) for t in inside if t.kind == "TEXT"):
        return [*before, *rest], None
    if not any(t.kind not in {"TEXT"} | _ENDS for t in tokens):
        return [*before, Tok("TEXT", words, rest[0].line, rest[0].start), *tokens, *ends], None
    return [*before, *ends], Note(words, tokens, _is_known(words))


def _read_words(before: list[Tok], rest: list[Tok], column: bool) -> Note | None:
    """The note that the rest of a row is; None of what is a statement, and of reasons that are read as they stand."""
    words = _word_of(rest)
    plain = bare(words)
    tokens = [t for t in rest[1:] if t.kind not in ("AMP", "TAG")]
    while tokens and tokens[-1].kind in _ENDS:
        tokens.pop()
    if not words or not any(t.kind not in {"TEXT"} | _ENDS for t in tokens):
        return None  # words alone
    read = plain in _LEADS or words.endswith(":") or (rest[0].kind == "TEXT" and OPENS_REASON.search(plain))
    done = bool(_DONE.match(plain)) and not _CLAIMS.search(plain) and not any(t.kind == "TEXT" for t in tokens)
    beside = column and has_relation(before)
    return Note(words, tokens, _is_known(words)) if not read and (beside or done) else None


__all__ = ["Note", "balance_brackets", "take_note"]
