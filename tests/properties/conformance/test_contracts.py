"""attention_core.conformance.contracts: those of other packages are found by name, and harm nobody else when broken."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from attention_core.conformance import contracts as module
from attention_core.conformance.contracts import built_in, contracts, find_contract
from attention_core.declaration.implementation import TargetError

MINE = built_in()["rotary"]


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two contracts that packages add: one cannot be imported."""
    entries = [
        EntryPoint("broken", "no_such_package:contract", "attention_core.contracts"),
        EntryPoint("mine", f"{__name__}:MINE", "attention_core.contracts"),
    ]
    loads = {"mine": lambda: MINE}

    class Entry:
        def __init__(self, entry: EntryPoint) -> None:
            self.name, self.value, self.entry = entry.name, entry.value, entry

        def load(self) -> Any:
            return loads[self.name]() if self.name in loads else self.entry.load()

    monkeypatch.setattr(module, "entry_points", lambda group: [Entry(entry) for entry in entries])


@pytest.mark.usefixtures("added")
def test_a_broken_contract_harms_no_other() -> None:
    assert find_contract("attention").name == "attention"
    assert find_contract("mine") is MINE


@pytest.mark.usefixtures("added")
def test_a_broken_contract_is_one_line_where_it_is_asked_for() -> None:
    words = r"contract 'broken' \(no_such_package:contract\) cannot be loaded: .*No module named 'no_such_package'"
    with pytest.raises(TargetError, match=words):
        find_contract("broken")
    with pytest.raises(TargetError, match=words):
        contracts()


@pytest.mark.usefixtures("added")
def test_an_unknown_name_lists_all_without_loading_them() -> None:
    with pytest.raises(TargetError, match=r"no contract 'none'; there are: attention, .*kv-cache, .*broken, mine$"):
        find_contract("none")
    with pytest.raises(TargetError, match=r"no contract 'rotry'; did you mean rotary\? `attention-core contracts`"):
        find_contract("rotry")
