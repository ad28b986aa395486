"""Columns of sentences get a class, so that the style sheet does not squeeze them; short code gets one too."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONG = {"prose": 40, "phrase": 18}
"""Characters of text, code and figures aside, from which on a cell holds a sentence or a phrase."""
SHORT = 20
"""Characters of code up to which it does not break at its hyphens: an option, a name."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Mark the columns when a page has been read."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Give every cell of a column the class of its longest text below the head, and short code a class of its own."""
    for table in doctree.findall(nodes.table):
        for code in table.findall(nodes.literal):
            if len(code.astext()) <= SHORT:
                code["classes"].append("short")
        rows = [[cell for cell in row.children if isinstance(cell, nodes.entry)] for row in table.findall(nodes.row)]
        for column in zip_longest(*rows):
            cells = [cell for cell in column if cell is not None]
            longest = max((len(text_of(c)) for c in cells if not isinstance(c.parent.parent, nodes.thead)), default=0)
            kind = next((name for name, length in LONG.items() if longest >= length), None)
            for cell in cells if kind else ():
                cell["classes"].append(kind)


def text_of(cell: nodes.Element) -> str:
    """The text of a cell without its code and figures, which may break between any two."""
    text = " ".join(t.astext() for t in cell.findall(nodes.Text) if not isinstance(t.parent, nodes.literal))
    return " ".join(re.sub(r"\S*\d\S*", "", text).split())
