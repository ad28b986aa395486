"""A run: verdicts first, then cell by cell probes, errors, samples and ratios; what is finished is kept at once.

A run may go on from the results of an earlier one: what must be the same, and the kernels a cell is measured with
again.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

import numpy as np

from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.targets import Named, read_target
from attention_core.bench.timing.clocks import clocks_differ
from attention_core.bench.timing.machine import busy_cores, describe_machine, versions
from attention_core.bench.timing.roofline import HALVES, Roofline
from attention_core.bench.timing.sampling import StoppingRule
from attention_core.bench.timing.statistics import SHOWN, compare, effective_count, median_interval, outliers
from attention_core.bench.verdicts import Known, as_words, check_known_failure, known_of, source, verdict
from attention_core.bench.worker.client import Lost, Workers
from attention_core.bench.worker.measure import SAMPLING
from attention_core.bench.workloads.workload import MEMORY_SHARE, Workload
from attention_core.conformance.report.results import count
from attention_core.declaration.implementation import TargetError, Unavailable, summarize_error

INSTEAD = "name another --json file"
"""The way out: without --resume the finished cells of this one would be overwritten."""
MACHINE = {"processor": "machine", "cores": "number of cores", "device": "device"}


def check_same(previous: Results, now: Results) -> None:
    """Raises: TargetError where earlier cells were measured otherwise, or elsewhere."""
    for words, old, new in (
        ("setting ", previous.settings, now.settings),
        ("", {MACHINE[k]: previous.machine.get(k) for k in MACHINE}, {MACHINE[k]: now.machine[k] for k in MACHINE}),
        ("version of ", previous.versions, now.versions),
    ):
        for name in {**old, **new}:
            if old.get(name) != new.get(name):
                was, now_is = old.get(name, "not there"), new.get(name, "not there")
                raise TargetError(f"cannot resume: {words}{name} was {was}, and is {now_is}; {INSTEAD}")
    for cell in previous.cells:
        cell.workload.check_memory()


def check_sources(previous: Results, named: Mapping[str, Named], listed: Mapping[str, Known]) -> None:
    """Raises: TargetError where a kernel's file is not the one that was timed, or other failures of it are listed."""
    for name, kernel in named.items():
        verdict, now = previous.verdicts.get(name), source(kernel)
        if verdict is not None and verdict.get("source", now) != now:
            raise TargetError(f"cannot resume: the file of {name} has changed since; {INSTEAD}")
        if verdict is not None and verdict.get("known", "") != as_words(known_of(name, listed)):
            raise TargetError(f"cannot resume: {name} was judged by other known failures; {INSTEAD}")


def to_measure(cell: Cell | None, named: Mapping[str, Named], device: str) -> dict[str, Named]:
    """The kernels to measure on a workload: none where its cell has all that are wanted, else those and all that
    the cell has. A ratio needs its kernels in one run, and no finished column is lost.

    Raises: TargetError where one of the cell's kernels cannot be read any more.
    """
    if cell is None:
        return dict(named)
    if all(name in cell.kernels for name in named):
        return {}
    found = dict(named)
    for name in cell.kernels:
        if name not in found:
            try:
                found[name] = read_target(name, device)
            except TargetError as error:
                raise TargetError(
                    f"cannot resume: {name} was measured in the same cell, and {error}; {INSTEAD}"
                ) from None
    return found


def join_limits(earlier: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of more dtypes beside the earlier ones; the rates without a dtype stay those that cells were held to."""
    return {**more, **earlier, "flops": {**earlier.get("flops", {}), **more["flops"]}}


Progress = Callable[[str], None]
OURS = "attention_core."


@dataclass(frozen=True)
class Settings:
    """How a run measures.

    Args: baseline, the kernel that ratios are taken to; seconds, for the samples of one cell, all kernels together;
        threads; device; effort, seed and timeout of the verdicts and (timeout) of any one step; least, most blocks,
        width, as in `StoppingRule`.
    """

    baseline: str = "torch:default"
    seconds: float = 10.0
    threads: int = 1
    device: str = "cpu"
    effort: str = "quick"
    seed: int = 0
    timeout: float = 120.0
    least: int = 20
    most: int = 400
    width: float = 0.005

    @property
    def plan(self) -> StoppingRule:
        """When sampling stops."""
        return StoppingRule(self.seconds, self.least, self.most, self.width)


def run_benchmark(
    kernels: Sequence[str], workloads: Sequence[Workload], settings: Settings | None = None, *,
    previous: Results | None = None, progress: Progress = lambda text: None,
    save: Callable[[Results], None] | None = None, listed: Mapping[str, Known] | None = None,
) -> Results:  # fmt: skip
    """Verify and time kernels side by side on each workload.

    Args: kernels, in words (see `targets.read_target`); the baseline is added where it is not among them; previous, the
        results of an interrupted run with the same settings, whose cells are not measured again but where they lack a
        kernel (then with all the kernels that they have); progress, gets what happens; save, is called with the
        results after every cell; listed, target -> known failures, beside those of the kernel table.
    Returns: Results; whatever goes wrong with one kernel stands in its column.
    Raises: TargetError before anything is measured: an unknown kernel, a workload that does not fit in memory, results
        that cannot be gone on from.
    """
    settings = settings or Settings()
    named = {name: read_target(name, settings.device) for name in [settings.baseline, *kernels]}
    for workload in workloads:
        workload.check_memory()
        if settings.device != "cpu":
            workload.check_memory(device_memory(settings.device))
    machine = describe_machine(settings.device) | {"busy": busy_cores()}
    results = Results(machine, versions(), asdict(settings))
    if previous is not None:
        check_same(previous, results)
        results = previous
    cells = [(workload, to_measure(results.cell(workload), named, settings.device)) for workload in workloads]
    every = {name: kernel for own in [named, *(own for _, own in cells)] for name, kernel in own.items()}
    known = {name: known_of(name, listed or {}) for name in every}
    for name, kernel in every.items():
        check_known_failure(kernel, known[name])
    check_sources(results, every, listed or {})
    with Workers(settings.threads, settings.timeout, settings.device) as workers:
        new = {name: kernel for name, kernel in every.items() if name not in results.verdicts}
        for name, kernel in new.items():
            check_loads(workers, name, kernel, settings.device)
        judge(new, len(cells), known, results, settings, progress)
        dtypes = {w.dtype for w in workloads}
        dtypes |= {"float32"} if dtypes & set(HALVES) else set()  # in which a kernel may compute
        missing = dtypes - set(results.limits.get("flops", ()))
        if missing:
            progress("the limits of this machine")
            results.limits = join_limits(results.limits, limits(workers, sorted(missing), settings.device))
        for number, (workload, own) in enumerate(cells, 1):
            if own:
                progress(f"cell {number} of {len(cells)}: {workload.name()}")
                results.keep(run_cell(workers, workload, own, results, settings, progress))
                if save is not None:
                    save(results)
    return results


def judge(
    kernels: Mapping[str, Named], cells: int, known: Mapping[str, Known], results: Results, settings: Settings,
    progress: Progress,
) -> None:  # fmt: skip
    """The verdicts of the laws on kernels, law by law, since someone waits: they take most of a short run's time."""
    for number, (name, kernel) in enumerate(kernels.items(), 1):
        ahead = f"kernel {number} of {len(kernels)}, then {count(cells, 'cell')} of {settings.seconds:g} s and more"
        words = f"{name}: is it right?"
        progress(f"{words} ({ahead})")

        def tell(done: int, whole: int, words: str = words, ahead: str = ahead) -> None:
            progress(f"{words} {done} of {whole} laws ({ahead})")

        results.verdicts[name] = verdict(kernel, settings.effort, settings.seed, settings.timeout, known[name], tell)


def check_loads(workers: Workers, name: str, kernel: Named, device: str) -> None:
    """Refuse a name that nothing answers to before minutes are spent on the others: a slip of the keyboard, mostly.

    Rows of the kernel table are there; what cannot run on this machine, dies or hangs is shown in its column.

    Raises: TargetError.
    """
    if kernel.origin.startswith(OURS):
        return
    with contextlib.suppress(Lost, Unavailable):
        for _ in workers.job("load", kernel=name, device=device):
            pass


def device_memory(device: str) -> int:
    """Bytes of a device that one cell may fill.

    Raises: TargetError: there is no such device.
    """
    import torch

    try:
        return int(MEMORY_SHARE * torch.cuda.mem_get_info(device)[1])
    except (RuntimeError, AssertionError, ValueError) as error:
        raise TargetError(f"--device {device}: {summarize_error(error)}") from error


def limits(workers: Workers, dtypes: Sequence[str], device: str) -> dict[str, Any]:
    """The measured limits as JSON values.

    Raises: TargetError where they cannot be measured.
    """
    try:
        for message in workers.job("limits", dtypes=list(dtypes), device=device):
            if message["event"] == "limits":
                return {k: v for k, v in message.items() if k != "event"}
    except (Lost, Unavailable) as error:
        raise TargetError(f"the limits of this machine cannot be measured: {error}") from error
    raise TargetError("the limits of this machine cannot be measured: the worker did not say them")


def run_cell(
    workers: Workers, workload: Workload, named: Mapping[str, Named], results: Results, settings: Settings, progress:
Progress ) -> Cell:  # fmt: skip
    """Every kernel on one workload."""
    columns: dict[str, Column] = {}
    for name, kernel in named.items():
        columns[name] = standing(kernel, workload, results.verdicts[name], settings.device)
        if columns[name].status == "timed":
            progress(f"{workload.name()}: {name}, memory and operators")
            probe(workers, workload, name, columns[name], settings.device)
    cell = Cell(workload, settings.baseline, columns)
    timed = {name: name for name, column in columns.items() if column.status == "timed"}
    progress(f"{workload.name()}: timing {len(timed)} kernels")
    found = measure(workers, workload, timed, columns, settings)
    if results.limits:
        cell.limit, cell.binding = Roofline.from_json(results.limits).seconds(workload)
    fill(cell, found, settings.baseline)
    return cell


def standing(kernel: Named, workload: Workload, verdict: Mapping[str, str], device: str) -> Column:
    """Whether a kernel is to be timed on a workload, and if not, why."""
    if verdict["verdict"] == "refuted":
        return Column("refuted", verdict["reason"])
    if verdict["verdict"] == "error":
        return Column("unavailable", verdict["reason"])
    own = kernel.implementation.device.partition(":")[0]
    if own != device.partition(":")[0]:
        return Column("unavailable", f"it runs on {own}, and the cell is on {device}")
    reason = kernel.why_not(workload)
    return Column("cannot", reason) if reason else Column("timed")


def probe(workers: Workers, workload: Workload, name: str, column: Column, device: str) -> None:
    """Fill in what a fresh process tells of one kernel; or why it cannot be timed."""
    try:
        for message in workers.job("probe", workload=workload.to_json(), kernel=name, device=device):
            if message["event"] == "cannot":
                column.status, column.message = "cannot", message["message"]
            elif message["event"] == "probed":
                column.probe = {k: v for k, v in message.items() if k != "event"}
    except (Lost, Unavailable, TargetError) as error:
        column.status, column.message = "failed", str(error)


def measure(
    workers: Workers, workload: Workload, timed: dict[str, str], columns: dict[str, Column], settings: Settings,
    repeats: Mapping[str, float] | None = None, inner: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """The samples of the kernels, measured again without one that takes the process with it, or spoils the inputs."""
    while timed:
        job: dict[str, Any] = {
            "workload": workload.to_json(), "kernels": timed, "device": settings.device, "plan": asdict(settings.plan),
            "baseline": settings.baseline, "repeats": dict(repeats or {}), "inner": inner,
        }  # fmt: skip
        try:
            found = one_measurement(workers, job, columns)
            if not found.get("again"):
                return found
            timed = {name: text for name, text in timed.items() if columns[name].status == "timed"}
        except Lost as lost:
            guilty = lost.running if lost.running in timed else ""
            for name in [guilty] if guilty else list(timed):
                columns[name].status, columns[name].message = "failed", str(lost)
                del timed[name]
        except (TargetError, Unavailable) as error:
            for name in timed:
                columns[name].status, columns[name].message = "failed", str(error)
            return {}
    return {}


def one_measurement(workers: Workers, job: dict[str, Any], columns: dict[str, Column]) -> dict[str, Any]:
    """The last message of a measuring job; what it tells of single kernels goes into their columns."""
    found: dict[str, Any] = {}
    start = monotonic()
    for message in workers.job("measure", **job):
        if message.get("phase") == SAMPLING:
            start = monotonic()
        column = columns.get(message.get("kernel", ""))
        if message["event"] == "failed_kernel" and column is not None:
            column.status, column.message = message.get("status", "failed"), message["message"]
        elif message["event"] == "checked" and column is not None:
            column.errors = message["errors"]
            wrong = [name for name, e in column.errors.items() if e["refuted"]]
            if wrong:
                how, where = beyond(column.errors[wrong[0]]), message.get("where", "on these inputs")
                column.status, column.message = "refuted", f"{where}: the error of {wrong[0]} {how}"
        elif message["event"] == "sampled":
            found, elapsed = message, monotonic() - start
            if clocks_differ(elapsed, message["seconds"]):
                refuse_times(columns, found, elapsed)
    return found


def refuse_times(columns: dict[str, Column], found: dict[str, Any], elapsed: float) -> None:
    """Drop samples of a process whose clock is not this one's: some kernel has replaced it, which one is not known."""
    for name in found["times"]:
        columns[name].status = "failed"
        columns[name].message = (
            f"its process says that the samples took {found['seconds']:.3g} s, and they took {elapsed:.3g} s: a kernel "
            "has replaced the clock; time each alone to see which"
        )
    found["times"] = {}


def beyond(error: Mapping[str, Any]) -> str:
    """How an error that refutes leaves its bound; a worker's messages hold infinities as they are."""
    worst = error["over_bound"]
    if worst is None or not math.isfinite(error["max"]):
        return "is not finite"
    return f"is {worst:.3g} times its bound" if math.isfinite(worst) else f"is {error['max']:.3g}, and its bound is 0"


def fill(cell: Cell, found: Mapping[str, Any], baseline: str) -> None:
    """Times, ratios and shares of the limit from the samples."""
    times = {name: np.array(rows) for name, rows in found.get("times", {}).items() if len(rows)}
    cell.resolution = found.get("resolution", 0.0)
    for name, column in cell.kernels.items():
        if name in found.get("failed", {}):
            column.status, column.message = "failed", f"raised {found['failed'][name]}"
        elif name in times:
            flat = times[name].reshape(-1)
            middle = median_interval(flat, SHOWN, effective_count(flat))
            column.seconds, column.low, column.high = middle.value, middle.low, middle.high
            column.samples, column.outliers = times[name].tolist(), outliers(flat)
            column.inner, column.first = found["inner"][name], found["first"][name]
            column.warm_up, column.settled = found["warm_up"][name], found["settled"][name]
            if baseline in times:
                column.comparison = compare(times[name], times[baseline])
            if cell.limit is not None:
                column.share = cell.limit / middle.value
        elif column.status == "timed":
            column.status, column.message = "failed", "it was not sampled"
