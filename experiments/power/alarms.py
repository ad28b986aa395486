"""False alarms: every correct target of the catalogue, over many seeds; none may ever be refuted.

python experiments/power/alarms.py --quick-seeds 100 --standard-seeds 5 --processes 2

Hours; what is done goes to build/power as it comes, and at the end to alarms.json beside this file, to be committed.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import ledger
import run
import shared
import store
import trial

from attention_core.bench.timing.machine import describe_machine
from attention_core.faults.odd import NEEDS
from finetune.faults.catalogue import CORRECT

CORRECT_BY_NAME = {row.name: row for row in CORRECT}
COMPILED = ("agrees_with_truth", "key_gradient_is_true", "masked_keys_are_invisible", "stays_finite")
"""Laws put to targets that compile every new shape for about a second: JAX."""


remember = functools.cache(shared.share)
"""Once in a process."""


def work(piece: tuple[str, str, str, int]) -> dict[str, Any]:
    """One piece of work: (module, name, effort, seed)."""
    _, name, effort, seed = piece
    laws = COMPILED if name in NEEDS else ()
    remember()
    found = trial.run_trial(CORRECT_BY_NAME[name], effort, seed, whole=True, shrink=False, laws=laws)
    return found.to_json()


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick-seeds", type=int, default=100)
    parser.add_argument("--standard-seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="targets whose name contains this")
    parser.add_argument("--results", type=Path, default=run.RESULTS)
    parser.add_argument("--ledger", type=Path, default=ledger.LEDGER, help="where the runs of all machines are kept")
    chosen = parser.parse_args(argv)
    rows = [row for row in CORRECT if chosen.only in row.name and is_here(row.name)]
    seeds = [("quick", s) for s in range(chosen.quick_seeds)] + [("standard", s) for s in range(chosen.standard_seeds)]
    pieces = [
        (row.file, row.name, effort, seed)
        for effort, seed in seeds for row in rows
        if row.name not in NEEDS or (effort, seed) == ("quick", 0)
    ]  # fmt: skip
    before = set(ledger.runs(ledger.read(chosen.ledger)))
    pieces = [p for p in pieces if p[1:] not in before]
    kept = store.Store(chosen.results / "alarms.jsonl")
    for line in run.run_pieces(work, pieces, kept, "alarms", chosen.processes):
        if line["refuting"] or line["odd"]:
            print(line["name"], line["effort"], line["seed"], line["refuting"], line["odd"], flush=True)
    known = kept.known()
    processor = str(describe_machine("cpu")["processor"])
    entries = ledger.take([known[store.key(*p)] for p in pieces], processor, chosen.ledger)
    for effort in ledger.EFFORTS:
        mine = [e for e in entries if e.effort == effort]
        done, alarms = sum(len(e.seeds) for e in mine), sum(len(e.refuting) for e in mine)
        judged = sum(e.laws for e in mine)
        print(f"{effort}: {done} runs, {judged} laws judged: {alarms} false alarms; none in N bounds the rate by 3/N")


def is_here(name: str) -> bool:
    """Whether the package that a row needs is installed."""
    return name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None


if __name__ == "__main__":
    main()
