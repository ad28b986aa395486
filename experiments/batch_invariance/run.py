"""Ask every attention kernel of the table which batch invariances it holds, and print docs/batch_invariance.md.

From the root of the repository: python experiments/batch_invariance/run.py [--effort E] [--seed N] [KERNEL...]
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version

import torch

from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import batch_invariance as laws
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import Unavailable
from attention_core.declaration.kernel import Kernel
from attention_core.matrix.measure import commit
from attention_core.registry.table import KERNELS, implementation

COLUMNS: Mapping[str, str] = {
    "alone": "a_problem_alone_has_the_bits_of_its_batch",
    "place": "the_place_in_the_batch_changes_no_bit",
    "beside": "more_problems_beside_it_change_no_bit",
    "heads": "a_head_alone_has_the_bits_of_all_heads",
    "rows": "a_row_alone_has_the_bits_of_all_rows",
    "prefix": "a_prefix_has_the_bits_of_the_whole",
    "padding": "padding_changes_no_bit",
    "threads": "another_number_of_threads_changes_no_bit",
    "again": "the_same_call_has_the_same_bits",
    "gradients": "a_problem_alone_has_the_gradients_of_its_batch",
}
"""A column of the table -> its law."""
INTRODUCTION = """# Batch invariance, measured

Which kernels give a row the same bits whatever else is computed in the same call? This page answers for the kernel
table; yours is tested by `attention-core verify FILE.py:attention --contract batch-invariant`. **yes**: no case of the
run had other bits. A number: other bits, in a case of so many keys, with all else made as small as it could be. A dash:
the law does not apply, or nothing could be judged.

| column | the same bits |
|---|---|
| alone | one problem computed alone, and inside its batch |
| place | at every place of the batch |
| beside | with further problems in the batch |
| heads | the heads of one key head alone, and among all heads, as in tensor parallelism |
| rows | one to four rows alone, as in decoding, and among all rows |
| prefix | the first tokens under causality, with and without further ones after them (chunked prefill) |
| padding | with masked keys after the others |
| threads | on 1, 2, 3 and 4 threads |
| again | when the same call is made again |
| gradients | gradients of one problem alone, and inside its batch |
"""
MEANING = """
Products of matrices choose the order of a sum by the sizes of the whole call. So a step of decoding, a chunk of prefill
and a padded batch round differently from the whole prompt in one call, in every kernel that calls a library's product.
The differences are within every rounding budget: no kernel above is wrong. They matter where two runs have to agree to
the bit: a test that compares token by token, a policy trained beside the one that samples, an answer that has to be
repeated. `core:invariant` shows what it takes: every sum in the order of its terms, in operations on single elements.
It is a reference, too slow to serve with. `core:triton_flash` runs in Triton's interpreter, whose products are NumPy's:
a GPU's may give other answers.
"""


def judge(row: Kernel, effort: str, seed: int) -> Report | str:
    """The report on a row, or why it cannot run here."""
    try:
        record = implementation(row.name).with_(contract=laws.CONTRACT, known_failures={})
        with Session(record, row.origin, effort=effort, seed=seed) as session:
            results = [session.run(law) for law in session.laws]
            return session.report(results)
    except Unavailable as reason:
        return str(reason)


def cell(result: LawResult) -> str:
    """What one law came to, in a word."""
    if result.status == "held":
        return "yes"
    if result.status != "refuted" or result.counterexample is None:
        return "-"
    keys = re.search(r"n_kv=(\d+)", result.counterexample.case)
    return keys.group(1) if keys else "other"


def lines(found: Mapping[str, Report | str]) -> Iterator[str]:
    """The table: a line for each kernel, and below it what cannot run here."""
    yield f"| kernel | {' | '.join(COLUMNS)} |"
    yield f"|---|{'---|' * len(COLUMNS)}"
    for name, report in found.items():
        if isinstance(report, str):
            continue
        results = {result.law: result for result in report.laws}
        yield f"| `{name}` | {' | '.join(cell(results[law]) for law in COLUMNS.values())} |"
    unavailable = {name: report for name, report in found.items() if isinstance(report, str)}
    if unavailable:
        yield "\nNot measured here:\n"
        yield from (f"* `{name}`: {reason}" for name, reason in unavailable.items())


def how(effort: str, seed: int) -> str:
    """What took part."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "transformers"))
    place = f"{platform.machine()} with {torch.backends.cpu.get_cpu_capability()}"
    return (
        f"\n## How this was measured\n\n`python experiments/batch_invariance/run.py --effort {effort} --seed {seed}`: "
        f"{versions},\nPython {platform.python_version()}, commit `{commit()}`, on a CPU ({place}). "
        "Another processor has other tilings, "
        "and so another table.\n"
    )


def main() -> None:
    """Judge the rows and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", help="names of rows; all rows that are right when empty")
    parser.add_argument("--effort", default="standard")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = [
        row for row in KERNELS if row.record.get("contract", "attention") == "attention" and row.expected != "refuted"
    ]
    found: dict[str, Report | str] = {}
    for row in rows:
        if not options.kernels or row.name in options.kernels:
            found[row.name] = outcome = judge(row, options.effort, options.seed)
            print(
                f"{row.name}: {outcome if isinstance(outcome, str) else outcome.verdict}", file=sys.stderr, flush=True
            )
    print("\n".join([INTRODUCTION, *lines(found), MEANING]), end="")
    print(how(options.effort, options.seed), end="")


if __name__ == "__main__":
    main()
