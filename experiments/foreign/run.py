"""Verify right implementations that other people ship, and count the false alarms.

python experiments/foreign/run.py --log runs.jsonl --page docs/foreign.md
python experiments/foreign/run.py --log runs.jsonl --only rotary

Each row of `targets.TABLE` is verified at quick, first with nothing but its contract. Where it does not conform then,
a second run gives the options that the first one advises, and those of the table. A refutation in the last run is a
false alarm, or a fault of the library that a person has confirmed in plain code: then the table names its laws.

With `--log` every finished row is written down at once, and a row that is there already is not run again: an
interrupted run goes on where it stood.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from targets import TABLE, TRITON, Row  # noqa: E402

TIMEOUT = 1800
"""Seconds of one run: XLA compiles every new size."""
RIGHT = ("conforms", "true fault")
"""Verdicts that are no false alarm."""


def target_of(row: Row) -> str:
    """The target's name on the command line."""
    file, _, name = row.function.rpartition(":")
    return row.function if file and not file.endswith(".py") else f"{HERE / (file or 'targets.py')}:{name}"


def verify(row: Row, options: Sequence[str], seed: int) -> dict[str, Any]:
    """One run of the command line: its report, its last lines and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable, "-m", "attention_core", "verify", target_of(row), "--contract", row.contract,
            "--effort", "quick", "--seed", str(seed), "--save", folder, "--json", str(report), *options,
        ]  # fmt: skip
        environment = {**os.environ, **dict(row.environment), "OMP_NUM_THREADS": "1"}
        start = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT)
            text = done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            text = f"not done in {TIMEOUT} s"
        data: Any = json.loads(report.read_text()) if report.exists() else {}
    lines = [line for line in text.splitlines() if line.strip()]
    return {"report": data, "text": lines, "seconds": time.perf_counter() - start}


def refuted(report: dict[str, Any]) -> list[str]:
    """The laws that a run refuted."""
    return [law["law"] for law in report.get("laws", []) if law["status"] == "refuted"]


def advised(report: dict[str, Any], row: Row) -> list[str]:
    """The options of a second run: those that the first one found, what it says is not tested, and the row's own."""
    look, under = report.get("first_look") or {}, report.get("under_found") or {}
    found = shlex.split(look.get("options", "")) if look.get("agrees") else []
    untested = under.get("untested") or report.get("untested") or []
    return [*found, *(["--untested", ",".join(untested)] if untested else []), *row.options]


def judge(row: Row, seed: int) -> dict[str, Any]:
    """Both runs of a row, as JSON values; one, with its options, where these are declared."""
    options = [*row.options] if row.declared else []
    first = verify(row, options, seed)
    runs = [first]
    if not row.declared and verdict(first, row) not in RIGHT and (options := advised(first["report"], row)):
        runs.append(verify(row, options, seed))
    return {
        "function": row.function, "contract": row.contract, "package": row.package, "version": release(row.package),
        "verdicts": [verdict(run, row) for run in runs], "options": options,
        "seconds": [round(run["seconds"], 1) for run in runs], "refuted": [refuted(run["report"]) for run in runs],
        "last": runs[-1]["text"][-1:], "text": [line for run in runs for line in run["text"][-60:]],
    }  # fmt: skip


def verdict(run: dict[str, Any], row: Row) -> str:
    """The verdict of a run; "true fault" where it refutes no other laws than the library is known to break."""
    report = run["report"]
    said = str(report.get("verdict", "error"))
    return "true fault" if said == "refuted" and {*refuted(report)} <= {*row.faults} else said


def release(package: str) -> str:
    """The version of a package that is installed here; "" where it is not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def table(found: Sequence[dict[str, Any]]) -> str:
    """The results as a Markdown table."""
    head = ("implementation", "package", "contract", "first run", "second run", "its options")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in found:
        verdicts, name = [*one["verdicts"], ""], one["function"].rpartition(":")[2]
        options = f"`{shlex.join(one['options'])}`" if one["options"] else ""
        package = f"{one['package']} {one['version']}".strip()
        lines.append(f"| {name} | {package} | {one['contract']} | {verdicts[0]} | {verdicts[1]} | {options} |")
    return "\n".join(lines)


def page(found: Sequence[dict[str, Any]], missing: Sequence[str], triton: bool = False) -> str:
    """The results as a page of the documentation; `missing` names the rows that were not run."""
    head, about_faults = (TRITON_HEAD, TRITON_FAULTS) if triton else (HEAD, FAULTS)
    right = [one for one in found if one["verdicts"][-1] == "conforms"]
    faulty = [one for one in found if one["verdicts"][-1] == "true fault"]
    others = [one for one in found if one not in right and one not in faulty]
    at_once = sum(len(one["verdicts"]) == 1 for one in right)
    counts = (
        f"**{len(right)} right implementations conform, {len(others)} others are judged otherwise or not judged.**"
    ) + ("" if triton else f" {at_once} conform at once, the rest with a second run's options.")
    parts = [head, counts, table(right)]
    if faulty:
        parts += [about_faults, table(faulty), listed((one, ", ".join(one["refuted"][-1])) for one in faulty)]
    if others:
        parts += [
            "## Judged otherwise",
            OTHERS,
            table(others),
            listed((one, ", ".join(one["refuted"][-1])) for one in others),
        ]
    if missing:
        parts += [f"Not run: {', '.join(missing)}."]
    return "\n\n".join(parts) + "\n"


def listed(lines: Iterable[tuple[dict[str, Any], str]]) -> str:
    """Functions, each with what there is to say of it."""
    return "\n".join(f"* {one['function']}: {text}" for one, text in lines)


HEAD = """# Foreign implementations: false alarms

Attention that other people ship, verified as it is at quick effort, first with nothing but its contract, then, where it
does not conform, with the options that the first run advises. Made by

    python experiments/foreign/run.py --log runs.jsonl --page docs/foreign.md

from the table in `experiments/foreign/targets.py`; each row is `attention-core verify experiments/foreign/FILE.py:NAME
--contract CONTRACT --effort quick OPTIONS`, or MODULE:NAME of the library. A log belongs to one state of the suite, and
so do all rows below: run on 26 November 2026, on two cores with AVX-512."""
FAULTS = """## True faults

These are refuted by the laws named below the table, and not counted among the right ones. What torch's fused kernel on
the processor breaks (a NaN query gives 0, lengths of key and value may differ) reaches everything that calls it without
a mask. Each is argued in plain code in [findings](findings.md): 1, 3, 4, 20 and 25."""

TRITON_HEAD = """# Foreign kernels in Triton

Attention kernels in Triton that other people ship, as their libraries launch them, verified without a GPU in Triton's
interpreter, at quick effort. Made by

    python experiments/foreign/run.py --triton --log runs.jsonl --page docs/foreign_triton.md

from the table `TRITON` in `experiments/foreign/targets.py`, whose options say what each kernel takes and does by its
library's conventions. A row is `attention-core verify experiments/foreign/triton_targets.py:NAME --contract CONTRACT
--effort quick OPTIONS`. A kernel whose package wants the modules of a whole server is loaded from its file alone."""
TRITON_FAULTS = """## Flaws, and conventions that nothing checks

Each is argued in plain code in [findings](findings.md), 21 to 24. SGLang's kernels take the last axis as contiguous and
do not check it: their callers see to that."""

OTHERS = """A refutation here is a false alarm until somebody has shown the fault in plain code; errors were not
judged."""


def logged(path: Path | None) -> dict[str, dict[str, Any]]:
    """The results in a log, by function."""
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    return {one["function"]: one for one in map(json.loads, lines)}


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name, package or contract contains this")
    parser.add_argument("--triton", action="store_true", help="the kernels in Triton, in place of the others")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="JSON lines, one a row; rows in it are not run again")
    parser.add_argument("--page", type=Path, help="write the results as a page")
    parser.add_argument("--logged", action="store_true", help="take what is in the log alone, and run nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output of rows that do not conform")
    chosen = parser.parse_args(argv)
    known, found, missing = logged(chosen.log), list[dict[str, Any]](), list[str]()
    for row in TRITON if chosen.triton else TABLE:
        if chosen.only not in f"{row.function} {row.package} {row.contract}":
            continue
        if chosen.logged and row.function not in known:
            missing.append(row.function)
            continue
        one = known.get(row.function) or judge(row, chosen.seed)
        if one["verdicts"][-1] == "refuted" and {*one["refuted"][-1]} <= {*row.faults}:  # confirmed since it was run
            one["verdicts"][-1] = "true fault"
        if row.function not in known and chosen.log:
            with chosen.log.open("a") as log:
                log.write(json.dumps(one) + "\n")
        found.append(one)
        verdicts, last_line = " -> ".join(one["verdicts"]), " ".join(one["last"])[:150]
        print(f"{row.function:60} {row.contract:15} {verdicts:24} {one['seconds']} {last_line}", flush=True)
        if chosen.verbose and one["verdicts"][-1] not in RIGHT:
            print("\n".join("    " + line for line in one["text"]))
    last = [one["verdicts"][-1] for one in found]
    print(table(found))
    if chosen.page:
        chosen.page.write_text(page(found, missing, chosen.triton))
    print(f"{len(found)} implementations: " + ", ".join(f"{last.count(v)} {v}" for v in dict.fromkeys(last)))


if __name__ == "__main__":
    main()
