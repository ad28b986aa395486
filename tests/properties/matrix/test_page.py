"""The page of the matrix: what it counts, how it argues, and that the one in docs is of the data in docs."""

from __future__ import annotations

import re
from pathlib import Path

from attention_core.matrix import measure, page
from attention_core.matrix.rows import ROWS

DOCS = Path(__file__).parents[3] / "docs"
DATA = measure.read(DOCS / "data" / "matrix.json")
FLEX = next(row for row in ROWS if row.target.endswith("torch_functions:flex"))


def record(
    target: str, verdict: str, *refuted: str, findings: list[int] | None = None, version: str = "1"
) -> measure.Record:
    known = {"held": 7, "refuted": [*refuted], "findings": findings or [], "date": "2026-11-26", "commit": "abc"}
    return measure.Record(
        "p", version, target, "torch", "attention", verdict, verdict, snippet="x = 1" if refuted else "", **known
    )


def test_the_page_counts_and_says_what_is_not_argued() -> None:
    argued = record(FLEX.target, "refuted", "no_queries_give_an_empty_output", findings=[4])
    text = page.make(
        [record("m:f", "conforms"), record("m:g", "incomplete"), argued, record("m:h", "refuted", "stays_finite")]
    )
    assert (
        "**4 rows, 1 packages, 1 runtimes.** 1 conform, 1 of\nthem at the first run. 2 are refuted: 1 for flaws, 0 for"
        in text
    )
    assert "1 not argued. 1 were not judged to the end." in text
    assert "| flex without keys | flaw |" in text and "[pytorch](findings/pytorch.md)" in text
    assert "refuted: flaw (4)" in text and "refuted: not argued" in text and "```python\nx = 1\n```" in text
    assert "Rows without a run here" in text and "x_transformers:attend (x-transformers)" in text


def test_releases_stand_side_by_side() -> None:
    text = page.make([record("m:f", "refuted", "a", version="1"), record("m:f", "conforms", version="2")])
    assert "| `m:f` at 1 |" in text and "| `m:f` at 2 |" in text


def test_the_page_in_docs_is_of_the_data_in_docs() -> None:
    assert (DOCS / "matrix.md").read_text() == page.make([*DATA.values()])
    assert [*DATA.values()] == page.order(DATA.values())


def test_every_refuted_row_of_the_data_is_argued_by_a_finding() -> None:
    numbers = {int(number) for number in re.findall(r"^\| (\d+) \|", (DOCS / "findings.md").read_text(), re.MULTILINE)}
    refuted = [one for one in DATA.values() if one.verdict == "refuted"]
    assert refuted and all(one.findings and {*one.findings} <= numbers for one in refuted)
    assert not [one.target for one in DATA.values() if one.verdict in ("error", "incomplete")]
    by_key = {(row.target, row.runtime): row for row in ROWS}
    assert all(measure.account(by_key[one.target, one.runtime], one.refuted) == one.findings for one in refuted)


def test_the_matrix_is_as_wide_as_it_says() -> None:
    packages, runtimes = ({getattr(one, what) for one in DATA.values()} for what in ("package", "runtime"))
    assert len(DATA) >= 60 and len(packages) >= 20 and len(runtimes) >= 6
