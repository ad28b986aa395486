r"""Sides that touch at a point that no number of ours hits, as in $(x^2 - 2)^2 + (y^2 - 3)^2 > 0$.

A claim that two sides are never equal may fail at irrational numbers alone, where no exact comparison reaches. Where
a descent in float64 brings the sides together at an inner point, and they part all around it, they may be equal there:
then such a claim neither holds nor fails as far as it is known.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpq

from attention_core.derivation.cases.admissible import NoCase
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import Imprecise, ball, columns, evaluate, precision
from attention_core.derivation.records import Evidence, Finding, Verdict
from attention_core.derivation.search.targeted import HEAVY, Search, numbers, search_of, starting_points

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem

MOST_FREE = 6  # entries that are moved
STARTS = 16
HALVINGS = 56
SITES = 3
SHARE = 0.05  # of a step's time
AWAY = 0.03  # how far off the sides are looked at again, relatively
CLOSE = 1e-10  # how much closer they are at the point: a double zero in float64 is 1e-16 / AWAY^2
INNER = 1e-6
BITS = 4096  # at 1000 the sigmoid is 1 to 1442 bits


def search_touching(problem: Problem) -> Finding | None:
    """Look for a point at which two sides that never meet seem to; UNDECIDED there.

    Args:
        problem: A strict inequality, or one with \\ne, that no case refutes.
    """
    sides = (problem.claim.left, problem.claim.right)
    if problem.claim.op not in ("<", ">", "!=") or problem.moves:
        return None
    if any(t.op in HEAVY for side in sides for t in side.walk()):
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    for site in [one for one in problem.sites.values() if one is not None][:SITES]:
        try:
            search = search_of(problem, site)
        except TooLarge:
            continue
        if search is None or len(search.made.free) > MOST_FREE or time.process_time() > end:
            continue
        if found := _touch(problem, search, end):
            return found
    return None


def _touch(problem: Problem, search: Search, end: float) -> Finding | None:
    points = starting_points(search, numbers(problem))
    if not points.shape[1]:
        return None
    gaps = _gaps(search, points)
    chosen = np.argsort(gaps)[: STARTS // 2].tolist() + search.rng.integers(0, points.shape[1], STARTS // 2).tolist()
    points, gaps = _descend(search, points[:, chosen].copy(), gaps[chosen], end)
    for place in np.argsort(gaps)[:4]:
        point = points[:, place]
        if np.isfinite(gaps[place]) and _is_inner(search, point) and _parts(search, point):
            return _finding(problem, search, point, float(gaps[place]))
    return None


def _parts(search: Search, point: Any) -> bool:
    """Whether the sides are far apart on both sides of a point along some axis, with more bits than float64 has.

    Where they only approach each other, as 1 and the sigmoid do, they come closer still on one side.
    """
    here = _exact_gap(search, point)
    around = [_exact_gap(search, one) for one in _around(point, AWAY).T]
    pairs = zip(around[: len(point)], around[len(point) :], strict=True)
    return here is not None and any(
        a is not None and b is not None and min(a, b) > 0 and here <= CLOSE * min(a, b) for a, b in pairs
    )


def _exact_gap(search: Search, point: Any) -> arb | None:
    """How far the sides are apart, None where it is not a case or cannot be evaluated."""
    free = {n: fmpq(*float(v).as_integer_ratio()) for n, v in zip(search.made.free, point, strict=True)}
    try:
        case = search.made.case(free)
        with precision(BITS):
            pairs = search.site.pairs
            values = evaluate(search.site.low.graph, [n for p in pairs for n in p], case, search.site.order)
            return max(abs(ball(a) - ball(b)).abs_upper() for a, b in zip(values[::2], values[1::2], strict=True))
    except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return None


def _gaps(search: Search, points: Any) -> Any:
    """How far the sides are apart at each point, infinite where it is not a case; of more entries the farthest."""
    values = {n: points[k].copy() for k, n in enumerate(search.made.free)}
    good = search.made.fill(values)
    found = columns(search.site.low.graph, search.site.order, values)
    with np.errstate(all="ignore"):
        apart: Any = np.max([np.abs(found[a] - found[b]) + np.zeros(points.shape[1]) for a, b in search.site.pairs], 0)
    return np.where(good & np.isfinite(apart), apart, np.inf)


def _descend(search: Search, points: Any, gaps: Any, end: float) -> tuple[Any, Any]:
    """Move along the axes and in drawn directions as long as the sides come closer, with shorter and shorter steps."""
    count, rows = points.shape[1], points.shape[0]
    step = np.full(count, 0.25)
    for _ in range(4 * HALVINGS):
        if time.process_time() > end or np.max(step) < 2.0**-HALVINGS:
            break
        drawn = search.rng.standard_normal((rows, 2)) if rows > 1 else np.zeros((rows, 0))
        ways = np.concatenate([np.eye(rows), drawn], axis=1)
        ways = np.concatenate([ways, -ways], axis=1)
        scale = step * (1.0 + np.max(np.abs(points), axis=0))
        trial = points[:, :, None] + scale[None, :, None] * ways[:, None, :]
        found = _gaps(search, trial.reshape(rows, -1)).reshape(count, -1)
        best = np.argmin(found, axis=1)
        every = np.arange(count)
        better = found[every, best] < gaps
        points = np.where(better[None, :], trial[:, every, best], points)
        gaps = np.where(better, found[every, best], gaps)
        step = np.where(better, np.minimum(2 * step, 1.0), step / 2)
    return points, gaps


def _around(point: Any, share: float) -> Any:
    """Points beside one along each axis."""
    shift = np.diag(share * (1.0 + np.abs(point)))
    return np.concatenate([point[:, None] + shift, point[:, None] - shift], axis=1)


def _is_inner(search: Search, point: Any) -> bool:
    """Whether no border is close: under x > 0 or x != y the sides may meet at what is excluded."""
    if not np.all(np.isfinite(_gaps(search, _around(point, INNER)))):
        return False
    strict = [c for c in (*search.site.plan.constraints, *search.site.plan.checks) if c.op in ("!=", "<", ">")]
    values = {n: np.array([v]) for n, v in zip(search.made.free, point, strict=True)}
    search.made.fill(values)
    found = [columns(search.site.low.graph, c.order, values)[c.difference] for c in strict if c.leaves]
    return all(abs(float(np.ravel(one)[0])) > INNER for one in found)


def _finding(problem: Problem, search: Search, point: Any, gap: float) -> Finding:
    entries = search.site.plan.entries
    at = ", ".join(f"{entries[n][0].name}: {v:.10g}" for n, v in zip(search.made.free, point, strict=True))
    text = (
        f"the two sides come within {max(gap, 1e-16):.1g} of each other near {at}, and part around it: whether they "
        "are equal there, so that it fails, was not decided"
    )
    advice = r"write \le or \ge, or exclude the point"
    return Finding(Verdict.UNDECIDED, Evidence(text, {"cases": problem.tally.cases}, advice))
