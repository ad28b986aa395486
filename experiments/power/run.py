"""Measure the suite's power: every fault against every law of its contract, going on where an earlier run stopped.

python experiments/power/run.py --processes 2          # all of it
python experiments/power/run.py --tag hard --effort quick
python experiments/power/run.py --only hard_tiles      # names that contain this
python experiments/power/run.py --shard 2/4 --json 2.json    # every fourth piece of work from the second on
attention-core merge 1.json 2.json 3.json 4.json --json all.json
python experiments/power/run.py --take all.json        # as if all of it had run here
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import store
import trial
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from attention_core.conformance.report.shards import read_shard, trials_to_json
from finetune.faults.catalogue import FAULTS, named

RESULTS = store.ROOT / "build" / "power"


def work(piece: tuple[str, str, str, int, bool]) -> dict[str, Any]:
    """One piece of work: (module, name, effort, seed, whole)."""
    _, name, effort, seed, whole = piece
    found = trial.run_trial(named(name), effort, seed, whole=whole, shrink=effort == "standard")
    return found.to_json()


def run_pieces(
    do: Callable[[Any], dict[str, Any]], pieces: Sequence[Any], kept: store.Store, kind: str, processes: int
) -> Iterator[dict[str, Any]]:
    """Do what is not done yet, on some processes; results are kept one by one as they come."""
    known = kept.known()
    todo = [(do, p) for p in pieces if store.key(*p) not in known]
    if not todo:
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        Progress(*columns, transient=True) as progress,
        multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=40) as pool,
    ):
        bar = progress.add_task(kind, total=len(pieces), completed=len(pieces) - len(todo))
        for piece, line in pool.imap_unordered(done, todo):
            line["key"] = store.key(*piece)  # this process has read the code before the run began
            kept.add(line)
            progress.advance(bar)
            yield line


def done(job: tuple[Callable[[Any], dict[str, Any]], Any]) -> tuple[Any, dict[str, Any]]:
    """A piece of work and its result."""
    do, piece = job
    return piece, do(piece)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--tag", default="", help="rows with this tag")
    parser.add_argument("--effort", action="append", choices=["quick", "standard"], help="both by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--whole", action="store_true", help="at standard, too, go on after the first refutation")
    parser.add_argument("--first", action="store_true", help="stop at the first refutation at quick, too")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--shard", default=None, metavar="I/N", help="only every N-th piece of work from the I-th on")
    parser.add_argument("--json", type=Path, default=None, help="write the trials of this run, for `merge`")
    parser.add_argument("--take", type=Path, default=None, help="trials of other machines, which are not run again")
    chosen = parser.parse_args(argv)
    rows = [r for r in FAULTS if chosen.only in r.name and (not chosen.tag or chosen.tag in r.tags)]
    pieces = [
        (row.file, row.name, effort, chosen.seed, chosen.whole or (effort == "quick" and not chosen.first))
        for effort in chosen.effort or ["quick", "standard"] for row in rows
    ]  # fmt: skip
    kept = store.Store(chosen.results / "trials.jsonl")
    if chosen.take is not None:
        for line in json.loads(chosen.take.read_text(encoding="utf-8"))["trials"]:
            kept.add(line)
    shard = read_shard(chosen.shard or "1/1", [store.key(*piece) for piece in pieces])
    pieces = pieces[shard.index - 1 :: shard.of]
    for line in run_pieces(work, pieces, kept, "trial", chosen.processes):
        if not line["refuting"] or line["odd"]:
            print(line["name"], line["effort"], "not refuted" if not line["refuting"] else "", line["odd"] or "")
    known = kept.known()
    done = [known[store.key(*p)] for p in pieces]
    if chosen.json is not None:
        chosen.json.write_text(trials_to_json(done, shard if chosen.shard else None), encoding="utf-8")
    missed = [line for line in done if not line["refuting"]]
    print(f"{len(done)} trials, {len(done) - len(missed)} refuted; not: {[(m['name'], m['effort']) for m in missed]}")


if __name__ == "__main__":
    main()
