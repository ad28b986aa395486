"""More ways to read a step that is left open: its laws as joint tables, and the equations above it as hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from attention_core.derivation.decision.joint_tables import read_by_tables
from attention_core.derivation.decision.mends import Search
from attention_core.derivation.decision.slips_by_equations import mark_by_equations
from attention_core.derivation.decision.stated_above import read_by_equations
from attention_core.derivation.effort import CEILING, Effort, OutOfTime, ceiling
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding, Verdict
from attention_core.derivation.terms.terms import Relation

MOST_SECONDS = 4.0  # of a step's time that its equations may have
PARTS = 8  # a try has this part of them
TRIES = 16  # decisions of a brief effort that a search among equations may take


def read_further(
    step: Step,
    found: Finding,
    judge: Callable[[Step], Finding],
    decide_with: Callable[[Effort], Callable[[Step, Sequence[Relation]], Finding]],
    effort: Effort,
) -> Finding:
    """The finding on a step that is left open, by its laws as tables or by the equations above it, where these tell.

    Args:
        step: The step.
        found: What was found of it.
        judge: Gives the verdict on a step, with the words around it.
        decide_with: Gives what decides a step under some more hypotheses, as it is read, with an effort.
        effort: That of the step, of which each try has a part.
    """
    if found.verdict is not Verdict.UNDECIDED or "slip" in found.evidence.figures:
        return found
    other = read_by_tables(step, found, judge)
    if other.verdict in (*GOOD, Verdict.REFUTED):
        return other
    found = other  # with a likely slip of its tables, if it has one
    brief = replace(effort, seconds=min(effort.seconds, MOST_SECONDS) / PARTS)
    with suppress(OutOfTime), ceiling(TRIES * CEILING * brief.seconds):
        search = Search(4 * brief.seconds, brief.seed)
        other = read_by_equations(step, found, decide_with(brief), search, judge)
        return other if other.verdict in GOOD else mark_by_equations(step, found, decide_with(brief), search)
    return found


__all__ = ["read_further"]
