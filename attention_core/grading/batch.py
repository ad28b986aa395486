"""Grades submissions side by side, each in a process of its own that holds what the submission must not see."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from attention_core.grading.fresh_inputs import new_secret
from attention_core.grading.judge import unseal
from attention_core.grading.results import Grade
from attention_core.grading.rules import RULES
from attention_core.worker.processes import MARK, Patience, end_all

POLL = 0.1
"""Seconds between two looks at a process."""
LAST = 2000
"""Bytes kept of what a judge says when it fails."""


@dataclass(frozen=True)
class Batch:
    """How submissions are graded.

    Args:
        task: its file. secret: whence inputs come, "" for another of each submission. limit: seconds of its own time
        that the grading of one may take. jobs: submissions side by side; they are timed one at a time.
    """

    task: Path
    secret: str = ""
    limit: float = 300.0
    jobs: int = 1


def grade_all(
    submissions: Sequence[Path], batch: Batch, finished: Callable[[Grade], None] = lambda grade: None
) -> list[Grade]:  # fmt: skip
    """Return one grade for each submission, in their order.

    Args:
        submissions: files and folders. batch: how they are graded.
        finished: called with each grade as it is there.
    """
    stop, grades = Event(), dict[int, Grade]()
    with tempfile.TemporaryDirectory(prefix="attention-core-batch-") as folder, ThreadPoolExecutor(batch.jobs) as pool:
        lock = str(Path(folder, "lock")) if batch.jobs > 1 else ""
        waiting = {pool.submit(grade_one, path, batch, lock, stop): at for at, path in enumerate(submissions)}
        pending = set(waiting)
        try:
            while pending:
                done, pending = wait(pending, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    grades[waiting[future]] = future.result()
                    finished(grades[waiting[future]])
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [grades[at] for at in range(len(submissions))]


def grade_one(path: Path, batch: Batch, lock: str, stop: Event) -> Grade:
    """The grade of one submission, from a process of its own."""
    key, mark = secrets.token_hex(16), uuid.uuid4().hex
    secret = batch.secret or new_secret()
    request = {"submission": str(path.absolute()), "task": str(batch.task.absolute()), "secret": secret, "lock": lock,
               "key": key, "shown": str(path)}  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "attention_core.grading.judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, MARK: mark, "PYTHONDONTWRITEBYTECODE": "1", **_path()},
        start_new_session=True,
    )  # fmt: skip
    parts: dict[str, bytes] = {}

    def exchange() -> None:
        parts["out"], parts["err"] = process.communicate(json.dumps(request).encode())

    reader = Thread(target=exchange)
    patience, expired = Patience(process.pid, batch.limit), False
    reader.start()
    try:
        while process.poll() is None and not expired and not stop.wait(POLL):
            expired = patience.is_expired()
    finally:
        end_all(process.pid, mark)
        reader.join()
    grade = unseal(parts.get("out", b""), key)
    if grade is not None:
        return Grade.from_dict(grade)
    task = batch.task.stem
    if expired:
        return lost_grade(path, task, secret, "hung", f"not graded {patience.words()}")
    if process.returncode < 0 and not stop.is_set():
        return lost_grade(path, task, secret, "ends_grader", f"it was ended by signal {-process.returncode}")
    words = parts.get("err", b"")[-LAST:].decode(errors="replace").strip().splitlines()
    reason = f"the process that grades it ended with status {process.returncode}: {words[-1] if words else ''}"
    return Grade(path.name, task, "error", reason=reason, seed=secret)


def lost_grade(path: Path, task: str, secret: str, rule: str, reason: str) -> Grade:
    """The grade of a submission that took its judge with it."""
    return Grade(path.name, task, "refused", rule=rule, reason=reason, hint=RULES[rule].hint, seed=secret)


def _path() -> dict[str, str]:
    """Where a judge finds this package, which it does not look for in its own folder."""
    from attention_core.bench.worker.client import module_path

    return {"PYTHONPATH": module_path(os.environ.get("PYTHONPATH", ""))}
