r"""Sides that meet at irrational points, which no number of ours hits.

Zeros: $e^x + x \ne 0$ and $(\cos x - x)^2 > 0$ fail at an irrational point. Of one real variable a continuous function
that changes its sign has a zero in between. So a step that says that a difference is never zero is refuted by an
interval: the signs at its ends are certain, and on all of it ball arithmetic evaluates every part of the step by
continuous operations alone.

Sides that touch, as in $(x^2 - 2)^2 + (y^2 - 3)^2 > 0$, may be equal where no exact comparison reaches. Where a descent
in float64 brings the sides together at an inner point, and they part all around it, such a claim neither holds nor
fails as far as it is known.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpq

from attention_core.derivation.cases.generate import Completion, NoCase, completion
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined
from attention_core.derivation.graph.numbers import COMPARE, Imprecise, ball, columns, evaluate, precision, sign_of
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict
from attention_core.derivation.search.targeted import HEAVY, Search, numbers, search_of, starting_points

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site


CONTINUOUS = frozenset(
    {"const", "leaf", "add", "mul", "inv", "powi", "pow", "exp", "log", "sqrt", "abs", "max", "min", "pi", "sin", "cos",
     "arctan", "arcsin", "erf", "erfc"}
)  # fmt: skip
GRID = [fmpq(k, 4) for k in range(-80, 81)] + [fmpq(sign * k) for k in (50, 100, 1000) for sign in (-1, 1)]
HALVINGS = 60
BITS = 256
SITES = 3


def search_sign_changes(problem: Problem) -> Finding | None:
    """Look for an interval with a zero; the finding if one refutes."""
    if problem.claim.op not in ("!=", "<", ">") or problem.moves:
        return None
    sites = [one for one in problem.sites.values() if one is not None and len(one.pairs) == 1]
    for site in sites[:SITES]:
        entries = site.plan.entries.values()
        made = completion(site.plan) if len(entries) == 1 else None
        if made is None or made.steps or len(made.free) != 1 or any(symbol.values for symbol, _ in entries):
            continue
        if any(site.low.graph.ops[node] not in CONTINUOUS for node in site.order):
            continue
        if time.process_time() < problem.deadline and (found := _search(problem, site, made)):
            return found
    return None


def _search(problem: Problem, site: Site, made: Completion) -> Finding | None:
    signs = [(at, sign) for at in sorted(GRID) if (sign := _sign(problem, site, made, at))]
    for (low, before), (high, after) in pairwise(signs):
        if before * after < 0:
            ends = _narrow(problem, site, made, low, high, before)
            if _is_continuous(site, made, *ends):
                return _refute(problem, site, made, *ends)
    return None


def _values(site: Site, made: Completion, roots: list[int], at: fmpq | arb) -> list[fmpq | arb]:
    (leaf,) = made.free
    with precision(BITS):
        return evaluate(site.low.graph, roots, {leaf: at})


def _sign(problem: Problem, site: Site, made: Completion, at: fmpq) -> int:
    """The sign of what must not be zero at an admissible point; 0 where it is not known."""
    (leaf,) = made.free
    try:
        made.case({leaf: at})
        left, right = _values(site, made, _sides(problem, site), at)
        with precision(BITS):
            return sign_of(left - right)
    except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return 0


def _sides(problem: Problem, site: Site) -> list[int]:
    """What must differ: the two sides, or the base of an even power and 0."""
    ((left, right),) = site.pairs
    if problem.claim.op == "!=":
        return [left, right]
    power, zero = (left, right) if problem.claim.op == ">" else (right, left)
    return [_base(site.low.graph, power), zero] if _is_zero(site.low.graph, zero) else [left, right]


def _base(graph: Graph, node: int) -> int:
    even = graph.ops[node] == "powi" and graph.data[node] % 2 == 0 and graph.data[node] > 0
    return graph.args[node][0] if even else node


def _is_zero(graph: Graph, node: int) -> bool:
    return graph.ops[node] == "const" and graph.data[node] == 0


def _narrow(problem: Problem, site: Site, made: Completion, low: fmpq, high: fmpq, before: int) -> tuple[fmpq, fmpq]:
    """A shorter interval with the same signs at its ends."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        sign = _sign(problem, site, made, middle)
        if sign == 0:
            break
        low, high = (middle, high) if sign == before else (low, middle)
    return low, high


def _is_continuous(site: Site, made: Completion, low: fmpq, high: fmpq) -> bool:
    """Whether each part of the step is defined on all of an interval, and so is a continuous function there.

    Intervals of declarations hold between their points; all other hypotheses are compared on all of the interval.
    """
    more = [c for c in (*site.plan.constraints, *site.plan.checks) if c.leaves]
    try:
        with precision(BITS):
            whole = arb(low).union(arb(high))
        found = _values(site, made, [*site.pairs[0], *(c.difference for c in more)], whole)
        with precision(BITS):
            holds = all(COMPARE[c.op](sign_of(value)) for c, value in zip(more, found[2:], strict=True))
        return holds and all(ball(one).is_finite() for one in found)
    except (Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return False


def _refute(problem: Problem, site: Site, made: Completion, low: fmpq, high: fmpq) -> Finding:
    (symbol, _) = site.plan.entries[made.free[0]]
    near = [f"{float(end.p) / float(end.q):.15g}" for end in (low, high)]
    between = near[0] if near[0] == near[1] else f"between {near[0]} and {near[1]}"
    close = {name: value for name, value in site.env.items() if name in problem.close}
    left, right = (
        ball(one).str(12, radius=False) for one in _values(site, made, list(site.pairs[0]), (low + high) / 2)
    )
    text = (
        f"both sides are equal at one {symbol.name} near {near[0]}: their difference changes its sign there, and is "
        "continuous"
    )
    example = Counterexample({**close, symbol.name: between}, left, right)
    return Finding(Verdict.REFUTED, Evidence(text, {"cases": problem.tally.cases + 1}), example)


MOST_FREE = 6  # entries that are moved
STARTS = 16
TOUCHING_HALVINGS = 56
SHARE = 0.05  # of a step's time
AWAY = 0.03  # how far off the sides are looked at again, relatively
CLOSE = 1e-10  # how much closer they are at the point: a double zero in float64 is 1e-16 / AWAY^2
INNER = 1e-6
TOUCHING_BITS = 4096  # at 1000 the sigmoid is 1 to 1442 bits


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
            return _doubt(problem, search, point, float(gaps[place]))
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
        with precision(TOUCHING_BITS):
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
    for _ in range(4 * TOUCHING_HALVINGS):
        if time.process_time() > end or np.max(step) < 2.0**-TOUCHING_HALVINGS:
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


def _doubt(problem: Problem, search: Search, point: Any, gap: float) -> Finding:
    entries = search.site.plan.entries
    at = ", ".join(f"{entries[n][0].name}: {v:.10g}" for n, v in zip(search.made.free, point, strict=True))
    text = (
        f"the two sides come within {max(gap, 1e-16):.1g} of each other near {at}, and part around it: whether they "
        "are equal there, so that it fails, was not decided"
    )
    advice = r"write \le or \ge, or exclude the point"
    return Finding(Verdict.UNDECIDED, Evidence(text, {"cases": problem.tally.cases}, advice))
