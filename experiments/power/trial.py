"""One target against the laws of its contract: which refute it, the first of them after how long, and its small case.

Seconds are processor seconds of this process on one thread, so that a busy machine does not count.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import torch

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.subjects.law import Law
from attention_core.faults.bases import reference
from attention_core.faults.row import Row

QUIET = ("held", "not_applicable", "refused", "refuted")


@dataclass
class Trial:
    """What one run found.

    Args:
        name: of the row. effort, seed: of the run.
        refuting: the laws that refute it, as they came.
        seconds: from the start to the first refutation, or of the whole run.
        whole: whether the laws after the first refutation were run as well.
        laws: number of laws that judged it (held or refuted).
        odd: law -> message of results that should not be: errors, laws with too few cases.
        shrunk: the first refuting law's smallest case in one line; message: got and wanted; lines: of its snippet.
        shrinking: seconds that making it small took.
    """

    name: str
    effort: str
    seed: int
    refuting: list[str] = field(default_factory=list)
    seconds: float = 0.0
    whole: bool = True
    laws: int = 0
    odd: dict[str, str] = field(default_factory=dict)
    shrunk: str = ""
    message: str = ""
    lines: int = 0
    shrinking: float = 0.0
    snippet: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@cache
def warm_up() -> None:
    """What a process pays once (imports, compiled strategies) is no part of any target's seconds."""
    torch.set_num_threads(1)
    with Session(Implementation(reference.correct, name="warm up"), effort="quick") as session:
        for law in session.laws[:12]:
            session.run(law)


def run_trial(
    row: Row, effort: str, seed: int, *, whole: bool, shrink: bool, laws: Sequence[str] = ()
) -> Trial:  # fmt: skip
    """Put the laws (all of its contract by default) to one row; without `whole` it stops at the first refutation."""
    warm_up()
    trial = Trial(row.name, effort, seed, whole=whole)
    start = time.process_time()
    first: Law | None = None
    with Session(row.implementation(), effort=effort, seed=seed, shrink=False) as session:
        known = {law.name: law for law in session.laws}
        for result in session.results(select_laws(session.laws, laws)):
            trial.laws += result.status in ("held", "refuted")
            if result.status not in QUIET or (result.status == "held" and not result.minimum_met):
                trial.odd[result.law] = f"{result.status}: {result.message}"
            if result.status == "refuted":
                trial.refuting.append(result.law)
                if first is None:
                    first, trial.seconds = known[result.law], time.process_time() - start
                if not whole:
                    break
    if first is None:
        trial.seconds = time.process_time() - start
    elif shrink:
        make_small(trial, row, first)
    return trial


def make_small(trial: Trial, row: Row, law: Law) -> None:
    """The first refuting law again, on a new target, with its counterexample made small."""
    start = time.process_time()
    with Session(row.implementation(), effort=trial.effort, seed=trial.seed) as session:
        result = session.run(law)
    trial.shrinking = time.process_time() - start
    if result.counterexample is not None:
        found = result.counterexample
        trial.shrunk, trial.message, trial.snippet = found.case, found.message, found.snippet
        trial.lines = len([line for line in found.snippet.splitlines() if line.strip()])
