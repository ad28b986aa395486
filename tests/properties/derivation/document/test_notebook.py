"""The Markdown cells of a notebook are read as a document; nothing else of it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.notebook import MOST_MISSED, find_cells, notebook_to_markdown
from attention_core.derivation.show import show_report


def markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


CELLS = [
    markdown("# Größen\n\nLet $x, y \\in \\mathbb{R}$."),
    {"cell_type": "code", "source": ["$$ x = x + 1 $$"], "outputs": [{"text": ["$$ 1 = 2 $$\n"] * 50}]},
    markdown("We have\n\n$$ (x + y)^2 = x^2 + 2 x y + y^2 $$\n\nand\n\n$$ x y = x $$"),
]


@pytest.mark.parametrize("layout", [{"indent": 1}, {"indent": 1, "ensure_ascii": False}])
def test_steps_have_the_lines_of_the_file(tmp_path: Path, layout: dict[str, Any]) -> None:
    path = tmp_path / "notes.ipynb"
    path.write_text(json.dumps({"cells": CELLS, "nbformat": 4}, **layout), encoding="utf-8")
    steps = check_document(path).steps
    assert [step.verdict for step in steps] == ["PROVED", "REFUTED"]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert ["(x + y)^2" in lines[steps[0].line - 1], "x y = x" in lines[steps[1].line - 1]] == [True, True]


def test_steps_name_their_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.ipynb"
    path.write_text(json.dumps({"cells": [markdown("$$ 1 = 1 $$"), *CELLS[1:]]}, indent=1), encoding="utf-8")
    report = check_document(path)
    assert [one["cell"] for one in report.as_dict()["steps"]] == [1, 3, 3]
    show_report(report)
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown if line.startswith("cell")] == ["cell 1", "cell 3"]
    text = path.read_text(encoding="utf-8")
    lines = notebook_to_markdown(text).splitlines()
    assert [lines[first - 1] for first, _ in find_cells(text)] == ["$$ 1 = 1 $$", "We have"]
    assert "cell" not in check_document("$$ 1 = 1 $$").as_dict()["steps"][0]


@pytest.mark.parametrize("layout", [{}, {"separators": (",", ":")}])
def test_a_notebook_in_one_line_is_read(layout: dict[str, Any]) -> None:
    cells = [{**cell, "source": "".join(cell["source"])} for cell in CELLS]
    text = notebook_to_markdown(json.dumps({"cells": cells}, **layout))
    assert [step.verdict for step in check_document(text).steps] == ["PROVED", "REFUTED"]


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"cells": 3}', '{"cells": [{}]}', "[" * 100_000])
def test_what_is_not_a_notebook_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text(text, encoding="utf-8")
    (step,) = check_document(path).steps
    assert step.verdict == "UNREADABLE" and "not a notebook" in step.evidence.text


def test_long_outputs_are_left_out(tmp_path: Path) -> None:
    output = {"cell_type": "code", "source": [], "outputs": [{"data": {"image/png": "x" * 3_000_000}}]}
    path = tmp_path / "long.ipynb"
    path.write_text(json.dumps({"cells": [CELLS[0], output, markdown("$$ x = x $$")]}, indent=1), encoding="utf-8")
    assert check_document(path).passed


class Searched(str):
    """A text that counts how often something is looked for in it."""

    searches = 0

    def find(self, *args: Any) -> int:
        self.searches += 1
        return super().find(*args)


@pytest.mark.parametrize(("lines", "most"), [(False, 0), (True, 2 * MOST_MISSED)])
def test_a_long_notebook_is_not_read_for_every_line(lines: bool, most: int) -> None:
    """Lines that do not stand in the file as JSON is usually written: in one string, or with escapes of capitals."""
    source = [f"text {i} \u00fc\n" for i in range(1000)]
    cell = {"cell_type": "markdown", "source": source if lines else "".join(source)}
    text = Searched(json.dumps({"cells": [cell]}).replace("\\u00fc", "\\u00FC"))
    assert notebook_to_markdown(text).split() == "".join(source).split()
    assert text.searches <= most


def test_a_notebook_of_the_third_version_has_worksheets_and_cells_of_headings(tmp_path: Path) -> None:
    heading = {"cell_type": "heading", "level": 2, "source": ["Größen"]}
    third = {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [heading, *CELLS[1:]]}]}
    text = json.dumps(third, indent=1)
    assert "## Größen" in notebook_to_markdown(text)
    path = tmp_path / "old.ipynb"
    path.write_text(text, encoding="utf-8")
    steps = check_document(path, infer=True).steps
    assert steps[0].verdict in ("PROVED", "EXACT")
    assert all('"$$ ' in text.splitlines()[step.line - 1] for step in steps)
