"""Which law is likely to see a fault first, so that the judge of an audit asks it before all others.

A hint, and not a verdict: the law is put to the fault in the target's place like any other, and where it does not
refute it there, all laws are, in their order. A fault without a hint takes longer and comes to the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_suffix(".json")
"""Contract -> law -> the faults that it refutes first at quick effort, as `experiments/power/report.py` measured."""


@cache
def read_table(path: Path = TABLE) -> Mapping[str, str]:
    """Fault -> the law that refuted it first; a fault of the catalogue has one contract."""
    table = json.loads(path.read_text(encoding="utf-8"))
    return {fault: law for laws in table.values() for law, faults in laws.items() for fault in faults}


def likely_law(fault: str) -> str:
    """The law that is likely to see a fault first; "" where that is not known.

    >>> likely_law("refusal.lengths_cut_to_shorter"), likely_law("a fault that nobody has measured")
    ('lengths_of_key_and_value_must_agree', '')
    """
    return read_table().get(fault, "")


def to_table(first: Iterable[tuple[str, str, str]]) -> str:
    """The text of the table.

    Args: first, the contract of a fault, the fault, and the law that refuted it first.

    >>> print(to_table([("attention", "tiles.b", "agrees_with_truth"), ("attention", "tiles.a", "agrees_with_truth")]))
    {
     "attention": {
      "agrees_with_truth": [
       "tiles.a",
       "tiles.b"
      ]
     }
    }
    <BLANKLINE>
    """
    table: dict[str, dict[str, list[str]]] = {}
    for contract, fault, law in first:
        table.setdefault(contract, {}).setdefault(law, []).append(fault)
    ordered = {contract: {law: sorted(laws[law]) for law in sorted(laws)} for contract, laws in sorted(table.items())}
    return json.dumps(ordered, indent=1) + "\n"
