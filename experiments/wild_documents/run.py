"""Measure how much of public documents is read as it stands: displays with a relation by verdict, reasons counted.

The documents of documents.txt (repository, path, commit) are fetched by whoever runs this, into
FOLDER/repository/path; none of them is kept here. sixth_set.txt to twenty_second_set.txt are such lists of documents
that were new when they were measured (a blank in a path is written as _), so that a later set can be another one; the
fifteenth was not kept. typed_answers has answers as a student types them, for `attention-core derive`.

python experiments/wild_documents/run.py FOLDER                # read and decide, with inferred declarations
python experiments/wild_documents/run.py FOLDER --read         # only read: seconds
python experiments/wild_documents/run.py FOLDER --strict       # ask for declarations
python experiments/wild_documents/run.py FOLDER --as-read      # as if a person had confirmed what was read
python experiments/wild_documents/run.py FOLDER --json OUT     # every step, to look at the refuted ones
python experiments/wild_documents/run.py FOLDER --list FILE    # other documents than those of documents.txt
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from attention_core.derivation.check import document_steps, read_document, report_step
from attention_core.derivation.claims import claim_of
from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.terms import ShapeMismatch

LIST = Path(__file__).with_name("documents.txt")
RELATION = re.compile(
    r"(?<!\\)[=<>]|\\(?:le|ge|leq|geq|ne|neq|approx|equiv|sim|propto|triangleq|coloneqq|to|implies|iff|in|ll|gg)"
    r"(?![a-zA-Z])"
)
BELOW = re.compile(r"_\s*\{(?:[^{}]|\{[^{}]*\})*\}")  # the i = 1 of \sum_{i = 1} is no relation of the display
TERMS = "terms were read as symbols of their own"
NAMED = re.compile(r"'[^']*'|\d+")


def judge(step: Any, seconds: float, read_only: bool) -> tuple[str, str]:
    """Return verdict and message of a step; READ for one that is only read."""
    if not read_only or not isinstance(step, Step):
        report = report_step(step, Effort(seconds=seconds))
        return str(report.verdict), report.evidence.text
    try:
        claim_of(step)
    except Unreadable as error:
        return "UNREADABLE", error.message
    except ShapeMismatch as error:
        return ("UNREADABLE" if step.context.inferred else "READ"), f"the shapes do not fit: {error}"
    except Unsettled as error:
        return "READ", str(error)
    return "READ", ""


def reason(message: str) -> str:
    """Return the kind of a message: what differs from symbol to symbol is left out."""
    if "is not declared" in message:
        return "not declared"
    return NAMED.sub("_", message)[:90]


def measure(root: Path, path: str, seconds: float, read_only: bool, strict: bool, as_read: bool) -> dict[str, Any]:
    """Return the displays with a relation of one document, each with the verdicts of its steps."""
    try:
        _, text = read_document(root / path)
    except (Unreadable, UnicodeDecodeError):  # its one step says why
        text = ""
    infer = not strict
    steps, understood = document_steps(root / path, infer=infer, as_read=as_read)[1:3]
    judged = [(step.line, step.text, *judge(step, seconds, read_only)) for step in steps]
    displays = []
    for block in blocks_of(text):
        if isinstance(block, Display) and RELATION.search(block.text):
            lines = range(block.line - 1, block.line + block.text.count("\n") + 1)
            own = [one for one in judged if one[0] in lines and ("$" in block.text or "$" not in one[1])]  # no sentence
            says = [told for line, told in understood if line in lines]
            defined = any(one.startswith(("defined by", "declared by")) or " is defined as " in one for one in says)
            relates = bool(RELATION.search(BELOW.sub("", block.text)))
            shown = {"line": block.line, "text": block.text.strip(), "steps": own, "defined": defined}
            displays.append({**shown, "relates": relates})
    return {"document": path, "displays": displays, "steps": judged}


def verdict_of(display: dict[str, Any]) -> str:
    """Return the verdict of a display: the worst of its steps."""
    order = (
        "UNREADABLE",
        "REFUTED",
        "AMBIGUOUS",
        "UNDECIDED",
        "VACUOUS",
        "READ",
        "STATISTICAL",
        "AGREES",
        "EXACT",
        "PROVED",
    )
    found = {one[2] for one in display["steps"]}
    return next((v for v in order if v in found), "DEFINITION" if display["defined"] else "SKIPPED")


def print_table(results: Iterable[dict[str, Any]]) -> None:
    """Print displays by verdict, document by document, and the reasons of what is not read."""
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    bare = terms = 0
    for one in results:
        own = Counter(verdict_of(display) for display in one["displays"])
        total += own
        skipped = ("SKIPPED", "UNREADABLE")
        bare += sum(not display["relates"] and verdict_of(display) in skipped for display in one["displays"])
        terms += sum(any(TERMS in step[3] for step in display["steps"]) for display in one["displays"])
        reasons += Counter(reason(s[3]) for d in one["displays"] for s in d["steps"] if s[2] == "UNREADABLE")
        print(f"{one['document'][-70:]:70} {dict(own)}", flush=True)
    count = sum(total.values())
    read = count - total["UNREADABLE"] - total["SKIPPED"]
    print(f"{read} of {count} displays with a relation are read ({read / max(1, count):.0%}): {dict(total)}")
    print(f"{bare} of them have one below a sum alone, and are not read; {terms} are read by their terms alone")
    for message, times in reasons.most_common(40):
        print(f"{times:6}  {message}")


def kept(results: Iterable[dict[str, Any]], store: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield results as they come, and keep them."""
    for one in results:
        store.append(one)
        yield one


def main() -> None:
    """Measure the documents that are in the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--as-read", action="store_true")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", type=Path, default=LIST, help="other documents: repository, path, commit a line")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    rows = [line.split() for line in given.list.read_text(encoding="utf-8").splitlines() if line.strip()]
    paths = [f"{row[0]}/{row[1]}" for row in rows if given.only in row[1]]
    missing = [path for path in paths if not (given.folder / path).is_file()]
    for path in missing:
        print(f"missing: {path}")
    how = {"seconds": given.seconds, "read_only": given.read, "strict": given.strict, "as_read": given.as_read}
    own = partial(measure, given.folder, **how)
    with ProcessPoolExecutor(given.processes) as pool:
        results: list[dict[str, Any]] = []
        print_table(kept(pool.map(own, [path for path in paths if path not in missing]), results))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
