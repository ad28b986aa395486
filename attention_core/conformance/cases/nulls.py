"""The power of a case: which null models it could tell from the truth, given the budget of the output.

A case on which no wrong answer would stand out says nothing, however well it agrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attention_core import oracle
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.null_models import NULLS, Problem
from attention_core.conformance.worker.exchange import NDArray

MINIMUM: Mapping[str, int] = {"quick": 2, "standard": 10, "thorough": 50}
"""How many problems of a run must separate every null model that is relevant to the run, by effort."""
SEPARATION = 4.0
"""A null model stands out where its float64 result is further from the truth than this many budgets."""


@dataclass(frozen=True)
class Power:
    """What one case can tell apart.

    Args:
        relevant: null model -> problems (slices) whose truth it misses.
        separated: null model -> those of them where the budget lets it be seen.
        judged: slices on which at least one null model is seen.
    """

    relevant: Mapping[str, int]
    separated: Mapping[str, int]
    judged: int


def relevant(null: str, case: Case) -> bool:
    """Whether what the null model gets wrong is present in the case, e.g. a mask for an ignored mask."""
    return NULLS[null][1](case)


def noise(p: Problem) -> NDArray:
    """Float64 rounding of truth and null model, (B, H).

    2 (n_kv + d + 8) u (1 + max|b| + |scale| d max|q| max|k|) max|v|: sums over d and over n_kv, twice.
    """
    case = p.case
    _, n_kv, d, _, _, _ = case.sizes
    key = np.repeat(np.abs(case.key).max(axis=(-2, -1)), case.group, axis=-1)
    bias = 0.0
    if case.mask is not None and case.mask.dtype != bool:
        bias = float(np.abs(np.where(np.isfinite(case.mask), case.mask, 0.0)).max(initial=0.0))
    size = 1 + bias + abs(p.scale) * d * np.abs(case.query).max(axis=(-2, -1)) * key
    return np.asarray(2 * (n_kv + d + 8) * 2.0**-53 * size * np.abs(p.value()).max(axis=(-2, -1)))


def power(case: Case, truth: oracle.Truth, bound: NDArray, alignment: str = "top_left") -> Power:
    """Hold every null model against the truth, slice by slice.

    Args:
        case: the problems. truth: theirs. bound (B, H, n_q, d_v): the error budget of the output.
        alignment: of causality, as declared.
    """
    p = Problem(case, truth, alignment)
    live = ~truth.dead[..., None]
    found: dict[str, int] = {}
    seen: dict[str, int] = {}
    judged = np.zeros(case.query.shape[:-2], dtype=bool)
    if not truth.out.size or not truth.scores.size:
        return Power({}, {}, 0)
    floor = noise(p)
    for name, (make, applies) in NULLS.items():
        if not applies(case):
            continue
        distance = np.where(live, np.abs(make(p) - truth.out), 0.0)
        differs = distance.max(axis=(-2, -1)) > floor
        apart = (distance > SEPARATION * bound).any(axis=(-2, -1)) & differs
        found[name], seen[name] = int(differs.sum()), int(apart.sum())
        judged |= apart
    return Power(found, seen, int(judged.sum()))


def count_separations(case: Case, truth: oracle.Truth, bound: NDArray, alignment: str = "top_left") -> dict[str, int]:
    """Null model -> number of slices of the case that separate it from the truth."""
    return dict(power(case, truth, bound, alignment).separated)
