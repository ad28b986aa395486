"""The places where a relation is tried.

A relation at one tuple of sizes and indices, ready to be compared at cases.
Values that no precision can tell apart are told from those that a case was merely drawn too large for.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from attention_core.derivation.graph.numbers import MAX_PRECISION, Case, Imprecise, evaluate, exact, precision
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.lowering.plans import CasePlan

ORDINARY = 5  # larger values are drawn in some cases only


@dataclass
class Site:
    """A relation at one tuple of sizes and indices: its graph, how cases are made, the pairs to compare."""

    env: dict[str, int]
    low: Lowering
    plan: CasePlan
    pairs: list[tuple[int, int]]
    order: list[int]
    identical: bool | None = None


def is_outsized(site: Site, case: Case) -> bool:
    """Whether a case was drawn large, or has a side that is beyond all numbers."""
    if any(isinstance(v, fmpq) and abs(v) > ORDINARY for v in case.values()):
        return True
    try:
        with precision(MAX_PRECISION):
            values = evaluate(site.low.graph, [n for p in site.pairs for n in p], case, site.order)
    except Imprecise:
        return False
    return any(not exact(v) and (not v.is_finite() or _beyond(v)) for v in values)


def _beyond(value: arb) -> bool:
    """Whether a ball at the highest precision has no certain digit and reaches further than its bits count."""
    return bool(value.rel_accuracy_bits() <= 0 and value.abs_upper() > arb(2) ** MAX_PRECISION)
