"""The laws as Markdown (docs/laws.md) and as JSON: by contract, each with the fault it was seen to refute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from attention_core.conformance.contracts import Contract
from attention_core.conformance.subjects.law import Law

HEAD = """# The laws

Every law that a correct implementation obeys, by contract. The last column names the fault that the law is tested to
refute, under `attention_core/faults` or `finetune/faults`. This page is generated:
`attention-core laws --markdown > docs/laws.md`.
"""
UNSEEN = """
## What these laws do not see

- Faults of chance. A run of `attention` makes about 2400 calls at `--effort quick`, five times as many at `standard`,
  forty times at `thorough`. What is wrong in one call of r is missed by N calls with probability (1 - 1/r)^N or more:
  one fault in a thousand calls stays unseen in one quick run of eleven, one in ten thousand in four of five (and in
  three of ten at `standard`). What first goes wrong after more calls than a run makes is not seen at all.
- Errors inside the budgets: an output that is one rounding of its dtype away from the best one is allowed.
- Dropout rates off by less than `dropout_goes_on_along_rows_and_keys` and its neighbours state (0.009 at p = 0.9);
  gradients under dropout at rates other than 1/2 and 3/4.
- Sizes that are not drawn: more than 4099 keys or 4096 queries, head sizes above 257, indices beyond 31 bits. (By other
  contracts: positions above `max_position` or 131072, caches of more than 4105 tokens.)
- Several threads or streams at once: calls are made one after the other.
- Second backward passes through one graph, and graphs alive together, of anything but torch's arrays.
- The gradient of a log-sum-exp that carries none, and biases that are off by one number per row: both are allowed.
- Time and memory.
"""


def laws_as_markdown(contracts: Sequence[Contract]) -> str:
    """The page."""
    parts = [HEAD]
    for contract in contracts:
        parts.append(f"\n## {contract.name} ({len(contract.laws)} laws)\n\n")
        parts.append("| law | sentence | formula | source | refutes |\n|---|---|---|---|---|\n")
        for law in contract.laws:
            cells = (f"`{law.name}`", law.sentence, code(law.formula), law.source, f"`{law.fault}`")
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    parts.append(UNSEEN)
    return "".join(parts)


def search_laws(contracts: Sequence[Contract], words: Sequence[str]) -> list[Contract]:
    """The contracts with those of their laws in whose name, sentence, formula or source every word stands.

    >>> from attention_core.conformance.contracts import find_contract
    >>> [law.name for one in search_laws([find_contract("attention")], ["cap", "gradients"]) for law in one.laws]
    ['gradients_through_the_cap_are_true']
    """
    wanted = [word.casefold() for word in words]
    found = []
    for contract in contracts:
        laws = tuple(law for law in contract.laws if all(word in text_of(law) for word in wanted))
        found += [replace(contract, laws=laws)] if laws else []
    return found


def text_of(law: Law) -> str:
    """What is searched of a law, in small letters."""
    parts = (law.name, law.name.replace("_", " "), law.sentence, law.formula, law.source)
    return " ".join(parts).casefold()


def laws_as_json(contracts: Sequence[Contract]) -> str:
    """Every law of the contracts, with its family, needs and role."""
    laws = [
        {
            "contract": contract.name, "name": law.name, "family": law.family, "sentence": law.sentence,
            "formula": law.formula, "source": law.source, "fault": law.fault, "needs": sorted(law.needs),
            "role": law.role,
        }
        for contract in contracts for law in contract.laws
    ]  # fmt: skip
    return json.dumps({"schema_version": 1, "laws": laws}, indent=1, ensure_ascii=False) + "\n"


def code(text: str) -> str:
    """A formula as code (nothing for an empty one)."""
    return f"`{text}`" if text else ""
