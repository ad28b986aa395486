"""Audit suites as people publish them, each re-created from its rule in `suites/`; writes docs/audit.md.

python experiments/audit/run.py                       # all suites; a run goes on
python experiments/audit/run.py --suite course -n 1
python experiments/audit/run.py --write docs/audit.md --data docs/data/audit.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attention_core.audit.adapter import Form
from attention_core.audit.judge_client import Judges
from attention_core.audit.plan import Plan
from attention_core.audit.run import audit
from attention_core.audit.suite import Suites, suite_environment
from attention_core.audit.survivors import with_cases
from attention_core.audit.trial import QUICK, Request, Trial, restore

sys.path.insert(0, str(Path(__file__).resolve().parent))
import page

HERE = Path(__file__).resolve().parent
KEPT = HERE.parents[1] / "build" / "audit"


def suites() -> list[str]:
    """The names of the suites."""
    return sorted(path.stem.removeprefix("test_") for path in (HERE / "suites").glob("test_*.py"))


def request_of(names: Sequence[str], count: int | None, processes: int, **more: Any) -> Request:
    """The audit of some suites."""
    tests = tuple(os.path.relpath(HERE / "suites" / f"test_{name}.py") for name in names)
    return Request(
        "target:attention", tests, pytest_arguments=("-c", os.devnull, f"--rootdir={HERE / 'suites'}"), count=count,
        processes=processes, keeps=True, log_path=KEPT / f"{names[0] if len(names) == 1 else 'all'}.jsonl",
        laws_path=KEPT / "laws.jsonl", **more,
    )  # fmt: skip


def run_suite(name: str, count: int | None, processes: int) -> dict[str, Any]:
    """The audit of one suite, as JSON values; the cases of survivors are looked for once for all suites."""
    request = request_of([name], count, processes, cases=False)
    found = audit(request, lambda what, done, whole: print(f"{name}: {what} {done}/{whole}", flush=True))
    figures = {**found.to_dict(), "tests": [f"test_{name}.py"]}
    kept_figures(name, count).write_text(json.dumps(figures) + "\n", encoding="utf-8")
    return figures


def kept_figures(name: str, count: int | None) -> Path:
    """Where the figures of a suite are kept once it is done."""
    return KEPT / f"{name}.{count or 'all'}.json"


def find_cases(found: dict[str, dict[str, Any]], processes: int) -> dict[str, dict[str, Any]]:
    """Every fault that any suite lets through, with the smallest case as a test, tried once."""
    fates = {fate["name"]: fate for one in found.values() for fate in one["faults"] if fate["status"] == "survived"}
    request = request_of(list(found), None, processes)
    with TemporaryDirectory() as folder, ExitStack() as opened:
        suites = Suites(processes, folder)
        opened.callback(suites.close)
        path = (str(HERE / "suites"),)
        request.open_logs(str(HERE / "suites" / "target.py"))
        judges = Judges(processes, request.target, path, suite_environment(folder), request.answers)
        opened.callback(judges.close)
        one = next(iter(found.values()))
        plan = Plan(request.target, "replace", declared=one["declared"], form=vars(Form()))
        trial = Trial(request, judges, suites, plan, 120.0)
        cases = with_cases([restore(fate) for fate in fates.values()], trial, path, lambda *w: print(*w, flush=True))
    return {fate.name: asdict(fate) for fate in cases}


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", choices=suites(), help="all by default")
    parser.add_argument("--faults", type=int, default=QUICK, help="0 for every fault")
    parser.add_argument("-n", "--processes", type=int, default=2)
    parser.add_argument("--done", action="store_true", help="take the suites that are done, and run none")
    parser.add_argument("--write", type=Path, help="the page")
    parser.add_argument("--data", type=Path, help="the figures as JSON")
    chosen = parser.parse_args(argv)
    count, names = chosen.faults or None, chosen.suite or suites()
    if chosen.done:
        names = [name for name in names if kept_figures(name, count).is_file()]
        found = {name: json.loads(kept_figures(name, count).read_text(encoding="utf-8")) for name in names}
    else:
        found = {name: run_suite(name, count, chosen.processes) for name in names}
    for name, one in found.items():
        print(f"{name}: {one['killed']} of {one['counted']}")
    if not (chosen.data or chosen.write):
        return
    figures = {"suites": found, "cases": find_cases(found, chosen.processes)}
    if chosen.data:
        text = json.dumps(figures, indent=1).replace(f"{HERE.parents[1]}{os.sep}", "")  # no path of this machine
        chosen.data.write_text(text + "\n", encoding="utf-8")
    if chosen.write:
        chosen.write.write_text(page.render(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
