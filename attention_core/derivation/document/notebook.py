r"""The Markdown cells of a Jupyter notebook as one document, each line where it stands in the file.

Code, outputs, attachments and raw cells are left out; nothing of them is run or kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from attention_core.derivation.latex.syntax import Unreadable

MAX_LINES = 200_000  # of a file in which lines keep their places; those of a longer one are numbered one by one

MOST_MISSED = 100  # lines that are not found as JSON is usually written, of which each reads the rest of the file


def notebook_to_markdown(text: str) -> str:
    r"""Return the Markdown cells of a notebook.

    Args:
        text: The notebook, JSON.

    Returns:
        The cells with blank lines between them. A line of a cell has the number that it has in the file, if the file
        has a line of its own for it, as notebooks are usually saved.

    Raises:
        Unreadable: The text is not JSON, or not that of a notebook.

    Example:
        >>> cell = {"cell_type": "markdown", "source": ["Let $x > 0$.\n", "\n", "$$ x = x $$"]}
        >>> print(notebook_to_markdown(json.dumps({"cells": [cell]})).strip())
        Let $x > 0$.
        <BLANKLINE>
        $$ x = x $$
    """
    return "\n".join(_read_cells(text)[0]) + "\n"


def find_cells(text: str) -> tuple[tuple[int, int], ...]:
    r"""Return where the Markdown cells of a notebook begin in the text that `notebook_to_markdown` returns.

    Args:
        text: The notebook, JSON.

    Returns:
        For each Markdown cell its first line, from 1 on, and its number among all cells, from 1 on.

    Raises:
        Unreadable: The text is not JSON, or not that of a notebook.

    Example:
        >>> cells = [{"cell_type": "code", "source": "1"}, {"cell_type": "markdown", "source": "$$ x = x $$"}]
        >>> find_cells(json.dumps({"cells": cells}))
        ((2, 2),)
    """
    return _read_cells(text)[1]


def _read_cells(text: str) -> tuple[list[str], tuple[tuple[int, int], ...]]:
    """The lines of the Markdown cells, and where each begins."""
    try:
        every = enumerate(_cells_of(json.loads(text)), 1)
        chosen = [(number, cell) for number, cell in every if cell["cell_type"] in ("markdown", "heading")]
        sources = [(k, _lines_of(cell), isinstance(cell["source"], list), _mark_of(cell)) for k, cell in chosen]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unreadable("the file is not a notebook: JSON with a list of 'cells' is expected", 1) from None
    keeps_lines = text.count("\n") <= MAX_LINES
    out: list[str] = []
    starts: list[tuple[int, int]] = []
    at, line, missed = 0, 0, 0  # up to where the file is read, how many lines of it, and how many were not found
    for number, source, has_lines, mark in sources:
        out.append("")
        for place, one in enumerate(source):
            # A cell of one string has no lines in the file: looking for them would read all outputs for each.
            sought = keeps_lines and has_lines and missed < MOST_MISSED
            forms = _forms(one) if sought else ()
            found = min((here for form in forms if (here := text.find(form, at)) >= 0), default=-1)
            if found >= 0:
                line += text.count("\n", at, found)
                at = found + 1
                out += [""] * (line - len(out))
            missed += sought and found < 0
            out.append(mark + one.rstrip("\n"))
            starts += [(len(out), number)] if not place else []
    return out, tuple(starts)


def _cells_of(notebook: Any) -> list[Any]:
    """The cells of a notebook; those of the third version stand in worksheets."""
    if "worksheets" in notebook:
        return [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
    return list(notebook["cells"])


def _mark_of(cell: Any) -> str:
    """What Markdown writes in front of a heading, a cell of its own in the third version; '' of other cells."""
    return "#" * min(int(cell.get("level", 1)), 6) + " " if cell["cell_type"] == "heading" else ""


def _lines_of(cell: Any) -> list[str]:
    """The lines of a cell; its source is one string or a list of them."""
    source = cell["source"]
    return ("".join(source) if isinstance(source, list) else str(source)).splitlines(keepends=True)


def _forms(line: str) -> Iterator[str]:
    """How a line of a cell may be written in JSON."""
    for ascii_only in (False, True):
        yield json.dumps(line, ensure_ascii=ascii_only)


__all__ = ["find_cells", "notebook_to_markdown"]
