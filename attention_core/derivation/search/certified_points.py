"""Counterexamples near approximate solutions, with a proof that they exist.

Most entries of an approximate solution become short decimals, and as many as there are equations are solved for. That
an exact solution lies in a small box around the result is proved by Krawczyk's test: with F the residuals, C an
approximate inverse of their derivatives and X the box around x, the box K = x - C F(x) + (I - C F'(X)) (X - x) lies
inside X. The sides of the claim are compared at all values of the box.

Source: Krawczyk, R. (1969), Newton-Algorithmen zur Bestimmung von Nullstellen mit Fehlerschranken, Computing 4.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb, arb_mat, fmpq

from attention_core.derivation.cases.counterexamples import refutation
from attention_core.derivation.cases.generate import NoCase, require
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import Case, Imprecise, evaluate, precision

if TYPE_CHECKING:
    import numpy as np

    from attention_core.derivation.cases.problem import Problem
    from attention_core.derivation.records import Finding
    from attention_core.derivation.search.solved_points import System

    Array = np.ndarray[Any, np.dtype[np.float64]]

GRIDS = (1, 2, 10, 1000)  # entries that are not solved for become multiples of one over these
BITS = 256
RADIUS = arb(2) ** -120
STEPS = 12
SHORT = 1000  # the largest denominator of a short fraction
POLISH = 4  # Newton's steps in balls, each of which doubles the digits
WEAK = 1e-6  # a derivative beside the largest that counts as none


class Enclosed:
    """A number that is known to lie in a small ball."""

    def __init__(self, value: arb) -> None:
        self.value = value

    def __call__(self) -> arb:
        """The ball."""
        return self.value


def certify(problem: Problem, system: System, point: Array) -> Finding | None:
    """Prove that a solution near a point refutes the claim.

    Args:
        problem: The problem.
        system: Its equations at one site.
        point: Values of all entries that satisfy them approximately.

    Returns:
        The refutation, None if no proof is found: equations that depend on one another admit none here.
    """
    rows = _independent_rows(system)
    for grid in GRIDS:
        made = _round(system, rows, point, grid)
        if made is None:
            continue
        case = _enclose(system, rows, *made)
        if case is not None and (proved := _refute(problem, system, case)) is not None:
            return _refute(problem, system, _shorten(case)) or proved  # the proof is that of the balls
    return None


def _refute(problem: Problem, system: System, case: Case) -> Finding | None:
    """The refutation by a case, if it satisfies every hypothesis and the sides are certainly apart."""
    site = system.site
    try:
        with precision(BITS):
            require(site.plan, case, everywhere=True)
        outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
    except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return None
    return refutation(problem, site, case, outcome) if outcome.holds is False else None


def _shorten(case: Case) -> Case:
    """The case with short fractions in the place of balls that may hold one; that it is a solution is checked then."""
    short: Case = {}
    for node, value in case.items():
        if isinstance(value, Enclosed):
            middle = Fraction(float(value.value.mid())).limit_denominator(SHORT)
            fraction = fmpq(middle.numerator, middle.denominator)
            with precision(BITS):
                short[node] = fraction if value.value.overlaps(arb(fraction)) else value
        else:
            short[node] = value
    return short


def _independent_rows(system: System) -> list[int]:
    """The equations, each once: `a = b` and `b = a` are one."""
    graph, seen, rows = system.site.low.graph, set[int](), []
    for row, one in enumerate(system.equations):
        if one.difference not in seen:
            rows.append(row)
        seen |= {one.difference, graph.sub(one.right, one.left), graph.neg(one.difference)}
    return rows


def _round(system: System, rows: list[int], point: Array, grid: int) -> tuple[Array, list[int]] | None:
    """A solution with short entries but for those solved for, and which those are; None if there is none near."""
    import numpy as np

    slopes = system.values(point[None])[1][0][rows]
    solved = _pivots(slopes)
    if solved is None:
        return None
    kept = [k for k in range(len(point)) if k not in solved]
    near = point.copy()
    near[kept] = np.round(point[kept] * grid) / grid
    for _ in range(STEPS):
        residual, slopes = (one[0][rows] for one in system.values(near[None]))
        if not (np.isfinite(residual).all() and np.isfinite(slopes).all()):
            return None
        try:
            near[solved] -= np.linalg.solve(slopes[:, solved], residual)
        except np.linalg.LinAlgError:
            return None
    residual = system.values(near[None])[0][0][rows]
    return (near, solved) if bool(np.abs(residual).max() < 1e-9 * (1 + np.abs(near).max())) else None


def _pivots(slopes: Array) -> list[int] | None:
    """As many columns as rows, chosen greedily to be far from dependent; None if the rows depend on one another."""
    import numpy as np

    left, chosen = slopes.copy(), list[int]()
    scale = float(np.abs(slopes).max(initial=0.0))
    for _ in range(len(slopes)):
        norms = np.linalg.norm(left, axis=0)
        best = int(norms.argmax()) if norms.size else 0
        if not norms.size or not norms[best] > WEAK * max(scale, 1e-300):
            return None
        chosen.append(best)
        direction = left[:, best] / norms[best]
        left = left - np.outer(direction, direction @ left)
    return chosen


def _enclose(system: System, rows: list[int], near: Array, solved: list[int]) -> Case | None:
    """A case whose solved entries lie in balls that are proved to hold a solution."""
    leaves = system.leaves
    case: Case = {node: fmpq(*float(v).as_integer_ratio()) for node, v in zip(leaves, near, strict=True)}
    for place in range(len(near)):
        if place not in solved:
            case[leaves[place]] = fmpq(round(float(near[place]) * GRIDS[-1]), GRIDS[-1])
    unknown = [leaves[k] for k in solved]
    try:
        with precision(BITS):
            middle = [arb(case[n]) for n in unknown]
            for _ in range(POLISH):
                step = (
                    _derivatives(system, rows, unknown, case, middle)
                    .mid()
                    .solve(_residuals(system, rows, unknown, case, middle).mid())
                )
                middle = [(m - step[k, 0]).mid() for k, m in enumerate(middle)]
            return _test(system, rows, unknown, case, middle)
    except (Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return None


def _test(system: System, rows: list[int], unknown: list[int], case: Case, middle: list[arb]) -> Case | None:
    """Krawczyk's test of the box around the middle."""
    count = len(unknown)
    box = [arb(m, RADIUS) for m in middle]
    inverse = _derivatives(system, rows, unknown, case, middle).mid().inv().mid()
    ident = arb_mat(count, count, [int(i == j) for i in range(count) for j in range(count)])
    shrunk = ident - inverse * _derivatives(system, rows, unknown, case, box)
    moved = arb_mat(count, 1, middle) - inverse * _residuals(system, rows, unknown, case, middle)
    image = moved + shrunk * arb_mat(count, 1, [arb(0, RADIUS)] * count)
    if not all(box[k].contains_interior(image[k, 0]) for k in range(count)):
        return None
    return {**case, **{node: Enclosed(image[k, 0]) for k, node in enumerate(unknown)}}


def _at(unknown: list[int], case: Case, values: list[arb]) -> Case:
    return {**case, **{node: Enclosed(value) for node, value in zip(unknown, values, strict=True)}}


def _residuals(system: System, rows: list[int], unknown: list[int], case: Case, values: list[arb]) -> arb_mat:
    nodes = [system.equations[row].difference for row in rows]
    found = evaluate(system.site.low.graph, nodes, _at(unknown, case, values))
    return arb_mat(len(rows), 1, [arb(one) for one in found])


def _derivatives(system: System, rows: list[int], unknown: list[int], case: Case, values: list[arb]) -> arb_mat:
    places = [system.leaves.index(node) for node in unknown]
    nodes = [system.slopes[row][place] for row in rows for place in places]
    found = evaluate(system.site.low.graph, nodes, _at(unknown, case, values))
    return arb_mat(len(rows), len(unknown), [arb(one) for one in found])


__all__ = ["Enclosed", "certify"]
