"""Values that Newton's method finds where equations tie the symbols of a step together.

Cases satisfy the hypotheses by construction, and what is easily built may be special: eigenvectors of a diagonal
matrix, projections that commute, the one solution at n = 1. From random starts Newton's method finds solutions without
that bias, in float64. Where an inequality holds at all of them, they climb along the solutions to where it is
tightest, at larger sizes as well: of n standardised numbers one may be as large as the root of n - 1. Where the sides
of a claim clearly differ at such a point, an exact solution near it that is proved to exist refutes; where none is,
nothing is refuted, but the claim is not accepted either.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attention_core.derivation.cases.counterexamples import WORDS, case_values, describe
from attention_core.derivation.graph.nodes import TooLarge, Undefined, Unsettled, gradients
from attention_core.derivation.graph.numbers import columns, is_supported
from attention_core.derivation.records import Evidence, Finding, Verdict
from attention_core.derivation.search.certified_points import certify

if TYPE_CHECKING:
    import numpy as np

    from attention_core.derivation.cases.problem import Problem, Site
    from attention_core.derivation.lowering.plans import Constraint

    Array = np.ndarray[Any, np.dtype[np.float64]]

SITES = 3
WIDE = (6, 12, 32)  # sizes at which an inequality is looked at, too; an equation at the first one
CLIMBERS = 8
CLIMBS = 24
NEAR_STEPS = 8  # of Newton's after a climb
PACE = 0.8  # how much shorter each climb is than the one before, from 1 on
NUDGE = 1e-6
STARTS = 32
STEPS = 30
LEAVES = 40  # of one site
NODES = 6_000  # operations of the equations and their derivatives
SHARE = 0.1  # of a step's time
SOLVED = 1e-10  # residual, beside 1 and the largest entry
SETTLED = 1e-8  # the last step, so that a double root, which is approached by halves, is not taken for another point
CLEAR = 1e-4  # the sides, beside 1 and themselves: far above what a solution of that residual can be off
LARGEST = 1e3
TRIED = 4  # points near which an exact solution is looked for
DIGITS = 4
_UPHILL = {"<": 1, "<=": 1, ">": -1, ">=": -1}  # where an inequality is tighter


@dataclass
class System:
    """The equations of one site in float64: nodes of their residuals and of their derivatives by each leaf."""

    site: Site
    equations: list[Constraint]
    leaves: list[int]
    slopes: list[list[int]]
    order: list[int]

    def values(self, points: Array) -> tuple[Array, Array]:
        """Residuals (starts, equations) and derivatives (starts, equations, leaves) at points (starts, leaves)."""
        import numpy as np

        found = columns(self.site.low.graph, self.order, dict(zip(self.leaves, points.T, strict=True)))
        count = len(points)

        def rows(nodes: list[int]) -> Array:
            table = np.empty((count, len(nodes)))
            for place, node in enumerate(nodes):
                table[:, place] = found[node]
            return table

        slopes = rows([n for row in self.slopes for n in row])
        return rows([c.difference for c in self.equations]), slopes.reshape(count, len(self.equations), -1)


def search_solved_points(problem: Problem) -> Finding | None:
    """Look for solutions of the hypotheses at which the claim fails.

    Args:
        problem: The problem, after its cases agreed.

    Returns:
        A refutation, or an UNDECIDED finding with the clearest point; None if there is none or the equations are of a
        kind that is solved without bias (definitions, lengths and right angles, linear ones).
    """
    if problem.moves or problem.claim.op in ("->", "!=") or all(h.op != "=" for h in problem.hypotheses):
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    for env in _choose_sizes(problem):
        if time.process_time() > end:
            return None
        try:
            site = problem.site(env)
            system = None if site is None else _system_of(site)
            found = None if system is None else _first_failure(problem, system, end)
        except (TooLarge, Unsettled, Undefined):
            continue
        if found is not None:
            return found
    return None


def _choose_sizes(problem: Problem) -> list[dict[str, int]]:
    """Some small tuples, none at the lowest sizes alone if there are others."""
    tuples = problem.tuples
    small = tuples.small()
    places = sorted({len(small) // 2, (3 * len(small)) // 4, len(small) - 1})
    found = [small[k] for k in places if 0 <= k < len(small)][:SITES]
    if tuples.sizes:
        sizes = WIDE if problem.claim.op in _UPHILL else WIDE[:1]
        wide = [tuples.few_indices({n: max(size, tuples.lowest(n)) for n in tuples.sizes})[:1] for size in sizes]
        found += [env for envs in wide for env in envs if env not in found]
    return found


def _system_of(site: Site) -> System | None:
    """The equations of a site, None if they are too many or outside what is evaluated here."""
    made, graph = site.plan, site.low.graph
    free = [c for c in made.constraints if c.op == "=" and not _is_assignment(site, c)]
    if not free:
        return None
    equations = [c for c in (*made.constraints, *made.checks) if c.op == "=" and c.leaves]
    leaves = list(made.entries)
    discrete = any(symbol.values for symbol, _ in made.entries.values())
    if not equations or len(leaves) > LEAVES or len(equations) > LEAVES or discrete:
        return None
    if len(graph.ops) > NODES:
        return None
    slopes = [gradients(graph, c.difference, leaves) for c in equations]
    nodes = [n for row in slopes for n in row] + [c.difference for c in equations]
    order = graph.reachable(nodes)
    if len(order) > NODES or not is_supported(graph, order) or not is_supported(graph, site.order):
        return None
    return System(site, equations, leaves, slopes, order)


def _is_assignment(site: Site, c: Constraint) -> bool:
    """Whether an equation only says what one entry is."""
    assigned = site.plan.assigned
    return any(assigned.get(one) == other for one, other in ((c.left, c.right), (c.right, c.left)))


def _first_failure(problem: Problem, system: System, end: float) -> Finding | None:
    import numpy as np

    rng = np.random.default_rng(problem.effort.seed)
    points = _starts(system, rng)
    if _is_affine(system, points):
        return None
    solved = _solve(system, points, end)
    if not len(solved):
        return None
    inside = solved[_lie_inside(system, solved)]
    left, right, gap = _gaps(problem, system, inside)
    if len(gap) and gap.max() <= CLEAR and problem.claim.op in _UPHILL:
        inside = _climb(problem, system, inside[gap.argsort()[::-1][:CLIMBERS]], end)
        left, right, gap = _gaps(problem, system, inside)
    if not len(gap) or gap.max() <= CLEAR:
        return None
    for place in gap.argsort()[::-1][:TRIED]:
        if gap[place] > CLEAR and (proved := certify(problem, system, inside[place])) is not None:
            return proved
    best = int(gap.argmax())
    return _report(problem, system, inside[best], float(left[best]), float(right[best]))


def _starts(system: System, rng: np.random.Generator) -> Array:
    """Random points at three scales, positive where an interval has a lower end."""
    import numpy as np

    count = len(system.leaves)
    scales = rng.choice([0.5, 1.0, 2.0], size=(STARTS, 1))
    points: Array = rng.standard_normal((STARTS, count)) * scales
    entries = system.site.plan.entries
    bounded = [symbol.lower is not None for symbol, _ in (entries[n] for n in system.leaves)]
    points[:, bounded] = np.abs(points[:, bounded])
    return points


def _is_affine(system: System, points: Array) -> bool:
    """Whether the derivatives are the same everywhere: such equations are solved without bias."""
    import numpy as np

    _, slopes = system.values(points[:4])
    return bool(np.all(np.isfinite(slopes)) and np.allclose(slopes, slopes[:1], rtol=1e-9, atol=1e-9))


def _solve(system: System, points: Array, end: float, steps: int = STEPS) -> Array:
    """Newton's steps of least length from all starts at once; the points that settled on a solution."""
    import numpy as np

    step = np.full_like(points, np.inf)
    for _ in range(steps):
        residual, slopes = system.values(points)
        alive = np.isfinite(residual).all(1) & np.isfinite(slopes).all((1, 2)) & (np.abs(points).max(1) < LARGEST)
        points, residual, slopes = points[alive], residual[alive], slopes[alive]
        if not len(points) or time.process_time() > end:
            return points[:0]
        step = -np.einsum("pij,pj->pi", np.linalg.pinv(slopes, rcond=1e-9), residual)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        points = points + step * np.minimum(1.0, 3.0 / np.maximum(length, 1e-300))
    residual, _ = system.values(points)
    scale = 1 + np.abs(points).max(1)
    done = (np.abs(residual).max(1) < SOLVED * scale) & (np.abs(step).max(1) < SETTLED * scale)
    settled: Array = points[done]
    return settled


def _climb(problem: Problem, system: System, points: Array, end: float) -> Array:
    """Solutions near some others at which an inequality is tighter; those of the first climb that breaks it."""
    import numpy as np

    count, length = points.shape[1], 1.0
    for _ in range(CLIMBS):
        gap = _gaps(problem, system, points)[2]
        if not len(points) or gap.max() > CLEAR or time.process_time() > end:
            break
        near = (points[:, None] + NUDGE * np.eye(count)).reshape(-1, count)
        uphill = (_gaps(problem, system, near)[2].reshape(len(points), count) - gap[:, None]) / NUDGE
        _, slopes = system.values(points)
        if not (np.isfinite(slopes).all() and np.isfinite(uphill).all()):
            break
        across = np.einsum("pij,pj->pi", slopes, uphill)  # what leads away from the solutions
        uphill = uphill - np.einsum("pij,pj->pi", np.linalg.pinv(slopes, rcond=1e-9), across)
        steep = np.linalg.norm(uphill, axis=1, keepdims=True)
        moved = _solve(system, points + length * uphill / np.maximum(steep, 1e-300), end, NEAR_STEPS)
        moved = moved[_lie_inside(system, moved)]
        points, length = (moved, length * PACE) if len(moved) else (points, length / 2)
    return points


def _lie_inside(system: System, points: Array) -> Any:
    """Which points lie clearly inside all inequalities and intervals."""
    import numpy as np

    made, graph = system.site.plan, system.site.low.graph
    inside = np.ones(len(points), bool)
    leaves = dict(zip(system.leaves, points.T, strict=True))
    for c in (*made.constraints, *made.checks):
        if c.op == "=":
            continue
        gap = np.broadcast_to(columns(graph, c.order, leaves)[c.difference], inside.shape)
        clear = {"<": -gap, "<=": -gap, ">": gap, ">=": gap, "!=": np.abs(gap)}[c.op]
        inside &= clear > CLEAR
    for place, node in enumerate(system.leaves):
        symbol, _ = made.entries[node]
        for bound, sign in ((symbol.lower, 1), (symbol.upper, -1)):
            if bound is not None:
                root = system.site.low.number(bound[0])
                edge = columns(graph, graph.reachable([root]), leaves)[root]
                inside &= sign * (points[:, place] - edge) > CLEAR
    return inside


def _gaps(problem: Problem, system: System, points: Array) -> tuple[Array, Array, Array]:
    """The sides where they are furthest from what is claimed, and how far, beside 1 and the sides."""
    import numpy as np

    site, op = system.site, problem.claim.op
    found = columns(site.low.graph, site.order, dict(zip(system.leaves, points.T, strict=True)))
    sides = [
        (np.broadcast_to(found[a], (len(points),)), np.broadcast_to(found[b], (len(points),))) for a, b in site.pairs
    ]
    left, right = (np.stack([pair[k] for pair in sides]) for k in (0, 1))
    with np.errstate(all="ignore"):
        apart = left - right
        signed = np.abs(apart) if op == "=" else _UPHILL[op] * apart
        gap = np.where(np.isfinite(signed), signed / (1 + np.abs(left) + np.abs(right)), -1.0)
    place = gap.argmax(0) if len(points) else np.zeros(0, int)
    at = np.arange(len(points))
    found_left, found_right, found_gap = (table[place, at] for table in (left, right, gap))
    return found_left, found_right, found_gap


def _report(problem: Problem, system: System, point: Array, left: float, right: float) -> Finding:
    case = dict(zip(system.leaves, (float(v) for v in point), strict=True))
    values = case_values(problem, system.site, case, lambda value: f"{value:.{DIGITS}g}")
    built = problem.tally.cases
    text = "" if built else "no case that satisfies the hypotheses was found exactly; "
    text += (
        "Newton's method finds values that satisfy the hypotheses to the last digits, at which it is false: "
        f"{left:.{DIGITS}g} {WORDS[problem.claim.op]} {right:.{DIGITS}g} near {describe(values)}"
    )
    text += f"; it holds in the {built} cases that were built, which are special" if built else ""
    return Finding(
        Verdict.UNDECIDED, Evidence(text, {"near": values}, "state the hypothesis that rules such values out")
    )
