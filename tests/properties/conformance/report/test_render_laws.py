"""The published list of laws is the list of laws."""

from __future__ import annotations

import json
from pathlib import Path

from attention_core.conformance.contracts import contracts
from attention_core.conformance.report.render_laws import laws_as_json, laws_as_markdown, search_laws

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


def test_a_search_finds_the_laws_in_which_every_word_stands() -> None:
    everything = list(contracts().values())
    found = {(one.name, law.name) for one in search_laws(everything, ["Later ROWS", "gradient"]) for law in one.laws}
    assert ("attention", "later_rows_get_no_gradient") in found
    assert ("attention", "agrees_with_truth") not in found
    assert search_laws(everything, ["zzz"]) == []
    assert sum(len(one.laws) for one in search_laws(everything, [])) == sum(len(one.laws) for one in everything)


def test_the_list_for_programs_has_every_law() -> None:
    everything = list(contracts().values())
    listed = json.loads(laws_as_json(everything))["laws"]
    assert [(one["contract"], one["name"]) for one in listed] == [
        (c.name, law.name) for c in everything for law in c.laws
    ]
    assert all(one["sentence"] and one["fault"] for one in listed)
