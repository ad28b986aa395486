"""Verify right implementations that other people ship, and count the false alarms.

python experiments/foreign/run.py
python experiments/foreign/run.py --only rotary

Each row of `targets.TABLE` is verified at quick, first with nothing but its contract. Where it does not conform then,
a second run gives the options that the first one advises, and those of the table. A refutation in the last run is a
false alarm, or a fault of the library that a person has confirmed in plain code: then the table names its laws.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from targets import TABLE, Row  # noqa: E402


def verify(row: Row, options: Sequence[str], seed: int) -> dict[str, Any]:
    """One run of the command line; its exit status, last line and report."""
    target = row.function if ":" in row.function else f"{HERE / 'targets.py'}:{row.function}"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable, "-m", "attention_core", "verify", target, "--contract", row.contract, "--effort", "quick",
            "--seed", str(seed), "--save", folder, "--json", str(report), *options,
        ]  # fmt: skip
        environment = {**os.environ, **dict(row.environment), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        data = json.loads(report.read_text()) if report.exists() else {}
    return {"exit": done.returncode, "text": lines, "report": data}


def verdict(run: dict[str, Any]) -> str:
    """The verdict of a run."""
    report = run["report"]
    targets = report if isinstance(report, list) else report.get("targets", [report])
    return str(targets[0].get("verdict", "error")) if targets and targets[0] else "error"


def refuted(run: dict[str, Any]) -> list[str]:
    """The laws that a run refuted."""
    targets = run["report"].get("targets") or [run["report"]]
    return [law["law"] for law in targets[0].get("laws", []) if law["status"] == "refuted"]


def advised(run: dict[str, Any], row: Row) -> list[str]:
    """The options of a second run: those that the first one found, what it says is not tested, and the row's own."""
    report = run["report"] if "verdict" in run["report"] else (run["report"].get("targets") or [{}])[0]
    look, under = report.get("first_look") or {}, report.get("under_found") or {}
    found = shlex.split(look.get("options", "")) if look.get("agrees") else []
    untested = under.get("untested") or report.get("untested") or []
    return [*found, *(["--untested", ",".join(untested)] if untested else []), *row.options]


def judge(row: Row, seed: int) -> dict[str, Any]:
    """Both runs of a row."""
    first = verify(row, (), seed)
    runs, options = [first], list[str]()
    if verdict(first) != "conforms" and (options := advised(first, row)):
        runs.append(verify(row, options, seed))
    verdicts = [verdict(run) for run in runs]
    if verdicts[-1] == "refuted" and {*refuted(runs[-1])} <= {*row.faults}:
        verdicts[-1] = "true fault"
    return {"row": row, "verdicts": verdicts, "options": options, "last": runs[-1]["text"][-1:], "runs": runs}


def page(found: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown."""
    head = ("implementation", "package", "contract", "first run", "second run", "its options")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in found:
        row, verdicts = one["row"], [*one["verdicts"], ""]
        try:
            release = version(row.package)
        except PackageNotFoundError:
            release = ""
        name, options = row.function.rpartition(":")[2], " ".join(one["options"])
        cells = (name, f"{row.package} {release}", row.contract, verdicts[0], verdicts[1], options)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name, package or contract contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output of rows that do not conform")
    chosen = parser.parse_args(argv)
    found = []
    for row in TABLE:
        if chosen.only not in f"{row.function} {row.package} {row.contract}":
            continue
        one = judge(row, chosen.seed)
        found.append(one)
        verdicts, last_line = " -> ".join(one["verdicts"]), " ".join(one["last"])[:150]
        print(f"{row.function:60} {row.contract:15} {verdicts:24} {last_line}", flush=True)
        if chosen.verbose and one["verdicts"][-1] not in ("conforms", "true fault"):
            print("\n".join("    " + line for line in one["runs"][-1]["text"][-60:]))
    last = [one["verdicts"][-1] for one in found]
    print(page(found))
    print(f"{len(found)} implementations: " + ", ".join(f"{last.count(v)} {v}" for v in dict.fromkeys(last)))


if __name__ == "__main__":
    main()
