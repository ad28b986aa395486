"""The search: runs one law over its cases, from both sources, and makes the first failure as small as it can.

Effort is a number of cases, not of seconds; the same seed gives the same run.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.near import Near
from attention_core.conformance.cases.null_models import MINIMUM
from attention_core.conformance.cases.space import OF_CALLS
from attention_core.conformance.contracts import Contract
from attention_core.conformance.report.flaky import if_different
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.search.alone import clear_state, complete
from attention_core.conformance.search.judging import SHRINK_CALLS, Found, Tally, judge
from attention_core.conformance.search.minimise import HANDFUL, minimise, reduce_lightly, size
from attention_core.conformance.search.small_search import search_small, shrink_small
from attention_core.conformance.snippets.case_line import calls_its_case, case_line
from attention_core.conformance.snippets.replay import note_no_grad
from attention_core.conformance.subjects.evidence import Violation
from attention_core.conformance.subjects.law import Law

EFFORTS = {"quick": 1, "standard": 5, "thorough": 40}
"""Multiples of each law's number of cases."""
STRIDE = 1_000_003
"""Between the seeds of an effort's small cases and those of the next, so that runs at nearby seeds share none."""
FURTHER_STRIDE = 500_009
"""The same between the rounds of further cases of one effort."""
EXTRA_ROUNDS = 4
"""How often the large cases of a law are drawn once more while too few problems separate a null model."""
SHARE = 4
"""One part in so many of its cases is what a law that diagnoses judges first: the fewest that a verdict needs."""
NEAR_SHARE, NEAR_SHARE_BESIDE, SMALL_SHARE = 2, 6, 3
"""One case more for so many of its own has a central law near written sizes, and another comparison with a truth; so
many small ones count as a large one."""
NEAR_ROUND = 1 << 10
"""Number of the stream that those are drawn from."""
FURTHER_ROUNDS = 16
"""How often the cases of a law are drawn once more while refusals, or cases that say nothing, leave it short of them.

A law whose cases are judged one time in ten still meets its minimum, a quarter, then."""


def up_to(effort: str) -> tuple[str, ...]:
    """The efforts that a run at `effort` goes through: each of them begins with the cases of the one before."""
    names = tuple(EFFORTS)
    return names[: names.index(effort) + 1]


class Search:
    """One law's search over its cases, which goes on from effort to effort.

    The cases of "quick" are the first cases of "standard", and so on, so that what is refuted at an effort is refuted
    at every higher one, and laws can take turns.

    Example:
        >>> import torch
        >>> from attention_core.conformance import Implementation
        >>> from attention_core.conformance.engine.session import Session
        >>> with Session(Implementation(torch.nn.functional.scaled_dot_product_attention), effort="quick") as session:
        ...     (law,) = (law for law in session.laws if law.name == "agrees_with_truth")
        ...     Search(law, session.contract, session.subject).to("quick").status
        'held'
    """

    def __init__(self, law: Law, contract: Contract, subject: Any, seed: int = 0) -> None:
        self.law, self.contract, self.subject, self.seed = law, contract, subject, seed
        self.reason = why_not_applicable(law, subject)
        self.space = None if self.reason else contract.restrict(subject, law)
        if self.space is None:
            self.reason = self.reason or "no case of this law lies within what is declared and claimed"
        self.key = [seed, zlib.crc32(law.name.encode())]
        self.rng = np.random.default_rng(self.key)
        self.tally, self.reached, self.seconds = Tally(), 0, 0.0
        self.first: list[Any] = []  # cases on which the target was called before any law: they are judged, not counted
        self.found: Found | None = None  # the failure, as it was found
        self.light: Found | None = None  # the same, lightly reduced
        self.drawn = (0, 0)  # cases of each source, small and large, that this effort has drawn so far
        self.needed = 0  # judged cases without which the law has seen too little to be called held
        self.unjudged = ""  # what the law met in the target and no law judges

    def to(
        self, effort: str, *, shrink: int = SHRINK_CALLS, lightly: bool = False, fewest: bool = False
    ) -> LawResult:  # fmt: skip
        """The law's result at an effort, from where the last one ended; `shrink` calls make a failure small.

        Done `lightly`, a failure is reduced to what tells its cause, and `make_small` does the rest where it is shown.
        With the `fewest` cases that a verdict needs, the effort is not reached: a later call judges the others.
        """
        start = time.perf_counter()
        self.subject.as_it_is, self.subject.unjudged = self.law.family in OF_CALLS, self.unjudged
        if self.space is not None:
            for rung in up_to(effort):
                if self.found is None and EFFORTS[rung] > self.reached:
                    self.found = self._climb(rung, SHARE if fewest else 1)
        self.seconds, self.unjudged = self.seconds + time.perf_counter() - start, self.subject.unjudged
        if self.found is None:
            return self._conclude(effort)
        return self.make_small(shrink, lightly=lightly)

    def make_small(self, calls: int = SHRINK_CALLS, *, lightly: bool = False) -> LawResult:
        """The result with the failing case made small again, from the failure as it was found."""
        assert self.found is not None
        start, found = time.perf_counter(), self.found
        self.subject.as_it_is = self.law.family in OF_CALLS
        law, contract, subject, space = self.law, self.contract, self.subject, self.space
        if calls and lightly:
            self.light = found = reduce_lightly(law, contract, subject, space, found, calls)
        elif calls:
            found = shrink_small(law, contract, subject, space, found, calls // 4)
            found = minimise(law, contract, subject, space, found, calls)
            if self.light is not None and size(found) > HANDFUL:  # from elsewhere it may become smaller
                found = min(found, minimise(law, contract, subject, space, self.light, calls), key=size)
        self.seconds += time.perf_counter() - start
        return self._result("refuted", found=found, shrunk=calls > 0 and not lightly)

    def _climb(self, effort: str, share: int = 1) -> Found | None:
        """The cases that an effort has beyond those done: small ones, large ones, and more while null models hide."""
        law, contract, subject, space = self.law, self.contract, self.subject, self.space
        more, seed = EFFORTS[effort] - self.reached, self.seed + STRIDE * self.reached
        known, drawn = self.drawn, (-(-law.small * more // share), -(-law.large * more // share))
        found = self._judge_first()
        found = found or search_small(law, contract, subject, space, more, seed, self.tally, known[0], drawn[0])
        found = found or search_large(law, contract, subject, space, drawn[1] - known[1], self.rng, self.tally)
        small = law.small if contract.small(subject, space) is not None else 0
        if share == 1:
            found = found or self._search_near(effort)
        self.needed = minimum(EFFORTS[effort] * (law.large + small), self.tally.refused, EFFORTS[effort])
        self.drawn = drawn
        if share == 1:
            self.reached, self.drawn = EFFORTS[effort], (0, 0)
        for extra in range(1, EXTRA_ROUNDS + 1):
            if found is not None or not weak_nulls(law.name, subject, effort):
                break
            rng = np.random.default_rng([*self.key, EFFORTS[effort], extra])
            found = search_large(law, contract, subject, space, law.large * EFFORTS[effort], rng, self.tally)
        return found or self._further_cases(effort, seed)

    def _search_near(self, effort: str) -> Found | None:
        """The cases near sizes that are written in the target: those that an effort has beyond the one before.

        They are counted as problems, but not among the cases or the null models that a verdict needs, nor as refusals.
        """
        subject, counted = self.subject, (self.subject.relevant, self.subject.powers)
        if not subject.written or not hasattr(self.space, "near") or getattr(self.space, "pool", None):
            return None
        before = [dict(counts) for counts in counted]
        found = self._judge_near(effort)
        for counts, old in zip(counted, before, strict=True):
            counts.clear()
            counts.update(old)
        return found

    def _judge_near(self, effort: str) -> Found | None:
        law, subject, written, space = self.law, self.subject, self.subject.written, self.space
        assert space is not None
        rng, count = np.random.default_rng([*self.key, EFFORTS[effort], NEAR_ROUND]), cases_near(law)
        for turn in range(self.reached * count, EFFORTS[effort] * count):
            place = turn + (0 if law.central else self.key[1] % len(written))
            near, tally = Near(written[place % len(written)], turn // len(written)), Tally()
            found = search_large(law, self.contract, subject, replace(space, near=near), 1, rng, tally)
            self.tally.judged += tally.judged
            if found is not None or tally.judged:
                subject.met.add(near.size)
            if found is not None:
                return found
        return None

    def _judge_first(self) -> Found | None:
        """The cases of the target's first calls, whose answers are remembered."""
        first, self.first = self.first, []
        judged = ((case, judge(self.law, self.subject, case, Tally())) for case in first)
        return next((Found(case, violation) for case, violation in judged if violation is not None), None)

    def _further_cases(self, effort: str, seed: int) -> Found | None:
        """Cases from both sources in turn, while those judged are some, but fewer than the law needs."""
        law, contract, subject, space = self.law, self.contract, self.subject, self.space
        found: Found | None = None
        for extra in range(1, FURTHER_ROUNDS + 1):
            if found is not None or not 0 < self.tally.cases < self.needed:
                break
            rng = np.random.default_rng([*self.key, EFFORTS[effort], EXTRA_ROUNDS + extra])
            found = search_large(law, contract, subject, space, law.large, rng, self.tally)
            other = seed + FURTHER_STRIDE * extra
            found = found or search_small(law, contract, subject, space, 1, other, self.tally, shared=False)
        return found

    def _result(
        self, status: str, message: str = "", found: Found | None = None, *, shrunk: bool = False
    ) -> LawResult:  # fmt: skip
        law, tally = self.law, self.tally
        shown = None if found is None else counterexample(law, self.subject, found, shrunk=shrunk)
        message = message if shown is None else shown.message
        result = LawResult(law.name, status, tally.judged, self.seconds, shown, message, law.family, tally.refused)
        result.unjudged = self.unjudged
        return result

    def _conclude(self, effort: str) -> LawResult:
        law, tally = self.law, self.tally
        if self.reason:
            return self._result("not_applicable", self.reason)
        if not tally.cases:
            if tally.refused:
                result = self._result("refused", tally.describe_refusals(every=True))
                result.minimum_met = not law.central  # else a target could conform without a comparison with the truth
                return result
            return self._result("not_applicable", tally.silence or "no drawn case could say anything about this law")
        if tally.cases < self.needed and tally.refused and not law.central:
            left = f"its refusals leave too few cases ({tally.cases} judged, {tally.refused} refused: {tally.refusal})"
            return self._result("not_applicable", left)
        result = self._result("held", tally.describe_refusals())
        result.minimum_met = tally.cases >= self.needed
        weigh(result, self.subject, effort, tally.silence)
        return result


def cases_near(law: Law) -> int:
    """How many cases near written sizes a law meets at effort "quick"."""
    if not (law.central or law.compares or law.near):
        return 0
    return -(-(law.large + law.small // SMALL_SHARE) // (NEAR_SHARE if law.central else NEAR_SHARE_BESIDE))


def run_law(
    law: Law, contract: Contract, subject: Any, effort: str = "standard", seed: int = 0, *, shrink: int = SHRINK_CALLS
) -> LawResult:
    """Judge one law: "held", "refuted", "refused" or "not_applicable"; `shrink` calls make a failure small."""
    return Search(law, contract, subject, seed).to(effort, shrink=shrink)


def minimum(planned: int, refused: int, times: int) -> int:
    """How many cases a verdict on a law needs: a quarter of those not refused, and one for each unit of effort.

    Refusing is allowed, so what is refused is taken off first; a law that is refused nearly always still needs some
    cases to be called held.
    """
    return max(times, (planned - refused) // 4)


def weak_nulls(law: str, subject: Any, effort: str) -> dict[str, int]:
    """Null models that were relevant to the law's cases but that too few problems separated, with their numbers."""
    relevant, powers = subject.relevant, subject.powers
    relevant_nulls = [null for name, null in relevant if name == law and relevant[law, null]]
    return {null: powers[law, null] for null in relevant_nulls if powers[law, null] < MINIMUM[effort]}


def weigh(result: LawResult, subject: Any, effort: str, silence: str = "") -> None:
    """Put the power of the law's cases into its result; name the null models that too few problems separated.

    `silence`: why other cases decided nothing, "" where each of them did.
    """
    powers = subject.powers
    result.powers = {null: count for (law, null), count in powers.items() if law == result.law}
    weak = weak_nulls(result.law, subject, effort)
    if weak:
        result.minimum_met = False
        names = ", ".join(f"{null} ({count})" for null, count in weak.items())
        result.message = f"fewer than {MINIMUM[effort]} problems could tell these null models from the truth: {names}"
        result.message += f"; other cases say nothing: {silence}" if silence else ""


def judge_one(law: Law, subject: Any, case: Any) -> LawResult:
    """One law on one case as it is: "held", "refuted", "refused" or "not_applicable"."""
    start, tally = time.perf_counter(), Tally()
    violation = judge(law, subject, case, tally)
    seconds = time.perf_counter() - start
    if violation is not None:
        found = counterexample(law, subject, Found(case, violation))
        return LawResult(law.name, "refuted", tally.judged, seconds, found, found.message, law.family)
    status = "refused" if tally.refused else "held" if tally.cases else "not_applicable"
    return LawResult(law.name, status, tally.judged, seconds, None, tally.refusal, law.family, tally.refused)


def why_not_applicable(law: Law, subject: Any) -> str:
    """The claim or declaration a law lacks, or ""."""
    missing = sorted(law.needs - subject.binding.claims) if law.needs else []
    if missing:
        return f"{', '.join(missing)} not claimed"
    if law.declares is not None and not law.declares(subject.implementation):
        return law.because
    return ""


def search_large(
    law: Law, contract: Contract, subject: Any, space: Any, count: int, rng: np.random.Generator, tally: Tally
) -> Found | None:
    """The seeded source: packs of many problems."""
    for _ in range(count):
        case = contract.draw(subject, space, rng)
        if case is None:
            continue
        violation = judge(law, subject, case, tally)
        if violation is not None:
            return Found(case if violation.case is None else violation.case, violation)
    return None


def counterexample(law: Law, subject: Any, found: Found, *, shrunk: bool = False) -> Counterexample:
    """The report's form of a failure; `shrunk` if it was made as small as can be."""
    from attention_core.conformance.snippets.snippet import render

    violation = if_different(subject, law, found.violation)
    evidence = note_no_grad(subject, violation.evidence)
    violation = Violation(violation.message, evidence)
    if law.family in ("state", "between_calls"):
        violation = clear_state(subject, violation)
        evidence = violation.evidence
    if shrunk and subject.looks_alone:
        violation = complete(subject, violation)
        evidence = violation.evidence
    return Counterexample(
        law.name, violation.message, case_line(subject, found.case, evidence), found.case.to_json(),
        render(subject, law, violation), evidence.got, evidence.want, evidence.bound, evidence.event, shrunk,
        evidence.alone, calls_its_case(subject, found.case, evidence),
    )  # fmt: skip
