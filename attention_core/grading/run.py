"""Grades one submission, from its source to its time: whatever is found first ends it.

The order: what the source shows, the laws, timed calls that are all judged, what it left behind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.advice import NO_ARRAY
from attention_core.conformance.engine.verify import verify_target
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.options import fields_from_text
from attention_core.grading.conduct import Files, Machine, check_files, copy_submission, grader_files
from attention_core.grading.flashinfer import read_definition, write_solution
from attention_core.grading.fresh_inputs import generator, new_secret
from attention_core.grading.measure import ReferenceFailed, Run
from attention_core.grading.player import Player
from attention_core.grading.reference_stages import DefinitionStage, ModuleStage
from attention_core.grading.results import Grade
from attention_core.grading.rules import RULES, Refused
from attention_core.grading.source import look_at_sources
from attention_core.grading.stages import AttentionStage
from attention_core.grading.task import Task
from attention_core.teaching.submissions import find_submissions

Tell = Callable[[str], None]
AnyStage = AttentionStage | ModuleStage | DefinitionStage
FOLDER = "submission"
"""The name of the folder into which a submission is copied."""
COPIED = re.compile(rf"(sys\.path\.insert\(0, |run_path\(|load_target\()'{FOLDER}(?:/([^']*))?'")
"""Where a program that shows a failure names that folder."""


def grade(
    submission: Path, task: Task, *, secret: str = "", tell: Tell = lambda text: None,
    alone: Callable[[], AbstractContextManager[None]] = nullcontext, dedicated: bool = False,
    shown: Path | None = None,
) -> Grade:  # fmt: skip
    """Grade a submission.

    Args:
        submission: a file, or a folder of files. task: what it has to compute.
        secret: the source of the inputs; drawn by the system if none is given. tell: called with progress messages.
        alone: what is entered while times are taken. dedicated: whether this process does nothing else, so that all
            processes below it are the submission's. shown: the submission as programs name it that show a failure.

    Returns: the grade, whatever the submission does.
    Raises: TargetError: the task, or the reference, cannot be used.
    """
    secret, started = secret or new_secret(), processor_time()
    found = Grade(submission.name, task.name, "accepted", seed=secret, settings=task.to_json())
    files = grader_files(task.path, *([task.problem] if task.problem.is_file() else []))
    with TemporaryDirectory(prefix="attention-core-grade-") as place:
        try:
            target = prepare(submission, task, Path(place), found)
            if found.verdict == "accepted":
                judge(target, task, Path(place), found, files, tell, alone, dedicated)
        except Refused as error:
            refuse(found, error)
        except ReferenceFailed as error:
            raise TargetError(f"the reference of {task.name} cannot be called: {error}") from error
    if found.verdict != "accepted":
        found.timings = []
    found.snippet = in_own_folder(found.snippet, shown or submission, is_folder=submission.is_dir())
    found.seconds = round(processor_time() - started, 2)
    return found


def in_own_folder(program: str, submission: Path, *, is_folder: bool) -> str:
    """Return a program that loads the submission from where its author has it, in place of the copy that was judged.

    >>> in_own_folder("import sys; sys.path.insert(0, 'submission')", Path("hand/in.py"), is_folder=False)
    "import sys; sys.path.insert(0, 'hand')"
    """
    home = submission if is_folder else submission.parent
    return COPIED.sub(lambda copied: f"{copied[1]}{str(home / (copied[2] or ''))!r}", program)


def refuse(found: Grade, error: Refused) -> None:
    """Write why a submission is refused."""
    found.verdict, found.rule, found.reason = "refused", error.rule, error.message
    found.hint = found.hint or RULES[error.rule].hint


def prepare(submission: Path, task: Task, place: Path, found: Grade) -> str:
    """Copy a submission, look at its source, and return the target in it.

    Raises: Refused: the source shows a cheat.
    """
    folder = place / FOLDER
    if task.format == "flashinfer-bench" and submission.suffix == ".json":
        files, file, function = write_solution(submission, folder)
    else:
        files, file, function = copy_submission(submission, folder), "", task.function
    for finding in look_at_sources(folder, files, task.forbid):
        if finding.rule not in task.allow:
            raise Refused(finding.rule, str(finding))
    if file:
        return f"{FOLDER}/{file}:{function}"
    one = find_submissions(place, function)[0]
    if one.path is None:
        found.verdict, found.reason = "error", one.problem
        return ""
    return f"{one.path.relative_to(place)}:{function}"


def make_stages(target: str, task: Task, place: Path, secret: str) -> Iterator[tuple[str, Callable[[], AnyStage]]]:
    """What is timed, one after another: its name, and how it is set up."""
    path, function = place / target.rpartition(":")[0], target.rpartition(":")[2]
    if task.format == "kernelbench":
        yield task.problem.stem, lambda: ModuleStage(task, path, place, secret)
    elif task.format == "flashinfer-bench":
        definition = read_definition(task.problem, task.axes, task.scalars)
        sizes = " ".join(f"{name}={size}" for name, size in definition.axes.items())
        yield f"{definition.name} {sizes}", lambda: DefinitionStage(task, definition, path, function, place, secret)
    for workload in task.workloads:
        yield workload.name(), partial(AttentionStage, task, workload, target, place, secret)


def judge(
    target: str, task: Task, place: Path, found: Grade, files: Files, tell: Tell,
    alone: Callable[[], AbstractContextManager[None]], dedicated: bool,
) -> None:  # fmt: skip
    """Put a submission through the laws, then time it.

    Raises: Refused.
    """
    if task.format == "attention":
        tell("the laws")
        check_laws(target, task, place, found)
    if found.verdict != "accepted":
        return
    timings = []
    for name, make in make_stages(target, task, place, found.seed):
        tell(name)
        with alone(), closing(make()) as stage:
            try:
                stage.open()
                machine = Machine(stage.submission, stage.reference, dedicated=dedicated)
                timings.append(asdict(Run(stage, name, task.seconds, tell, machine.check).measure()))
            except Refused as error:
                raise better_name(error, stage.submission, task) from None
            check_process(stage.submission, task)
            machine.check()
            check_files(files)
            if blind := getattr(stage.truth, "blind", 0):
                found.verdict = "incomplete"
                found.reason = f"{blind} of the reference's answers look like zeros, their mean or a shift"
    found.timings = timings
    found.notes = [*found.notes, *speed_notes(timings)]


def check_laws(target: str, task: Task, place: Path, found: Grade) -> None:
    """Put a submission through the laws, on cases that are drawn from the secret.

    Raises: Refused: a law is broken, or no call gives a tensor.
    """
    seed = int(generator(found.seed, "laws").integers(2**32))
    fields, here = fields_from_text(task.fields), Path.cwd()
    os.chdir(place)
    try:
        report = verify_target(target, fields, effort=task.effort, seed=seed, timeout=task.timeout, laws=task.laws)
    finally:
        os.chdir(here)
    broken = report.with_status("refuted")
    found.laws = {"held": len(report.with_status("held")), "broken": len(broken)}
    if report.verdict == "refuted":
        describe_law(report, found)
        raise Refused("law", report.reason())
    if report.problem.startswith(NO_ARRAY):  # a future, a coroutine, a list: nothing that could be judged or timed
        raise Refused("not_a_tensor", report.problem)
    if not report.passed:
        found.verdict = "error" if report.verdict == "error" else "incomplete"
        found.reason = report.reason() if report.verdict == "incomplete" else report.problem or report.reason()


def describe_law(report: Report, found: Grade) -> None:
    """Write the smallest case of the most telling law, and what to do about it."""
    contract = str(report.declared.get("contract", "attention"))
    sentences = {law.name: law.sentence for law in find_contract(contract).laws}
    for example in report.counterexamples[:1]:
        found.law, found.case, found.snippet = example.law, example.case, example.snippet
        found.hint = f"{sentences.get(example.law, '')} {example.message}".strip()
    if report.advice:
        found.notes = [*found.notes, *report.advice]


def better_name(error: Refused, player: Player, task: Task) -> Refused:
    """A better name for why calls went wrong, where the process itself tells one."""
    if player.closed or error.rule in ("died", "hung"):
        return error
    try:
        check_process(player, task)
    except Refused as better:
        return Refused(better.rule, f"{better.message}; {error.message}")
    return error


def check_process(player: Player, task: Task) -> None:
    """Refuse what a submission says that it changed in its process.

    Raises: Refused.
    """
    report: dict[str, Any] = player.ask("report")
    own = task.format == "attention"  # elsewhere an answer may be a view of its input, as a reshape is
    inputs = [f for f in (player.arena.fields if own and player.arena else {}).values() if not f.is_output]
    checks = (
        ("forbidden_operator", [f"aten::{name} was called {n} times" for name, n in report["forbidden"].items()]),
        ("patches_modules", [f"{name} is another function now" for name in report["changes"]]),
        ("traces", [f"{name} is set" for name in report["traces"]]),
        ("threads", [f"torch runs on {report['torch_threads']} threads"] * (report["torch_threads"] != task.threads)),
        ("shares_input", [
            f"{name} lies in the memory of {field.name}" for name, place in report["places"].items() for field in inputs
            if player.arena and 0 <= place - player.arena.start(field.name) < field.bytes
        ]),
    )  # fmt: skip
    for rule, seen in checks:
        if seen and rule not in task.allow:
            raise Refused(rule, "; ".join(map(str, seen[:3])))


def speed_notes(timings: list[dict[str, Any]]) -> list[str]:
    """What a reader of the times should know."""
    return [
        f"{each['shape']}: an empty call costs {each['idle'] / each['reference']:.0%} of the reference's time: "
        "choose a larger shape"
        for each in timings
        if each["idle"] > 0.5 * each["reference"]
    ]


def processor_time() -> float:
    """Processor seconds of this process and of those that it has ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
