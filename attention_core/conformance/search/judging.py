"""One law on one case: what came of it, counted; and how many further calls a failure is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.conformance.subjects.law import Law

SHRINK_CALLS = 300
"""Calls spent on making one counterexample as small as can be; in a report, those that are written out."""
SLOW_SHRINK_CALLS = {"crash": 8, "hung": 0}


@dataclass
class Tally:
    """What happened so far to one law."""

    judged: int = 0
    cases: int = 0
    refused: int = 0
    refusal: str = ""
    silence: str = ""

    def describe_refusals(self, *, every: bool = False) -> str:
        """How many cases were declined, and why the first was; "" where none was.

        Example:
            >>> Tally(refused=1, refusal="ValueError: odd").describe_refusals()
            '1 case was declined: ValueError: odd'
            >>> Tally(refused=2, refusal="ValueError: odd").describe_refusals(every=True)
            'all 2 cases were declined: ValueError: odd'
        """
        if self.refused < 2:
            which = "the only case" if every else "1 case"
            return f"{which} was declined: {self.refusal}" if self.refused else ""
        return f"{'all ' if every else ''}{self.refused} cases were declined: {self.refusal}"


@dataclass(frozen=True)
class Found:
    """A failing case and how it failed."""

    case: Any
    violation: Violation
    draws: tuple[int, int] | None = None
    """Number and seed of the draws that led to it, where Hypothesis can make them again."""


def judge(law: Law, subject: Any, case: Any, tally: Tally) -> Violation | None:
    """Apply a law to a case; the violation, or None (counted in the tally)."""
    try:
        judged = law.check(subject, case)
    except Violation as violation:
        return violation
    except Refused as refusal:
        tally.refused += 1
        tally.refusal = tally.refusal or str(refusal)
    except NotApplicable as reason:
        tally.silence = tally.silence or str(reason)
    else:
        if judged != 0:
            tally.cases += 1
            tally.judged += case.slices if judged is None else judged
    return None


def allowance(violation: Violation, calls: int) -> int:
    """How many further calls a failure is worth; one that costs a new process or a time-out gets few."""
    if violation.evidence.kind != "crash" or "did not return" not in violation.message:
        return calls
    return SLOW_SHRINK_CALLS["hung" if "no answer within" in violation.message else "crash"]
