"""The search: runs one law over its cases, from both sources, and makes the first failure as small as it can.

Effort is a number of cases, not of seconds; the same seed gives the same run.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from attention_core.conformance.contracts import Contract
from attention_core.conformance.judging import SHRINK_CALLS, Found, Tally, allowance, judge
from attention_core.conformance.law import Law
from attention_core.conformance.nulls import MINIMUM
from attention_core.conformance.report import Counterexample, LawResult
from attention_core.conformance.small_search import search_small
from attention_core.conformance.snippet_arrays import MAX_ELEMENTS

EFFORTS = {"quick": 1, "standard": 5, "thorough": 40}
"""Multiples of each law's number of cases."""
EXTRA_ROUNDS = 4
"""How often the large cases of a law are drawn once more while a null model was told apart on too few problems."""


def run_law(
    law: Law, contract: Contract, subject: Any, effort: str = "standard", seed: int = 0, *, shrink: int = SHRINK_CALLS
) -> LawResult:
    """Judge one law: "held", "refuted", "refused" or "not_applicable"; `shrink` calls make a failure small."""
    start, tally = time.perf_counter(), Tally()

    def finish(status: str, message: str = "", found: Found | None = None) -> LawResult:
        seconds, shown = time.perf_counter() - start, None if found is None else counterexample(law, subject, found)
        return LawResult(law.name, status, tally.judged, seconds, shown, message, law.family, tally.refused)

    reason = why_not_applicable(law, subject)
    if reason:
        return finish("not_applicable", reason)
    space = contract.restrict(subject, law)
    if space is None:
        return finish("not_applicable", "no case of this law lies within what is declared and claimed")
    key = [seed, zlib.crc32(law.name.encode())]
    times = EFFORTS[effort]
    found = search_small(law, contract, subject, space, times, seed, tally, shrink)
    found = found or search_large(law, contract, subject, space, law.large * times, key, tally)
    for extra in range(1, EXTRA_ROUNDS + 1):
        if found is not None or not weak_nulls(law.name, subject, effort):
            break
        found = search_large(law, contract, subject, space, law.large * times, [*key, extra], tally)
    if found is not None:
        found = minimise(law, contract, subject, space, found, shrink)
        return finish("refuted", found.violation.message, found)
    if not tally.cases:
        if tally.refused:
            return finish("refused", f"all {tally.refused} cases were refused: {tally.refusal}")
        return finish("not_applicable", tally.silence or "no drawn case could say anything about this law")
    planned = times * (law.large + (law.small if contract.small(subject, space) is not None else 0))
    result = finish("held", f"{tally.refused} cases were refused: {tally.refusal}" if tally.refused else "")
    result.minimum_met = tally.cases >= minimum(planned, tally.refused, times)
    weigh(result, subject, effort)
    return result


def minimum(planned: int, refused: int, times: int) -> int:
    """How many cases a verdict on a law needs: a quarter of those not refused, and one for each unit of effort.

    Refusing is allowed, so what is refused is taken off first; a law that is refused nearly always still needs some
    cases to be called held.
    """
    return max(times, (planned - refused) // 4)


def weak_nulls(law: str, subject: Any, effort: str) -> dict[str, int]:
    """Null models that were relevant to the law's cases and that too few problems told apart, with their numbers."""
    relevant, powers = getattr(subject, "relevant", {}), getattr(subject, "powers", {})
    asked = [null for name, null in relevant if name == law and relevant[law, null]]
    return {null: powers[law, null] for null in asked if powers[law, null] < MINIMUM[effort]}


def weigh(result: LawResult, subject: Any, effort: str) -> None:
    """Put the power of the law's cases into its result; null models that too few problems told apart are named."""
    powers = getattr(subject, "powers", {})
    result.powers = {null: count for (law, null), count in powers.items() if law == result.law}
    weak = weak_nulls(result.law, subject, effort)
    if weak:
        result.minimum_met = False
        told = ", ".join(f"{null} ({count})" for null, count in weak.items())
        result.message = f"fewer than {MINIMUM[effort]} problems could tell these null models from the truth: {told}"


def judge_one(law: Law, subject: Any, case: Any) -> LawResult:
    """One law on one case as it is: "held", "refuted", "refused" or "not_applicable"."""
    start, tally = time.perf_counter(), Tally()
    violation = judge(law, subject, case, tally)
    seconds = time.perf_counter() - start
    if violation is not None:
        found = counterexample(law, subject, Found(case, violation))
        return LawResult(law.name, "refuted", tally.judged, seconds, found, violation.message, law.family)
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
    law: Law, contract: Contract, subject: Any, space: Any, count: int, key: list[int], tally: Tally
) -> Found | None:
    """The seeded source: packs of many problems."""
    rng = np.random.default_rng(key)
    for _ in range(count):
        case = contract.draw(subject, space, rng)
        if case is None:
            tally.passed_over += 1
            continue
        violation = judge(law, subject, case, tally)
        if violation is not None:
            return Found(case, violation)
    return None


def minimise(law: Law, contract: Contract, subject: Any, space: Any, found: Found, calls: int) -> Found:
    """Smaller cases, then plainer ones, that still fail in the same way, again and again, until there are none."""
    left, tally = allowance(found.violation, calls), Tally()
    # Gone into while nobody could read the case; none where nothing is to be shrunk at all.
    least = -allowance(found.violation, max(SHRINK_CALLS // 2 - calls, 0)) if calls else 0

    def failing(case: Any) -> Found | None:
        nonlocal left
        if not contract.allows(subject, space, case):
            return None
        left -= 1
        violation = judge(law, subject, case, tally)
        same = violation is not None and violation.evidence.kind == found.violation.evidence.kind
        return Found(case, violation) if violation is not None and same else None

    def one_round(best: Found, reductions: Callable[[Any], Iterator[Any]]) -> Found:
        # What fails to reduce is not tried again after each success, only in the next round: most calls would go there.
        at: int | None = 0
        while at is not None:
            start, at = at, None
            for number, case in islice(enumerate(reductions(best.case)), start, None):
                if left <= (least if unreadable(best.case) else 0):
                    return best
                if (smaller := failing(case)) is not None:
                    best, at = smaller, number
                    break
        return best

    def rounds(best: Found, *stages: Callable[[Any], Iterator[Any]]) -> Found:
        before = None
        while before is not best:
            before = best
            for reductions in stages:
                best = one_round(best, reductions) if len(stages) == 1 else rounds(best, reductions)
        return best

    return rounds(found, lambda case: case.smaller(), lambda case: case.plainer())


def unreadable(case: Any) -> bool:
    """Whether an array of the case holds more numbers than a snippet writes out."""
    arrays = [getattr(case, name, None) for name in ("query", "key", "value", "mask")]
    return any(getattr(a, "size", 0) > MAX_ELEMENTS for a in arrays)


def counterexample(law: Law, subject: Any, found: Found) -> Counterexample:
    """The report's form of a failure."""
    from attention_core.conformance.snippet import render

    violation = found.violation
    return Counterexample(
        law.name, violation.message, found.case.describe(), found.case.to_json(),
        render(subject, law, violation), violation.evidence.got, violation.evidence.want, violation.evidence.bound,
        violation.evidence.event,
    )  # fmt: skip
