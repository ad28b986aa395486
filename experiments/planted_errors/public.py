"""Plant errors in public documents: every break of each step that is accepted as it stands, decided in its document.

The documents are those of the lists of experiments/wild_documents, fetched beforehand. A document declares
little or nothing, so that an error is refuted only if it is wrong under every reading (see decision/slips.py). A term
that two relations of a chain share is broken in both, and the error is found where one of them is refuted. A break
that is accepted left the step true, or is a wrong verdict: all are printed, to be looked at one by one.

python experiments/planted_errors/public.py FOLDER [FOLDER ...]           # every error
python experiments/planted_errors/public.py FOLDER --every 4              # one of four
python experiments/planted_errors/public.py FOLDER --json OUT             # each error with its message
python experiments/planted_errors/public.py FOLDER --as-read              # as if a person had confirmed what was read
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from breaks import breaks

from attention_core.derivation.check import document_steps, report_step
from attention_core.derivation.decision.chain_terms import list_neighbours
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, StepReport, Verdict

ENDINGS = {".md", ".ipynb", ".tex", ".markdown", ".qmd", ".rst", ".txt"}


def plant(path: Path, seconds: float, every: int, as_read: bool = False) -> list[dict[str, Any]]:
    """One of so many breaks of the accepted steps of a document, with its verdict and the message."""
    effort = Effort(seconds=seconds)
    found, count = [], 0
    for step in document_steps(path, infer=True, as_read=as_read)[1]:
        if isinstance(step, Step) and report_step(step, effort).verdict in GOOD:
            by_tables = needs_tables(step, effort)
            for one in breaks(step.tables if by_tables and step.tables is not None else read_by_itself(step)):
                count += 1
                if count % every:
                    continue
                broken = replace(step, tables=one.step) if by_tables else in_both_readings(one.step)
                report = report_chain(step, broken, one.step, effort)
                formula = f"{to_latex(one.step.left)} {one.step.op} {to_latex(one.step.right)}"
                about = {"document": str(path), "line": step.line, "step": step.text, "formula": formula}
                said = {"verdict": str(report.verdict), "slip": report.likely_slip, "message": report.evidence.text}
                found.append({**about, "kind": one.kind, "what": one.what, **said})
    return found


def read_by_itself(step: Step) -> Step:
    """The step as it is read by itself, where its section reads terms of it as symbols: its own reading decides."""
    return step.plain if step.plain is not None and step.context.loose else step


def needs_tables(step: Step, effort: Effort) -> bool:
    """Whether a step holds only with joint tables in the place of its laws: these are what is broken."""
    return step.tables is not None and report_step(replace(step, tables=None), effort).verdict not in GOOD


def report_chain(step: Step, broken: Step, changed: Step, effort: Effort) -> StepReport:
    """The report on a broken step, or on the step beside it that has the changed term as well, if that tells more.

    An error in a term of a chain is an error in the relation in front of it and in the one behind it.
    """
    original = step.tables if step.tables is not None and broken.tables is changed else read_by_itself(step)
    side = "left" if changed.left != original.left else "right" if changed.right != original.right else ""
    beside = [peer for shared, peer in list_neighbours(step) if shared == side and peer in step.peers]
    others = [break_beside(peer, side, getattr(changed, side), broken.tables is changed) for peer in beside]
    exchanged = {id(step): broken} | {id(peer): other for peer, other in zip(beside, others, strict=True)}
    peers = [exchanged.get(id(peer), peer) for peer in step.peers]
    for one in (broken, *others):
        one.peers = peers
        for inner in (one.plain, one.tables):
            if inner is not None:
                inner.peers = peers
    reports = [report_step(one, effort) for one in (broken, *others)]
    return next((one for one in reports if one.verdict is Verdict.REFUTED), None) or next(
        (one for one in reports if one.likely_slip), reports[0]
    )


def break_beside(peer: Step, side: str, term: Any, by_tables: bool) -> Step:
    """A step beside the broken one, with the changed term as its own other side."""
    sides: Any = {"right" if side == "left" else "left": term}
    if by_tables:
        return peer if peer.tables is None else replace(peer, tables=replace(peer.tables, **sides))
    broken = replace(peer, **sides)
    return in_both_readings(broken)


def in_both_readings(broken: Step) -> Step:
    """The broken step, broken as well where it is read by itself."""
    if broken.plain is None:
        return broken
    sides: Any = {"left": broken.left, "op": broken.op, "right": broken.right}
    return replace(broken, plain=replace(broken.plain, **sides))


def iterate_documents(folders: list[Path]) -> Iterator[Path]:
    """The documents in some folders."""
    for folder in folders:
        yield from sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())


def print_table(found: list[dict[str, Any]]) -> None:
    """Print the verdicts by kind, and why the rest are not refuted."""
    kinds: dict[str, Counter[str]] = {}
    for one in found:
        kinds.setdefault(one["kind"], Counter())[one["verdict"]] += 1
    for kind, verdicts in kinds.items():
        print(f"{kind:12} {verdicts['REFUTED']:4} of {verdicts.total():4}  {dict(verdicts)}")
    total = sum(kinds.values(), Counter())
    readable = total.total() - total["UNREADABLE"]
    accepted = sum(total[str(verdict)] for verdict in GOOD)
    left = readable - accepted
    print(f"{total['REFUTED']} of {left} readable errors that are not accepted are refuted; {dict(total)}")
    likely = sum(bool(one.get("slip")) for one in found)
    print(f"{likely} more are marked as likely slips: {total['REFUTED'] + likely} of {left} are pointed out")
    for one in found:
        if one["verdict"] in map(str, GOOD):
            where = f"{Path(one['document']).name}:{one['line']}"
            print(f"accepted: {where} {one['kind']}, {one['what']}: {one['formula']}")


def main() -> None:
    """Plant and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--as-read", action="store_true")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        lists = pool.map(
            partial(plant, seconds=given.seconds, every=given.every, as_read=given.as_read),
            iterate_documents(given.folders),
        )
        found = []
        for some in lists:  # a run that is stopped keeps what it has
            found += some
            if given.json and some:
                given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print_table(found)


if __name__ == "__main__":
    main()
