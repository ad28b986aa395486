"""The page of errata: every program of docs/errata.md runs, one after the other, in NumPy alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[3] / "docs" / "errata.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_erratum_is_confirmed() -> None:
    space: dict[str, Any] = {}
    for text in PROGRAMS:
        exec(text, space)
    imported = re.findall(r"^(?:import|from) (\w+)", "\n".join(PROGRAMS), re.MULTILINE)
    assert imported == ["numpy"] and "\n".join(PROGRAMS).count("assert ") >= 20


def test_every_entry_of_the_table_has_its_section() -> None:
    rows = [int(number) for number in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]
    sections = re.findall(r"^## (\d+)(?: (to|and) (\d+))?", PAGE, re.MULTILINE)
    covered = [n for first, _, last in sections for n in range(int(first), int(last or first) + 1)]
    assert rows == covered == list(range(1, len(rows) + 1)) and len(rows) >= 17
