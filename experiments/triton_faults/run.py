"""Put the faults of Triton kernels to the laws, and write which law refutes each: in Triton's interpreter, or on a GPU.

python experiments/triton_faults/run.py --log faults.jsonl --page docs/triton_faults.md
python experiments/triton_faults/run.py --only lse
python experiments/triton_faults/run.py --device cuda --jobs 8 --effort quick --log on_gpu.jsonl

Each fault of `attention_core/faults/triton_kernels.py` is judged at quick until a law refutes it, and at standard where
none does. A run with `--log` goes on where it stood. It ends with 1 where a fault is missed that is not known to be.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from attention_core.conformance.engine.session import FIRST, Session
from attention_core.conformance.subjects.law import Law, detectors_first
from attention_core.faults.triton_kernels import KERNEL_FAULTS, TARGETS, KernelFault, write_kernel
from attention_core.matrix.measure import commit
from attention_core.registry.table import implementation

MISSED = {
    "offsets_of_32_bits": "needs a tensor of more than 2^31 elements, which no case has",
}
"""Faults that no law refutes, and why."""


def in_order(laws: Sequence[Law]) -> list[Law]:
    """The laws most likely to refute first: those of a first look, then those of gradients, then all others."""
    places = {name: place for place, name in enumerate(FIRST)}
    return sorted(
        detectors_first(laws), key=lambda law: places.get(law.name, len(FIRST) + ("gradient_is_true" not in law.name))
    )


def judge(
    fault: KernelFault, efforts: Sequence[str], seed: int, device: str = "cpu", shapes: str = "auto"
) -> dict[str, Any]:
    """The first law that refutes a fault, at the lowest of some efforts, and the processor time that took."""
    row, _ = TARGETS[fault.kernel]
    start = processor_seconds()
    found: dict[str, Any] = {"fault": fault.name, "effort": "", "law": "", "message": "", "device": device}
    with tempfile.TemporaryDirectory() as folder:
        target, record = write_kernel(fault, Path(folder)), implementation(row)
        record = record.with_(name=fault.name, device=device, shapes=shapes)
        for effort in efforts:
            with Session(record, target, effort=effort, seed=seed, shrink=False) as session:
                for law in in_order(session.laws):
                    result = session.run(law)
                    if result.status == "refuted":
                        message = result.message.replace(folder, "")
                        found = {**found, "effort": effort, "law": law.name, "message": message}
                        break
            if found["law"]:
                break
    return {**found, "seconds": round(processor_seconds() - start, 1)}


def processor_seconds() -> float:
    """Processor time of this process and of those that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)


def page(found: Sequence[dict[str, Any]]) -> str:
    """The results as a page of the documentation."""
    about = {fault.name: fault for fault in KERNEL_FAULTS}
    quick, refuted = (sum(one["effort"] in efforts for one in found) for efforts in (("quick",), ("quick", "standard")))
    lines = [
        f"| {one['fault']} | {about[one['fault']].kernel.partition('_')[0]} | {about[one['fault']].about} | "
        f"{one['effort'] or 'missed'} | {one['law'] or MISSED.get(one['fault'], '')} | {one['seconds']} |"
        for one in found
    ]
    counts = f"**{refuted} of {len(found)} are refuted, {quick} of them at quick.** Measured at commit `{commit()}`."
    table = ["| fault | kernel | what is wrong | refuted at | by | s |", "|---" * 6 + "|", *lines]
    return "\n\n".join([HEAD, counts, "\n".join(table)]) + "\n"


HEAD = """# Faults of Triton kernels

What goes wrong in GPU kernels, planted in our Triton kernels one at a time
(`attention_core/faults/triton_kernels.py`) and judged without a GPU, in Triton's interpreter. Made by

    python experiments/triton_faults/run.py --log faults.jsonl --page docs/triton_faults.md

A fault is judged at quick until the first law refutes it, which the table names, then at standard if none did. Seconds
are those of the processor, the start of the worker included. A missed fault has passed every law at both efforts."""


def logged(path: Path | None) -> dict[str, dict[str, Any]]:
    """The results in a log, by fault."""
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    return {one["fault"]: one for one in map(json.loads, lines)}


def judge_all(
    faults: Sequence[KernelFault], efforts: Sequence[str], chosen: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """What came of each fault, as it comes; so many are judged at the same time as `--jobs` says."""
    if chosen.jobs == 1:
        yield from (judge(fault, efforts, chosen.seed, chosen.device, chosen.shapes) for fault in faults)
        return
    with ProcessPoolExecutor(chosen.jobs, mp_context=get_context("spawn")) as pool:
        judging = [pool.submit(judge, fault, efforts, chosen.seed, chosen.device, chosen.shapes) for fault in faults]
        yield from (future.result() for future in as_completed(judging))


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; the exit code says whether anything was missed that is not known to be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="faults whose name or kernel contains this; =NAME= for one")
    parser.add_argument("--shapes", choices=("auto", "pool", "free"), default="auto", help="pool: fewer are compiled")
    parser.add_argument("--effort", choices=("quick", "standard"), default="standard", help="the highest effort")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", help="cpu, where kernels are interpreted, or cuda")
    parser.add_argument("--jobs", type=int, default=1, help="faults judged at the same time")
    parser.add_argument("--log", type=Path, help="JSON lines, one a fault; faults in it are not judged again")
    parser.add_argument("--page", type=Path, help="write the results as a page")
    chosen = parser.parse_args(argv)
    efforts = ("quick",) if chosen.effort == "quick" else ("quick", "standard")
    known = logged(chosen.log)
    faults = [fault for fault in KERNEL_FAULTS if chosen.only in f"={fault.name}= {fault.kernel}"]
    for one in judge_all([fault for fault in faults if fault.name not in known], efforts, chosen):
        known[one["fault"]] = one
        if chosen.log:
            with chosen.log.open("a") as log:
                log.write(json.dumps(one) + "\n")
        print(f"{one['fault']:36} {one['effort'] or 'missed':9} {one['law']:50} {one['seconds']:6}", flush=True)
    found = [known[fault.name] for fault in faults]
    if chosen.page:
        chosen.page.write_text(page(found))
    missed = [one["fault"] for one in found if not one["law"] and one["fault"] not in MISSED]
    refuted = sum(bool(one["law"]) for one in found)
    print(f"{refuted} of {len(found)} refuted; missed and not known to be: {', '.join(missed) or 'none'}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
