"""The engine's doors: one target by `check_implementation`, several by name as `attention-core verify` has them.

Whatever goes wrong with one target becomes its report; the other targets still get their verdicts. A process that
does nothing but judge, such as the command line's, takes settings that save time.
"""

from __future__ import annotations

import ast
import ctypes
import gc
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from threading import Timer, current_thread, main_thread
from typing import Any

from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.second_judgement import (
    judge_other_form,
    judge_under_conventions,
    look_at_form,
    results_under_conventions,
)
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.results import Report
from attention_core.conformance.report.untested import join
from attention_core.conformance.search.small_search import start_hypothesis
from attention_core.declaration.implementation import (
    CHOICES,
    Implementation,
    OtherForm,
    TargetError,
    Unavailable,
    Unstated,
    summarize_error,
)
from attention_core.declaration.json_file import read_json
from attention_core.declaration.known_failures import KnownFailure
from attention_core.registry.load import implementation_for

COLLECTED_AFTER = 200_000
"""New objects between two collections of garbage; a run makes few cycles, and its arrays are freed without."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 1 << 25
"""Bytes of freed memory that the process keeps (glibc allows no more): what is given back costs page faults."""


def be_thrifty() -> None:
    """Collect garbage seldom and keep freed memory, in this process, which must be ours alone.

    Example:
        >>> be_thrifty()
        >>> gc.get_threshold()[0]
        200000
    """
    start_hypothesis()
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such function
            set_limit = ctypes.CDLL(None).mallopt
            set_limit(M_MMAP_THRESHOLD, KEPT)
            set_limit(M_TRIM_THRESHOLD, KEPT)


CASE_SCHEMA = 1
KINDS = {"target": str, "law": str, "case": dict, "declared": dict}
LITERALS = {"arguments", "parameters", "config"}
"""Fields of the record that hold Python literals by name."""
WORDS = {"name", "contract", "device", *CHOICES} - {"out_layout"}
"""Fields of the record that hold one word."""
OWN_FOLDER = ".attention-core"
"""Where cases are saved unless somebody says otherwise."""
MOST_SAVED, MOST_BYTES, LARGE = 24, 1 << 20, 1 << 17
"""Cases of a target, and their bytes, that are saved at most: the most telling first, others only where they have few
bytes. `verify --law` makes the case of any law small."""
A_MOMENT = 0.02
"""Seconds until a lost signal is sent again: the finalizer is over by then, or the next one is sent again too."""
SHARED_FROM = 20
"""With fewer laws than this a second process costs more than it saves."""
Progress = Callable[[str, LawResult, int], None]


def open_session(
    target: str, fields: Mapping[str, Any], *, effort: str, seed: int, timeout: float,
    known: Mapping[str, KnownFailure] | None = None, shrink: bool = True,
) -> Session:  # fmt: skip
    """A session on a TARGET text, in a worker process.

    Raises:
        TargetError, Unavailable: as for `Session`.
    """
    implementation, origin = implementation_for(target, fields)
    if known:
        implementation = implementation.with_(known_failures={**implementation.known_failures, **known})
    return Session(implementation, origin, effort=effort, seed=seed, timeout=timeout, shrink=shrink)


def verify_target(
    target: str, fields: Mapping[str, Any], *, effort: str = "standard", seed: int = 0, timeout: float = 60.0,
    laws: Sequence[str] = (), known: Mapping[str, KnownFailure] | None = None, progress: Progress | None = None,
    jobs: int = 1, shrink: bool = True, announce: Callable[[FirstLook], None] | None = None,
) -> Report:  # fmt: skip
    """The report on one target; never raises for what the target does.

    With `jobs` 2 the laws run in two processes; without `shrink` counterexamples are not made small, which saves most
    of a refuted target's time. `announce` is called with what the first look found, before the laws run.
    """
    options: dict[str, Any] = {"effort": effort, "seed": seed, "timeout": timeout, "known": known, "shrink": shrink}
    try:
        chosen = select_laws(find_contract(implementation_for(target, fields)[0].contract).laws, laws)
        own, other = (chosen[0::2], chosen[1::2]) if jobs > 1 and len(chosen) >= SHARED_FROM else (chosen, [])
        with Helper(target, fields, options, [law.name for law in other]) as helper:
            session = helper.enter_context(open_session(target, fields, **options))
            if announce is not None and session.first_look is not None:
                announce(session.first_look)
            found: dict[str, LawResult] = {}
            for result in chain(session.results(own), helper.results(session)):
                found[result.law] = result
                if progress is not None:
                    progress(target, result, len(chosen))
            if other:
                refuted = any(result.status == "refuted" for result in found.values())
                session.fewest += helper.fewest
                session.subject.met |= helper.met
                found |= {result.law: result for result in session.judge_fully(session.fewest, refuted=refuted)}
                session.shrink_counterexamples(list(found.values()))
            report = session.report([found[law.name] for law in chosen], complete=not laws)
            names = [law.name for law in chosen]
            judge_under_conventions(session, report, names, complete=not laws, earlier=helper.under_found)
            return report
    except Unavailable as error:
        return Report(target, seed=seed, effort=effort, unavailable=str(error))
    except TargetError as error:
        report = failed_report(target, error, effort, seed)
        if isinstance(error, OtherForm) and not laws:
            if announce is not None:
                announce(look_at_form(error))
            options |= {"progress": progress, "jobs": jobs, "announce": announce}
            judge_other_form(report, error, lambda changes: verify_target(target, {**fields, **changes}, **options))
        return report


class Helper(ExitStack):
    """A second process that runs a share of the laws on a worker of its own (none is started for no laws)."""

    def __init__(self, target: str, fields: Mapping[str, Any], options: dict[str, Any], laws: list[str]) -> None:
        super().__init__()
        self.laws = laws
        self.under_found: list[LawResult] = []
        self.fewest: list[str] = []  # laws that judged the fewest cases that a verdict needs
        self.met: set[int] = set()  # written sizes near which a case was judged
        if laws:
            # A plain process: a pool's semaphores would be left behind where this process is ended by a signal.
            context = get_context("spawn")
            self.answer, sender = context.Pipe(duplex=False)
            process = context.Process(target=run_share, args=(sender, target, dict(fields), options, laws), daemon=True)
            process.start()
            sender.close()
            self.callback(process.join)
            self.callback(process.terminate)
            self.callback(self.answer.close)

    def results(self, session: Session) -> Iterator[LawResult]:
        """The results, once they are there; the ratios and parameters seen join those of `session`."""
        if not self.laws:
            return
        try:
            share = self.answer.recv()
        except EOFError:
            yield from (LawResult(name, "error", 0, 0.0, None, "the process judging it died") for name in self.laws)
            return
        if isinstance(share, Exception):
            raise share
        results, ratios, fates, self.under_found, self.fewest, self.met = share
        join(session.recorder.fates, fates)
        subject = session.subject
        own = subject.ratios
        for key, ratio in ratios.items():
            own[key] = max(own.get(key, 0.0), ratio)
        yield from results


def run_share(sender: Any, target: str, fields: dict[str, Any], options: dict[str, Any], laws: list[str]) -> None:
    """Some laws of one target, in this process; sends the results and the largest error/bound seen."""
    # The caller may be gone: it may have met a target that does not load, and no longer waits.
    with suppress(KeyboardInterrupt, BrokenPipeError), ended_by_signals():
        try:
            with open_session(target, fields, **options) as session:
                results = list(session.results(select_laws(session.laws, laws)))
                under = results_under_conventions(session, laws)
                ratios = dict(session.subject.ratios)
                met = session.subject.met
                sender.send((results, ratios, session.recorder.fates, under, session.fewest, met))
        except (TargetError, Unavailable) as error:
            sender.send(error)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """When this process is to end (SIGTERM), everything that was opened is closed, and no worker stays behind."""
    status = 0

    def leave(number: int, frame: object) -> None:
        nonlocal status
        status = 128 + number
        raise SystemExit(status)

    if current_thread() is not main_thread():  # only there can signals be handled
        yield
        return
    before, unraisable = signal.signal(signal.SIGTERM, leave), sys.unraisablehook

    def leave_again(lost: Any) -> None:
        """Python drops an exit that is raised in a finalizer: the signal is sent once more, a moment later."""
        if status and lost.exc_type is SystemExit:
            Timer(A_MOMENT, os.kill, (os.getpid(), signal.SIGTERM)).start()
        else:
            unraisable(lost)

    sys.unraisablehook = leave_again
    try:
        yield
    except Exception:
        if not status:
            raise
        raise SystemExit(status) from None  # Hypothesis takes an exit in the midst of a case for a flaky failure
    finally:
        sys.unraisablehook = unraisable
        signal.signal(signal.SIGTERM, before)


def failed_report(target: str, error: TargetError, effort: str = "standard", seed: int = 0) -> Report:
    """The report of a target that cannot be tested as given."""
    notes = "\n".join(getattr(error, "__notes__", []))
    return Report(target, seed=seed, effort=effort, problem=str(error), failed=True, traceback=notes)


def exit_status(reports: Sequence[Report]) -> int:
    """1 if any target is refuted, else 2 if any is in error or incomplete, else 0.

    If only some laws were chosen, there is no verdict, and 0 says that all of these held.
    """
    if any(report.verdict == "refuted" for report in reports):
        return 1
    return 0 if reports and all(report.passed for report in reports) else 2


def save_cases(folder: Path, target: str, fields: Mapping[str, Any], report: Report) -> list[Path]:
    """Write one JSON file for each counterexample, for `attention-core replay`."""
    saved: list[Path] = []
    written = 0
    for found in report.counterexamples:
        taken = [c.title for c in report.counterexamples].count(found.title) > 1  # the same happened under other laws
        title = f"{found.title}-{found.law}" if taken else found.title
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{target}-{title}").strip("-")
        path = folder / f"{name}.json"
        text = json.dumps(saved_case(target, fields, found), indent=1) + "\n"
        if saved and (len(saved) >= MOST_SAVED or len(text) > min(LARGE, MOST_BYTES - written)):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        saved.append(path)
        written += len(text)
    if saved and OWN_FOLDER in (folder.name, folder.parent.name):
        keep_small(folder, target, saved)
    return saved


def keep_small(folder: Path, target: str, saved: Sequence[Path]) -> None:
    """Let the suite's own folder ignore itself, and take out the cases of the target's earlier runs."""
    ignored = folder / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")
    for path in folder.glob("*.json"):
        with suppress(TargetError, OSError):
            if path not in saved and read_case(path)["target"] == target:
                path.unlink()


def saved_case(target: str, fields: Mapping[str, Any], found: Counterexample) -> dict[str, Any]:
    """A counterexample as JSON values that `replay` reads."""
    return {
        "schema_version": CASE_SCHEMA, "target": target, "declared": saved_fields(fields), "law": found.law,
        "message": found.message, "case": dict(found.data),
    }  # fmt: skip


def saved_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the record as JSON values that `restored_fields` reads."""
    plain = {k: getattr(v, "text", v) for k, v in fields.items()}
    for name in LITERALS & plain.keys():  # as source text, since JSON would make lists of tuples
        plain[name] = {k: repr(v) for k, v in plain[name].items()}
    return plain


def read_case(path: Path) -> dict[str, Any]:
    """A saved case.

    Raises:
        TargetError: the file cannot be read or is not a saved case.
    """
    data = read_json(path)
    if not isinstance(data, dict) or data.get("schema_version") != CASE_SCHEMA:
        raise TargetError(f"{path} is not a case saved by `attention-core verify`")
    lacking = [key for key in ("target", "law", "case", "declared") if key not in data]
    if lacking:
        raise TargetError(f"{path} is not a saved case: it lacks {', '.join(lacking)}")
    wrong = [key for key, kind in KINDS.items() if not isinstance(data[key], kind)]
    if wrong:
        raise TargetError(f"{path} is not a saved case: its {wrong[0]} is a {type(data[wrong[0]]).__name__}")
    return data


def replay_case(data: Mapping[str, Any], target: str | None, fields: Mapping[str, Any], timeout: float) -> Report:
    """One saved case again, on its own target or another one."""
    target = target or str(data["target"])
    try:
        all_fields = {**restored_fields(data["declared"]), **fields}
        with open_session(target, all_fields, effort="quick", seed=0, timeout=timeout) as session:
            law = select_laws(session.laws, [str(data["law"])])[0]
            report = session.report([session.replay(law, data["case"])], complete=False)
            report.asked = "the saved case passes"
            return report
    except Unavailable as error:
        return Report(target, unavailable=str(error))
    except TargetError as error:
        return failed_report(target, error)


def restored_fields(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the record out of a saved case.

    Raises:
        TargetError: what is declared cannot be read; such a file may have been edited by hand.
    """
    from attention_core.declaration.sizes import SizeCondition

    try:
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in declared.items()}
        strange = [k for k, v in fields.items() if k in WORDS and not isinstance(v, str)]
        if strange:
            raise TargetError(f"what the saved case declares cannot be read: {strange[0]} is not a word")
        unknown = [k for k in fields if k not in Implementation.__dataclass_fields__]
        if unknown:
            raise TargetError(f"the saved case declares unknown fields: {', '.join(unknown)}")
        if fields.get("sizes") is not None:
            fields["sizes"] = SizeCondition(str(fields["sizes"]))
        for name in LITERALS & fields.keys():
            fields[name] = {k: ast.literal_eval(text) for k, text in fields[name].items()}
        Implementation(None, **fields)
    except (AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise TargetError(f"what the saved case declares cannot be read: {summarize_error(error)}") from error
    return fields


OnResult = Callable[[LawResult], None]
"""Called with each result."""


def check_implementation(
    target: Any, effort: str = "standard", seed: int = 0, *, laws: Sequence[str] = (),
    progress: OnResult | None = None,
) -> Report:  # fmt: skip
    """Put an attention implementation through the laws of its contract.

    Args:
        target: a callable with the meaning of `scaled_dot_product_attention`, or an `Implementation`.
        effort: "quick", "standard" or "thorough": a number of cases, not of seconds.
        seed: the same seed gives the same run.
        laws: names of laws to run; all when empty.
        progress: called with each result.

    Returns:
        A `Report` with `.verdict`, `.laws`, `.counterexamples` and `.to_json()`. The target runs in this process,
        without isolation, and the report says so. A class that has another form than the contract's (of modules, of
        caches) is judged in this form as well: `.under_found` is the report on it.

    Raises:
        TargetError: the target cannot be tested as given.

    Example:
        >>> import torch
        >>> from attention_core.conformance import check_implementation
        >>> check_implementation(torch.softmax, effort="quick").verdict
        'incomplete'
    """
    implementation = target if isinstance(target, Implementation) else Implementation(target)
    if not implementation.name:
        name = getattr(implementation.function, "__qualname__", type(implementation.function).__name__)
        implementation = implementation.with_(name=name)
    try:
        return _judge(implementation, effort, seed, laws, progress)
    except OtherForm as error:
        if laws:
            raise
        report = Report(implementation.name, seed=seed, effort=effort, problem=str(error), failed=True, isolated=False)
        judge_other_form(report, error, lambda changes: _in_form(implementation, changes, effort, seed, progress))
        return report


OPEN = ("dead_rows", "causal", "masked_nan")
"""Fields whose defaults differ by contract."""


def _in_form(
    implementation: Implementation, changes: Mapping[str, Any], effort: str, seed: int, progress: OnResult | None
) -> Report:
    """The report on a target under another form; what it cannot be called with is the report's error."""
    open_ones = [name for name in OPEN if isinstance(getattr(implementation, name), Unstated)]
    changes = {**dict.fromkeys(open_ones, ""), **changes}  # each contract has defaults of its own
    try:
        return _judge(implementation.with_(**changes), effort, seed, (), progress)
    except TargetError as error:
        return Report(implementation.name, seed=seed, effort=effort, problem=str(error), failed=True, isolated=False)


def _judge(
    implementation: Implementation, effort: str, seed: int, laws: Sequence[str], progress: OnResult | None
) -> Report:
    """The report on a target in the form that is declared, and under the conventions found of it."""
    with Session(implementation, effort=effort, seed=seed) as session:
        chosen, found = select_laws(session.laws, laws), dict[str, LawResult]()
        for result in session.results(chosen):
            found[result.law] = result
            if progress is not None:
                progress(result)
        report = session.report([found[law.name] for law in chosen], complete=not laws)
        judge_under_conventions(session, report, [law.name for law in chosen], complete=not laws)
        return report
