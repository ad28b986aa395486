r"""A directed search for counterexamples.

Where a relation could fail that random small numbers never hit: at the numbers the claim names, between them, at
one-hot and two-valued arrays, and where a search in float64 comes closest. A case refutes only when compared exactly.

Roots: a strict inequality, or one with \ne, between polynomials in one number fails at a real root of their
difference, which need not be rational: (x^2 - 2)^2 > 0. That both sides are equal there needs no evaluation.

Patterns: plain arrays at which norms, means and softmax are extreme: one-hot, one large column, two-valued, geometric.
Each array of a step takes one of them at some scale; which go together is drawn, or changed one array at a time.

Points at one tuple are scored in float64 by how far they are from holding; the most promising are compared exactly,
with simple numbers near them first. Only an exact comparison refutes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq, fmpq_poly, fmpz_poly

from attention_core.derivation.algebra.normal import Facts, Normal
from attention_core.derivation.algebra.ratios import TooComplex
from attention_core.derivation.cases.counterexamples import case_values, describe_counterexample, refutation
from attention_core.derivation.cases.generate import (
    Completion,
    NoCase,
    assigned_value,
    assignment_order,
    completion,
    require,
)
from attention_core.derivation.graph.compare import compare, format_value
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import (
    Column,
    Imprecise,
    columns,
    evaluate,
    exact,
    is_supported,
    number,
    precision,
)
from attention_core.derivation.lowering.spaces import constants
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict

if TYPE_CHECKING:
    import numpy as np

    from attention_core.derivation.cases.problem import Problem, Site


MOST = 8


class RealRoot:
    """One real root of a polynomial, enclosed at the precision of the moment."""

    def __init__(self, poly: fmpz_poly, place: int) -> None:
        self.poly, self.place = poly, place

    def __call__(self) -> arb:
        """The root."""
        return real_roots(self.poly)[self.place]


def real_roots(poly: fmpz_poly) -> list[arb]:
    """The real roots, each once, from below; a root whose imaginary part is exactly 0 is certainly real."""
    found = [root.real for root, _ in poly.complex_roots() if root.imag == 0]
    return sorted(found, key=lambda r: float(r.mid()))


def equal_at_root(problem: Problem, site: Site, leaf: int, coefficients: Sequence[fmpq]) -> Finding | None:
    """The finding if a root of the difference, given by its coefficients, is admitted by the hypotheses."""
    from flint import fmpq_poly

    poly = fmpz_poly(list(fmpq_poly(list(coefficients)).numer()))
    for place in range(min(MOST, len(real_roots(poly)))):
        case: dict[int, Any] = {leaf: RealRoot(poly, place)}
        try:
            with precision(256):
                for node in assignment_order(site.plan):
                    case[node] = assigned_value(site.plan, node, case)
                require(site.plan, case, everywhere=True)
                sides = evaluate(site.low.graph, list(site.pairs[0]), case, site.order)
        except (NoCase, Undefined, Imprecise, TooLarge):
            continue
        at = format_value(next((s for s in sides if exact(s)), sides[0]))
        example = Counterexample(case_values(problem, site, case), at, at, "")
        text = f"{describe_counterexample(problem.claim.op, example)}, a root of their difference"
        return Finding(Verdict.REFUTED, Evidence(text, {"cases": problem.tally.cases + 1}), example)
    return None


SCALES = (1.0, 10.0, 0.1, -1.0)


def patterns(site: Site, free: Sequence[int], rng: np.random.Generator, count: int, starts: Any = None) -> Any:
    """Points as columns, a row for each free entry: `count` drawn ones, or `starts` with one symbol replaced each."""
    import numpy as np

    rows: dict[str, list[int]] = {}
    for row, node in enumerate(free):
        rows.setdefault(site.plan.entries[node][0].name, []).append(row)
    tables = {name: np.stack(list(_of(site, [free[r] for r in own])), axis=1) for name, own in rows.items()}
    if starts is None:
        out = np.empty((len(free), count))
        for name, own in rows.items():
            table = tables[name]
            picks = np.arange(count) % table.shape[1] if len(rows) == 1 else rng.integers(0, table.shape[1], count)
            out[own] = table[:, picks]
        if len(rows) == 1 and tables[next(iter(rows))].shape[1] > count:
            return tables[next(iter(rows))]
        return out
    blocks = []
    for start in starts.T:
        for name, own in rows.items():
            table = tables[name]
            block = np.repeat(start[:, None], table.shape[1], axis=1)
            block[own] = table
            blocks.append(block)
    return np.concatenate(blocks, axis=1)


def _of(site: Site, nodes: list[int]) -> Iterator[Any]:
    """The patterns of one symbol's entries."""
    import numpy as np

    symbol = site.plan.entries[nodes[0]][0]
    keys = [site.plan.entries[n][1][1] for n in nodes]
    places: Any = np.array([key[-2:] for key in keys])
    if symbol.values:
        for value in symbol.values[:4]:
            yield np.full(len(nodes), float(value))
        return
    if symbol.kind == "family":  # its members are the rows
        places = np.array([(key[0], key[1] * (places[:, 1].max() + 1) + key[2]) for key in keys])
    i, j = places[:, 0] - places[:, 0].min(), places[:, 1] - places[:, 1].min()
    if len(nodes) == 1:
        for number in (1.0, 0.0, -1.0, 0.5, 2.0, 10.0, 0.1, 1e3):
            yield np.array([number])
        return
    along = i if i.max() else j
    last = int(along.max())
    shapes: list[Any] = [
        (i == 0) & (j == 0), along == last, np.ones(len(nodes)), j == 0, i == 0, i == j,
        np.where(along % 2, -1.0, 1.0), np.where(2 * along > last, -1.0, 1.0), np.where(along == 0, 1.0, -1.0),
        2.0 ** -along.astype(float), along + 1.0,
    ]  # fmt: skip
    for shape in shapes:
        for scale in SCALES:
            yield scale * shape
    yield np.zeros(len(nodes))
    yield np.where(along == 0, 0.0, 1.0 / max(1, last))
    yield np.full(len(nodes), 1.0 / len(nodes))
    yield 1.0 + 9.0 * ((i == 0) & (j == 0))


CERTIFIED = 6  # exact comparisons at one tuple
SURELY = 1e-9  # what float64 calls a violation, relatively; below it the exact comparison decides
Points = Any  # a matrix: a row for each free entry, a column for each point


@dataclass
class Search:
    """One tuple: how cases are completed, the order of evaluation, and what was seen."""

    problem: Problem
    site: Site
    made: Completion
    rng: np.random.Generator
    tried: int = 0

    def scores(self, points: Points) -> Column:
        """How far each point is from holding: above 0 where it fails, minus infinity where it is not a case."""
        import numpy as np

        op = self.problem.claim.op
        values: dict[int, Column] = {n: points[k].copy() for k, n in enumerate(self.made.free)}
        good = self.made.fill(values)
        found = columns(self.site.low.graph, self.site.order, values)
        worst: Any = np.full(points.shape[1], -np.inf)
        with np.errstate(all="ignore"):
            for a, b in self.site.pairs:
                left, right = (found[a], found[b]) if op not in (">", ">=") else (found[b], found[a])
                size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
                gap = np.where(left == right, 0.0, (left - right) / size)
                worst = np.maximum(worst, {"=": np.abs(gap), "!=": -np.abs(gap)}.get(op, gap))
        return np.where(good & np.isfinite(worst), worst, -np.inf)

    def certify(self, points: Points, scores: Column) -> Finding | None:
        """Compare the most promising points exactly, each with simple numbers near it first."""
        import numpy as np

        op = self.problem.claim.op
        least = {"!=": -1e-12, "<": 0.0, ">": 0.0}.get(op, SURELY if op == "=" else 1e-15)
        for place in np.argsort(-scores)[:3]:
            if scores[place] < least or self.tried >= CERTIFIED:
                break
            self.tried += 1
            for values in self.simple(points[:, place]):
                if found := self.compare_case(values):
                    return found
        return None

    def simple(self, point: Column) -> Iterator[dict[int, fmpq]]:
        """The point with its numbers rounded where it fails all the same, and as it is."""
        import numpy as np

        exact = [Fraction(float(v)) for v in point]
        for most in (1, 12, 1000):
            rounded = [v.limit_denominator(most) for v in exact]
            values = dict(zip(self.made.free, (fmpq(v.numerator, v.denominator) for v in rounded), strict=True))
            column = np.array([[float(v)] for v in rounded])
            if self.scores(column)[0] >= -1e-12:
                yield values
        yield dict(zip(self.made.free, (fmpq(v.numerator, v.denominator) for v in exact), strict=True))

    def compare_case(self, free: dict[int, fmpq]) -> Finding | None:
        """The finding if the exact case refutes."""
        try:
            case = self.made.case(free)
            outcome = compare(
                self.site.low.graph, self.site.pairs, self.problem.claim.op, case, self.site.order, most=512
            )
        except (NoCase, Undefined, Imprecise, TooLarge, ZeroDivisionError):
            return None
        if outcome.holds is False:
            return refutation(self.problem, self.site, case, outcome)
        if outcome.holds and self.problem.is_scarce:
            self.problem.tally.add(outcome)
            if self.site.env not in self.problem.tally.tuples:
                self.problem.tally.tuples.append(self.site.env)
        return None


def search_of(problem: Problem, site: Site) -> Search | None:
    """The search at one tuple, None where cases cannot be completed or an operation has no form in float64."""
    import numpy as np

    graph = site.low.graph
    made = completion(site.plan) if site.plan.entries else None
    if made is None or not any(graph.ops[n] == "leaf" for n in site.order):
        return None
    orders = [site.order, *(c.order for c in site.plan.constraints)]
    orders += [tuple(graph.reachable([s])) for s in site.plan.assigned.values()]
    if not all(is_supported(graph, order) for order in orders):
        return None
    return Search(problem, site, made, np.random.default_rng(problem.effort.seed))


SITES = 6
ROUNDS = 14
PARENTS, CHILDREN = 12, 84
MARKED = 6  # entries that are given each number of the claim in turn, where there are no more
MARKS = 48
DEGREE = 40
FARTHEST = 20_000  # bits before or after the point of a root
DEFINED = 12  # compared cases where no drawn one could be
SHARE = 0.075  # of a step's time, as the last resort
POLYNOMIAL = frozenset({"const", "leaf", "add", "mul", "powi"})
HEAVY = frozenset({"expect", "det", "inv", "limit"})


def search_targeted(problem: Problem) -> Finding | None:
    """Search at some small tuples; the finding if a case refutes. Where no case was compared, some are."""
    sides = (problem.claim.left, problem.claim.right)
    if problem.moves or problem.claim.op == "->" or any(t.op in HEAVY for side in sides for t in side.walk()):
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    marks = numbers(problem)
    for env in _some(problem.tuples.small()):
        if time.process_time() > end:
            break
        try:
            site = problem.site(env)
            found = None if site is None else _at(problem, site, marks)
        except TooLarge:
            continue
        if found is not None:
            return found
    return None


def _some(envs: list[dict[str, int]]) -> list[dict[str, int]]:
    """A few of the small tuples, spread over all."""
    step = max(1, len(envs) // SITES)
    return envs[::-1][::step][:SITES]


def numbers(problem: Problem) -> list[float]:
    """Numbers worth trying: those of the claim and its hypotheses, next to them, their roots, halves, between two."""
    marks = sorted({*constants(problem.context, [problem.claim]), *constants(problem.context, problem.hypotheses)})
    plain = [v for v in (number(fmpq(v.numerator, v.denominator)) for v in marks) if math.isfinite(v)]
    found: dict[float, None] = dict.fromkeys(plain)
    found.update(dict.fromkeys(-v for v in plain))
    sizes = sorted({abs(v) for v in plain})
    between = [(a + b) / 2 for a, b in pairwise(sizes)]
    found.update(dict.fromkeys([*between, *(-v for v in between)]))
    for value in plain:
        size = abs(value)
        root = size**0.5
        more = [value + 1, value - 1, value / 2, -value / 2, 2 * value, root, -root, root + 1]
        if size:
            more += [1 / value, math.log(size) + 1, math.log(size) - 1, 2 / root]
        found.update(dict.fromkeys(more))
    return [v for v in found if abs(v) <= 1e60][:MARKS]


def _at(problem: Problem, site: Site, marks: list[float]) -> Finding | None:
    """The search at one tuple: where a polynomial turns or vanishes, then at points that come closer and closer."""
    search = search_of(problem, site)
    if search is None:
        return None
    if finding := _at_turning_points(problem, site, search):
        return finding
    points = starting_points(search, marks)
    if not points.shape[1]:
        return None
    scores = search.scores(points)
    finding = _at_defined_points(search, points, scores) if problem.is_scarce else None
    return finding or search.certify(points, scores) or _closer(problem, search, points, scores, marks)


def _at_turning_points(problem: Problem, site: Site, search: Search) -> Finding | None:
    """A difference that is a polynomial in one number, where it turns and where it vanishes."""
    coefficients = polynomial(site, search.made.free)
    for value in turning_points(coefficients):
        if finding := search.compare_case({search.made.free[0]: value}):
            return finding
    if coefficients and problem.claim.op in ("<", ">", "!="):
        return equal_at_root(problem, site, search.made.free[0], coefficients)
    return None


def _at_defined_points(search: Search, points: Any, scores: Any) -> Finding | None:
    """The points where both sides are defined, where there are few such cases."""
    import numpy as np

    for place in np.flatnonzero(np.isfinite(scores))[:DEFINED]:
        floats = zip(search.made.free, points[:, place], strict=True)
        if finding := search.compare_case({n: fmpq(*float(v).as_integer_ratio()) for n, v in floats}):
            return finding
    return None


def _closer(problem: Problem, search: Search, points: Any, scores: Any, marks: list[float]) -> Finding | None:
    """Points around those where an inequality is tightest, round by round."""
    if problem.claim.op not in ("<", "<=", ">", ">="):
        return None
    for step in range(ROUNDS):
        points, scores = _next(search, points, scores, marks, step)
        if points is None:
            return None
        if finding := search.certify(points, scores):
            return finding
        if search.tried >= CERTIFIED:
            return None
    return None


def polynomial(site: Site, free: list[int]) -> list[fmpq]:
    """The coefficients of the difference where it is a polynomial in one number, else none."""
    if len(free) != 1 or len(site.pairs) != 1:
        return []
    graph, difference = site.low.graph, site.low.graph.sub(*site.pairs[0])
    if not all(graph.ops[n] in POLYNOMIAL for n in graph.reachable([difference])):
        return []
    try:
        form = Normal(graph, [difference], Facts(), {}, float("inf"))
        top, bottom = form.of(difference)
    except (TooComplex, OverflowError, ZeroDivisionError, TooLarge, ArithmeticError):
        return []
    if form.atoms or not bottom.is_constant() or not 1 < top.total_degree() <= DEGREE:
        return []
    coefficients = [fmpq(0)] * (top.total_degree() + 1)
    for monomial, c in zip(top.monoms(), top.coeffs(), strict=True):
        coefficients[sum(monomial)] = c
    return coefficients


def turning_points(coefficients: list[fmpq]) -> list[fmpq]:
    """The real roots of a polynomial, those of its derivative, and points between and beside them."""
    if not coefficients:
        return []
    found: set[fmpq] = set()
    for poly in (fmpq_poly(coefficients), fmpq_poly(coefficients).derivative()):
        for root, _ in poly.roots():
            found.add(root)
        found |= {_near(r) for r, _ in fmpz_poly(list(poly.numer())).complex_roots() if r.imag.contains(0)}
    ordered = sorted(found)
    if not ordered:
        return []
    between = [(a + b) / 2 for a, b in pairwise(ordered)]
    outside = [fmpq(v.floor() if v < 0 else v.ceil()) * 2 for v in (ordered[0], ordered[-1])]
    return [*outside, ordered[-1] + 1, ordered[0] - 1, *ordered, *between]


def _near(root: Any) -> fmpq:
    """A rational next to a root, however large or small it is."""
    digits, scale = (int(v) for v in root.real.mid().man_exp())
    if abs(scale) > FARTHEST:
        raise TooLarge("a root with too many digits")
    return fmpq(digits * 2**scale) if scale >= 0 else fmpq(digits, 2**-scale)


def starting_points(search: Search, marks: list[float]) -> Points:
    """Drawn cases, patterns, and the numbers of the claim at one entry, or at two, of a drawn case."""
    import numpy as np

    drawn = []
    free = search.made.free
    for seed in range(6):
        _, case = search.problem.case(search.site.plan, 4001 + seed)
        if case is not None:
            drawn.append([_float(case[n]) for n in free])
    base = np.array(drawn).T if drawn else np.ones((len(free), 1))
    out = [base, patterns(search.site, free, search.rng, 24)]
    rows = [k for k, n in enumerate(free) if not search.site.plan.entries[n][0].values]
    for chosen in _choose_rows(rows[:MARKED] if len(rows) <= 3 * MARKED else rows[:1], len(marks)):
        for start in (base[:, :1], np.ones((len(free), 1)), np.zeros((len(free), 1))):
            block = np.repeat(start, len(chosen[1]), axis=1)
            for place, row in enumerate(chosen[0]):
                block[row] = [marks[pick[place]] for pick in chosen[1]]
            out.append(block)
    return np.concatenate(out, axis=1)


def _choose_rows(rows: list[int], count: int) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Which rows take which numbers: one row each of them, the first two rows each pair of the first few."""
    for row in rows:
        if count:
            yield (row,), [(k,) for k in range(count)]
    if len(rows) > 1 and count:
        few = min(count, 8)
        yield (rows[0], rows[1]), [(a, b) for a in range(few) for b in range(few)]


def _float(value: Any) -> float:
    if callable(value):
        value = value()
    return number(value) if isinstance(value, fmpq) else float(value.mid())


def _next(search: Search, points: Points, scores: Column, marks: list[float], step: int) -> tuple[Points, Column]:
    """The tightest points and children of them: entries moved, scaled, set to another's or to a number of the claim."""
    import numpy as np

    apart = np.isfinite(scores) & (np.abs(scores) > 1e-13)  # equal sides say nothing about other places
    ranked = np.argsort(-np.where(apart, scores, -np.inf))[:PARENTS]
    ranked = ranked[apart[ranked]]
    if not len(ranked):
        return None, scores
    parents, rng = points[:, ranked], search.rng
    free = search.made.free
    children = parents[:, rng.integers(0, len(ranked) // 2 + 1, CHILDREN)].copy()
    other = parents[:, rng.integers(0, len(ranked), CHILDREN)] - parents[:, rng.integers(0, len(ranked), CHILDREN)]
    listed = np.array([bool(search.site.plan.entries[n][0].values) for n in free])
    at, kind = rng.integers(0, len(free), CHILDREN), rng.integers(0, 8, CHILDREN)
    steps = rng.choice([-1.0, 1.0], CHILDREN) * 2.0 ** -rng.integers(0, 4 + step, CHILDREN)
    every = np.arange(CHILDREN)
    now, borrowed = children[at, every], children[rng.integers(0, len(free), CHILDREN), every]
    marked = np.array(marks or [0.0])[rng.integers(0, max(1, len(marks)), CHILDREN)]
    moved = np.select(
        [kind < 3, kind == 3, kind == 4, kind == 5],
        [now + steps * (1 + np.abs(now)), borrowed, -borrowed, marked],
        now,
    )
    children[at, every] = moved
    children = np.where(kind == 6, children * (1 + steps), children)
    children = np.where(kind == 7, children + 0.7 * other, children)
    children = np.where(listed[:, None], parents[:, [0]], children)
    joined = np.concatenate([parents, children], axis=1)
    return joined, np.concatenate([scores[ranked], search.scores(children)])


def at_patterns(problem: Problem, site: Site) -> Finding | None:
    """One-hot, two-valued and other plain arrays at one larger tuple, and the best of them changed array by array."""
    import numpy as np

    search = search_of(problem, site)
    if search is None:
        return None
    points = patterns(site, search.made.free, search.rng, 48)
    for _ in range(3):
        scores = search.scores(points)
        if found := search.certify(points, scores):
            return found
        finite = np.flatnonzero(np.isfinite(scores) & (np.abs(scores) > 1e-13))
        if not len(finite) or problem.claim.op not in ("<", "<=", ">", ">="):
            return None
        best = finite[np.argsort(-scores[finite])[:2]]
        points = patterns(site, search.made.free, search.rng, 48, points[:, best])
    return None
