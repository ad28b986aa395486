"""How often `attention-core bench --base REV` errs: equal revisions called different, a slow-down of 5 % not found.

`python experiments/bench_revisions/run.py` compares revisions of a small repository on this machine, in turn two that
do the same and two of which the head does 5 % more; --log keeps what is done, and a run goes on. --simulated needs no
quiet machine: processes have speeds of their own there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from attention_core.audit.results import wilson
from attention_core.bench.revisions.compare import Request, compare_revisions
from attention_core.bench.revisions.pair import measure_round
from attention_core.bench.revisions.rounds import RoundRule, RoundTimes, compare_rounds, take_rounds
from attention_core.bench.timing.machine import busy_cores
from attention_core.bench.timing.synthetic import MACHINES, SyntheticClock, Work
from attention_core.bench.workloads.workload import Workload

HEADS = 20
SOURCE = """
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

EXTRA = {extra}

def attention(query, key, value):
    heads = [slice(h, h + 1) for h in range(query.shape[1])]
    for h in heads[:EXTRA]:
        sdpa(query[:, h], key[:, h], value[:, h])
    return torch.cat([sdpa(query[:, h], key[:, h], value[:, h]) for h in heads], 1)
"""
"""A kernel head by head: one call more for twenty heads is 5 % more work."""
KINDS = {"same": 1.0, "slower": 1.05}
CALL, OWN = 5e-3, 0.01
"""Simulated: seconds of a call, and the standard deviation of the logarithm of a process's own speed."""
IDENTITY = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@contextmanager
def repository() -> Iterator[Path]:
    """A repository with the tags `one`, `same` and `slower`."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        git(root, "init", "-q")
        for tag, extra in (("one", 0), ("same", 0), ("slower", 1)):
            (root / "mine.py").write_text(SOURCE.format(extra=extra), encoding="utf-8")
            git(root, "add", "-A")
            git(root, "commit", "-q", "--allow-empty", "-m", tag)
            git(root, "tag", tag)
        yield root


def git(root: Path, *words: str) -> None:
    """Run git."""
    subprocess.run(["git", "-C", str(root), *words], env={**os.environ, **IDENTITY}, check=True, capture_output=True)


def compare_real(root: Path, kind: str, seconds: float) -> dict[str, Any]:
    """One comparison on this machine, each with processes of its own."""
    with chdir(root):
        workload = Workload(B=1, H=HEADS, n_q=128, n_kv=128, d=32)
        found = compare_revisions(["mine.py:attention"], [workload], Request("one", kind, seconds=seconds))
    one = found.outcomes[0]
    change = one.change
    numbers = {} if change is None else {"ratio": change.ratio, "low": change.low, "high": change.high}
    rounds = 0 if change is None else len(change.rounds)
    return {"verdict": one.verdict, "message": one.message, **numbers, "rounds": rounds, "busy": busy_cores()}


def compare_simulated(machine: str, seed: int, ratio: float, seconds: float) -> str:
    """The verdict of one comparison on a simulated machine."""
    rng, clock, rule = np.random.default_rng(seed), SyntheticClock(MACHINES[machine], seed), RoundRule(seconds)

    def take(number: int) -> RoundTimes:
        own = np.exp(OWN * rng.standard_normal(2))
        return measure_round((Work(CALL * own[0]), Work(CALL * ratio * own[1])), clock, rule, number)

    return compare_rounds([one.log_ratio for one in take_rounds(take, rule)], rule.limit).verdict


def simulated_table(machines: list[str], trials: int, seconds: float) -> list[str]:
    """Rows of a Markdown table: equal revisions called different, and slow-downs found, of so many trials."""
    rows = ["| machine | called different | 5 % found |", "| --- | --- | --- |"]
    for name in machines:
        same = [compare_simulated(name, 2 * t, 1.0, seconds) for t in range(trials)]
        slow = [compare_simulated(name, 2 * t + 1, 1.05, seconds) for t in range(trials)]
        wrong = sum(verdict in ("FASTER", "SLOWER") for verdict in same)
        rows.append(f"| {name} | {wrong} of {trials} | {slow.count('SLOWER')} of {trials} |")
    return rows


def summarize(lines: list[dict[str, Any]]) -> list[str]:
    """What the trials on this machine say, in rows of a Markdown table."""
    names = ("slower", "faster", "no difference", "undecided", "not judged", "called different, 95 %", "ratios")
    rows = [f"| head | trials | {' | '.join(names)} |", "|" + " --- |" * 9]
    for kind in KINDS:
        own = [line for line in lines if line["kind"] == kind]
        counts = [
            sum(line["verdict"] == verdict for line in own)
            for verdict in ("SLOWER", "FASTER", "SAME", "AMBIGUOUS", "UNJUDGED")
        ]
        ratios = [line["ratio"] for line in own if "ratio" in line]
        ends = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else ""
        different = counts[0] if KINDS[kind] > 1 else counts[0] + counts[1]
        low, high = (f"{100 * end:.0f}" for end in wilson(different, len(own)))
        called = f"{different} of {len(own)}: {low} to {high} %" if own else ""
        rows.append(f"| {kind} | {len(own)} | {' | '.join(map(str, counts))} | {called} | {ends} |")
    busy = [line["busy"] for line in lines]
    return [*rows, "", f"Busy cores between the trials: {np.median(busy) if busy else math.nan:.1f} in the median."]


def read_log(path: Path | None) -> list[dict[str, Any]]:
    """The trials that a log holds; a last line that was cut off is left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path is not None and path.exists() else []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100, help="of each kind")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--simulated", action="store_true", help="only the simulated machines")
    options = parser.parse_args()
    if options.simulated:
        print(*simulated_table(list(MACHINES), options.trials, options.seconds), sep="\n")
        return
    lines = read_log(options.log)
    with repository() as root:
        for trial in range(options.trials):
            for kind in KINDS:
                if not any(line["kind"] == kind and line["trial"] == trial for line in lines):
                    line = {"kind": kind, "trial": trial, **compare_real(root, kind, options.seconds)}
                    lines.append(line)
                    print(json.dumps(line), file=sys.stderr, flush=True)
                    if options.log is not None:
                        with options.log.open("a", encoding="utf-8") as stream:
                            stream.write(json.dumps(line) + "\n")
    print(*summarize(lines), sep="\n")


if __name__ == "__main__":
    main()
