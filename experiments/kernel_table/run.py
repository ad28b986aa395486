"""Put every kernel of the table through the suite, and print docs/kernels.md.

From the root of the repository: python experiments/kernel_table/run.py [--effort E] [--seed N] [--jobs J] [KERNEL...]
Kernels in Triton are judged at quick at most, since the interpreter takes milliseconds for every program.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context

import torch

from attention_core.conformance.engine.session import Session
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import DTYPES, Unavailable
from attention_core.declaration.kernel import Kernel
from attention_core.registry.table import KERNELS, implementation

QUANTITIES = ("out", "lse", "query", "key", "value", "mask")
INTRODUCTION = """# The kernel table, judged

Every kernel of `attention_core/registry/table.py` as the suite saw it: those of attention first, then those of the
other [contracts](contracts.md). "Known" counts the laws that a kernel is known to break ([findings](findings.md));
they are shown again on every run.
"""
OTHERS = """
## Kernels of other contracts

The last column is the largest |result - truth| / bound of the run, over all dtypes and quantities; a dash where a
contract compares without a budget.

| kernel | contract | verdict | laws held | refuted | known | does not apply or refused | problems | largest error |
|---|---|---|---|---|---|---|---|---|
"""
INTERPRETED = "core:triton"
"""How the names of kernels that run in Triton's interpreter begin."""
UNEXPECTED = """
Not as the table declares. On a processor with AMX, torch's bfloat16 products carry NaN into the row before
([finding 16](findings.md)): kernels that leave dead rows NaN are refuted there, and conform with
`ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16`.
"""
RATIOS = """
## Largest error over its budget

The largest |result - truth| / bound in the run, for the output and the gradients: near 1 the budget is sharp,
above 1 it would be a false alarm. A dash: not declared, or nothing of this kind was judged.
"""


def judge(row: Kernel, effort: str, seed: int) -> Report | str:
    """The report on a row, or why it cannot run here."""
    effort = "quick" if row.name.startswith(INTERPRETED) else effort
    try:
        with Session(implementation(row.name), row.origin, effort=effort, seed=seed) as session:
            results = [session.run(law) for law in session.laws]
            return session.report(results)
    except Unavailable as reason:
        return str(reason)


def verdict_lines(found: dict[str, Report | str]) -> Iterator[str]:
    """One line of the first table for each row."""
    yield "| kernel | verdict | laws held | refuted | known | does not apply or refused | problems |"
    yield "|---|---|---|---|---|---|---|"
    for name, report in found.items():
        if isinstance(report, str):
            yield f"| `{name}` | not run | | | | | |"
        else:
            yield f"| `{name}` | {report.verdict} | {' | '.join(map(str, count_laws(report)))} |"


def other_lines(found: dict[str, Report | str]) -> Iterator[str]:
    """One line of the table of other contracts for each row."""
    for name, report in found.items():
        contract = implementation(name).contract
        if isinstance(report, str):
            yield f"| `{name}` | {contract} | not run | | | | | | |"
            continue
        largest = f"{max(report.ratios.values()):.3f}" if report.ratios else "-"
        yield f"| `{name}` | {contract} | {report.verdict} | {' | '.join(map(str, count_laws(report)))} | {largest} |"


def count_laws(report: Report) -> list[int]:
    """Laws that held, were refuted, failed as known, and did not apply or were refused; problems judged."""
    count = Counter(law.status for law in report.laws)
    other = count["not_applicable"] + count["refused"]
    return [count["held"], count["refuted"], count["known_failure"], other, sum(law.cases for law in report.laws)]


def is_of_attention(row: Kernel) -> bool:
    """Whether a row belongs into the first table."""
    return str(row.record.get("contract", "attention")).startswith("attention")


def unavailable_lines(found: dict[str, Report | str]) -> Iterator[str]:
    """Why rows of the first table were not run."""
    reasons = [f"- `{name}`: {report}" for name, report in found.items() if isinstance(report, str)]
    yield from ("", "Not run here:", "", *reasons) if reasons else ()


def unexpected_lines(found: dict[str, Report | str]) -> Iterator[str]:
    """Why a verdict is another than the table's."""
    expected = {row.name: row.expected for row in KERNELS}
    told = {n: r for n, r in found.items() if not isinstance(r, str) and r.verdict != expected[n]}
    yield from (UNEXPECTED,) if told else ()
    yield from (f"- `{name}`: {report.verdict} ({report.reason()})" for name, report in told.items())


def ratio_lines(found: dict[str, Report | str]) -> Iterator[str]:
    """One line of the second table for each row and dtype."""
    yield f"| kernel | sums | dtype | {' | '.join(QUANTITIES)} |"
    yield f"|---|---|---|{'---|' * len(QUANTITIES)}"
    for name, report in found.items():
        if isinstance(report, str) or report.verdict == "refuted":
            continue  # the errors of a refuted kernel say nothing about the budget
        sums = implementation(name).accumulate
        for dtype in DTYPES:
            values = [report.ratios.get(f"{dtype}/{quantity}") for quantity in QUANTITIES]
            if any(value is not None for value in values):
                shown = " | ".join("-" if value is None else f"{value:.3f}" for value in values)
                yield f"| `{name}` | {sums} | {dtype} | {shown} |"


def how(effort: str, seed: int) -> str:
    """What took part."""
    names = ("torch", "numpy", "transformers")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    place = f"{platform.machine()} with {torch.backends.cpu.get_cpu_capability()}"
    return (
        f"\n## How this was measured\n\n`python experiments/kernel_table/run.py --effort {effort} --seed {seed}`: "
        f"{versions},\nPython {platform.python_version()}, on a CPU ({place}), one thread, every kernel in a process "
        f"of its own. Kernels in Triton (`{INTERPRETED}_...`) ran in its interpreter, at quick.\n"
    )


def main() -> None:
    """Judge the rows and print the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", help="names of rows; all when empty")
    parser.add_argument("--effort", default="standard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="rows judged at the same time")
    options = parser.parse_args()
    rows = [row for row in KERNELS if not options.kernels or row.name in options.kernels]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        judging = {row.name: pool.submit(judge, row, options.effort, options.seed) for row in rows}
        found: dict[str, Report | str] = {}
        for name, future in judging.items():
            found[name] = future.result()
            told = found[name]
            print(f"{name}: {told if isinstance(told, str) else told.verdict}", file=sys.stderr, flush=True)
    notes = [*unavailable_lines(found), *unexpected_lines(found)]
    first = {row.name: found[row.name] for row in rows if is_of_attention(row)}
    others = {name: report for name, report in found.items() if name not in first}
    print("\n".join([INTRODUCTION, *verdict_lines(first), *notes, OTHERS.rstrip("\n"), *other_lines(others)]))
    print("\n".join([RATIOS, *ratio_lines(first)]))
    print(how(options.effort, options.seed), end="")


if __name__ == "__main__":
    main()
