"""A session: one target under test, which the command line, pytest and `check_implementation` share.

It opens one target (in a worker process, or in this process for an object), answers law by law, and makes the
report. Nothing here knows how results are shown.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attention_core.conformance.cases.near import sizes_to_draw
from attention_core.conformance.cases.small import plain_case
from attention_core.conformance.cases.space import OF_CALLS
from attention_core.conformance.contracts import Contract, find_contract
from attention_core.conformance.engine import notes
from attention_core.conformance.engine.advice import (
    array_advice,
    fails_without_keys,
    known_of_others,
    nan_in_dead_rows,
    no_arrays,
    one_kind_of_masks,
    other_library,
    own_library,
    unjudged_masks,
)
from attention_core.conformance.engine.joint_results import (
    EXPLAINED,
    GIVEN_UP,
    JUDGED,
    broken_elsewhere,
    explain_no_comparison,
    list_claims,
)
from attention_core.conformance.engine.library_calls import adapt_to_library, declared_call
from attention_core.conformance.engine.precision import fit_precision
from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.report.flaky import DIFFERENT
from attention_core.conformance.report.law_result import NOT_RUN, Counterexample, LawResult
from attention_core.conformance.report.ranking import choose_counterexamples
from attention_core.conformance.report.results import Report
from attention_core.conformance.report.untested import (
    RecordingRunner,
    check_names,
    declined_features,
    fixed_in_constructor,
    left_in_constructor,
    silent_parameters,
)
from attention_core.conformance.search.judging import SHRINK_CALLS
from attention_core.conformance.search.search import EFFORTS, Search, judge_one, up_to, why_not_applicable
from attention_core.conformance.search.small_search import warm_up
from attention_core.conformance.subjects.core import what_the_core_lacks
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Refused, Violation
from attention_core.conformance.subjects.law import DIAGNOSE, Law, detectors_first
from attention_core.conformance.subjects.outcomes import SetUpError
from attention_core.conformance.subjects.parameter_case import FUNCTIONS
from attention_core.conformance.worker.runner import LocalRunner, Runner, WorkerRunner
from attention_core.declaration.implementation import Implementation, TargetError, summarize_error
from attention_core.declaration.known_failures import KnownFailure, as_known_failure
from attention_core.declaration.near_names import suggest
from attention_core.declaration.sizes import ATTENTION

MAX_LOST_PROCESSES = 6
"""After so many crashes (or one hang) of one target its other laws are not run any more."""

FULLY_SHRUNK = 4
"""So many refuted laws that are run one by one get their counterexample made as small as can be, later ones less."""
LIGHTLY = 12
"""One part in so many of the calls for the smallest case is spent on every counterexample that is not written out."""
MOST_NOT_ALONE = 3
"""After so many counterexamples that do not fail by themselves no other is put in front of them."""
FINAL = ("refuted", "known_failure", "error")
"""What no further case can change."""
FIRST = (
    "agrees_with_truth", "causal_alignment_is_as_declared", "dead_rows_are_as_declared",
    "grouped_query_equals_repeated_keys", "query_gradient_is_true",
)  # fmt: skip
"""The laws most likely to show that other conventions are meant than those declared."""


class Session:
    """One target under test; without `shrink` its counterexamples stay as they are found.

    Raises:
        TargetError: the target cannot be tested as given. Unavailable: it cannot run on this machine.
    """

    def __init__(
        self, implementation: Implementation, origin: str | None = None, *, effort: str = "standard", seed: int = 0,
        timeout: float = 60.0, shrink: bool = True, runner: Runner | None = None, looks: bool = True,
    ) -> None:  # fmt: skip
        if seed < 0:
            raise TargetError(f"seed={seed} is negative")
        if effort not in EFFORTS:
            raise TargetError(f"effort={effort!r} is not one of {', '.join(EFFORTS)}")
        self.implementation, self.effort, self.seed, self.shrink = implementation, effort, seed, shrink
        self.origin, self.timeout, self.looks, self.owns_runner = origin, timeout, looks, runner is None
        self.contract: Contract = find_contract(implementation.contract)
        self.runner: Runner = self._make_runner() if runner is None else runner
        try:
            if isinstance(self.runner, WorkerRunner) and self.contract.name in ATTENTION:
                self.runner.start()
                warm_up()  # while the worker imports
            self.description = self.runner.describe()
            self.notes = self._fit_to_target()
            implementation = self.implementation.with_(shapes=self.shapes)
            self.recorder = RecordingRunner(self.runner)
            with self.recorder.looking():
                self.subject = self.contract.subject(self.recorder, implementation, self.description, seed)
            self._require_parameters()
            self._check_known_failures()
        except BaseException:
            self.close()
            raise
        self._describe_to_subject()
        self.core_message: str | None = None
        self.searches: dict[str, Search] = {}
        self.refuted = 0
        self.fewest: list[str] = []  # laws that judged the fewest cases that a verdict needs
        self.broken = ""  # why the target cannot be judged as it is called here
        self.misnamed: str | None = None  # the message where the arrays are another library's; None: not looked yet
        self._first_look: FirstLook | None = None

    def _describe_to_subject(self) -> None:
        """Tell the subject where its target is from, which sizes its source holds, and whether its module is ours."""
        self.subject.origin = self.origin or ""
        self.subject.written = sizes_to_draw(self.description.get("written"), self.implementation.arguments)
        self.subject.stand_in = bool(self.description.get("stand_in"))

    def _make_runner(self) -> Runner:
        """A worker for a target by name; an object is called in this process.

        Raises: TargetError for an object that is to run in Triton's interpreter.
        """
        record = self.implementation
        options: dict[str, Any] = {name: getattr(record, name) for name in ("array", "device", "factory")}
        options |= {"x64": record.array == "jax" and record.asks_float64, "convention": declared_call(record)}
        if self.origin is not None:
            attention = self.contract.name in ATTENTION
            return WorkerRunner(
                self.origin, timeout=self.timeout, runtime=record.runtime, compiles=attention, **options
            )
        if record.runtime in ("triton", "numba"):
            name = record.runtime
            raise TargetError(
                f"runtime={name} is for targets by name, FILE.py:NAME: {name} must not be imported before"
            )
        return LocalRunner(record.function, **options)

    def _fit_to_target(self) -> list[str]:
        """Take the conventions of a library's function and the dtypes that there are; the notes of a report."""
        self.implementation, known = adapt_to_library(self)
        self.implementation, precision = fit_precision(self.implementation, self.description)
        return [
            *known, *precision, *notes.about_gradients(self.implementation, self.contract),
            *notes.about_stand_ins(self.description),
            *(notes.about_pool(self.compiler, self.runner) if self.draws_from_pool else []),
        ]  # fmt: skip

    @property
    def compiler(self) -> str:
        """What compiles a program for each shape that the target is called with, or ""."""
        found: str = "JAX" if self.implementation.array == "jax" else self.description.get("compiled", "")
        return found if self.contract.name in ATTENTION else ""

    @property
    def shapes(self) -> str:
        """Whether sizes are drawn from a "pool" or are "free": as declared, or by what compiles the target."""
        declared = self.implementation.shapes
        return declared if declared != "auto" else "pool" if self.compiler else "free"

    @property
    def draws_from_pool(self) -> bool:
        """Whether sizes are drawn from a pool; other contracts than those of attention have none."""
        return self.shapes == "pool" and self.contract.name in ATTENTION

    @property
    def fixed_parameters(self) -> list[str]:
        """What every module was built with beside its sizes, each as NAME=VALUE."""
        return fixed_in_constructor(self.recorder.fates, self.recorder.built, self.subject.form, self.recorder.values)

    @property
    def first_look(self) -> FirstLook | None:
        """What a few calls find before any law; made once, None where the contract has no first look."""
        if self.looks and self.contract.look is not None:
            self.looks, start = False, time.perf_counter()
            self._call_first()
            try:
                found = self.contract.look(self.runner, self.implementation, self.description, self.seed)
            except TargetError:  # what cannot be called as declared is reported by the laws
                found = None
            self._first_look = found and replace(found, seconds=time.perf_counter() - start)
        return self._first_look

    def _call_first(self) -> None:
        """Make the target's first call in every dtype on a small case, whose answer the central law judges first.

        No law judges the calls of a first look: they would hide what only the first call does wrong. A module is left
        alone: the call, in evaluation mode, would hide what its first evaluation spoils for training.
        """
        central = next((law for law in self.laws if law.central), None)
        if central is None or self.subject.binding is None or self.subject.binding.is_module:
            return
        profile = self.subject.binding.profile()
        for case in (plain_case(profile, dtype) for dtype in profile.dtypes):
            if case is None:
                return
            with suppress(Refused, NotApplicable, TargetError):
                with suppress(Violation):  # remembered with the case: the law meets it again
                    self.contract.ask(self.subject, case)
                self._search(central).first.append(case)
            if self.subject.lost:  # it hangs or dies: the laws meet that themselves, with all their patience
                self.subject.lost = 0
                return

    @property
    def laws(self) -> tuple[Law, ...]:
        """The laws of the target's contract."""
        return self.contract.laws

    def _require_parameters(self) -> None:
        """Refuse accepted names that the target does not have, where its own signature is all there is.

        A factory has a signature of its own, too: the report knows both.
        """
        parameters = None if self.implementation.factory else self.description.get("parameters")
        if parameters is not None and (self.contract.name in ATTENTION or self.contract.name in FUNCTIONS):
            others = [law.untested for law in self.laws if law.untested]
            known = [p["name"] for p in parameters if not p["kind"].startswith("VAR_")]
            check_names(self.implementation.untested, [*known, *others], self.implementation.name)

    def list_untested_parameters(self, results: Sequence[LawResult]) -> list[str]:
        """What no law tests: parameters that no call gave a value, and what laws without a case would have judged."""
        status = {r.law: r.status for r in results}
        left = silent_parameters(self.recorder.fates, self.implementation, self.subject.binding)
        silent = [name for name in left if name not in self.subject.unused_parameters()]
        unjudged = [
            law.untested for law in self.laws
            if law.untested and status.get(law.name) == "not_applicable" and not why_not_applicable(law, self.subject)
        ]  # fmt: skip
        return [*dict.fromkeys([*silent, *declined_features(self.laws, status, self.subject), *unjudged])]

    def _check_known_failures(self) -> None:
        unknown = set(self.implementation.known_failures) - {law.name for law in self.laws}
        if unknown:
            raise TargetError(f"known failures name {min(unknown)!r}, which is not a law of this contract")

    def results(self, laws: Sequence[Law]) -> Iterator[LawResult]:
        """The results of several laws, each as soon as it is certain.

        Where other conventions explain what is refuted, one refutation is enough: all laws are then judged under the
        conventions found. In the end the counterexamples that a report writes out are made as small as can be, in
        the results that were given.
        """
        given: list[LawResult] = []
        for result in self._results(laws):
            given.append(result)
            yield result
        self.shrink_counterexamples(given)

    def _results(self, laws: Sequence[Law]) -> Iterator[LawResult]:
        look = self.first_look
        done: dict[str, LawResult] = {}
        if look is not None and look.explains:
            for law in sorted(laws, key=lambda law: law.name not in FIRST):
                done[law.name] = self.run(law, "quick", lightly=True)
                if done[law.name].status == "refuted":
                    left_out = partial(LawResult, status="not_applicable", cases=0, seconds=0.0)
                    for one in laws:
                        message = f"{NOT_RUN}{EXPLAINED}"
                        yield done.get(one.name) or left_out(one.name, message=message, family=one.family)
                    return
        if self.effort == "quick" and len(laws) >= len(self.laws) // 2:  # all of them, or one of two processes' half
            yield from self._detectors_first(laws)
        else:
            yield from self._by_effort(laws)

    def _detectors_first(self, laws: Sequence[Law]) -> Iterator[LawResult]:
        """The results at effort "quick": the laws that diagnose come last, with the fewest cases if nothing is refuted.

        What one of them refutes all the same sends the others through the rest of their cases.
        """
        few = dict[str, LawResult]()
        for law in detectors_first(laws):
            known = law.name in self.implementation.known_failures
            fewest = law.role == DIAGNOSE and not self.refuted and not known
            result = self.run(law, lightly=True, fewest=fewest)
            if fewest and result.status == "held" and result.minimum_met:
                few[law.name] = result
            elif fewest and result.status not in FINAL:  # so few cases say nothing
                yield self.run(law, lightly=True)
            else:
                yield result
        self.fewest = list(few)
        yield from {**few, **{result.law: result for result in self.judge_fully(few)}}.values()

    def judge_fully(self, names: Sequence[str] | Mapping[str, LawResult], *, refuted: bool = False) -> list[LawResult]:
        """The results of laws that judged the fewest cases, with all of them, where anything is refuted; else none.

        Args: names, of the laws; refuted, whether another process refuted something.
        """
        if not (refuted or self.refuted):
            return []
        results = [self.run(law, lightly=True) for law in select_laws(self.laws, list(names))] if names else []
        judged = [result for result in results if not result.message.startswith(NOT_RUN)]
        self.fewest = [name for name in self.fewest if name not in {result.law for result in judged}]
        return judged

    def _by_effort(self, laws: Sequence[Law]) -> Iterator[LawResult]:
        """The results of several laws at the session's effort.

        Every law is put at effort "quick" before any goes on, since most of what can be seen is seen there: a fault
        that only a late law sees is found within seconds, and not after all the cases of the laws before it.
        """
        left, before = list(laws), dict[str, tuple[str, LawResult]]()
        for effort in up_to(self.effort):
            for law in tuple(left):
                result = self.run(law, effort, lightly=True)
                if result.message.startswith(NOT_RUN) and law.name in before:
                    reached, earlier = before[law.name]
                    result = replace(earlier, message=f"at effort {reached} alone: {result.message[len(NOT_RUN) :]}")
                if effort == self.effort or result.status in FINAL:
                    left.remove(law)
                    yield result
                elif result.status in JUDGED:
                    before[law.name] = effort, result

    def shrink_counterexamples(self, results: Sequence[LawResult]) -> None:
        """Make the counterexamples small that are written out; what is small may say more or less about the cause.

        Where laws were shared with another process, this is done once more over the results of both.
        """
        by_law = {result.law: result for result in results}
        self.subject.looks_alone = self._depends_on_calls(results)
        left = self._unshrunk(results)
        while left:
            for found in left:
                result, small = by_law[found.law], self._made_small(found.law)
                if small is None:
                    result.counterexample = replace(found, shrunk=True)  # as small as it is to be had
                else:
                    result.counterexample, result.message = small.counterexample, small.message
                    result.seconds = small.seconds
            if sum(not c.alone for c in counterexamples(results)) >= MOST_NOT_ALONE:
                rank_as_any(results)
            left = self._unshrunk(results)

    def _made_small(self, name: str) -> LawResult | None:
        """The result of a refuted law with its smallest case.

        What another process refuted is looked for here again; None where a fault of state does not show here.
        """
        (law,) = select_laws(self.laws, [name])
        search = self._search(law)
        if search.found is None:
            search.to(self.effort, shrink=0)
        return search.make_small(SHRINK_CALLS) if search.found is not None else None

    def withdraw_conventions(self, line: str) -> None:
        """Let the first look have found nothing but what `line` says: all laws are judged as it is declared."""
        look = self._first_look or FirstLook(())
        self._first_look = replace(look, lines=(line,), found={}, agrees=False)

    def evidence_of(self, name: str) -> Evidence | None:
        """The calls that refuted a law in this process, as they were found; None where none did."""
        (law,) = select_laws(self.laws, [name])
        found = self._search(law).found
        return None if found is None else found.violation.evidence

    def _depends_on_calls(self, results: Sequence[LawResult]) -> bool:
        """Whether something refuted speaks of earlier calls, so that a counterexample may need more than its own."""
        refuted = [r for r in results if r.status == "refuted" and r.counterexample is not None]
        of_calls = (r.counterexample.event == DIFFERENT or r.family in OF_CALLS for r in refuted if r.counterexample)
        return any(of_calls) or (bool(refuted) and self.contract.name not in ATTENTION)

    def _unshrunk(self, results: Sequence[LawResult]) -> list[Counterexample]:
        """The counterexamples that are written out and not as small as can be."""
        return [c for c in choose_counterexamples(results) if not c.shrunk] if self.shrink and SHRINK_CALLS else []

    def run(self, law: Law, effort: str = "", *, lightly: bool = False, fewest: bool = False) -> LawResult:
        """One law's result (at the session's effort); what was done at a lower effort before is not done again.

        Known failures are judged strictly, and what breaks the suite itself is an "error". Done `lightly`, a
        counterexample is reduced to what tells its cause. `fewest`: as in `Search.to`.
        """
        try:
            return self._run(law, effort or self.effort, lightly, fewest)
        except SetUpError as error:
            self.broken = str(error)
            return self._not_run(law, self.broken)
        except TargetError as error:
            return LawResult(law.name, "error", 0, 0.0, None, str(error), law.family)
        except Exception as error:
            message = f"the suite could not judge this law: {summarize_error(error)}"
            return LawResult(law.name, "error", 0, 0.0, None, message, law.family)

    def _run(self, law: Law, effort: str, lightly: bool = False, fewest: bool = False) -> LawResult:
        lost = self.subject.lost >= MAX_LOST_PROCESSES
        if why := GIVEN_UP if lost else self.misnamed or self.broken:
            return self._not_run(law, why)
        known = self.implementation.known_failures.get(law.name)
        if known is None:
            calls = SHRINK_CALLS // LIGHTLY if lightly else SHRINK_CALLS
            if self.refuted >= FULLY_SHRUNK and not lightly:
                calls //= 6
            shrink = calls if self.shrink else 0
            result = self._search(law).to(effort, shrink=shrink, lightly=lightly, fewest=fewest)
            if self._is_set_up_wrong(result):
                return self._run(law, effort, lightly)
            self.refuted += result.status == "refuted"
            return result
        return self._run_known_failure(law, as_known_failure(known), effort)

    @staticmethod
    def _not_run(law: Law, why: str) -> LawResult:
        return LawResult(law.name, "not_applicable", 0, 0.0, None, f"{NOT_RUN}{why}", law.family)

    def _search(self, law: Law) -> Search:
        if law.name not in self.searches:
            self.searches[law.name] = Search(law, self.contract, self.subject, self.seed)
        return self.searches[law.name]

    def _is_set_up_wrong(self, result: LawResult) -> bool:
        """Whether the first result only shows that the target takes other arrays, or that it returns none.

        Looked for once, where nothing held.
        """
        if self.misnamed is None and result.status in ("held", "refused", "refuted"):
            self.misnamed = ""
            if result.status != "held" and not self.subject.lost:
                own = own_library(self.contract, self.subject, self.description)
                self.misnamed = array_advice(self.implementation.array, own) if own else ""
                if not own and not self.runner.gave_arrays:
                    self.broken = no_arrays(self.contract, self.subject, self.description)
        return bool(self.misnamed or self.broken)

    def _run_known_failure(self, law: Law, known: KnownFailure, effort: str) -> LawResult:
        """A known failure must still fail: on its saved case where there is one, else somewhere in the law's cases."""
        if known.case is not None:
            result = self.replay(law, known.case)
        else:
            result = self._search(law).to(effort, shrink=SHRINK_CALLS // 6)
        if result.status == "refuted":
            result.status, result.message = "known_failure", f"{known.reason} [{result.message}]"
        elif result.status in ("held", "refused"):
            result.status, result.message = "unexpected_pass", f"a known failure no longer fails: {known.reason}"
        return result

    def replay(self, law: Law, data: Mapping[str, Any]) -> LawResult:
        """One law on one saved case, without shrinking.

        Raises:
            TargetError: the case cannot be rebuilt, or this target lacks what it needs.
        """
        reason = why_not_applicable(law, self.subject)
        if reason:
            raise TargetError(f"{self.implementation.name} cannot be put to this case of {law.name}: {reason}")
        try:
            case = self.contract.from_json(data)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise TargetError(f"the saved case cannot be read: {summarize_error(error)}") from error
        try:
            return judge_one(law, self.subject, case)
        except TargetError:
            raise
        except Exception as error:  # an edited case may be one that no law can judge
            raise TargetError(f"the saved case cannot be put to {law.name}: {summarize_error(error)}") from error

    def core(self) -> str:
        """What the core lacks: "" when the plain call is accepted at aligned and unaligned sizes in one dtype."""
        if self.core_message is None:
            given_up = self.subject.lost >= MAX_LOST_PROCESSES
            try:
                self.core_message = GIVEN_UP if given_up else what_the_core_lacks(self.contract, self.subject)
            except SetUpError as error:
                self.core_message = self.broken = str(error)
        return self.core_message

    def report(self, results: Sequence[LawResult], *, complete: bool = True) -> Report:
        """The report over the results; `complete=False` when only some laws were chosen."""
        subject = self.subject
        refuted = [law for law in self.laws for r in results if r.law == law.name and r.status == "refuted"]
        met = {r.law for r in results if r.counterexample is not None and r.counterexample.event}
        flawed = [law for law in refuted if law.name not in met]  # what any law would have met is not their fault
        advice = known_of_others(self.implementation, flawed, self.description)
        steady = DIFFERENT not in {r.counterexample.event for r in results if r.counterexample is not None}
        why = self.broken or ("" if self.misnamed else broken_elsewhere(results))
        if why and not refuted:
            refuted = [law for law in self.laws if law.central]  # what the right number of results would be
        look = self._first_look
        if refuted and steady and self.contract.name == "attention" and (look is None or not look.explains):
            advice = [*nan_in_dead_rows(results), *advice]
        advice += [*one_kind_of_masks(self.implementation, results), *fails_without_keys(self.implementation, results)]
        problem = self.misnamed or why or (self.core() if complete else "")
        if (refuted or problem) and not self.misnamed:
            advice = [*other_library(self.implementation, self.description), *advice]
        if not problem and not any(r.status in JUDGED for r in results):
            problem = "no law could be judged: " + next((r.message for r in results if r.message), "no law applies")
        untested, accepted = self.list_untested_parameters(results) if complete else [], self.implementation.untested
        if complete and self.recorder.fates:
            known = [*(name for _, name in self.recorder.fates), *(law.untested for law in self.laws), *untested]
            check_names(accepted, dict.fromkeys(name for name in known if name), self.implementation.name)
        problem = problem or (explain_no_comparison(self.laws, results) if complete else "")
        masks = [mask.name for mask in getattr(getattr(subject, "form", None), "masks", ())]
        problem = problem or (unjudged_masks(self.recorder.fates, masks, results) if complete else "")
        return Report(
            self.implementation.name, self.implementation.as_dict(), self.claims(results), list(results),
            versions(self.implementation.array), self.seed, self.effort, problem, bool(why),
            self.runner.isolated, {"/".join(k): v for k, v in sorted(subject.ratios.items())},
            advice, partial=not complete, first_look=look, notes=[*self.notes, *notes.after_the_laws(self, results)],
            untested=[name for name in untested if name not in accepted],
            accepted_untested=[name for name in untested if name in accepted],
            constructed=left_in_constructor(self.recorder.fates), fixed=self.fixed_parameters,
            waived=notes.list_waivers(self.implementation, self.laws, results),
        )  # fmt: skip

    def claims(self, results: Sequence[LawResult]) -> dict[str, str]:
        """Parameter -> "tested", "refused" or why not tested."""
        binding = self.subject.binding
        if self.implementation.contract not in ATTENTION or binding is None:
            return {}
        return list_claims(binding, self.laws, results)

    def close(self) -> None:
        """End the worker, unless another session goes on with it, and remove what the subject still holds."""
        if self.owns_runner:
            self.runner.close()
        subject = getattr(self, "subject", None)
        if subject is not None:
            subject.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def counterexamples(results: Sequence[LawResult]) -> list[Counterexample]:
    """The counterexamples among some results."""
    return [r.counterexample for r in results if r.counterexample is not None]


def rank_as_any(results: Sequence[LawResult]) -> None:
    """Rank what fails after other calls alone like all others, where everything does; its snippet says so."""
    for result in results:
        if result.counterexample is not None:
            result.counterexample = replace(result.counterexample, alone=True)


def versions(array: str) -> dict[str, str]:
    """Versions of what took part."""
    found = {"python": platform.python_version()}
    for name in ("attention-core", "numpy", "hypothesis", array):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def select_laws(laws: Sequence[Law], names: Sequence[str]) -> list[Law]:
    """The laws called by name (all when no name is given).

    Raises:
        TargetError: a name that no law has.
    """
    known = {law.name: law for law in laws}
    unknown = [n for n in names if n not in known]
    if unknown:
        near = suggest(unknown[0], known)
        raise TargetError(f"no law {unknown[0]!r} in this contract; {near}`attention-core laws` lists them")
    return [known[n] for n in names] if names else list(laws)
