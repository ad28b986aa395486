"""Proof stages.

From agreement to EXACT or PROVED: normal forms at every small tuple of sizes, rewriting for all sizes.
A stage here may only raise AGREES, and only by a complete argument; sampling never gets further.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.proofs.all_sizes import RULE
from attention_core.derivation.proofs.modular import at_large_size
from attention_core.derivation.proofs.shortcuts import identical, is_ordered_everywhere, is_proved_everywhere
from attention_core.derivation.proofs.size_degree import enough_sizes
from attention_core.derivation.proofs.size_signs import RULE as SIGNS
from attention_core.derivation.records import Evidence, Verdict
from attention_core.derivation.search.trials import search_cases
from attention_core.derivation.terms.relevance import relation_names

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem
    from attention_core.derivation.records import Finding
    from attention_core.derivation.terms.terms import Relation

SHARE = 0.19  # of a step's time
MOST_TUPLES = 90
MOST_SIZES = 12
SUMS = frozenset({"reduce", "norm", "matmul"})  # operations that sum over a dimension


def prove(problem: Problem, found: Finding) -> Finding:
    """The finding, raised where a proof stage closes the claim."""
    if found.verdict is not Verdict.AGREES:
        return found
    if is_proved_everywhere(problem) or is_ordered_everywhere(problem):
        rule = RULE if is_proved_everywhere(problem) else SIGNS
        text = f"holds for all sizes and values where both sides are defined (rule: {rule}); {found.evidence.text}"
        return replace(found, verdict=Verdict.PROVED, evidence=Evidence(text, {**found.evidence.figures, "rule": rule}))
    if problem.claim.op not in ("=", "<=", ">="):
        return found
    deadline = min(time.process_time() + SHARE * problem.effort.seconds, problem.deadline)
    sizes = problem.tuples.sizes
    needed = _count_sizes_for_exact(problem)
    proved = 0
    for k in range(1, max(3, needed or 0) + 1) if sizes else (1,):
        envs = problem.tuples.first_few(k, MOST_TUPLES)
        outcomes = [_exact_at(problem, env, deadline) for env in envs or []]
        if envs is None or False in outcomes:
            break
        proved = k if True in outcomes else proved
    if not proved or (sizes and (proved < 2 or needed is None or proved < needed)):
        return with_large_sizes(problem, found)
    figures = dict(found.evidence.figures)
    if not sizes and not problem.tuples.indices:
        figures["rule"] = "exact expansion"
        text = (
            "both sides have the same normal form, and no size occurs (rule: exact expansion); " + found.evidence.text
        )
        return replace(found, verdict=Verdict.PROVED, evidence=Evidence(text, figures))
    figures["sizes"] = proved
    what = "reduces to 0" if problem.claim.op == "=" else "is seen not to change sign"
    text = f"with symbolic entries the difference {what}{_where(problem, proved)}; {found.evidence.text}"
    return with_large_sizes(problem, replace(found, verdict=Verdict.EXACT, evidence=Evidence(text, figures)))


def _count_sizes_for_exact(problem: Problem) -> int | None:
    """How many values of each size make EXACT; None where what holds at some sizes says nothing about others.

    An equation is settled by its degree in the sizes as numbers; an inequality may fail at the next size, so that one
    without sizes alone is EXACT here (one with sizes may be PROVED by its signs).
    """
    claim, context = problem.claim, problem.context
    if not problem.tuples.sizes:
        return 1
    if claim.op != "=":
        names = relation_names(context, claim)
        return None if any(context.symbols[n].kind == "size" for n in names) else 1
    own = [h for h in problem.hypotheses if not problem.tuples.whole(h)]
    equations = [h for h in own if h.op == "="]
    needed = enough_sizes(context, claim, bool(equations))
    if any(_ties_entries(h) for h in equations):
        return None
    return needed if needed is not None and needed <= MOST_SIZES else None


def _ties_entries(hypothesis: Relation) -> bool:
    """Whether an equation between numbers ties the entries of arrays: small sizes then say nothing about larger ones.

    Under sum p_i = 1 and sum p_i^2 = 1 two entries are 0 and 1, and p_i^2 = p_i; three can be 2/3, 2/3, -1/3. Under
    sum x_i = sum x_i^3 = 0 four entries cancel in pairs, and five need not.
    """
    sides = (hypothesis.left, hypothesis.right)
    return hypothesis.left.type.scalar and any(t.op in SUMS for side in sides for t in side.walk())


def _where(problem: Problem, count: int) -> str:
    """The sizes that were settled, in words."""
    lowest = {n: problem.tuples.lowest(n) for n in problem.tuples.sizes}
    if all(low == 1 for low in lowest.values()):
        return f" at all sizes up to {count}"
    message = ", ".join(f"{n} = {low}, ..., {low + count - 1}" for n, low in lowest.items())
    return f" at all allowed sizes among {message}"


def with_large_sizes(problem: Problem, found: Finding) -> Finding:
    """The finding, with what a larger size says modulo a prime; a difference there is shown at a point."""
    large = at_large_size(problem) if problem.tuples.sizes else None
    if large is None:
        return found
    where = ", ".join(f"{n} = {v}" for n, v in large.sizes.items())
    if large.differs:
        text = f"modulo 2^61 - 1 the two sides differ at {where}, but no point that shows it was found"
        undecided = replace(found, verdict=Verdict.UNDECIDED, evidence=Evidence(text))
        return search_cases(problem, large.site, 20) or undecided
    text = f"{found.evidence.text}; modulo 2^61 - 1 both sides agree at {where}, where a difference is missed"
    text += f" with probability {large.missed:.1g} at most"
    figures = {**found.evidence.figures, "modular": {"sizes": large.sizes, "missed": large.missed}}
    return replace(found, evidence=Evidence(text, figures))


def _exact_at(problem: Problem, env: dict[str, int], deadline: float) -> bool | None:
    """Whether the claim is exact at these sizes; None where they admit no case."""
    if time.process_time() > deadline:
        return False
    try:
        site = problem.site(env)
        return None if site is None else identical(site, deadline, problem.claim.op)
    except TooLarge:
        return False
