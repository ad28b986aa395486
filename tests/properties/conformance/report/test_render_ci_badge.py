"""The badge shows the worst verdict and is well-formed SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import product

import pytest

from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.render_ci import to_badge
from attention_core.conformance.report.results import WORST_FIRST, Report

ONE = {
    "refuted": Report("t", laws=[LawResult("l", "refuted", 1, 0.1)]),
    "error": Report("t", problem="p", failed=True),
    "incomplete": Report("t", laws=[LawResult("l", "held", 1, 0.1)], untested=["x"]),
    "conforms": Report("t", laws=[LawResult("l", "held", 1, 0.1)]),
}


@pytest.mark.parametrize(("first", "second"), list(product(WORST_FIRST, WORST_FIRST)))
def test_the_worst_verdict_is_shown(first: str, second: str) -> None:
    root = ET.fromstring(to_badge([ONE[first], ONE[second]]))
    assert root.get("aria-label") == f"attention: {min(first, second, key=WORST_FIRST.index)}"


def test_nothing_judged_does_not_conform() -> None:
    assert "incomplete" in to_badge([])
