"""Puts each submission through the laws of a contract, in a process of its own with a limit.

Submissions are copied first, so what was handed in stays as it is. A report is kept under the fingerprint of what it
depends on: a second run judges only what is new.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from attention_core import __version__
from attention_core.teaching.submissions import Submission
from attention_core.worker.processes import MARK, Patience, end_all

POLL = 0.2
"""Seconds between two looks at a process."""
COPY = "submission"
"""The folder into which files are copied."""
JUDGED = ("held", "refuted")


@dataclass(frozen=True)
class Options:
    """How every submission of a class is judged.

    Args:
        name: of the function or class.
        fields: the declared options, as text, by the names that `attention-core verify` has for them.
        effort, seed, timeout: those of `attention-core verify`.
        limit: seconds of its own time that one submission may take.
    """

    name: str
    fields: Mapping[str, Any]
    effort: str = "quick"
    seed: int = 0
    timeout: float = 60.0
    limit: float = 300.0


@dataclass(frozen=True)
class Grade:
    """The verdict on one submission.

    Args:
        person: who handed in.
        verdict: conforms, refuted, incomplete or error.
        problem: why there is no verdict, "" otherwise.
        report: as docs/report.md has it; empty if nothing was run.
        ranking: the refuted laws, those that tell most about the cause first.
    """

    person: str
    verdict: str
    problem: str
    report: Mapping[str, Any]
    ranking: Sequence[str] = ()

    @property
    def laws(self) -> dict[str, str]:
        """The status of each law that was judged: held or refuted."""
        return {law["law"]: law["status"] for law in self.report.get("laws", ()) if law["status"] in JUDGED}

    @property
    def laws_that_hold(self) -> int:
        """How many of the judged laws held."""
        return sum(status == "held" for status in self.laws.values())


def grade_submissions(
    submissions: Sequence[Submission], options: Options, folder: Path, *, jobs: int = 1,
    finished: Callable[[Grade], None] = lambda grade: None,
) -> list[Grade]:  # fmt: skip
    """Return one grade for each submission, in their order.

    Args:
        submissions: as `find_submissions` gives them.
        options: under which all are judged.
        folder: where reports are kept.
        jobs: processes side by side.
        finished: called with each grade as it is there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stop = Event()
    grades: dict[str, Grade] = {}
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_grade, one, options, folder, stop) for one in submissions]
        try:
            for grade in _as_they_end(waiting):
                grades[grade.person] = grade
                finished(grade)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [grades[one.person] for one in submissions]


def _as_they_end(waiting: list[Future[Grade]]) -> Iterator[Grade]:
    """Results as they come, those that are there at once in their order; looks up often enough to hear a signal."""
    while waiting:
        wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
        done = [future for future in waiting if future.done()]
        waiting = [future for future in waiting if future not in done]
        yield from (future.result() for future in done)


def _grade(submission: Submission, options: Options, folder: Path, stop: Event) -> Grade:
    if submission.path is None:
        return Grade(submission.person, "error", submission.problem, {})
    kept = folder / f"{file_name(submission.person)}.json"
    key = _key(submission, options)
    judgement = _find_judgement(kept, key)
    if judgement is None:
        outcome = _judge(submission, options, stop)
        if isinstance(outcome, str):
            return Grade(submission.person, "error", outcome, {})
        judgement = outcome
        unfinished = kept.with_suffix(".part")
        unfinished.write_text(json.dumps({"key": key, **judgement}), encoding="utf-8")
        os.replace(unfinished, kept)
    report = judgement["report"]
    return Grade(submission.person, report["verdict"], report["problem"], report, judgement["ranking"])


def file_name(person: str) -> str:
    """A name for files about a person: their own where it is plain, else with a hash after it."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in person)
    if plain == person:
        return plain
    return f"{plain}-{hashlib.sha256(person.encode(errors='surrogateescape')).hexdigest()[:8]}"


def _key(submission: Submission, options: Options) -> str:
    """What a report depends on."""
    settings = [options.name, dict(options.fields), options.effort, options.seed, options.timeout, __version__]
    return f"{submission.fingerprint()} {json.dumps(settings, sort_keys=True, default=list)}"


def _find_judgement(path: Path, key: str) -> dict[str, Any] | None:
    """The report and ranking kept under this key, None if there are none."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and kept.get("key") == key else None


def _judge(submission: Submission, options: Options, stop: Event) -> dict[str, Any] | str:
    """The report on one submission, or in one line why there is none."""
    assert submission.path is not None
    with tempfile.TemporaryDirectory(prefix="attention-core-class-") as place:
        copy, report = Path(place, COPY), Path(place, "report.json")
        for file in submission.files:
            to = copy / file.relative_to(submission.folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
        target = f"{copy.name}/{submission.path.relative_to(submission.folder)}:{options.name}"
        request = {
            "target": target, "fields": dict(options.fields), "effort": options.effort, "seed": options.seed,
            "timeout": options.timeout, "to": str(report),
        }  # fmt: skip
        problem = _run(Path(place), json.dumps(request), options.limit, stop)
        if problem:
            return problem
        try:
            text = report.read_text(encoding="utf-8")
            return dict(json.loads(as_handed_in(text, submission.path.relative_to(submission.folder))))
        except (OSError, ValueError):
            return "the process that judged it ended without a report"


def as_handed_in(report: str, file: Path) -> str:
    """Return the JSON of a report with a file as its author names it, in place of the copy that was judged.

    >>> as_handed_in("submission/a.py: import sys; sys.path.insert(0, 'submission')\\\\nfrom a import f", Path("a.py"))
    'a.py: from a import f'
    """
    name, folder = (json.dumps(str(path))[1:-1] for path in (file, file.parent))
    path = "import sys; sys.path.insert(0, '{}')\\n"
    copied, own = (path.format(COPY), "") if folder == "." else (path.format(f"{COPY}/{folder}"), path.format(folder))
    return report.replace(f"{COPY}/{name}", name).replace(copied, own)


def _run(folder: Path, request: str, limit: float, stop: Event) -> str:
    """Run the process of one submission; "" if it ended by itself, else in one line what happened.

    Its working directory is not the submission's: a file called torch.py there would stand before torch.
    """
    mark = uuid.uuid4().hex
    environment = {**os.environ, MARK: mark, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "attention_core.teaching.judge_submission"]
    with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as stdin:
        stdin.write(request.encode())
        stdin.seek(0)
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=stdin, stdout=words, stderr=words, start_new_session=True
        )
        patience = Patience(process.pid, limit)
        try:
            while process.poll() is None:
                if stop.wait(POLL):
                    return "interrupted"
                if patience.is_expired():
                    return f"not judged {patience.words()}"
        finally:
            end_all(process.pid, mark)
            process.wait()
        if process.returncode == 0:
            return ""
        words.seek(0)
        lines = words.read()[-2000:].decode(errors="replace").strip().splitlines()
        return f"the process that judged it ended with status {process.returncode}: {lines[-1] if lines else ''}"
