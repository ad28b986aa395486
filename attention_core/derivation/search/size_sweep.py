"""Claims about sizes and indices alone, at very many of their tuples: all up to many thousands, where that is cheap.

A claim such as $2^n > n^4 - 70000$ may fail at a few sizes that no ladder meets, and a sum with alternating signs at
every second one. Sizes are looked at in float64, all together; the most promising are compared exactly. Two sides
that are to differ meet at few places, far apart: for equations between whole numbers, these are looked for along the
directions in which their leading forms vanish (solutions of Pell's equation are convergents of a square root).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.lowering.block_arrays import Unsupported
from attention_core.derivation.records import Finding
from attention_core.derivation.search.columns_of_terms import TESTS, TermColumns, size_column
from attention_core.derivation.search.huge import Spot
from attention_core.derivation.search.huge_search import Point, judge_point

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem

Columns = dict[str, Any]
ALL = {1: (200_000, 20_000, 2_000), 2: (300, 60), 3: (40, 12)}  # tuples up to these, the largest that is not too many
LONG = 40_000  # one size up to here, beside small others
CERTIFIED = 6  # tuples that are compared exactly
EACH = 40_000  # terms of a sum that are taken one by one
SURE = 1e-9  # a gap that float64 calls one
_LEAST = {"!=": -1e-12, "<": 0.0, ">": 0.0}  # gaps that may be one, by relation


def size_sweep(problem: Problem) -> Finding | None:
    """Search many tuples of sizes; the finding if one refutes."""
    names = [*problem.tuples.sizes, *problem.tuples.indices]
    if problem.symbols or problem.moves or problem.claim.op not in TESTS or not 0 < len(names) <= 3:
        return None
    if not problem.tuples.sizes or not problem.claim.left.type.scalar:
        return None
    reached: dict[str, int] = {}
    for columns in _grids(problem, names):
        if time.process_time() > problem.deadline:
            return None
        try:
            gaps = _gaps(problem, columns)
        except (Unsupported, KeyError):
            return None
        except (TooLarge, OverflowError, ValueError):
            continue
        failing = np.flatnonzero(gaps >= _LEAST.get(problem.claim.op, SURE))
        if found := _certify(problem, columns, gaps, failing):
            return found
        if not reached and not len(failing):  # where float64 sees no difference, it has not seen that they agree
            reached = {name: int(columns[name].max()) for name in problem.tuples.sizes}
    problem.tally.swept = reached
    return None


def _grids(problem: Problem, names: list[str]) -> Iterator[Columns]:
    """Tuples as columns: all up to some size, and one size farther up beside small others."""
    for most in ALL[len(names)]:
        axes = [np.arange(1, most + 1, dtype=float) for _ in names]
        yield dict(zip(names, (a.ravel() for a in np.meshgrid(*axes, indexing="ij")), strict=True))
    if len(names) == 2:
        for way in range(2):
            pair = np.meshgrid(np.arange(1, LONG + 1, dtype=float), np.arange(1, 5, dtype=float), indexing="ij")
            yield dict(zip(names, (a.ravel() for a in pair[:: 1 if way else -1]), strict=True))


def _gaps(problem: Problem, columns: Columns) -> Any:
    """How far each tuple is from holding, relatively: above 0 where it fails, minus infinity where it is not a case."""
    at = TermColumns()
    count = len(next(iter(columns.values())))
    with np.errstate(all="ignore"):
        good: Any = np.ones(count, dtype=bool)
        for relation in problem.hypotheses:
            if relation.over or relation.op not in TESTS:
                raise Unsupported
            good &= TESTS[relation.op](at.of(relation.left, columns), at.of(relation.right, columns))
        for name in problem.tuples.indices:
            symbol = problem.context.symbols[name]
            assert symbol.lowest is not None and symbol.highest is not None
            good &= columns[name] >= size_column(symbol.lowest, columns)
            good &= columns[name] <= size_column(symbol.highest, columns)
        left, right = (at.of(side, columns) for side in (problem.claim.left, problem.claim.right))
        if problem.claim.op in (">", ">="):
            left, right = right, left
        size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
        gap = np.where(left == right, 0.0, (left - right) / size)
        gap = {"=": np.abs(gap), "!=": -np.abs(gap)}.get(problem.claim.op, gap)
        return np.where(good & np.isfinite(gap), np.broadcast_to(gap, (count,)), -np.inf)


def _certify(problem: Problem, columns: Columns, gaps: Any, failing: Any) -> Finding | None:
    """The finding if one of the most promising tuples, and of the smallest that look false, refutes."""
    total = sum(columns[n][failing] for n in problem.tuples.sizes)
    first = failing[np.argsort(total, kind="stable")[: CERTIFIED // 2]]
    worst = failing[np.argsort(-gaps[failing], kind="stable")[: CERTIFIED // 2]]
    for place in dict.fromkeys([*first, *worst]):
        env = {name: int(column[place]) for name, column in columns.items()}
        if found := exactly(problem, env):
            return found
    return None


def exactly(problem: Problem, env: dict[str, int]) -> Finding | None:
    """The finding if one tuple refutes when it is compared exactly."""
    if any(env[n] < 1 for n in problem.tuples.sizes) or not problem.tuples.feasible(env):
        return None
    sizes: dict[str, Any] = {n: env[n] for n in problem.tuples.sizes}
    point = Point(sizes, {n: Spot(env[n], env[n]) for n in problem.tuples.indices}, 0, (0,), ())
    found = judge_point(problem, point) or judge_point(problem, point, each=EACH)
    return found if isinstance(found, Finding) else None


__all__ = ["exactly", "size_sweep"]
