"""The rules of other suites on the same faults and the same correct targets, in one run with ours.

python experiments/power/compare.py --processes 2
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import peers
import run
import store
import torch

from finetune.faults.catalogue import CORRECT, FAULTS

ROWS = {row.name: row for row in (*FAULTS, *CORRECT)}


def work(piece: tuple[str, str, str]) -> dict[str, Any]:
    """One piece of work: (module, name, rule)."""
    _, name, rule = piece
    torch.set_num_threads(1)
    (chosen,) = (r for r in peers.RULES if r.name == rule)
    (found,) = peers.verdicts(ROWS[name], (chosen,))
    return found


def pieces(only: str = "") -> list[tuple[str, str, str]]:
    """Every (module, row, rule) that makes sense."""
    rows = [row for row in ROWS.values() if peers.applies(row) and only in row.name]
    return [(row.file, row.name, rule.name) for row in rows for rule in peers.RULES]


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--results", type=Path, default=run.RESULTS)
    chosen = parser.parse_args(argv)
    kept = store.Store(chosen.results / "peers.jsonl")
    todo = pieces(chosen.only)
    for _ in run.run_pieces(work, todo, kept, "peers", chosen.processes):
        pass
    done = [kept.known()[store.key(*p)] for p in todo]
    for rule in peers.RULES:
        mine = [line for line in done if line["rule"] == rule.name]
        faulty = [line for line in mine if ROWS[line["name"]].faulty]
        alarms = [line["name"] for line in mine if line["rejected"] and ROWS[line["name"]].expected == "conforms"]
        kills = sum(line["rejected"] for line in faulty)
        print(f"{rule.name}: {kills} of {len(faulty)} faults, false alarms {alarms}")


if __name__ == "__main__":
    main()
