"""docs/translation_figures.md: the page is what its script makes of the data, and its conclusions are the intervals'."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
DATA, PAGE = ROOT / "docs" / "data" / "translation_figures.json", ROOT / "docs" / "translation_figures.md"


@cache
def script() -> Any:
    spec = spec_from_file_location("translation_run", ROOT / "experiments" / "translation" / "run.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_data() -> None:
    assert script().page(json.loads(DATA.read_text(encoding="utf-8"))) == PAGE.read_text(encoding="utf-8")


def test_a_conclusion_names_the_pairs_that_the_intervals_decide() -> None:
    """An interval that ends at 0 decides nothing, and a pair that one training of two decides is said to be that."""
    names = script().PAIRS
    first = {name: {"a, b": (0.0, -0.1, 0.0)} for name in names} | {names[0]: {"a, b": (0.2, 0.1, 0.3)}}
    second = first | {names[1]: {"a, b": (-0.2, -0.3, -0.1)}}
    assert script().conclude({"0": first, "1": second}, "a, b") == (
        f"better in {names[0]}; worse in {names[1]} (1 of 2 trainings); undecided in 5 of 7 pairs"
    )
    assert script().conclude({"0": dict.fromkeys(names, first[names[0]])}, "a, b") == "better in all seven pairs"
