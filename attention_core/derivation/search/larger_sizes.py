r"""Claims at large sizes.

Far larger sizes than a search can try in full: up a ladder, a few cases at each, as a count of operations allows.
It may only refute; a size where a case cannot be made, or the sides are too close, is passed over.

Orthogonal vectors at larger sizes are the standard basis, Hadamard's matrices and reflections: a drawn frame costs the
cube of its size, so that the ladder of sizes ends early under hypotheses such as $A^\top A = I_n$. These frames cost
nothing, and sums, magnitudes and maxima are extreme at them.

An average such as $\mathbb{E} (q^\top k)^4$ costs a power of its size, so that the ladder leaves averages out. What has
nothing else to draw is compared at sizes up to 64. Where both sides are polynomials in the one size, of a degree that
their terms bound, their values at the first sizes determine them at all: then they are compared at the roots of their
difference and far beyond.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import TYPE_CHECKING

from flint import fmpq, fmpq_poly, fmpz_poly

from attention_core.derivation.cases.counterexamples import refutation, shrink_and_report
from attention_core.derivation.cases.generate import (
    NoCase,
    assigned_value,
    assignment_order,
    draw,
    flat,
    require,
    with_length,
)
from attention_core.derivation.graph.choices import MODES, Choices
from attention_core.derivation.graph.compare import compare, format_value
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case, Imprecise, evaluate, precision
from attention_core.derivation.lowering.plans import CasePlan
from attention_core.derivation.lowering.spaces import constants
from attention_core.derivation.proofs.size_degree import polynomial_degree
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict
from attention_core.derivation.terms.terms import Relation

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site
    from attention_core.derivation.records import Finding


NODES = 3_500  # of one tuple
WORK = 15_000  # operations of one way up, all its tuples together; of all ways: `Effort.ladder`
CASES = 2
SHARE = 0.075  # of a step's time, as the last resort, where operations cost more than they should
HEAVY = frozenset({"expect", "det", "inv", "limit"})  # what costs far more than its operations count
PLAIN = frozenset({"det", "inv"})
ARRANGED = frozenset({5, 7, 9, 11, 13, 16, 21, 24, 33, 64, 100, 256})  # largest sizes at which plain arrays are tried
FRAMED = 24  # entries of vectors with given inner products
PLACES = 24  # tuples of indices that are tried for a size at which a condition begins to hold
CONDITION_NODES = 12_000  # of one tuple there
MOST_NAMED = 2_000  # the largest size that is tried because a condition names it


def search_larger_sizes(problem: Problem) -> Finding | None:
    """Go up every way of the ladder of sizes until it costs too much; the finding if a case refutes."""
    reached: dict[str, int] = {}
    if problem.moves or _is_heavy(problem):
        return None
    left = problem.effort.ladder
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    if found := _where_conditions_begin(problem, end):
        return found
    for way in problem.tuples.ladder():
        work, most = 0, min(WORK, left)
        for env in way:
            if time.process_time() > end or work >= most:
                break
            graph = Graph(NODES)
            try:
                site = problem.make_site(env, graph)
                work += graph.work
                if site is None:
                    continue
                if len(site.plan.gram.leaves()) > FRAMED:
                    break  # further up there are more of them
                each = _cost(site)
                if each > NODES:
                    break
                found, tried = _at(problem, site)
            except TooLarge:
                work += graph.work
                break
            except Unsettled:
                continue
            if found is not None:
                return found
            work += tried * each
            if tried:
                for name in problem.tuples.sizes:
                    reached[name] = max(reached.get(name, 0), env[name])
        left -= work
    problem.tally.reached = {n: v for n, v in reached.items() if v > 3}
    return None


def _is_heavy(problem: Problem) -> bool:
    """Whether a claim has operations whose cost grows too fast with a size."""
    heavy = HEAVY if problem.symbols else HEAVY - PLAIN  # of numbers alone a determinant is soon known
    return any(t.op in heavy for side in (problem.claim.left, problem.claim.right) for t in side.walk())


def _where_conditions_begin(problem: Problem, end: float) -> Finding | None:
    """Search where a condition such as [i = j + 7] can hold for the first time; the finding if one refutes."""
    for env in _sizes_with_names(problem):
        if time.process_time() > end:
            return None
        try:
            site = problem.make_site(env, Graph(CONDITION_NODES))
            if site is None or _cost(site) > CONDITION_NODES:
                continue
            found, _ = _at(problem, site)
        except (TooLarge, Unsettled):
            continue
        if found is not None:
            return found
    return None


def _sizes_with_names(problem: Problem) -> Iterator[dict[str, int]]:
    """Sizes just beyond the numbers in conditions and in the ends of sums, with indices that far apart."""
    if not problem.tuples.sizes:
        return
    sides = (problem.claim.left, problem.claim.right)
    tests = [Relation(t.args[0], "=", t.args[1]) for s in sides for t in s.walk() if t.op == "test"]
    ends = [Relation(t.args[0], "=", t.args[1]) for s in sides for t in s.walk() if t.op == "reduce"]
    numbers = {int(abs(v)) for v in constants(problem.context, [*tests, *ends]) if v.denominator == 1}
    gaps = sorted(c for c in numbers if 2 <= c <= MOST_NAMED)
    for size in sorted({c + more for c in gaps for more in (0, 1, 2)} | {sum(gaps) + 1} if gaps else ()):
        sizes = {n: max(size, problem.tuples.lowest(n)) for n in problem.tuples.sizes}
        near = {1, 2, size, *gaps, *(c + 1 for c in gaps), *(size - c for c in gaps)}
        places = product(sorted(v for v in near if 1 <= v <= size), repeat=len(problem.tuples.indices))
        tuples = ({**sizes, **dict(zip(problem.tuples.indices, at, strict=True))} for at in places)
        yield from islice((env for env in tuples if problem.tuples.feasible(env)), PLACES)


def _cost(site: Site) -> int:
    """About how many operations one case takes: its values, and each entry of a hypothesis tried in it."""
    held = sum(len(c.order) * min(len(c.leaves), len(MODES)) for c in (*site.plan.constraints, *site.plan.checks))
    return len(site.order) + len(site.plan.entries) + held


def _at(problem: Problem, site: Site) -> tuple[Finding | None, int]:
    """A few cases at one tuple: the finding if one refutes, and how many could be compared."""
    tried = 0
    for made, case in _cases(problem, site):
        try:
            outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
        except (Undefined, Imprecise):
            continue
        if outcome.holds is False:
            return (
                refutation(problem, site, case, outcome) if made is None else shrink_and_report(problem, site, made)
            ), tried
        tried += outcome.holds is True
    if max((site.env[n] for n in problem.tuples.sizes), default=0) not in ARRANGED:
        return None, tried
    from attention_core.derivation.search.targeted import at_patterns

    return at_patterns(problem, site), tried


def _cases(problem: Problem, site: Site) -> Iterator[tuple[list[int] | None, Case]]:
    """Drawn cases, and flat ones whose entries are all alike, as large as a bound on their norm lets them be."""
    for number in range(CASES if site.plan.entries else 1):
        choices = Choices(problem.effort.seed * 1_000_003 + 577 + number)
        try:
            case = draw(site.plan, choices)
        except (NoCase, Undefined, ZeroDivisionError, Imprecise):
            continue
        yield choices.made, case
    if not site.plan.entries:
        return
    length = max(site.env[n] for n in problem.tuples.sizes)
    root = next(k for k in range(1, length + 1) if k * k >= length)
    for value in (fmpq(1), fmpq(1, root), fmpq(-1)):
        try:
            yield None, flat(site.plan, value)
        except (NoCase, Undefined, Imprecise, ZeroDivisionError):
            continue


SIZES = (5, 8, 13, 16)
FRAMES_NODES = 40_000  # of one tuple
FRAMES_SHARE = 0.1  # of a step's time, as the last resort
FILLS = (fmpq(1), fmpq(-1), fmpq(1, 2))  # what entries of other arrays are
Frame = Callable[[int, int, int], fmpq]  # an entry of a vector: size, which vector, which entry
Directed = tuple[tuple[int, ...], list[fmpq]]  # a vector, entry by entry, and where it points


def basis(size: int, vector: int, entry: int) -> fmpq:
    """The standard basis."""
    return fmpq(int(vector == entry))


def reflection(size: int, vector: int, entry: int) -> fmpq:
    r"""The reflection $I - \frac{2}{n} \mathbf{1} \mathbf{1}^\top$, whose entries all differ from 0."""
    return fmpq(int(vector == entry)) - fmpq(2, size)


def hadamard(size: int, vector: int, entry: int) -> fmpq:
    """Sylvester's matrix of signs, whose entries are all as large as each other, where the size is a power of 4.

    Raises:
        NoCase: the size is another one.
    """
    root = 1 << ((size.bit_length() - 1) // 2)
    if root * root != size:
        raise NoCase
    return fmpq(1 - 2 * ((vector & entry).bit_count() % 2), root)


FRAMES = (basis, hadamard, reflection)


def large_frames(problem: Problem) -> Finding | None:
    """Search at frames of larger sizes; the finding if one refutes."""
    end = min(problem.deadline, time.process_time() + FRAMES_SHARE * problem.effort.seconds)
    sides = (problem.claim.left, problem.claim.right)
    if not problem.tuples.sizes or problem.moves or any(t.op in HEAVY for side in sides for t in side.walk()):
        return None
    for way in islice(problem.tuples.ladder(), 1 + len(problem.tuples.sizes)):
        for env in way:
            largest = max(env[n] for n in problem.tuples.sizes)
            if largest > SIZES[-1] or time.process_time() > end:
                break
            if largest not in SIZES:
                continue
            try:
                site = problem.make_site(env, Graph(FRAMES_NODES))
                if site is None or not site.plan.gram.leaves():
                    break
                found = _at_frames(problem, site, end)
            except (TooLarge, Unsettled):
                break
            if found is not None:
                return found
    return None


def _at_frames(problem: Problem, site: Site, end: float) -> Finding | None:
    for frame in FRAMES:
        for fill in FILLS:
            if time.process_time() > end:
                return None
            try:
                case = fill_frame(site.plan, frame, fill)
                outcome = compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
            except (NoCase, Undefined, Imprecise, ZeroDivisionError):
                continue
            if outcome.holds is False:
                return refutation(problem, site, case, outcome)
            if outcome.holds:
                for name in problem.tuples.sizes:
                    problem.tally.reached[name] = max(problem.tally.reached.get(name, 0), site.env[name])
            if len(site.plan.gram.leaves()) == len(site.plan.entries):
                break  # nothing is left to fill
    return None


def fill_frame(made: CasePlan, frame: Frame, fill: fmpq) -> Case:
    """The case with every group of orthogonal vectors along a frame and every other entry alike; or `NoCase`."""
    values: Case = {}
    pinned = set(made.gram.leaves())
    for node, (symbol, _) in made.entries.items():
        if node not in pinned and node not in made.assigned:
            values[node] = fmpq(symbol.values[0]) if symbol.values else fill
    with precision(128):
        waiting = list(_directions(made, frame))
        while waiting:
            vector, direction = _ready(made, waiting, values)
            waiting.remove((vector, direction))
            length = made.gram.lengths.get(vector)
            entries = list(direction) if length is None else with_length(made, direction, length, values)
            values.update(zip(vector, entries, strict=True))
        for node in assignment_order(made):
            values[node] = assigned_value(made, node, values)
        require(made, values, everywhere=True)
    return values


def _ready(made: CasePlan, waiting: list[Directed], values: Case) -> Directed:
    r"""The first vector whose length is known by now, as $\|q\| = \|k\|$ makes one follow from another; or `NoCase`."""
    for one in waiting:
        if all(leaf in values for leaf in made.gram.length_leaves(made.low.graph, one[0])):
            return one
    raise NoCase


def _directions(made: CasePlan, frame: Frame) -> Iterator[Directed]:
    for group in made.gram.groups():
        size = len(group[0])
        if len(group) > size:
            raise NoCase
        for place, vector in enumerate(group):
            yield vector, [frame(size, place, k) for k in range(size)]


AVERAGE_NODES = 60_000  # of one tuple
AVERAGE_SIZES = (6, 8, 11, 13, 16, 24, 33, 64)
MOST_DEGREE = 24
BEYOND = tuple(10**k for k in range(1, 16))
AVERAGE_SHARE = 0.1  # of a step's time
HOLDS = {
    "=": lambda d: d == 0, "!=": lambda d: d != 0, "<": lambda d: d < 0, "<=": lambda d: d <= 0,
    ">": lambda d: d > 0, ">=": lambda d: d >= 0,
}  # fmt: skip


def search_averages(problem: Problem) -> Finding | None:
    """Compare averages at larger sizes than others can be; the finding if they refute.

    Args:
        problem: A claim whose small sizes agree.
    """
    claim, sizes = problem.claim, problem.tuples.sizes
    averaged = any(t.op == "expect" for side in (claim.left, claim.right) for t in side.walk())
    if not averaged or problem.moves or claim.op not in HOLDS or not sizes:
        return None
    end = min(problem.deadline, time.process_time() + AVERAGE_SHARE * problem.effort.seconds)
    if len(sizes) == 1 and not problem.tuples.indices:
        found, conclusive = _extrapolate(problem, end)
        if conclusive:
            return found
    for size in AVERAGE_SIZES:
        env = {**dict.fromkeys(problem.tuples.indices, 1), **dict.fromkeys(sizes, size)}
        site = _site(problem, env) if time.process_time() < end else None
        if site is None:
            continue
        try:
            outcome = compare(site.low.graph, site.pairs, claim.op, {}, site.order, most=512)
        except (Undefined, Imprecise, TooLarge):
            continue
        if outcome.holds is False:
            problem.tally.far = True
            return refutation(problem, site, {}, outcome)
        if outcome.holds:
            problem.tally.reached = {n: max(problem.tally.reached.get(n, 0), size) for n in sizes}
    return None


def _site(problem: Problem, env: dict[str, int]) -> Site | None:
    """The claim at some sizes, None where they are not allowed or there is anything to draw."""
    try:
        site = problem.make_site(env, Graph(AVERAGE_NODES)) if problem.tuples.feasible(env) else None
    except (TooLarge, Unsettled):
        return None
    return site if site is not None and not site.plan.entries else None


def _extrapolate(problem: Problem, end: float) -> tuple[Finding | None, bool]:
    """Compare the polynomials in the one size that both sides are; also whether they were."""
    (name,) = problem.tuples.sizes
    degree = polynomial_degree(problem.context, problem.claim)
    if degree is None or degree > MOST_DEGREE:
        return None, False
    lowest = problem.tuples.lowest(name)
    points = []
    for size in range(lowest, lowest + degree + 2):  # one more than are needed
        values = _values(problem, {name: size}) if time.process_time() < end else None
        if values is None:
            return None, False
        points.append((fmpq(size), *values))
    left, right = (_interpolate([(p[0], p[k]) for p in points]) for k in (1, 2))
    if max(left.degree(), right.degree()) > degree:
        return None, False
    difference = left - right
    for size in sorted({*_near_roots(difference), *BEYOND}):
        if size >= lowest and problem.tuples.feasible({name: size}) and not HOLDS[problem.claim.op](difference(size)):
            return _finding(problem, name, size, degree, left(size), right(size)), True
    problem.tally.notes.append(
        f"so do both sides as polynomials in {name} of degree {degree} at most, around the roots of their difference "
        f"and up to {name} = 10^{len(BEYOND)}"
    )
    return None, True


def _values(problem: Problem, env: dict[str, int]) -> tuple[fmpq, fmpq] | None:
    """Both sides as rational numbers."""
    site = _site(problem, env)
    if site is None or len(site.pairs) != 1:
        return None
    try:
        with precision(128):
            left, right = evaluate(site.low.graph, list(site.pairs[0]), {}, site.order)
    except (Undefined, Imprecise, TooLarge):
        return None
    return (left, right) if isinstance(left, fmpq) and isinstance(right, fmpq) else None


def _interpolate(points: list[tuple[fmpq, fmpq]]) -> fmpq_poly:
    """The polynomial through some points, by Newton's divided differences."""
    table = [y for _, y in points]
    for k in range(1, len(points)):
        for i in range(len(points) - 1, k - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (points[i][0] - points[i - k][0])
    out = fmpq_poly([table[-1]])
    for (x, _), c in zip(reversed(points[:-1]), reversed(table[:-1]), strict=True):
        out = out * fmpq_poly([-x, fmpq(1)]) + c
    return out


def _near_roots(poly: fmpq_poly) -> set[int]:
    """The whole numbers next to the real roots of a polynomial."""
    if poly.degree() < 1:
        return set()
    roots = [root.real for root, _ in fmpz_poly(list(poly.numer())).complex_roots() if root.imag.contains(0)]
    return {int(float(r.mid())) + k for r in roots if abs(float(r.mid())) < 1e15 for k in (-1, 0, 1, 2)}


def _finding(problem: Problem, name: str, size: int, degree: int, left: fmpq, right: fmpq) -> Finding:
    sides = format_value(left), format_value(right)
    text = (
        f"{sides[0]} {_NOT[problem.claim.op]} {sides[1]} at {name} = {size}: both sides are polynomials in {name} of "
        f"degree {degree} at most, and their first {degree + 1} values determine them"
    )
    problem.tally.far = True
    example = Counterexample({name: str(size)}, *sides)
    return Finding(Verdict.REFUTED, Evidence(text, {"cases": problem.tally.cases + 1}), example)


_NOT = {"=": "is not", "!=": "is", "<": "is not below", "<=": "is above", ">": "is not above", ">=": "is below"}
