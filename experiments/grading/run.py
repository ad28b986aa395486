"""How many published cheats the grader refuses, and how many honest submissions it accepts; writes docs/grade.md.

    python experiments/grading/run.py --write docs/grade.md --data docs/data/grade.json

Every cheat is graded twice: by the whole grader, and by one that does not look at the source. What is done is kept in
--log, so that a run goes on; deleting that file starts anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cheats import CHEATS  # noqa: E402
from honest import HONEST, text_of  # noqa: E402

import attention_core  # noqa: E402
from attention_core.grading.batch import Batch, grade_all  # noqa: E402
from attention_core.grading.results import Grade  # noqa: E402
from attention_core.grading.rules import RULES  # noqa: E402

MODES = ("whole", "blind")
SOURCE = tuple(rule.name for rule in RULES.values() if rule.seen == "source")
LEFT = Path(attention_core.__file__).parent / "grading" / "left_by_a_cheat.json"


def task_text(stem: str, mode: str) -> str:
    """A task's file, for a mode."""
    text = (HERE / f"{stem}.toml").read_text(encoding="utf-8")
    if mode == "whole":
        return text
    return text.replace("[verify]", f"allow = {json.dumps([*SOURCE])}\n\n[verify]", 1)


def grade_text(text: str, name: str, stem: str, mode: str) -> Grade:
    """The grade of a source text."""
    with tempfile.TemporaryDirectory() as folder:
        submission, task = Path(folder, f"{name}.py"), Path(folder, f"{stem}.toml")
        submission.write_text(text, encoding="utf-8")
        task.write_text(task_text(stem, mode), encoding="utf-8")
        try:
            return grade_all([submission], Batch(task))[0]
        finally:
            LEFT.unlink(missing_ok=True)


def work() -> Iterator[tuple[str, str, str, str, str]]:
    """(key, text, name, task, mode) of all that is graded."""
    for honest in HONEST:
        yield f"honest {honest.name}", text_of(honest), honest.name, honest.task, "whole"
    for mode in MODES:
        for cheat in CHEATS:
            yield f"{mode} {cheat.name}", cheat.text, cheat.name, "plain", mode


def measure(log: Path, only: str, show: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """The grades by key; those in the log are not made again."""
    known: dict[str, dict[str, Any]] = {}
    if log.is_file():
        known = {k: v for line in log.read_text().splitlines() for k, v in json.loads(line).items()}
    for key, text, name, stem, mode in work():
        if key in known or only not in key:
            continue
        found = grade_text(text, name, stem, mode)
        known[key] = {
            "verdict": found.verdict, "rule": found.rule, "reason": found.reason, "seconds": found.seconds,
            "law": found.law, "ratio": found.ratio, "held": found.laws.get("held", 0), "seed": found.seed,
        }  # fmt: skip
        with log.open("a") as stream:
            stream.write(json.dumps({key: known[key]}) + "\n")
        show(f"{key}: {found.verdict} {found.rule} {found.reason[:150]} ({found.seconds} s)")
    return known


def word(grade: Mapping[str, Any]) -> str:
    """A grade in a cell."""
    return grade["rule"] or grade["verdict"]


def unexpected(known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What did not come as it is written down."""
    lines = [
        f"honest {h.name}: {word(known[f'honest {h.name}'])}, {known[f'honest {h.name}']['reason']}"
        for h in HONEST
        if known.get(f"honest {h.name}", {"verdict": "accepted"})["verdict"] != "accepted"
    ]
    lines += [
        f"{mode} {cheat.name}: accepted"
        for cheat in CHEATS
        for mode in MODES
        if known.get(f"{mode} {cheat.name}", {"verdict": "refused"})["verdict"] != "refused"
    ]
    return lines


def main() -> None:
    """Grade everything, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, default=Path("build/grading.jsonl"))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="", help="a part of the keys")
    options = parser.parse_args()
    options.log.parent.mkdir(parents=True, exist_ok=True)
    known = measure(options.log, options.only, lambda line: print(line, flush=True))
    for line in unexpected(known):
        print("unexpected:", line)
    if options.data:
        options.data.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if options.write:
        from page import to_markdown

        options.write.write_text(to_markdown(known), encoding="utf-8")


if __name__ == "__main__":
    main()
