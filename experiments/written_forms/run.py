"""Verify attention as people write it, right and with one fault, in at most two runs each.

python experiments/written_forms/run.py
python experiments/written_forms/run.py --only rotary
python experiments/written_forms/run.py --log rows.jsonl --page docs/written_forms.md

The first run is given the contract alone. Where its verdict is not "conforms", a second run gives the options that the
first one advises: the conventions found, and the parameters that it says no law tests. A right form must conform then,
and a faulty one must not, in either run.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [str(HERE), str(TESTS)]
from forms import FORMS  # noqa: E402

from attention_core.matrix.measure import commit  # noqa: E402


class Row(NamedTuple):
    """One target: the form it is of, whether it is faulty, the target's name and its contract."""

    form: str
    faulty: bool
    target: str
    contract: str


def rows(folder: Path) -> Iterator[Row]:
    """All targets; the functions are written into files of a folder."""
    from attention_core.faults import model_forms, module_forms

    for number, form in enumerate(FORMS):
        for faulty in (False, True):
            path = folder / f"form_{number}{'_faulty' if faulty else ''}.py"
            path.write_text(form.file(faulty=faulty))
            yield Row(form.name, faulty, f"{path}:{form.function}", form.contract)
    for forms in (module_forms, model_forms):
        for right, wrong, _ in forms.FORMS:
            for faulty, module in ((False, right), (True, wrong)):
                yield Row(right.__name__, faulty, f"{forms.__file__}:{module.__name__}", "multi-head")


def verify(row: Row, options: Sequence[str], seed: int) -> dict[str, Any]:
    """The report of one run of the command line; {} where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable, "-m", "attention_core", "verify", row.target, "--contract", row.contract, "--effort",
            "quick", "--seed", str(seed), "--save", folder, "--json", str(report), *options,
        ]  # fmt: skip
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900, check=False)
        data: Any = json.loads(report.read_text()) if report.exists() else {}
    targets = data if isinstance(data, list) else data.get("targets", [data])
    return dict(targets[0])


def advised(report: dict[str, Any]) -> list[str]:
    """The options of a second run: the conventions that the first one found, and what it says is not tested."""
    look, under = report.get("first_look") or {}, report.get("under_found") or {}
    found = shlex.split(look.get("options", "")) if look.get("agrees") else []
    untested = (under or report).get("untested") or []
    return [*found, *(["--untested", ",".join(untested)] if untested else [])]


def judge(row: Row, seed: int) -> tuple[list[str], str]:
    """The verdicts of one or two runs, and the options of the second."""
    first = verify(row, (), seed)
    verdicts, options = [verdict(first)], list[str]()
    if verdicts == ["conforms"] or not (options := advised(first)):
        return verdicts, ""
    if "--contract" in options:
        row = row._replace(contract=options[options.index("--contract") + 1])
    second = verify(row, options, seed)
    return [*verdicts, verdict(second)], " ".join(options)


def verdict(report: dict[str, Any]) -> str:
    """The verdict of a run; "refuted as found" where nothing is judged as declared, and refuted as found."""
    said, under = str(report.get("verdict", "error")), report.get("under_found") or {}
    return "refuted as found" if said != "refuted" and under.get("verdict") == "refuted" else said


def is_right(row: Row, verdicts: Sequence[str]) -> bool:
    """Whether the verdicts of a target are what they should be."""
    return "conforms" not in verdicts if row.faulty else verdicts[-1] == "conforms"


def judged_rows(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """All targets that are asked for with their verdicts; those that stand in the log are not judged again."""
    known: list[dict[str, Any]] = []
    if chosen.log is not None and chosen.log.exists():
        known = [json.loads(line) for line in chosen.log.read_text(encoding="utf-8").splitlines()]
    found = {(one["form"], one["faulty"]): one for one in known}
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(Path(folder)):
            if chosen.only not in f"{row.form} {row.contract}" or (row.form, row.faulty) in found:
                continue
            verdicts, options = judge(row, chosen.seed)
            one = {"form": row.form, "faulty": row.faulty, "contract": row.contract, "verdicts": verdicts}
            one |= {"options": options, "good": is_right(row, verdicts)}
            found[row.form, row.faulty] = one
            print(f"{row.form}, {'faulty' if row.faulty else 'right'}: {', '.join(verdicts)} {options}", flush=True)
            if chosen.log is not None:
                with chosen.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(one) + "\n")
    return list(found.values())


def table(found: Sequence[dict[str, Any]]) -> str:
    """One row a form: what came of it in each run, and of the same with its fault; below, the counts."""
    head = ("form", "contract", "first run", "second run", "its options", "with its fault")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    faulty = {one["form"]: one for one in found if one["faulty"]}
    right = [one for one in found if not one["faulty"]]
    for one in right:
        first, second = [*one["verdicts"], ""][:2]
        wrong = faulty.get(one["form"], {"verdicts": ["not run"], "good": True})
        told = ", ".join(wrong["verdicts"]) + ("" if wrong["good"] else ": **not seen**")
        options = f"`{one['options']}`" if one["options"] else ""
        missed = "" if one["good"] else " **false alarm**"
        lines.append(f"| {one['form']} | {one['contract']} | {first} | {second}{missed} | {options} | {told} |")
    conform, seen = (sum(one["good"] for one in some) for some in (right, faulty.values()))
    at_once = sum(one["verdicts"][0].startswith("refuted") for one in faulty.values())
    return "\n".join(lines) + (
        f"\n\n**{conform} of {len(right)} right forms conform in at most two runs; {seen} of {len(faulty)} faulty ones "
        f"never do.** {at_once} of these are refuted in the first run. "
        f"Measured at commit `{commit()}`.\n"
    )


HEAD = """# Attention as people write it

Forms of attention and of its parts from well-known code, each right, and once more with one fault planted in it. The
first run is given the contract alone; where its verdict is not "conforms", the second has the options that the first
advises, and no others. Made by

    python experiments/written_forms/run.py --log rows.jsonl --page docs/written_forms.md

The functions, with their faults, are in `experiments/written_forms/forms.py`, the modules in
`attention_core/faults/module_forms.py` and `model_forms.py`.
"""


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="forms whose name or contract contains this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="where every finished row is written, and not judged again")
    parser.add_argument("--page", type=Path, help="a page that the table is written to")
    chosen = parser.parse_args(argv)
    made = table(judged_rows(chosen))
    print(made)
    if chosen.page is not None:
        chosen.page.write_text(f"{HEAD}\n{made}", encoding="utf-8")


if __name__ == "__main__":
    main()
