"""Which faults of the catalogue are those of public threads of 2025 and 2026, and which law refutes each.

python experiments/threads/run.py > docs/thread_faults.md

What a fault came to is read from docs/data/power_faults.csv; faults that are not in it yet are judged here, at quick.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

from attention_core.conformance.engine.session import Session
from attention_core.conformance.search.search import run_law
from attention_core.faults.catalogue import FAULTS
from attention_core.faults.row import Row
from attention_core.matrix.measure import commit

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "data" / "power_faults.csv"
SINCE = {
    "Dao-AILab/flash-attention": (1571, "2025-04-02"), "NVIDIA/TensorRT-LLM": (8975, "2025-11-11"),
    "PaddlePaddle/FastDeploy": (3514, "2025-08-21"), "fla-org/flash-linear-attention": (837, "2026-04-16"),
    "flashinfer-ai/flashinfer": (3130, "2026-04-21"), "huggingface/transformers": (37574, "2025-04-17"),
    "ml-explore/mlx-lm": (1427, "2026-06-23"), "pytorch/executorch": (10466, "2025-04-25"),
    "pytorch/pytorch": (162362, "2025-09-08"), "sgl-project/sglang": (4823, "2025-03-27"),
    "sgl-project/sglang-jax": (267, "2025-10-23"), "vllm-project/vllm": (14896, "2025-03-16"),
}  # fmt: skip
"""Repository -> a thread of 2025 or 2026, and the day of its first entry: those with a higher number came after it."""
INTRODUCTION = """# Faults of public threads of 2025 and 2026

Each row is a thread about attention in a public repository, and a fault of [the catalogue](power.md) that is reduced
from it: the smallest code that is wrong in the same way. Written by

    python experiments/threads/run.py > docs/thread_faults.md

A repository numbers its issues and pull requests in one row, so that a thread is of 2025 or later where its number is
above that of one known to be:

{bounds}

Threads of other repositories, whose dates were not looked up, are left out. Results are those of
[the matrix of faults and laws](power.md); a fault that came after it was judged when this page was made.

**{threads} threads, {faults} faults: {quick} of {faults} are refuted at quick, {standard} at standard.** The law is the
first of the contract's laws, in their order, that refutes the fault. Measured at commit `{commit}`.

| thread | fault | contract | refuted at | by |
|---|---|---|---|---|"""


def is_recent(thread: str) -> bool:
    """Whether a thread is known to be of 2025 or later.

    >>> is_recent("vllm-project/vllm PR936"), is_recent("vllm-project/vllm#27491")
    (False, True)
    """
    repository, number = re.fullmatch(r"(.*?)(?:#| PR)(\d+)", thread).groups()  # type: ignore[union-attr]
    return repository in SINCE and int(number) >= SINCE[repository][0]


def judge(row: Row) -> tuple[str, str]:
    """The first law that refutes a fault at quick, and at standard where none does; "" without."""
    laws = dict.fromkeys(("quick", "standard"), "")
    for effort in laws:
        with Session(row.implementation(), effort=effort) as session:
            bound = (session.contract, session.subject, effort)
            found = (law.name for law in session.laws if run_law(law, *bound, shrink=0).status == "refuted")
            laws[effort] = next(found, "")
        if laws[effort]:
            break
    return laws["quick"], laws["standard"]


def main() -> None:
    """Print the page."""
    with RESULTS.open(encoding="utf-8", newline="") as file:
        known = {r["fault"]: (r["first_at_quick"], r["first_at_standard"]) for r in csv.DictReader(file)}
    faults: dict[str, list[Row]] = defaultdict(list)
    for row in FAULTS:
        for thread in row.source:
            if row.faulty and thread != "own" and is_recent(thread):
                faults[thread].append(row)
    rows = {row.name: row for found in faults.values() for row in found}
    results = {name: known.get(name) or judge(row) for name, row in rows.items()}
    quick = sum(bool(at_quick) for at_quick, _ in results.values())
    standard = sum(bool(at_quick or at_standard) for at_quick, at_standard in results.values())
    bounds = "\n".join(f"- {name} {number} ({date})" for name, (number, date) in sorted(SINCE.items()))
    counts = {"threads": len(faults), "faults": len(rows), "quick": quick, "standard": standard}
    print(INTRODUCTION.format(bounds=bounds, commit=commit(), **counts))
    for thread, found in sorted(faults.items()):
        for row in found:
            at_quick, at_standard = results[row.name]
            effort = "quick" if at_quick else "standard" if at_standard else "missed"
            print(f"| {thread} | `{row.name}` | {row.contract} | {effort} | `{at_quick or at_standard}` |")


if __name__ == "__main__":
    main()
