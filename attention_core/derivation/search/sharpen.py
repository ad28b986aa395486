"""A few cases compared with many bits.

An equation that agrees to 64 bits may still be false: 1 + e^{-100} = 1. A few of its cases are compared once more
with far more bits, where nothing has proved it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from attention_core.derivation.cases.counterexamples import refutation
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import MAX_PRECISION, Imprecise

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem
    from attention_core.derivation.records import Finding

SITES, CASES = 8, 3
SHORT = 60  # operations of a step that is compared with still more bits
SHARPEST = 4 * MAX_PRECISION
NODES = 2_000
SHARE = 0.05  # of a step's time, as the last resort


def sharpen(problem: Problem) -> Finding | None:
    """Compare a few cases with many bits; the finding if one refutes."""
    if problem.claim.op not in ("=", "<=", ">=") or problem.moves or not problem.tally.bits:
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    sites = [site for site in problem.sites.values() if site is not None and len(site.order) <= NODES]
    for site in sites[:: max(1, len(sites) // SITES)]:
        bits = SHARPEST if len(site.order) <= SHORT else MAX_PRECISION
        for number in range(CASES):
            if time.process_time() > end:
                return None
            _, case = problem.case(site.plan, problem.effort.seed * 1_000_003 + number)
            if case is None:
                break
            try:
                outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=bits, start=bits)
            except (Undefined, Imprecise, TooLarge):
                continue
            if outcome.holds is False:
                return refutation(problem, site, case, outcome)
    return None


__all__ = ["sharpen"]
