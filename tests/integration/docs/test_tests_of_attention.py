"""The page on the tests of attention is what its command writes from the data of the other pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COMMAND = ("experiments/tests_of_attention/run.py", "--write", "docs/tests_of_attention.md")


def test_the_page_has_the_numbers_of_the_other_pages() -> None:
    made = subprocess.run(
        [sys.executable, COMMAND[0]], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert made.returncode == 0, made.stderr
    page = (ROOT / COMMAND[2]).read_text(encoding="utf-8")
    assert made.stdout == page, f"numbers of another page have changed: python {' '.join(COMMAND)}"


def test_the_page_is_not_filled_with_nothing() -> None:
    """Tables have rows, and the page no braces of its template."""
    page = (ROOT / COMMAND[2]).read_text(encoding="utf-8")
    assert "{" not in page and "nan" not in page.split()
    tables = [block for block in page.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4 and all(block.count("\n") >= 6 for block in tables)
