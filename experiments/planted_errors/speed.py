"""Time the checker on the right steps of derivations/, in one process, and compare its findings with earlier ones.

Processor time alone counts. The lines are read twice: the first reading of a process also compiles its patterns. Run
old and new code in turn on one machine (PYTHONPATH=TREE), since the same code takes half as long again beside others:

python experiments/planted_errors/speed.py --save build/before.json
python experiments/planted_errors/speed.py --against build/before.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attention_core.derivation.effort import Effort
from attention_core.derivation.judge import decide_step
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

HOME = Path(__file__).resolve().parents[2] / "derivations"
PATIENT = Effort(seconds=60.0)  # as run.py has it


def texts(home: Path, chosen: list[str]) -> dict[str, str]:
    """The documents by name."""
    paths = sorted(home.glob("*.md"))
    return {
        p.stem: p.read_text(encoding="utf-8") for p in paths if p.stem != "README" and p.stem in (chosen or [p.stem])
    }


def read(documents: dict[str, str]) -> float:
    """Milliseconds a line to read all documents once."""
    start = time.process_time()
    for text in documents.values():
        steps_of(text)
    return 1000 * (time.process_time() - start) / sum(text.count("\n") for text in documents.values())


def decide(documents: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every right step with its verdict, evidence and processor time."""
    for name, text in documents.items():
        for step in steps_of(text)[0]:
            if isinstance(step, Step) and not step.option("expect"):
                start = time.process_time()
                found = decide_step(step, PATIENT)
                seconds = time.process_time() - start
                evidence = [found.evidence.text, json.loads(json.dumps(found.evidence.figures, default=str))]
                yield f"{name} {step.id}", {"found": [str(found.verdict), *evidence], "seconds": seconds}


def compare(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Print what differs between two runs, and how the times of the common steps compare."""
    common = old.keys() & new.keys()
    for key in sorted(key for key in common if old[key]["found"] != new[key]["found"]):
        print(f"{key}:\n  {old[key]['found'][:2]}\n  {new[key]['found'][:2]}")
    before, after = (sum(run[key]["seconds"] for key in common) for run in (old, new))
    print(f"{len(common)} common steps: {before:.1f} s before, {after:.1f} s now")


def main() -> None:
    """Measure, save and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*")
    parser.add_argument("--home", type=Path, default=HOME, help="the folder of the documents")
    parser.add_argument("--readings", type=int, default=2)
    parser.add_argument("--reading-only", action="store_true")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    documents = texts(given.home, given.documents)
    print("reading:", ", ".join(f"{read(documents):.3f}" for _ in range(given.readings)), "ms a line", flush=True)
    if given.reading_only:
        return
    results = dict(decide(documents))
    each = sorted(one["seconds"] for one in results.values())
    middle = statistics.median(each) * 1000
    print(f"{len(each)} steps: {sum(each):.1f} s, {middle:.0f} ms in the median, {each[-1]:.1f} s at most")
    if given.save is not None:
        given.save.write_text(json.dumps(results), encoding="utf-8")
    if given.against is not None:
        compare(json.loads(given.against.read_text(encoding="utf-8")), results)


if __name__ == "__main__":
    main()
