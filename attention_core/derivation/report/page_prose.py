"""Prose with inline formulas as HTML.

Words of a document as HTML: formulas between dollar signs become MathML, and one that cannot be read stays as it is
written. Everything else is escaped.
"""

from __future__ import annotations

import re
from html import escape

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.mathml import math, operator, row, statement
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.syntax import Unreadable
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
