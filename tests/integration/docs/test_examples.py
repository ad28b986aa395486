"""The examples of docs/contracts.md.

The page for users shows a whole file for every contract; each of them must conform, as the page says.
The examples are read from docs/contracts.md and run in this process.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.contracts import built_in

PAGE = Path(__file__).parents[3] / "docs" / "contracts.md"
EXAMPLES = re.findall(r"\*\*([a-z-]+)\*\*.*?```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
RECORDS: dict[str, dict[str, Any]] = {
    "mask-builder": {"parameters": {"kind": "sliding_window"}},
    "self-attention-steps": {"parameters": {"kind": "make_causal_mask"}},
    "rotary": {"dtypes": ("float32", "bfloat16", "float16")},
    "varlen": {"dtypes": ("float32", "bfloat16", "float16")},
    "paged": {"dtypes": ("float32", "bfloat16", "float16")},
}


def test_every_contract_has_an_example() -> None:
    assert [name for name, _ in EXAMPLES] == list(built_in())
    assert all("--contract " + name in text for name, text in EXAMPLES if name != "attention")


@pytest.mark.usefixtures("fewest_cases")
@pytest.mark.thorough(table=True, leave_out=("multi-head", "batch-invariant"))
@pytest.mark.parametrize(("contract", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_conforms(contract: str, text: str) -> None:
    space: dict[str, Any] = {"__name__": "example"}
    exec(f"import torch\n{text}", space)
    names = re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)
    target = tuple(space[name] for name in names) if contract == "heads" else space[names[0]]
    record = Implementation(target, "f", contract, **RECORDS.get(contract, {}))
    report = check_implementation(record, "quick")
    assert report.verdict == "conforms", str(report)
