"""Which paragraphs declare.

Which paragraphs declare something, and which of their formulas are conditions or only say where symbols live.
A paragraph that opens with none of the words below is prose and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.document.display import condition_chains
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Chain, Name, Statement, Unreadable
from attention_core.derivation.latex.tokens import Tok, depth_zero
from attention_core.derivation.terms.context import Failed

OPENERS = ("Let", "Given", "Assume", "Suppose", "Where", "where", "Draw", "Define", "Put")
_OPENING = re.compile(rf"^\s*({'|'.join(OPENERS)})\b(?!')")
MISSING = re.compile(r"(\S+) is not (?:declared:|a size:)")
BINDING = re.compile(r"\b(for all|for every|for each|for any|for|whenever|if)\s*$", re.IGNORECASE)


def is_declaration(paragraph: Paragraph) -> bool:
    """Whether a paragraph declares something."""
    return bool(_OPENING.match(paragraph.text)) and "$" in paragraph.text


def going_on(paragraph: Paragraph) -> Paragraph | None:
    """What a paragraph right after a display declares for it: "where ...", or "with $m \\in \\mathbb{N}$"."""
    if re.match(r"[\s,;]*[Ww]here\b", paragraph.text):
        return paragraph if "$" in paragraph.text else None
    parts = re.split(r"(?<!\\)\$", paragraph.text)
    if not re.match(r"[\s,;]*(with|for|for all|for every|for any|given|assuming)\s*$", parts[0]):
        return None
    if (
        len(parts) % 2 == 0
        or len(parts) == 1
        or not all(says_domain(part, paragraph.line, False) for part in parts[1::2])
    ):
        return None
    return Paragraph(paragraph.line, "\n" * parts[0].count("\n") + "where $" + "$".join(parts[1:]))


def declared_later(paragraphs: list[Paragraph], name: str) -> int:
    """The line of the first of these paragraphs that says where a symbol lives, 0 if none does."""
    for paragraph in paragraphs:
        for part in re.split(r"(?<!\\)\$", paragraph.text)[1::2]:
            try:
                chains = [parse_tokens(tokens).chains[0] for tokens in cut_at_commas(tokenize(part, paragraph.line))]
            except (Unreadable, RecursionError):
                continue
            if any(c.ops[:1] in (("in",), ("sim",), (":=",)) for c in chains):
                left = [e for c in chains if c.ops[:1] in ((), ("in",), ("sim",), (":=",)) for e in c.exprs[:1]]
                if name in {symbol_name(e) for e in left}:
                    return paragraph.line
    return 0


def cause_above(failed: Sequence[Failed], message: str) -> str:
    """Why a symbol that is missing has no declaration: the first of those above that could not be read.

    Args:
        failed: The declarations above that could not be read.
        message: The message about the missing symbol.

    Returns:
        What to add to the message, '' if no symbol is missing or none of these declares it.
    """
    cause: Failed | None = None
    left = list(failed)
    while missing := MISSING.match(message):
        place = next((k for k in range(len(left) - 1, -1, -1) if _declares(left[k].paragraph, missing[1])), None)
        if place is None:
            break
        cause, message, left = left[place], left[place].message, left[:place]
    return "" if cause is None else f"; line {cause.paragraph.line} had to be read first: {cause.message}"


def _declares(paragraph: Paragraph, name: str) -> bool:
    """Whether a paragraph declares a symbol, as far as that is seen where its formulas cannot be read."""
    if declared_later([paragraph], name):
        return True
    formulas = re.split(r"(?<!\\)\$", paragraph.text)[1::2]
    return any(re.match(rf"\s*{re.escape(name)}\s*(?::=|\\in\b|\\sim\b|=)", formula) for formula in formulas)


def cut_at_commas(tokens: list[Tok]) -> list[list[Tok]]:
    """Tokens cut at commas outside brackets."""
    if not any(t.kind in ("COMMA", "STOP", "SEMI", "GAP") for t in tokens):
        return [tokens] if tokens else []
    cuts = [
        i for i, t in depth_zero(tokens) if t.kind in ("COMMA", "STOP", "SEMI") or (t.kind == "GAP" and "q" in t.value)
    ]
    out, start = [], 0
    for cut in [*cuts, len(tokens)]:
        piece = tokens[start:cut]
        if any(t.kind != "GAP" for t in piece):
            out.append(piece)
        start = cut + 1
    return out


KEPT_PIECES = 2048
"""How many formulas are kept as pieces: a declaration is tried several times, and looked at in several ways."""


@lru_cache(maxsize=KEPT_PIECES)
def read_pieces(text: str, line: int) -> tuple[tuple[list[Tok], Statement | Unreadable], ...]:
    """The tokens of a formula between its commas, not to be changed, each with what they say or why that is not read.

    Args:
        text: The formula.
        line: Where it starts.

    Raises:
        Unreadable: it cannot be cut into tokens.
    """
    return tuple([(tokens, _statement_or_error(tokens)) for tokens in cut_at_commas(tokenize(text, line))])


def _statement_or_error(tokens: list[Tok]) -> Statement | Unreadable:
    try:
        return parse_tokens(tokens)
    except Unreadable as error:
        return Unreadable(error.message, error.line)


def condition_parts(text: str, line: int) -> list[Chain]:
    """The conditions of a formula, cut at commas."""
    return [chain for tokens in cut_at_commas(tokenize(text, line)) for chain in condition_chains(tokens)]


def says_domain(text: str, line: int, sizes: bool) -> bool:
    """Whether a formula only says where symbols live, as sizes where wanted."""
    try:
        chains = [parse_tokens(tokens).chains[0] for tokens in cut_at_commas(tokenize(text, line))]
    except (Unreadable, RecursionError):
        return False
    single = [chain for chain in chains if not chain.alone]
    return bool(single) and all(c.ops == ("in",) and (not sizes or c.exprs[1] == Name(r"\mathbb{N}")) for c in single)


def is_condition(text: str, line: int) -> bool:
    """Whether a formula has a relation, so that it may be a condition."""
    try:
        return any(not c.alone for c in condition_parts(text, line))
    except Unreadable:
        return False
