r"""Relations that a table or a list states without a sign: a row `x | y^2` may say that x is y^2.

A row has no relation sign, so what it states is kept for steps that are found false, as relations of the prose are:
see `step`. A row of a shape ("n \times d") says nothing of values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.words.caveats import relation_in

_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_HTML_ROW = re.compile(r"<tr\b[^<>]*>(.*?)(?:</tr\s*>|(?=<tr\b)|\Z)", re.DOTALL | re.IGNORECASE)
_HTML_CELL = re.compile(r"</?t[dh]\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"(?:\\.|\$(?:\\.|[^$\\])*\$|[^|$\\])+")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(\$[^$]+\$)\s*(?::|-+|\u2013|\u2014|\u2192)\s*(\$[^$]+\$)\s*[.,;]?\s*$")
_FORMULA = re.compile(r"^\$([^$]+)\$$")
_BARE = re.compile(r"^(?:(?:=|<|>|<=|>=|\u2264|\u2265|\u2260)\s*)?-?(?:\d+(?:\.\d+)?|\d*[A-Za-z](?:[_^][A-Za-z0-9])*)$")
_SIGNS = {"<=": r"\le", ">=": r"\ge", "\u2264": r"\le", "\u2265": r"\ge", "\u2260": r"\ne"}
_BEGINS = re.compile(r"^\s*(?:[=<>]|\\(?:le|ge|leq|geq|ne|neq|in|approx|equiv|propto)(?![a-zA-Z]))")
_SHAPE = re.compile(r"\\times|^\s*[(\[].*,.*[)\]]\s*$|\\math(?:bb|bf)\s*\{?\s*R", re.DOTALL)
MAX_CELLS = 30  # of a row that may state something
Row = tuple[int, list[str]]  # its line, and its cells


def relations_in_rows(paragraph: Paragraph) -> list[tuple[int, str, str]]:
    r"""The relations that the rows of a table or a list may state: line, quote and formula.

    Args:
        paragraph: A paragraph.

    Example:
        >>> relations_in_rows(Paragraph(1, "| name | value |\n|---|---|\n| $x$ | $y^2$ |"))
        [(3, '$x$ | $y^2$', 'x = y^2')]
    """
    out = []
    for head, rows in _tables_in(paragraph):
        for line, cells in [*head, *rows]:
            out += [(line, " | ".join(cells), one) for one in _pair([_formula_in(cell) for cell in cells])]
        if head and len(rows) == 1:  # names above their values
            (line, cells), quote = rows[0], " | ".join([*head[0][1], *rows[0][1]])
            for name, value in zip(head[0][1], cells, strict=False):
                out += [(line, quote, one) for one in _pair([_formula_in(name), _formula_in(value)])]
    for number, text in enumerate(paragraph.text.splitlines()):
        if found := _ITEM.match(text):
            out += [
                (paragraph.line + number, text.strip(), one) for one in _pair([_formula_in(c) for c in found.groups()])
            ]
    return out


def _tables_in(paragraph: Paragraph) -> Iterator[tuple[list[Row], list[Row]]]:
    """The head and the rows of each table."""
    lines = paragraph.text.splitlines()
    end = 0  # of the last table
    for place, (above, rule) in enumerate(pairwise(lines)):
        if place >= end and "|" in above and "-" in rule and _RULE.fullmatch(rule.strip(" \t>")):
            end = next((n for n in range(place + 2, len(lines)) if "|" not in lines[n]), len(lines))
            rows = [(paragraph.line + n, _cells_of(lines[n])) for n in range(place + 2, end)]
            yield [(paragraph.line + place, _cells_of(above))], rows
    found = list(_HTML_ROW.finditer(paragraph.text))
    if found:
        lines_of = [paragraph.line + paragraph.text.count("\n", 0, one.start()) for one in found]
        rows = [(n, _cells_of(_HTML_CELL.sub("|", one[1]))) for n, one in zip(lines_of, found, strict=True)]
        yield (rows[:1], rows[1:]) if "<th" in found[0][1].lower() else ([], rows)


def _cells_of(line: str) -> list[str]:
    """The cells of a row that have content."""
    cells = [cell for cell in (one.strip(" \t\n>*_") for one in _CELL.findall(line)) if cell]
    return cells if len(cells) <= MAX_CELLS else []


def _formula_in(cell: str) -> str:
    """The formula that a cell is, '' if it is words."""
    if found := _FORMULA.match(cell):
        return found[1].strip()
    if _BARE.match(cell):
        sign = next((one for one in sorted(_SIGNS, key=len, reverse=True) if cell.startswith(one)), "")
        return f"{_SIGNS[sign]} {cell.removeprefix(sign)}" if sign else cell
    return ""


def _pair(formulas: list[str]) -> Iterator[str]:
    """The relations between the first formula of a row and the others."""
    found = [one for one in formulas if one]
    for other in found[1:]:
        if _BEGINS.match(other):
            yield f"{found[0]} {other}"
        elif not (_BEGINS.match(found[0]) or relation_in(found[0], 1) or relation_in(other, 1) or _SHAPE.search(other)):
            yield f"{found[0]} = {other}"
