"""Measure the checker on derivations/: planted errors, other seeds, times, other tools; docs/derivation_figures.md.

Run from the root of the repository; what is done is kept in build/derivations and a run goes on where it was stopped:

python experiments/planted_errors/run.py --processes 2                  # all but the seeds, minutes
python experiments/planted_errors/run.py --seeds 200                    # right steps under other seeds too: hours
python experiments/planted_errors/run.py --only seeds --seeds 200       # the seeds alone
python experiments/planted_errors/run.py --page --write docs/derivation_figures.md   # the page from what is known

`tools` needs math-verify with antlr4 4.11 (tox run -e derivations has them), `displays` the sources themselves (the
environment variable ATTENTION_CORE_DATA).
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import page
import pieces
from pieces import ROOT, Piece, broken, documents, results, steps
from store import Store

STAGES = ("right", "breaks", "numbers", "tools", "seeds")
BLOCK = 10


def every_step(chosen: Sequence[str]) -> list[tuple[str, str]]:
    """(document, step) of every right step."""
    return [(d, s) for d in documents() if not chosen or d in chosen for s in steps(d)]


def right(chosen: Sequence[str]) -> list[Piece]:
    """Every right step, as the documents' own check decides it."""
    return [("right", d, s, -1, "processor time") for d, s in every_step(chosen)]


def breaks(chosen: Sequence[str]) -> list[Piece]:
    """Every break of every right step."""
    return [("break", d, s, k) for d, s in every_step(chosen) for k in range(len(broken(d, s)))]


def numbers(chosen: Sequence[str], kept: Store, sample: int = 0) -> list[Piece]:
    """The second opinion on every break that is neither refuted nor proved; on right steps, proved breaks and refuted
    breaks of equations (which other tools are asked about) all or a sample, twice as many of the last."""
    known = {p[1:4]: r["verdict"] for p, r in pieces.reached(breaks(chosen), kept)}
    at = [p[1:] for p in breaks(chosen)]
    proved = [one for one in at if known.get(one) in ("PROVED", "EXACT")]
    refuted = [one for one in at if known.get(one) == "REFUTED" and compared(*one[:2]) and changes_sides(one)]
    rest = [one for one in at if known.get(one) not in ("PROVED", "EXACT", "REFUTED", "UNREADABLE")]
    out: list[Piece] = [("numbers", *one, *how) for one in rest for how in ((40, 3, False), (16, 8, True))]
    few = [*sampled([p[1:4] for p in right(chosen)], sample), *sampled(proved, sample)]
    out += [("numbers", *one, *how) for one in few for how in ((24, 3, False), (12, 8, True))]
    return out + [("numbers", *one, 24, 3, False) for one in sampled(refuted, 2 * sample)]


def sampled(some: list[tuple[str, str, int]], count: int) -> list[tuple[str, str, int]]:
    """All of them, or so many drawn at random."""
    return sorted(random.Random(0).sample(some, count)) if 0 < count < len(some) else some


def changes_sides(at: tuple[str, str, int]) -> bool:
    """Whether a break is seen in the two sides alone."""
    return broken(at[0], at[1])[at[2]].kind not in ("hypothesis", "bound")


def compared(document: str, step: str) -> bool:
    """Whether other tools can be asked about a step: an equation without a premise."""
    one = steps(document)[step]
    return one.op == "=" and not one.assumed and not one.option("assume")


def tools(chosen: Sequence[str], kept: Store, sample: int = 0) -> list[Piece]:
    """Other tools on the right equations, and on the breaks of equations that the second opinion calls false."""
    found: list[tuple[str, str, int]] = [(d, s, -1) for d, s in every_step(chosen) if compared(d, s)]
    for (_, d, s, k, *how), result in pieces.reached(numbers(chosen, kept, sample), kept):
        false = k >= 0 and how[1:] == [3, False] and result["says"] == "false" and "shapes" not in result.get("at", {})
        if false and compared(d, s) and changes_sides((d, s, k)):
            found.append((d, s, k))
    return [("tool", *at, name) for name in ("SymPy", "math-verify") for at in found]


def seeds(chosen: Sequence[str], count: int) -> list[Piece]:
    """Every right step under other seeds, ten of them in one piece, all steps before the next ten."""
    return [
        ("seeds", d, s, -1, first, min(first + BLOCK, count + 1))
        for first in range(1, count + 1, BLOCK) for d, s in every_step(chosen)
    ]  # fmt: skip


def main() -> None:
    """Do what is not done, then make the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*")
    parser.add_argument("--seeds", type=int, default=0, help="other seeds for every right step")
    parser.add_argument("--sample", type=int, default=0, help="second opinions and tools on so many of a sort, not all")
    parser.add_argument("--only", choices=STAGES, action="append", help="these parts alone; repeatable")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="do nothing, make the page from what is known")
    parser.add_argument("--write", type=Path, help="where the page goes; it is printed without")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "derivations")
    given = parser.parse_args()
    kept = Store(given.results / "pieces.jsonl")
    doing = () if given.page else tuple(given.only or STAGES)
    make = {
        "right": lambda: right(given.documents), "breaks": lambda: breaks(given.documents),
        "numbers": lambda: numbers(given.documents, kept, given.sample),
        "tools": lambda: tools(given.documents, kept, given.sample),
        "seeds": lambda: seeds(given.documents, given.seeds),
    }  # fmt: skip
    for stage in STAGES:  # each needs what the ones before it found
        if stage in doing:
            for _ in results(make[stage](), kept, stage, given.processes):
                pass
    if given.only:
        return
    text = page.page(given.documents, kept, given.seeds, given.sample)
    if given.write is None:
        print(text, end="")
    else:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
