"""Dropping hypotheses one by one.

Which hypotheses of a step are needed: each is dropped in turn and a counterexample is looked for.
"Not shown to be needed" is all that can be said where none is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attention_core.derivation.cases.counterexamples import describe
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims.claim import claim_of
from attention_core.derivation.cpu_limit import OutOfTime, ceiling
from attention_core.derivation.decision.decide import decide
from attention_core.derivation.effort import CEILING, Effort
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.steps import Step
from attention_core.derivation.records import Verdict
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.terms import Relation, ShapeMismatch


def necessity(step: Step, effort: Effort) -> list[dict[str, Any]]:
    """One record for each hypothesis of a step: its text, whether it is needed, the counterexample without it."""
    try:
        context, claim, extra = claim_of(step)
    except (Unreadable, ShapeMismatch, RecursionError):
        return []
    out = []
    for text, line, without, rest in _without_one(context, claim, extra):
        try:
            with ceiling(CEILING * effort.seconds):
                found = decide(Problem(without, claim, rest, effort))
        except (Unsettled, OutOfTime):  # without it, nothing here could decide the step
            continue
        needed = found.verdict is Verdict.REFUTED and found.counterexample is not None
        at = describe(found.counterexample.values) if needed and found.counterexample is not None else ""
        out.append({"hypothesis": text, "line": line, "needed": needed, "without": str(found.verdict), "at": at})
    return out


def _without_one(
    context: Context, claim: Relation, extra: list[Relation]
) -> Iterator[tuple[str, int, Context, list[Relation]]]:
    """Text, line, context and own hypotheses of the step, each time with one hypothesis less."""
    try:
        used = {id(r) for r in Problem(context, claim, extra).hypotheses}
    except Unsettled:
        return
    for place, hypothesis in enumerate(context.hypotheses):
        if id(hypothesis.relation) in used:
            less = context.copy()
            less.hypotheses = [h for k, h in enumerate(context.hypotheses) if k != place]
            yield hypothesis.text, hypothesis.line, less, extra
    names = {n for r in (claim, *extra) for n in relation_names(context, r)}
    for name in sorted(names):
        symbol = context.symbols[name]
        if symbol.lower is None and symbol.upper is None:
            continue
        less = context.copy()
        less.symbols[name] = replace(symbol, lower=None, upper=None)
        yield f"the interval of {name}", symbol.line, less, extra
    for place, relation in enumerate(extra):
        if relation.op != "test":
            yield f"hypothesis {place + 1} of the step", relation.line, context, [*extra[:place], *extra[place + 1 :]]
