"""docs/gpu.md says what the data say that were measured on a GPU."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_that_of_the_data() -> None:
    made = runpy.run_path(str(ROOT / "experiments" / "gpu" / "page.py"))["page"]()
    assert made == (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
