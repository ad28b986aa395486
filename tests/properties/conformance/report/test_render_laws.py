"""The published list of laws is the list of laws."""

from __future__ import annotations

from pathlib import Path

from attention_core.conformance.contracts import contracts
from attention_core.conformance.report.render_laws import laws_as_markdown

PAGE = Path(__file__).parents[4] / "docs" / "laws.md"


def test_the_page_is_up_to_date() -> None:
    found = PAGE.read_text(encoding="utf-8")
    assert found == laws_as_markdown(list(contracts().values())), "attention-core laws --markdown > docs/laws.md"


def test_every_law_stands_on_the_page() -> None:
    page = laws_as_markdown(list(contracts().values()))
    for contract in contracts().values():
        for law in contract.laws:
            assert f"| `{law.name}` | {law.sentence}".replace("||", "|")[:40] in page
            assert law.fault in page
