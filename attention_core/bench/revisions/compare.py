"""`attention-core bench --base REV`: kernels of two revisions, judged on the timed inputs, then timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import attention_core
from attention_core.bench.revisions.checkout import Checkout, check_out, find_root
from attention_core.bench.revisions.outcomes import Comparison, Outcome, Revision
from attention_core.bench.revisions.pair import SIDES, Judged, Pair, Unjudged, Waited, run_round
from attention_core.bench.revisions.rounds import RoundRule, RoundTimes, compare_rounds, take_rounds
from attention_core.bench.targets import read_target
from attention_core.bench.timing.machine import busy_cores, describe_machine, versions
from attention_core.bench.workloads.workload import Workload
from attention_core.changes import find_source
from attention_core.declaration.implementation import TargetError
from attention_core.registry.table import KERNELS

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What is compared.

    Args:
        base, head: revisions of git; no head is the working tree.
        build: a command for each checkout, or None.
        limit: the ratio from which a head is slower.
        seconds: for the samples of one kernel on one workload.
        threads, device, timeout: as of `run.Settings`.
    """

    base: str
    head: str | None = None
    build: str | None = None
    limit: float = RoundRule.limit
    seconds: float = 10.0
    threads: int = 1
    device: str = "cpu"
    timeout: float = 120.0

    @property
    def rule(self) -> RoundRule:
        """When a comparison stops."""
        return RoundRule(self.seconds, self.limit)


def compare_revisions(
    kernels: Sequence[str], workloads: Sequence[Workload], request: Request, progress: Progress = lambda text: None
) -> Comparison:
    """Time the same kernels of two revisions in turns, on each workload.

    Args:
        kernels: targets of this repository, conventions after @.
        workloads: what they are timed on.
        request: the revisions, and how to measure.
        progress: gets what happens.

    Returns:
        An outcome for every kernel and workload; what cannot be judged says why.

    Raises:
        TargetError: no such revision, a kernel of elsewhere, a build that fails, a workload that does not fit.
    """
    here, root = Path.cwd(), find_root(Path.cwd())
    for kernel in kernels:
        check_own(kernel, root, request.device)
    for workload in workloads:
        workload.check_memory()
    progress(f"checking out {request.base}" + (f" and {request.head}" if request.head else ""))
    with check_out(root, request.base, request.head, request.build) as checkouts:
        base, head = (Revision(one.name, one.commit) for one in checkouts)
        machine = describe_machine(request.device) | {"busy": busy_cores()}
        found = Comparison(base, head, request.limit, machine, versions(), asdict(request))
        places = [one.place(here) for one in checkouts]
        with Timer(request) as timer:
            for workload in workloads:
                for kernel in kernels:
                    jobs = [
                        {
                            "place": place, "target": target_in(kernel, checkout, here), "baseline": "",
                            "workload": workload.to_json(), "device": request.device,
                        }
                        for place, checkout in zip(places, checkouts, strict=True)
                    ]  # fmt: skip
                    found.outcomes.append(timer.compare(kernel, workload, jobs, checkouts, progress))
    return found


class Timer:
    """Compares one kernel after another, with a new process after one that was lost.

    Args: request, how to measure.
    """

    def __init__(self, request: Request) -> None:
        self.request, self.stack, self.pair = request, ExitStack(), None

    pair: Pair | None

    def __enter__(self) -> Timer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def compare(
        self, kernel: str, workload: Workload, jobs: Sequence[dict[str, Any]], checkouts: Sequence[Checkout],
        progress: Progress,
    ) -> Outcome:  # fmt: skip
        """Return the outcome of one kernel on one workload."""
        outcome, judged, rule = Outcome(kernel, workload.name()), list[Judged](), self.request.rule
        outcome.clock = "processor" if (self.request.device, self.request.threads) == ("cpu", 1) else "wall"
        if self.pair is None:
            r = self.request
            self.pair = self.stack.enter_context(Pair(r.threads, r.timeout, r.device))
        pair = self.pair

        def take(number: int) -> RoundTimes:
            progress(f"{workload.name()}: {kernel}, round {number + 1}")
            return run_round(pair, jobs, rule, number, judged, outcome.clock)

        try:
            try:
                rounds = take_rounds(take, rule)
            except Waited:
                outcome.clock = "wall"
                rounds = take_rounds(take, rule)
        except Unjudged as error:
            outcome.message = f"{SIDES[error.side]} ({checkouts[error.side].name}): {error}"
            self.stack.close()  # the other process may still wait for its turn
            self.pair = None
            return outcome
        outcome.fill(compare_rounds([one.log_ratio for one in rounds], rule.limit), rounds)
        outcome.base.errors, outcome.head.errors = (one.errors for one in judged)
        return outcome


def check_own(kernel: str, root: Path, device: str) -> None:
    """Refuse a kernel that is the same in both revisions, since neither holds it. Raises: TargetError."""
    named = read_target(kernel, device)
    where = named.origin.rpartition(":")[0]
    if kernel.partition("@")[0] in {row.name for row in KERNELS} or named.structured:
        raise TargetError(f"--base: {kernel} is a kernel of attention-core: name one of the files of {root}")
    package = Path(attention_core.__file__).parent
    source = find_source(where, root)
    if source is None:
        raise TargetError(f"--base: {where} is not a file of the repository {root}, so both revisions have the same")
    if source.is_relative_to(package):
        raise TargetError(
            f"--base: {where} is a part of the attention-core that measures; run another installation of it"
        )


def target_in(kernel: str, checkout: Checkout, here: Path) -> str:
    """A kernel as it is named in a checkout: where its file stands after a whole path, that of the checkout."""
    target, at, fields = kernel.partition("@")
    where, colon, name = target.rpartition(":")
    if where.endswith(".py"):
        where = str(checkout.where(here / where))
    return f"{where}{colon}{name}{at}{fields}"
