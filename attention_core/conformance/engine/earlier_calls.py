"""Whether what a target gives depends on the calls before: then no few calls show a convention of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attention_core.conformance.report.law_result import AS_WRONG_ALONE, LOST, LawResult
from attention_core.conformance.report.ranking import READ_ANEW, differs, fails_alone, order_results
from attention_core.conformance.search.alone import NUMERIC, fails, fresh_runner

if TYPE_CHECKING:
    from attention_core.conformance.engine.session import Session

MOST_ASKED = 8
"""So many counterexamples are asked again in a new process at most, the most telling first."""
OF_STATE = ("state", "between_calls")
"""Families whose counterexamples say where the last call alone is as wrong."""


def depends_on_earlier_calls(session: Session, results: Sequence[LawResult]) -> str:
    """The refuted law that shows that a cache or a buffer of earlier calls is the cause; "" where none does.

    A counterexample shows it where the same call made again gave another answer, or where it does not fail in a process
    of the target that made no other call. Where no such process can be had (in Python's API, on other devices), the
    laws about earlier calls speak for themselves.
    """
    refuted = order_results([result for result in results if result.status == "refuted"])
    for result in refuted:
        if differs(result) or (result.counterexample is not None and not result.counterexample.alone):
            return result.law
        if result.law == READ_ANEW and fails_alone(result):  # the same numbers in another array give another answer
            return result.law
    fresh = fresh_runner(session.subject) if refuted else None
    if fresh is None:
        return ""
    for result in refuted[:MOST_ASKED]:
        evidence = session.evidence_of(result.law)
        if evidence is None or evidence.kind not in NUMERIC or evidence.event in LOST or not evidence.calls[0].index:
            continue
        of_state = result.family in OF_STATE and bool(evidence.before)
        if not result.message.endswith(AS_WRONG_ALONE) if of_state else fails(fresh, (), evidence) is False:
            return result.law
    return ""
