"""Claims at large sizes.

Far larger sizes than a search can try in full: up a ladder, a few cases at each, as a count of operations allows.
It may only refute; a size where a case cannot be made, or the sides cannot be told apart, is passed over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice, product
from typing import TYPE_CHECKING

from flint import fmpq

from attention_core.derivation.cases.admissible import NoCase
from attention_core.derivation.cases.counterexamples import refutation, shrink_and_report
from attention_core.derivation.cases.generate import draw, flat
from attention_core.derivation.graph.choices import MODES, Choices
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case, Imprecise
from attention_core.derivation.lowering.spaces import constants
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
    sides = (problem.claim.left, problem.claim.right)
    heavy = HEAVY if problem.symbols else HEAVY - PLAIN  # of numbers alone a determinant is soon known
    if problem.moves or any(t.op in heavy for side in sides for t in side.walk()):
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


def _where_conditions_begin(problem: Problem, end: float) -> Finding | None:
    """Search where a condition such as [i = j + 7] can hold for the first time; the finding if one refutes."""
    for env in _named(problem):
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


def _named(problem: Problem) -> Iterator[dict[str, int]]:
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
