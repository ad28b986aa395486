"""Whether a changed suite judges as an older one did: a seeded sample of kept results run again, law by law.

python experiments/power/alike.py --sample 100 --processes 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import run
import store
from rich.progress import track

from finetune.faults.catalogue import FAULTS

SAME = ("refuting", "laws", "odd")
"""What a seed decides of a trial: the laws that refute, how many judged, and what else happened; not the seconds."""


def differences(kept: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """What differs between two lines of one piece of work."""
    return [f"{name}: was {kept[name]}, and is {found[name]}" for name in SAME if kept[name] != found[name]]


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 1 where a result differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--results", type=Path, default=run.RESULTS)
    chosen = parser.parse_args(argv)
    known = store.Store(chosen.results / "trials.jsonl").known()
    pieces = [(row.file, row.name, "quick", 0, True) for row in FAULTS]
    listed = {file for each in store.FINETUNE[0] for file in store.sources(each)}
    kept = [p for p in pieces if store.key(*p) in known and p[0] not in listed]
    picked = np.random.default_rng(chosen.seed).permutation(len(kept))[: chosen.sample]
    wrong = 0
    with multiprocessing.get_context("spawn").Pool(chosen.processes, maxtasksperchild=40) as pool:
        jobs = pool.imap_unordered(run.done, [(run.work, kept[i]) for i in picked])
        for piece, line in track(jobs, "trial", total=len(picked)):
            for told in differences(known[store.key(*piece)], line):
                wrong += 1
                print(f"{piece[1]}: {told}")
    print(f"{len(picked)} of {len(kept)} kept results run again: {wrong} differ")
    return 1 if wrong or not len(picked) else 0


if __name__ == "__main__":
    sys.exit(main())
