r"""Likely slips below equations: $u^\top S u = 2 \lambda$ below $S u = \lambda u$ and $u^\top u = 1$.

A step that is false as it was read, and false where the equations above it hold, may be one small change away from
what follows from them. This is where to look first. It refutes nothing: signs of what an equation states change with
the picture ("So $1/b = 1/f + 1/a$ for a virtual object."), and a lead may name another source ("Subtracting the second
equation"). What `stated_above` requires of the equations is required here too; the document has no likely slip in them,
and the step is not one of them with a change.
"""

from __future__ import annotations

from dataclasses import replace

from attention_core.derivation.decision.mends import Mend, Search
from attention_core.derivation.decision.slips import find_likely_slip, find_slip
from attention_core.derivation.decision.stated_above import (
    MAX_USED,
    RESULT,
    Decide,
    assume_equations,
    drop_needless,
    is_result,
    iterate_links,
    may_be_value,
    relation_of,
    varies,
)
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import ShapeMismatch


def mark_by_equations(step: Step, found: Finding, decide: Decide, search: Search) -> Finding:
    """The finding on a step that is left open, with the one change by which it follows from the equations above.

    Args:
        step: The step.
        found: What was found of it.
        decide: Decides a step under some more hypotheses, as it is read.
        search: The time of a search for slips.
    """
    slip, used = find_slip_below(step, decide, search)
    if slip is None:
        return found
    lines = " and ".join(f"line {one.line}" for one in used[::-1])
    mark = {"slip": f"{slip.words}, by what {lines} states", "under": [one.line for one in used[::-1]]}
    figures = {**found.evidence.figures, **mark}
    return replace(found, evidence=replace(found.evidence, figures=figures))


def find_slip_below(step: Step, decide: Decide, search: Search) -> tuple[Mend | None, list[Step]]:
    """The change by which a step follows from the equations above it, and these; None and [] if there is none.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
        search: The time of a search for slips.
    """
    if step.op != "=" or may_be_value(step) or varies(step):
        return None, []
    above = list(iterate_links(step))[:MAX_USED] if _has_lead(step) else []

    def holds(one: Step) -> bool:
        try:
            return decide(one, ()).verdict in GOOD
        except (Unreadable, ShapeMismatch, Unsettled):
            return False

    for count in range(1, len(above) + 1):
        slip = find_slip(assume_equations(step, above[:count]), decide, search)
        if slip is None:
            continue
        alone = replace(slip.step, assumed=step.assumed)
        if holds(alone) or relation_of(alone) in map(relation_of, above):
            return None, []
        used = drop_needless(alone, above[:count], holds)
        slips = (find_likely_slip(one, decide, search) for one in used)
        return (slip, used) if is_result(step, used) and not any(slips) else (None, [])
    return None, []


def _has_lead(step: Step) -> bool:
    """Whether the last words above a step lead to it as to a result."""
    above = [one for one in step.far_words if one.line <= step.line and not one.title]
    nearest = max((one.line for one in above), default=0)
    return any(RESULT.search(one.words) for one in above if one.line == nearest)


__all__ = ["find_slip_below", "mark_by_equations"]
