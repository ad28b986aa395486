"""Runs of the matrix: one row is verified, twice where the first run advises options, and what came out is kept.

A row is run by the command line, in a process of its own, as anybody would run it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attention_core.matrix.rows import ARGUMENTS, Row

TIMEOUT = 1800
"""Seconds of one run: XLA compiles every new size."""
LEFT_OUT = ("ImportError", "ModuleNotFoundError")
"""What a call raises whose package is there but not what it needs: a row like that is not judged."""


@dataclass
class Record:
    """What is kept of a row: one of docs/data/matrix.json.

    Args:
        verdict: of the last run: conforms, refuted, incomplete or error.
        first: of the first run, with nothing but the contract, or with what the row declares.
        conventions: options of the last run.
        held: how many laws held.
        refuted: names of laws.
        untested: parameters that no law tests.
        findings: numbers in docs/findings.md that account for the laws refuted; all of them, or the row is not argued.
        snippet: the smallest case of a refuted law, as a program.
        commit: of the suite; "" outside its repository.
    """

    package: str
    version: str
    target: str
    runtime: str
    contract: str
    verdict: str
    first: str
    conventions: str = ""
    held: int = 0
    refuted: list[str] = field(default_factory=list)
    untested: list[str] = field(default_factory=list)
    findings: list[int] = field(default_factory=list)
    date: str = ""
    commit: str = ""
    seed: int = 0
    effort: str = "quick"
    seconds: float = 0.0
    line: str = ""
    snippet: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Which row of which release it is."""
        return self.target, self.runtime, self.version


def read(path: Path) -> dict[tuple[str, str, str], Record]:
    """The records of a file, by their keys; none where there is no such file.

    Raises:
        ValueError: it is not such a file.
    """
    if not path.exists():
        return {}
    known = {one.name for one in fields(Record)}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        found = [Record(**{name: value for name, value in row.items() if name in known}) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a file of `python -m attention_core.matrix --data`: {error}") from error
    return {one.key: one for one in found}


def write(path: Path, records: Iterable[Record]) -> None:
    """Write records as JSON, one a line, so that a changed row is a changed line."""
    lines = ",\n".join(json.dumps(asdict(one)) for one in records)
    path.write_text(f'{{"schema_version": 1, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def release(row: Row) -> str:
    """The version of a row's package that can be run here; "" where it cannot.

    >>> release(Row("nowhere:f", "no-such-package"))
    ''
    """
    try:
        return version(row.package) if find_spec(row.module.split(".")[0]) else ""
    except PackageNotFoundError:
        return ""


def commit() -> str:
    """The commit of the suite that runs; "" outside its repository."""
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        return ""
    done = subprocess.run(["git", "-C", str(folder), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def verify(row: Row, options: Sequence[str], seed: int) -> dict[str, Any]:
    """The report of one run of the command line, as JSON values, with its last line; no more where there was none."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable, "-m", "attention_core", "verify", row.target, "--contract", row.contract,
            "--effort", "quick", "--seed", str(seed), "--save", folder, "--json", str(report), *options,
        ]  # fmt: skip
        environment = {**os.environ, **dict(row.environment), "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT)
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(row.target)]
        except subprocess.TimeoutExpired:
            lines = [f"not done in {TIMEOUT} s"]
        found: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
    return {**found, "line": lines[-1] if lines else "no report"}


def names(report: Mapping[str, Any], status: str) -> list[str]:
    """The laws of a report with a status."""
    return [law["law"] for law in report.get("laws", []) if law["status"] == status]


def verdict(report: Mapping[str, Any]) -> str:
    """The verdict of a report; "error" where there is none, or where a package wants a module that is not installed."""
    found = str(report.get("verdict", "error"))
    messages = [law.get("message", "") for law in report.get("laws", []) if law["status"] == "refuted"]
    return "error" if any(word in text for text in messages for word in LEFT_OUT) else found


def advise(report: Mapping[str, Any], row: Row) -> list[str]:
    """The options of a second run: those that the first one found, what it says is not tested, and the row's own."""
    look, under = report.get("first_look") or {}, report.get("under_found") or {}
    found = shlex.split(look.get("options", "")) if look.get("agrees") else []
    untested = under.get("untested") or report.get("untested") or []
    own = [] if row.options and set(row.options) <= set(found) else row.options
    return [*found, *(["--untested", ",".join(untested)] if untested else []), *own]


def snippet(report: Mapping[str, Any]) -> str:
    """The smallest case of the first law that was refuted, as a program; the shortest, where several were."""
    cases = [law["counterexample"] for law in report.get("laws", []) if law["status"] == "refuted"]
    return min((case["snippet"] for case in cases if case), key=len, default="")


def account(row: Row, refuted: Sequence[str]) -> list[int]:
    """The findings that account for all the laws that a row breaks; none where a single law is left over.

    >>> row = Row("f:f", "p", argued=("NaN becomes 0",))
    >>> account(row, ["garbage_is_not_turned_into_a_number"]), account(row, ["stays_finite"])
    ([3], [])
    """
    arguments = [ARGUMENTS[name] for name in row.argued]
    if not {*refuted} <= {law for one in arguments for law in one.laws}:
        return []
    return sorted({one.finding for one in arguments if {*one.laws} & {*refuted}})


def second(report: Mapping[str, Any], row: Row, options: Sequence[str]) -> dict[str, Any]:
    """What a second run would give, where the first one has judged all laws under these options already; else {}."""
    under, look = report.get("under_found") or {}, report.get("first_look") or {}
    if not under or shlex.split(look.get("options", "")) != [*options]:
        return {}
    return {**under, "line": f"{row.target}: {under['verdict']} under the conventions found"}


def judge(row: Row, seed: int) -> Record:
    """Run a row, twice where the first run advises something else than it was given."""
    start, options = time.perf_counter(), [*row.options] if row.declared else []
    report = verify(row, options, seed)
    first = verdict(report)
    settled = first == "conforms" or (first == "refuted" and account(row, names(report, "refuted")))
    if not row.declared and not settled and (options := advise(report, row)):
        report = second(report, row, options) or verify(row, options, seed)
    refuted = names(report, "refuted")
    return Record(
        row.package, release(row), row.target, row.runtime, row.contract, verdict(report), first, shlex.join(options),
        len(names(report, "held")), refuted, report.get("accepted_untested", []), account(row, refuted),
        f"{datetime.now(UTC):%Y-%m-%d}", commit(), seed, "quick", round(time.perf_counter() - start, 1), report["line"],
        snippet(report),
    )  # fmt: skip
