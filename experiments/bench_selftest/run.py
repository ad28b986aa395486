"""False alarms and misses of benchmark harnesses.

How often is A against A called a difference, and how often is a slow-down of 5 % missed? By which harness?
`python experiments/bench_selftest/run.py` prints the tables of README.md; --simulated needs no quiet machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))

from harnesses import HARNESSES, Pair, measured, rates, simulated

from attention_core.bench.timing.synthetic import MACHINES

CALL = 1e-3
"""Seconds of a simulated call."""
CALLS = (20, 21)
"""Calls of the measured pair's functions: 5 % more of the same."""


def line(name: str, cells: list[str]) -> str:
    """A row of a Markdown table."""
    return f"| {name} | {' | '.join(cells)} |"


def table(makers: dict[str, Callable[[int, float], Pair]], trials: int) -> list[str]:
    """Harness by machine: false alarms / misses in percent."""
    rows = [line("harness", list(makers)), "|---" * (len(makers) + 1) + "|"]
    for name, harness in HARNESSES.items():
        cells = []
        for make in makers.values():
            alarms, misses = rates(make, harness, trials)
            cells.append(f"{100 * alarms:.0f} / {100 * misses:.0f}")
        rows.append(line(name, cells))
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def simulation(name: str) -> Callable[[int, float], Pair]:
    """Pairs on one simulated machine."""
    return lambda seed, ratio: simulated(MACHINES[name], seed, CALL, ratio)


def kernel(n: int) -> Callable[[], Any]:
    """torch's attention on a small problem: some 50 microseconds a call."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 4, n, 32) for _ in range(3))
    return partial(torch.nn.functional.scaled_dot_product_attention, q, k, v)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--simulated", action="store_true", help="only the simulated machines")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"False alarms / misses, in percent of {options.trials} trials each, on simulated machines:\n")
    print(*table({name: simulation(name) for name in MACHINES}, options.trials), sep="\n")
    if options.simulated:
        return
    call = kernel(64)
    makers: dict[str, Callable[[int, float], Pair]] = {
        "this machine": lambda seed, ratio: measured(call, CALLS[0], CALLS[0] if ratio == 1.0 else CALLS[1])
    }
    print(f"\nThe same on this machine, {options.trials} trials each:\n")
    print(*table(makers, options.trials), sep="\n")


if __name__ == "__main__":
    main()
