"""Processor seconds of `attention-core verify TARGET --effort quick` beyond importing torch.

python experiments/quick_seconds/run.py                     # all targets of targets.py, 5 runs each
python experiments/quick_seconds/run.py --runs 3 plain whole
python experiments/quick_seconds/run.py --page docs/performance.md      # and write the table there

The package is byte-compiled before, as pip does when it installs. What is counted: user and system time of the command
and of the workers that it starts, as the system says once all have ended, less one `python -c "import torch"` (the
median of as many). The command itself does not import torch. A refuted run starts a second worker only where the first
cannot be forked, to see whether its counterexamples fail alone: that import is counted as ours.
"First line" is the same until the first look's finding is printed; where a contract has no first look, its verdict.
Numbers are medians with the least and the largest, on one thread. The machine must be quiet: a shared core costs time.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
OPTIONS = {"MultiHead": ["--contract", "multi-head"], "Cache": ["--contract", "kv-cache"]}
TARGETS = (
    "plain", "plain_masked_late", "whole", "whole_scaled_by_values", "whole_nan_in_dead_rows", "MultiHead",
    "MultiHeadBlind", "Cache", "CacheSeesOneAhead",
)  # fmt: skip
BEGIN, END = "<!-- quick_seconds begins -->", "<!-- quick_seconds ends -->"
TICKS = os.sysconf("SC_CLK_TCK")


def children_seconds() -> float:
    """Processor seconds of all processes that this one has waited for, and of those that they have."""
    times = os.times()
    return times.children_user + times.children_system


def alive_seconds(pid: int) -> float:
    """Processor seconds so far of a process and of all that it has started, those that have ended included (Linux)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        others = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(alive_seconds(int(other)) for other in others)


def importing_torch() -> float:
    """Processor seconds of a Python that imports torch and ends."""
    before = children_seconds()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return children_seconds() - before


def verify(name: str, folder: str) -> tuple[float, float, str]:
    """Processor seconds of a run, those until its first finding was printed, and its verdict."""
    options = next((o for kind, o in OPTIONS.items() if name.startswith(kind)), [])
    target = f"{HERE / 'targets.py'}:{name}"
    command = ["-m", "attention_core.cli", "verify", target, "--effort", "quick", "--save", folder, *options]
    before, first, verdict, looked = children_seconds(), 0.0, "", False
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not first and (looked or line.startswith(f"{target}: ")):  # a contract without a look: the verdict
                first = alive_seconds(process.pid)
            looked = looked or line.startswith("first look")
            if line.startswith(f"{target}: "):
                verdict = line.removeprefix(f"{target}: ").split()[0].rstrip(":")
    return children_seconds() - before, first, verdict


def spread(seconds: Sequence[float]) -> str:
    """Median, least and largest."""
    return f"{median(seconds):5.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def table(rows: Sequence[tuple[str, str, Sequence[float], Sequence[float]]], torch: Sequence[float]) -> str:
    """The figures as a table of the page, with the day, the machine's load and what importing torch costs."""
    head = "| target of `experiments/quick_seconds/targets.py` | contract | verdict | whole run | first line |\n"
    head += "|---|---|---|---|---|\n"
    lines = [
        f"| `{name}` | {contract_of(name)} | {verdict} | {spread(whole).strip()} | {median(first):.2f} s |"
        for name, verdict, whole, first in rows
    ]
    when = f"{time.strftime('%Y-%m-%d')}, {len(torch)} interleaved runs, load {os.getloadavg()[0]:.1f} on "
    return head + "\n".join(lines) + f"\n\n{when}{os.cpu_count()} cores; importing torch: {spread(torch).strip()}.\n"


def contract_of(name: str) -> str:
    """The contract that a target is judged by."""
    return next((options[1] for kind, options in OPTIONS.items() if name.startswith(kind)), "attention")


def write_table(page: Path, made: str) -> None:
    """Put the table between the marks of a page.

    Raises:
        ValueError: the page has no such marks.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} lacks the marks {BEGIN} and {END}")
    page.write_text(f"{before}{begin}\n{made}{end}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in rounds, each target once a round, and print a line for each target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*TARGETS, []], default=[], metavar="NAME")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--page", type=Path, help="a page with marks, into which the table is written")
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    for folder in getattr(importlib.util.find_spec("attention_core"), "submodule_search_locations", None) or ():
        compileall.compile_dir(folder, quiet=1)
    names, torch = given.names or TARGETS, list[float]()
    runs: dict[str, list[tuple[float, float, str]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(given.runs):
            torch.append(importing_torch())
            for name in names:
                runs[name].append(verify(name, folder))
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, load {os.getloadavg()[0]:.1f}; importing torch: {spread(torch)}")
    rows = []
    for name, measured in runs.items():
        whole, first = (
            [seconds - median(torch) for seconds in column] for column in list(zip(*measured, strict=True))[:2]
        )
        verdict = "/".join(sorted({word for *_, word in measured}))
        rows.append((name, verdict, whole, first))
        print(f"{name:24} {verdict:10} whole run {spread(whole)}; first line {spread(first)}")
    if given.page is not None:
        write_table(given.page, table(rows, torch))


if __name__ == "__main__":
    main()
