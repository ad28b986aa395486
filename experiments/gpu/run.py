"""Put kernels to the laws on a GPU: rows of the kernel table, planted faults, kernels of others, findings in torch.

From the root of the repository, on a machine with a CUDA device:
python experiments/gpu/run.py --folder build/gpu [--slots S] [--seconds S] [--only TEXT] [--pack FILE.tgz] [--list]

Everything is a process of its own (`rows.py` has them, in their order), so many at a time as `--slots` says. What is
done is not done again. When the time is over, what runs is ended, and what it had found is kept: a row that was not
finished has a line for each law in NAME.jsonl. `summary.json` holds the verdicts as docs/data/gpu_verdicts.json does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil
from rows import ROOT, Job, jobs

TICK = 0.1
"""Seconds between two looks at what runs."""
GRACE = 2.0
"""Seconds that an ended process has to end what it started."""


@dataclass
class Running:
    """A process that was started, and its log."""

    job: Job
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    since: float


def start(job: Job, folder: Path, site: Path | None) -> Running:
    """Start a job's process; what it prints goes to its log."""
    words = [sys.executable, *(word.replace("{folder}", str(folder)) for word in job.words)]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    if site is not None and job.group == "others":  # some shadow modules that others import
        paths += [str(path) for path in (site, *site.glob("only_*")) if path.name[5:] in job.name or path == site]
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    own |= {"TRITON_CACHE_DIR": str(folder / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    own["CUDA_MPS_PIPE_DIRECTORY"] = str(folder / "no_service")  # a wild address of one would end all that share it
    environment = {**os.environ, **own, **dict(job.environment)}
    log = (folder / f"{job.group}_{job.name}.log").open("wb")
    process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
    return Running(job, process, log, time.time())


def end(running: Sequence[Running]) -> None:
    """End processes and whatever they started."""
    alive: list[psutil.Process] = []
    for one in running:
        try:
            alive += [*psutil.Process(one.process.pid).children(recursive=True), psutil.Process(one.process.pid)]
        except psutil.Error:
            continue
    for step in ("terminate", "kill"):
        for process in reversed(alive):
            try:
                getattr(process, step)()
            except psutil.Error:
                continue
        _, alive = psutil.wait_procs(alive, timeout=GRACE)


def run(waiting: list[Job], folder: Path, slots: int, until: float, site: Path | None) -> list[dict[str, Any]]:
    """Run jobs in their order, as many as there are slots for, until a moment; how each ended."""
    running: list[Running] = []
    told: list[dict[str, Any]] = []
    waiting = list(waiting)
    while (waiting or running) and time.time() < until:
        while waiting and sum(one.job.slots for one in running) + waiting[0].slots <= max(slots, waiting[0].slots):
            running.append(start(waiting.pop(0), folder, site))
        for one in [one for one in running if one.process.poll() is not None]:
            running.remove(one)
            told.append(tell(one, f"exit status {one.process.returncode}", folder))
        time.sleep(TICK)
    end(running)
    told += [tell(one, "out of time", folder) for one in running]
    return told + [{"group": job.group, "name": job.name, "how": "not begun", "seconds": 0.0} for job in waiting]


def tell(one: Running, how: str, folder: Path) -> dict[str, Any]:
    """How a job ended, printed and kept at once."""
    one.log.close()
    seconds = round(time.time() - one.since, 1)
    done = {"group": one.job.group, "name": one.job.name, "how": how, "seconds": seconds}
    with (folder / "jobs.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(done) + "\n")
    print(f"{one.job.group} {one.job.name} {how} {seconds:.0f} s", flush=True)
    return done


def is_done(job: Job, folder: Path) -> bool:
    """Whether an earlier run has finished a job."""
    names = {"faults": f"fault_{job.name}.jsonl", "findings": f"finding_{job.name}.json"}
    return (folder / names.get(job.group, f"{'sanitized_' * (job.group == 'sanitized')}{job.name}.json")).exists()


def summarize_report(path: Path) -> dict[str, Any]:
    """A finished row as docs/data/gpu_verdicts.json has it, with the messages of its refuted laws."""
    found = json.loads(path.read_text(encoding="utf-8"))
    refuted = {one["law"]: one["message"] for one in found["laws"] if one["status"] == "refuted"}
    return {
        "target": found["target"],
        "verdict": found["verdict"],
        "reason": found["reason"],
        "held": sum(one["status"] == "held" for one in found["laws"]),
        "refuted": list(refuted),
        "problems": sum(one["cases"] for one in found["laws"]),
        "ratios": {name: round(ratio, 3) for name, ratio in found["ratios"].items() if isinstance(ratio, float)},
        "versions": found["versions"],
        "messages": refuted,
        "wall": found["wall"],
    }


def summarize_lines(path: Path) -> dict[str, Any]:
    """A row whose time ran out, by the laws that were judged."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    refuted = {one["law"]: one["message"] for one in lines if one["status"] == "refuted"}
    return {
        "verdict": "refuted" if refuted else "not finished",
        "reason": f"time ran out after {len(lines)} of {lines[-1]['count']} laws",
        "held": sum(one["status"] == "held" for one in lines),
        "refuted": list(refuted),
        "problems": sum(one["cases"] for one in lines),
        "messages": refuted,
    }


def summarize(folder: Path, chosen: Sequence[Job]) -> dict[str, Any]:
    """What came of all jobs: verdicts by row, faults, findings and what the sanitizer said."""
    found: dict[str, Any] = {"rows": {}, "faults": [], "findings": {}, "sanitized": {}}
    for job in chosen:
        report, lines = folder / f"{job.name}.json", folder / f"{job.name}.jsonl"
        if job.group == "faults":
            path = folder / f"fault_{job.name}.jsonl"
            found["faults"] += [json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []
        elif job.group in ("findings", "sanitized"):
            path = folder / f"{job.group.replace('findings', 'finding')}_{job.name}.json"
            found[job.group] |= {job.name: json.loads(path.read_text(encoding="utf-8"))} if path.exists() else {}
        elif report.exists():
            found["rows"][job.name] = {"group": job.group, **summarize_report(report)}
        elif lines.exists():
            found["rows"][job.name] = {"group": job.group, "target": job.words[4], **summarize_lines(lines)}
    return found


def pack(folder: Path, path: Path) -> None:
    """All reports and logs as one compressed file, without what Triton compiled."""
    with tarfile.open(path, "w:gz") as archive:
        for one in sorted(folder.iterdir()):
            if one.is_file():
                archive.add(one, arcname=one.name)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--slots", type=int, default=os.cpu_count() or 4, help="processors kept busy")
    parser.add_argument("--seconds", type=float, default=1800.0, help="what is not judged by then is left out")
    parser.add_argument("--only", default="", help="jobs whose group and name contain one of these, comma separated")
    parser.add_argument("--device", default="cuda", help="cpu tries the programs out, kernels in Triton interpreted")
    parser.add_argument("--site", type=Path, help="a folder with packages of others, for their kernels alone")
    parser.add_argument("--pack", type=Path, help="write everything into one .tgz as well")
    parser.add_argument("--list", action="store_true", help="print the jobs, and run none")
    chosen = parser.parse_args(argv)
    until = time.time() + chosen.seconds
    all_jobs = [
        job for job in jobs(chosen.device) if any(w in f"{job.group} {job.name}" for w in chosen.only.split(","))
    ]
    if chosen.list:
        print("\n".join(f"{job.group:10} {job.slots} {job.name}" for job in all_jobs))
        return
    folder = chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    run([job for job in all_jobs if not is_done(job, folder)], folder, chosen.slots, until, chosen.site)
    found = summarize(folder, all_jobs)
    (folder / "summary.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    for name, row in found["rows"].items():
        print(
            f"{name:70} {row['verdict']:12} {row['held']:4} held; {', '.join(row['refuted'][:4]) or row['reason'][:90]}"
        )
    caught = sum(bool(one["law"]) for one in found["faults"])
    print(f"faults: {caught} of {len(found['faults'])} refuted; findings: {found['findings']}"[:3000])
    if chosen.pack:
        chosen.pack.parent.mkdir(parents=True, exist_ok=True)
        pack(folder, chosen.pack)


if __name__ == "__main__":
    main()
