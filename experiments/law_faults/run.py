"""Put every law to the fault that it names, and keep the smallest counterexample: docs/data/law_faults.json.

python experiments/law_faults/run.py --write docs/data/law_faults.json

The site's page of a law shows it. What is in the file is kept, so that the run goes on where it stopped.
`--again` starts anew, and `--law NAME` measures one law. All of it takes some ten minutes of one core.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "docs" / "_ext")]

import product  # noqa: E402

from attention_core.conformance import Implementation  # noqa: E402
from attention_core.conformance.contracts import Contract, contracts  # noqa: E402
from attention_core.conformance.engine.session import Session, select_laws  # noqa: E402
from attention_core.conformance.search.judging import SHRINK_CALLS  # noqa: E402
from attention_core.conformance.search.search import run_law  # noqa: E402
from attention_core.conformance.subjects.law import Law  # noqa: E402
from attention_core.faults.row import Row  # noqa: E402
from finetune.faults.catalogue import FAULTS  # noqa: E402

EFFORTS = ("quick", "standard")
LONGEST_SNIPPET = 2000
"""Characters: a longer one holds a whole model, which a page does not show."""
OTHER_FAULTS = 40
"""So many faults of the catalogue are tried where the fault that a law names is not one of its rows."""


def main() -> None:
    """Measure, and write after every law."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, required=True, metavar="FILE")
    parser.add_argument("--law", action="append", default=[], metavar="NAME")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    kept: dict[str, Any] = {}
    if options.write.exists() and not options.again:
        kept = json.loads(options.write.read_text(encoding="utf-8"))["laws"]
    pairs = {name: (asked[0][1], rows_of(asked[0][1])) for name, asked in product.laws().items()}
    kept = {name: kept[name] for name in kept if name in pairs}
    for name, (law, rows) in pairs.items():
        wanted = name in options.law if options.law else kept.get(name, {}).get("fault") not in [r.name for r in rows]
        if not wanted:
            continue
        if entry := counterexample(law, rows):
            kept[name] = entry
        print(name, kept.get(name, {}).get("case", "no counterexample"), flush=True)
        save(options.write, kept)
    save(options.write, kept)


def save(path: Path, laws: dict[str, Any]) -> None:
    """Write the file, sorted, so that a law's change is a change of its lines alone."""
    made = "python experiments/law_faults/run.py --write docs/data/law_faults.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"made_by": made, "laws": laws}, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    path.write_text(text + "\n", encoding="utf-8")


def rows_of(law: Law) -> list[Row]:
    """The rows of the fault that a law names, in contracts that ask this law; else the first faults of these."""
    asking = [contract.name for contract in contracts().values() if law.name in names_of(contract)]
    possible = sorted((row for row in FAULTS if row.contract in asking), key=lambda row: asking.index(row.contract))
    own = [row for row in possible if row.name.rpartition(".")[2] == law.fault]
    return own or possible[:OTHER_FAULTS]


def names_of(contract: Contract) -> set[str]:
    """The names of a contract's laws."""
    return {law.name for law in contract.laws}


def counterexample(law: Law, rows: list[Row]) -> dict[str, Any] | None:
    """The smallest case of the first row that the law refutes, at the least effort that finds one."""
    for effort in EFFORTS:
        for row in rows:
            record = dict(row.record)
            with Session(Implementation(row.make(), name="faulty", **record), effort=effort, seed=0) as session:
                chosen = select_laws(session.laws, [law.name])
                if not chosen:
                    continue
                result = run_law(chosen[0], session.contract, session.subject, effort, 0, shrink=SHRINK_CALLS)
                found = result.counterexample
            if result.status == "refuted" and found is not None:
                return {
                    "contract": row.contract,
                    "fault": row.name,
                    "about": row.about,
                    "declared": {k: v for k, v in record.items() if k != "contract"},
                    "effort": effort,
                    "message": found.message,
                    "case": found.case,
                    "snippet": found.snippet if len(found.snippet) <= LONGEST_SNIPPET else "",
                }
    return None


if __name__ == "__main__":
    main()
