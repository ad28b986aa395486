"""Write the notebooks of the course from their sources: `python course/build.py`.

A source is Markdown. Its blocks of Python are the code cells, and the word behind `python` says what a cell is for:

    ```python                   a cell that always runs: imports, data
    ```python exercise NAME     what is handed out, with `...` where the student writes; the answer is in solutions/
    ```python check NAME        ends with a call that judges the answer
    ```python experiment        uses what was written; a notebook that is run as handed out goes on where it fails
    ```python experiment long   the same, of ten seconds and more

`python course/build.py --solved FOLDER` writes the notebooks with every exercise answered, for teachers.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COURSE = Path(__file__).resolve().parent
FENCE = re.compile(r"^```python *(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANSWER = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
KINDS = ("setup", "exercise", "check", "experiment")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Cell:
    """One cell: its kind ("text" or one of `KINDS`), the exercise's name, and its text."""

    kind: str
    name: str
    text: str


def read_cells(source: str) -> list[Cell]:
    """Return the cells of a source; text is cut before each heading.

    Raises: ValueError for a block of an unknown kind, or an exercise without a name.
    """
    cells: list[Cell] = []
    place = 0
    for match in FENCE.finditer(source):
        cells += _texts(source[place : match.start()])
        kind, _, name = (match[1] or "setup").partition(" ")
        if kind not in KINDS or (not name and kind in ("exercise", "check")):
            raise ValueError(f"a block of Python is called {match[1]!r}: see the head of build.py")
        cells.append(Cell(kind, name, match[2].rstrip("\n")))
        place = match.end()
    return cells + _texts(source[place:])


def _texts(text: str) -> list[Cell]:
    parts = re.split(r"^(?=#+ )", text, flags=re.MULTILINE)
    return [Cell("text", "", part.strip()) for part in parts if part.strip()]


def read_answers(text: str) -> dict[str, str]:
    """Return the answer to each exercise of a file of solutions, whose cells begin with `# %% NAME`.

    Raises: ValueError where an exercise is answered twice.
    """
    parts = ANSWER.split(text)[1:]
    names, answers = parts[0::2], [part.strip("\n") for part in parts[1::2]]
    if len(set(names)) < len(names):
        raise ValueError("an exercise is answered twice")
    return dict(zip(names, answers, strict=True))


def fill(cells: list[Cell], answers: Mapping[str, str]) -> list[Cell]:
    """Return the cells with exercises answered, those that have an answer."""
    return [
        Cell(cell.kind, cell.name, answers[cell.name]) if cell.kind == "exercise" and cell.name in answers else cell
        for cell in cells
    ]


def to_notebook(cells: list[Cell]) -> str:
    """Return the notebook as JSON, without outputs; the same cells give the same text."""
    data = {"cells": [_cell(*pair) for pair in enumerate(cells, 1)], "metadata": METADATA}
    return json.dumps({**data, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def _cell(number: int, cell: Cell) -> dict[str, Any]:
    common = {"id": f"cell-{number:03}", "source": cell.text.splitlines(keepends=True)}
    if cell.kind == "text":
        return {"cell_type": "markdown", **common, "metadata": {}}
    tags = [cell.kind, *(["raises-exception"] if cell.kind == "experiment" else [])]
    metadata = {"tags": tags} if cell.kind != "setup" else {}
    return {"cell_type": "code", **common, "metadata": metadata, "execution_count": None, "outputs": []}


def sources() -> list[Path]:
    """Return the sources in the order of the course."""
    return sorted((COURSE / "sources").glob("*.md"))


def main() -> None:
    """Write every notebook."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solved", type=Path, metavar="FOLDER", help="write them with answers, into this folder")
    folder = parser.parse_args().solved
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    for path in sources():
        cells = read_cells(path.read_text(encoding="utf-8"))
        if folder is not None:
            answers = (COURSE / "solutions" / f"{path.stem}.py").read_text(encoding="utf-8")
            cells = fill(cells, read_answers(answers))
        target = (folder or COURSE) / f"{path.stem}.ipynb"
        target.write_text(to_notebook(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
