"""Judge one target, and write every law's result as soon as it is there: for `run.py`, which starts this once a row.

python experiments/gpu/judge.py FOLDER NAME JOBS TARGET [OPTIONS of `attention-core verify`]

FOLDER/NAME.jsonl gets a line for each law, FOLDER/NAME.json the report. Counterexamples are not made small: where one
loses the device, every trial would cost a new process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

MOST_DATA = 20_000
"""Letters of a case's numbers that are kept of every counterexample."""
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
MOST_WORDS = 400
"""Letters of a message that are kept of every law."""


def read_options(target: str, options: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the record that options of the command line declare, and how the target is judged."""
    from attention_core.cli import verify
    from attention_core.declaration.options import HELP, fields_from_text

    found = dict(verify.make_context("verify", [target, *options]).params)
    named = [f"{k.removeprefix('parameter_')}={v}" for k, v in found.items() if k.startswith("parameter_") and v]
    found["parameters"] = (*found["parameters"], *named)
    return fields_from_text({k: v for k, v in found.items() if k in HELP}), {
        "laws": found["laws"],
        "timeout": found["timeout"],
    }


def judge(folder: Path, name: str, jobs: int, target: str, options: Sequence[str]) -> None:
    """Judge a target at quick with seed 0."""
    from attention_core.conformance.engine.verify import be_thrifty, verify_target
    from attention_core.conformance.report.law_result import LawResult

    be_thrifty()
    start, log = time.perf_counter(), folder / f"{name}.jsonl"
    log.unlink(missing_ok=True)

    def keep(_: str, result: LawResult, count: int) -> None:
        """One line of the log."""
        line = asdict(result) | {"counterexample": None, "powers": {}, "message": result.message[:MOST_WORDS]}
        with log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({**line, "count": count, "at": round(time.perf_counter() - start, 1)}) + "\n")

    fields, settings = read_options(target, options)
    report = verify_target(target, fields, effort="quick", progress=keep, jobs=jobs, shrink=False, **settings)
    found = json.loads(report.to_json())
    for result in found["laws"]:
        if result["counterexample"] is not None and len(json.dumps(result["counterexample"]["data"])) > MOST_DATA:
            result["counterexample"] |= {"data": {}, "snippet": ""}
    found["wall"] = round(time.perf_counter() - start, 1)
    (folder / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    print(report)
    print(report.traceback)


if __name__ == "__main__":
    os.chdir(ROOT)
    judge(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:])
