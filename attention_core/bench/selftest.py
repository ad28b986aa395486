"""The harness put to the test on this machine: a kernel beside itself, and beside itself with 5 % more to do.

The slow-down is planted without another kernel: its samples hold 21 calls for every 20 of the other's, or, where 20
calls would make samples so long that the machine changes within a block, every call is waited for 5 % longer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core.bench.report.results import Column
from attention_core.bench.run import Progress, Settings, measure
from attention_core.bench.timing.statistics import Comparison, compare
from attention_core.bench.worker.client import Workers
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError

if TYPE_CHECKING:
    from rich.console import Console

PLANTED = 1.05
FALSE_ALARMS = 0.05
"""Largest allowed share of A/A trials called FASTER or SLOWER."""
COVERAGE = 0.90
"""Smallest share of A/A trials whose interval holds 1."""
FOUND = 0.90
"""Smallest share of planted slow-downs that are called SLOWER."""


@dataclass
class SelfTest:
    """Trials on one workload: the comparisons of a kernel with itself, and of one with the slow-down, and seconds
    each took."""

    workload: Workload
    kernel: str
    same: list[Comparison] = field(default_factory=list)
    slowed: list[Comparison] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def coverage(self) -> float:
        """Share of A/A intervals that hold 1."""
        return float(np.mean([c.low <= 1 <= c.high for c in self.same]))

    @property
    def false_alarms(self) -> float:
        """Share of A/A trials called FASTER or SLOWER."""
        return float(np.mean([c.verdict in ("FASTER", "SLOWER") for c in self.same]))

    @property
    def detection_rate(self) -> float:
        """Share of planted slow-downs called SLOWER."""
        return float(np.mean([c.verdict == "SLOWER" for c in self.slowed]))

    @property
    def passed(self) -> bool:
        """Whether this machine lets the harness keep its word."""
        return self.coverage >= COVERAGE and self.false_alarms <= FALSE_ALARMS and self.detection_rate >= FOUND


def run_self_test(
    workload: Workload, settings: Settings, trials: int, progress: Progress = lambda text: None
) -> SelfTest:
    """So many trials of both kinds, in turn, each in a process of its own.

    Raises: TargetError where the kernel cannot be timed.
    """
    workload.check_memory()
    found = SelfTest(workload, settings.baseline)
    with Workers(settings.threads, settings.timeout, settings.device) as workers:
        for trial in range(2 * trials):
            planted = trial % 2 == 1
            progress(f"{workload.name()}: trial {trial // 2 + 1} of {trials}")
            comparison, seconds = one_trial(workers, workload, settings, PLANTED if planted else 1.0)
            (found.slowed if planted else found.same).append(comparison)
            found.seconds.append(seconds)
    return found


def one_trial(workers: Workers, workload: Workload, settings: Settings, factor: float) -> tuple[Comparison, float]:
    """A kernel and itself, whose samples take `factor` times as long; and the seconds that the samples took."""
    pair = {"A": settings.baseline, "B": settings.baseline}
    columns = {name: Column("timed") for name in pair}
    message: dict[str, Any] = measure(workers, workload, dict(pair), columns, settings, {"B": factor}, inner=20)
    failed = [c.message for c in columns.values() if c.status != "timed"] + list(message.get("failed", {}).values())
    if failed:
        raise TargetError(f"{settings.baseline} cannot be timed on {workload.name()}: {failed[0]}")
    first, second = (np.array(message["times"][name]) for name in pair)
    inner = message["inner"]
    return compare(second, first), float(first.sum() * inner["A"] + second.sum() * inner["B"])


def print_self_test(console: Console, found: SelfTest) -> None:
    """The rates, and the settings of the trials."""
    n, m = len(found.same), len(found.slowed)
    ratios = [c.ratio for c in found.same]
    lines = (
        f"{found.workload.name()}: {found.kernel} against itself",
        f"  the interval holds 1 in {found.coverage:.0%} of {n} trials (asked: at least {COVERAGE:.0%})",
        f"  FASTER or SLOWER is said in {found.false_alarms:.0%} (asked: at most {FALSE_ALARMS:.0%})",
        f"  5 % more work is called SLOWER in {found.detection_rate:.0%} of {m} trials (asked: at least {FOUND:.0%})",
        f"  ratios from {min(ratios):.4f} to {max(ratios):.4f}; {np.median(found.seconds):.1f} s of samples a trial",
    )
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
