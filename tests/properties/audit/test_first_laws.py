"""The law that is asked first about a fault."""

from __future__ import annotations

from attention_core.audit.choice import CONTRACTS
from attention_core.audit.first_laws import read_table
from attention_core.conformance.contracts import find_contract
from attention_core.faults.catalogue import FAULTS


def test_the_table_names_faults_and_laws_that_there_are() -> None:
    rows = {row.name: row for row in FAULTS if row.contract in CONTRACTS}
    laws = {contract: {law.name for law in find_contract(contract).laws} for contract in CONTRACTS}
    table = read_table()
    assert set(table) <= set(rows)
    assert [fault for fault, law in table.items() if law not in laws[rows[fault].contract]] == []


def test_most_faults_have_their_law() -> None:
    faulty = [row.name for row in FAULTS if row.contract in CONTRACTS and row.faulty]
    known = sum(name in read_table() for name in faulty)
    assert known >= 0.9 * len(faulty), "write the table anew: experiments/power/report.py"
