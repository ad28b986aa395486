"""Conditions in the places where a document has them.

Where the document has the conditions of a statement: in front of it, behind a premise or behind the conclusion, and
with which words. A page shows them there; what a step assumes is read elsewhere.

Prose with inline formulas as HTML.

Words of a document as HTML: formulas between dollar signs become MathML, and one that cannot be read stays as it is
written. Everything else is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.connectives import ARROWS, bare
from attention_core.derivation.document.display import _without_frames, relation_lines
from attention_core.derivation.document.rows import split_statements
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.mathml import chain, math, operator, row, statement, words
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.syntax import Chain, Statement, Unreadable
from attention_core.derivation.latex.tokens import Tok
from attention_core.derivation.reading.steps import Step
from attention_core.derivation.words.paragraphs import cut_at_commas

_SPANS = re.compile(r"(?<!\\)\$(.+?)(?<!\\)\$|`([^`\n]+)`|\*\*(.+?)\*\*", re.DOTALL)


def prose(text: str) -> str:
    """Words with formulas between dollar signs, code between backquotes and bold words."""
    out, at = [], 0
    for found in _SPANS.finditer(text):
        out.append(escape(text[at : found.start()]))
        formula, code, bold = found.groups()
        out.append(inline(formula) if formula else f"<code>{escape(code)}</code>" if code else f"<b>{prose(bold)}</b>")
        at = found.end()
    return "".join(out) + escape(text[at:])


def inline(formula: str) -> str:
    """A formula between dollar signs; one that cannot be read is shown as it is written."""
    read = readable(formula)
    return f"<code>{escape(formula)}</code>" if read is None else math(read)


def readable(formula: str) -> str | None:
    """A formula without its dollar signs, None if it cannot be read."""
    try:
        parts = [statement(parse_tokens(tokens)) for tokens in cut_at_commas(tokenize(formula))]
    except (Unreadable, RecursionError):
        return None
    return row(*(operator(",") * bool(i) + part for i, part in enumerate(parts)))


@dataclass(frozen=True)
class Conditions:
    """The conditions of one statement: each with the words before it and how many arrows, -1 in front of everything."""

    statement: Statement
    said: tuple[tuple[str, Chain, int], ...]

    def belong_to(self, step: Step) -> bool:
        """Whether a step is one of this statement."""
        chains = [one for _, one, _ in self.said]
        sides = [expr for one in self.statement.chains for expr in one.exprs]
        same = len(chains) == len(step.conditions) and all(one in chains for one in step.conditions)
        return same and step.line in relation_lines(self.statement) and step.left in sides and step.right in sides


def conditions(block: Display) -> list[Conditions]:
    """Where the document has the conditions of a display's statements."""
    try:
        tokens = tokenize(_without_frames(block.text), block.line)
        pieces = split_statements(tokens)
        return [Conditions(parse_tokens(piece.tokens), tuple(_parse_conditions(piece.tokens, runs, tokens)))
                for piece in pieces if (runs := [*piece.conditions, *piece.offered])]  # fmt: skip
    except (Unreadable, RecursionError):
        return []


def _parse_conditions(
    statement: list[Tok], runs: list[list[Tok]], tokens: list[Tok]
) -> Iterator[tuple[str, Chain, int]]:
    first = statement[0].start
    arrows = [t for t in tokens if t.kind == "ARROW" or (t.kind == "TEXT" and bare(t.value) in ARROWS)]
    for run in sorted(runs, key=lambda run: run[0].start):
        start = run[0].start
        spot = sum(first < t.start < start for t in arrows) if start > first else -1
        before = next((t for t in reversed(tokens) if t.start < start and t.kind not in ("GAP", "AMP")), None)
        word = "," if before is None or before.kind not in ("TEXT", "FORALL") else before.value.strip(" ,:~")
        word = "∀" if before is not None and before.kind == "FORALL" else word
        for one in parse_tokens(run).chains:
            yield word, one, spot
            word = ","


def place_conditions(step: Step, known: Sequence[Conditions]) -> tuple[list[str], list[str], list[str]]:
    """A step's conditions in front of it, behind its premises and behind its conclusion, as the document has them."""
    front: list[str] = []
    premise: list[str] = []
    behind: list[str] = []
    whole = next((one for one in known if one.belong_to(step)), None)
    if whole is None:
        return front, premise, [operator("," if k else "∀") + chain(one) for k, one in enumerate(step.conditions)]
    groups = whole.statement.group_chains()
    given = tuple(one for one, _ in step.assumed)
    at = groups.index(given) if given in groups else -1
    ahead = at + 1 < len(groups) and any(step.left in one.exprs for one in groups[at + 1])
    for word, one, spot in whole.said:
        with_premise = at >= 0 and (spot <= at if ahead else spot >= at)
        place = front if spot < 0 else premise if with_premise else behind
        place.append((operator(word) if word in (",", "∀") else words(word)) + chain(one))
    return front, premise, behind
