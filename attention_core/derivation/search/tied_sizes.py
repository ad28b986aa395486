r"""Claims where an equation ties the sizes: their solutions, beyond the small ones.

Under $a^3 + b^3 = c^3 + d^3$ with $a < b$ and $c < d$ all small solutions have $a = c$ and $b = d$; the first other one
is $1^3 + 12^3 = 9^3 + 10^3$. So the solutions of such an equation are looked for by themselves. Its terms are brought
to two sides that share no size; both are computed for 100,000 values, sorted and matched. Where its terms hang
together ($a b c = 6 (a + b + c)$), all tuples up to a bound are tried. Float64 proposes; the conditions are then
compared exactly.

One equation takes one dimension at most from the tuples that it leaves (where the left side is a sum of squares and
the right one is 0 it may take more, and then the step stays open). Tuples that span fewer dimensions than sizes less
equations satisfy an equation that no hypothesis states, here $a = c$. What they agree on may be due to it: that says
nothing of others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.lowering.block_arrays import Unsupported
from attention_core.derivation.proofs.contradiction import linear
from attention_core.derivation.search.size_sweep import SURE, Grid, TermColumns, certify, meets, names_in, relative_gaps
from attention_core.derivation.search.trials import search_cases
from attention_core.derivation.terms.terms import Relation, Size, Term

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem
    from attention_core.derivation.records import Finding

SIDE = 100_000  # tuples of one side of an equation
WHOLE = 400_000  # tuples of an equation whose terms hang together
PAIRS = 600_000  # solutions that are looked at
BESIDE = 2  # values of a size that the equation leaves alone
MOST_NAMES = 6
EQUAL = 1e-12
CASES = 3
SHOWN = 12  # solutions at which arrays are drawn
SHARE = 0.1  # of a step's time


def ties_sizes(condition: Relation) -> bool:
    """Whether an equation ties sizes as no size by itself solves it: small ones then say nothing about larger ones.

    Under a^2 + b^2 = c^2 + d^2 the sums a + b and c + d are one for small sizes, and 1 + 8 is not 4 + 7; E = h d ties
    nothing, since h and d are free.
    """
    forms = (linear(condition.left), linear(condition.right))
    alone = any(form is not None and len(form.keys() - {""}) == 1 for form in forms)
    return condition.op == "=" and None in forms and not alone


def search_tied_sizes(problem: Problem) -> Finding | None:
    """Try the claim at solutions of the equations among its sizes; the finding if one refutes."""
    names = [*problem.tuples.sizes, *problem.tuples.indices]
    ties = [c for c in problem.tuples.conditions if ties_sizes(c)]
    if not ties or len(names) > MOST_NAMES or problem.moves:
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    try:
        columns = solutions(problem, ties[0], names)
    except (Unsupported, TooLarge, KeyError, OverflowError, ValueError):
        return None
    if not len(columns[names[0]]):
        return None
    if found := _compare_numbers(problem, columns):
        return found
    for env in _spread(columns, names):
        if time.process_time() > end:
            break
        if env in problem.tally.tuples or not problem.tuples.feasible(env):
            continue
        try:
            site = problem.site(env)
            found = None if site is None else search_cases(problem, site, CASES)
        except TooLarge:
            continue
        if found is not None:
            return found
    return None


def explain_missing_span(problem: Problem) -> str:
    """Say that the tuples of the cases satisfy an equation that no hypothesis states; '' where they do not."""
    names = [*problem.tuples.sizes, *problem.tuples.indices]
    equations = [c for c in problem.tuples.conditions if c.op == "="]
    met = problem.tally.tuples
    if not met or not any(ties_sizes(c) for c in equations):
        return ""
    rows = np.array([[env[n] for n in names] for env in met], dtype=float)
    rank = int(np.linalg.matrix_rank(rows[1:] - rows[0])) if len(rows) > 1 else 0
    if rank >= len(names) - len(equations):
        return ""
    first = ", ".join(f"{n} = {v}" for n, v in met[0].items())
    if len(rows) == 1:
        return f"one tuple of sizes alone was found to meet the hypotheses: {first}"
    return (
        f"the {len(rows)} tuples that were found to meet the hypotheses (such as {first}) satisfy a further equation, "
        "which none of them states"
    )


def solutions(problem: Problem, tie: Relation, names: Sequence[str]) -> Grid:
    """Solutions of one equation, with small values of the sizes that it leaves alone, as columns; the smallest first.

    Args:
        problem: the problem; its conditions on one side alone are met.
        tie: the equation.
        names: all sizes and indices.
    """
    left, right = _split(tie)
    if names_in_all(right):
        found = _match(problem, left, right)
    else:
        found = _axes(problem, sorted(names_in_all(left)), WHOLE, [tie])
        kept = np.abs(_sum(left, found) - _sum(right, found)) <= EQUAL * np.abs(_sum(left, found))
        found = {name: column[kept] for name, column in found.items()}
    beside = [n for n in names if n not in found]
    if beside:
        found = _extend(problem, found, beside)
    found = _select(problem, found, [tie])
    order = np.argsort(sum(found.values()), kind="stable")[:PAIRS]
    return {name: found[name][order] for name in names}


def names_in_all(terms: Sequence[Term]) -> frozenset[str]:
    """The sizes and indices of several terms."""
    return frozenset().union(*(names_in(t) for t in terms))


def _split(tie: Relation) -> tuple[list[Term], list[Term]]:
    """The terms of an equation on two sides that share no size, as even as can be; the second without sizes if none."""
    groups: list[list[Term]] = []
    constant: list[Term] = []
    for term in [*_terms(tie.left, False), *_terms(tie.right, True)]:
        own = names_in(term)
        if not own:
            constant.append(term)
            continue
        near = [g for g in groups if names_in_all(g) & own]
        groups = [g for g in groups if not any(g is n for n in near)]
        groups.append([t for g in near for t in g] + [term])
    sides: tuple[list[Term], list[Term]] = ([], [])
    for group in sorted(groups, key=lambda g: -len(names_in_all(g))):
        min(sides, key=lambda side: len(names_in_all(side))).extend(group)
    more = 0 if len(names_in_all(sides[0])) >= len(names_in_all(sides[1])) else 1
    left, right = sides[more], sides[1 - more]
    return [*left, *constant], [_minus(t) for t in right]


def _terms(term: Term, negative: bool) -> Iterator[Term]:
    """The summands of a term, each with its sign."""
    if term.op == "add":
        for part in term.args:
            yield from _terms(part, negative)
    elif term.op == "neg":
        yield from _terms(term.args[0], not negative)
    elif term.op == "size":
        for monomial, c in term.data.terms:
            yield Term("size", (), term.type, Size.of({monomial: -c if negative else c}))
    else:
        yield _minus(term) if negative else term


def _minus(term: Term) -> Term:
    return Term("neg", (term,), term.type)


def _sum(terms: Sequence[Term], columns: Grid) -> Any:
    """The sum of some terms at every tuple."""
    at, count = TermColumns(), len(next(iter(columns.values())))
    total = np.zeros(count)
    with np.errstate(all="ignore"):
        for term in terms:
            total = total + at.of(term, columns)
    return total


def _axes(problem: Problem, names: Sequence[str], most: int, but: Sequence[Relation] = ()) -> Grid:
    """All tuples of some sizes from their smallest on that meet the conditions on them alone, but for some."""
    each = int(most ** (1 / len(names)))
    lowest = [problem.tuples.lowest(n) if n in problem.tuples.sizes else 1 for n in names]
    axes = np.meshgrid(*(np.arange(low, low + each, dtype=float) for low in lowest), indexing="ij")
    columns = dict(zip(names, (a.ravel() for a in axes), strict=True))
    return _select(problem, columns, but)


def _select(problem: Problem, columns: Grid, but: Sequence[Relation]) -> Grid:
    """The tuples that meet all conditions on the sizes they name, but for some."""
    own = [c for c in problem.tuples.conditions if names_in_all((c.left, c.right)) <= columns.keys()]
    good = meets(problem, columns, [c for c in own if not any(c is one for one in but)])
    return {name: column[good] for name, column in columns.items()}


def _match(problem: Problem, left: Sequence[Term], right: Sequence[Term]) -> Grid:
    """Tuples of both sides at which these are equal, up to a number of them."""
    one = _axes(problem, sorted(names_in_all(left)), SIDE)
    other = _axes(problem, sorted(names_in_all(right)), SIDE)
    wanted, given = _sum(left, one), _sum(right, other)
    order = np.argsort(given, kind="stable")
    given = given[order]
    wanted = np.where(np.isfinite(wanted), wanted, np.nan)
    slack = EQUAL * np.abs(wanted)
    first, last = np.searchsorted(given, wanted - slack, "left"), np.searchsorted(given, wanted + slack, "right")
    counts = np.where(np.isfinite(wanted), last - first, 0)
    fit = int(np.searchsorted(np.cumsum(counts), PAIRS, "right"))  # the smallest come first
    counts = counts[:fit]
    rows = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + first[rows]
    return {**{n: c[rows] for n, c in one.items()}, **{n: c[order[place]] for n, c in other.items()}}


def _extend(problem: Problem, found: Grid, beside: Sequence[str]) -> Grid:
    """The tuples with small values of further sizes, and with all of these as large as the largest."""
    lowest = [problem.tuples.lowest(n) if n in problem.tuples.sizes else 1 for n in beside]
    axes = np.meshgrid(*(np.arange(low, low + BESIDE, dtype=float) for low in lowest), indexing="ij")
    small = [a.ravel() for a in axes]
    count, times = len(next(iter(found.values()))), len(small[0])
    wide = {name: np.repeat(column, times + 1) for name, column in found.items()}
    most = np.max(list(found.values()), axis=0) if count else np.zeros(0)  # a size that indices may go up to
    for name, column in zip(beside, small, strict=True):
        wide[name] = np.concatenate([np.tile(column, (count, 1)), most[:, None]], axis=1).ravel()
    return wide


def _compare_numbers(problem: Problem, columns: Grid) -> Finding | None:
    """A claim about sizes alone at all solutions; the finding if one refutes."""
    if problem.symbols or not problem.claim.left.type.scalar:
        return None
    try:
        gaps = relative_gaps(problem, columns)
    except (Unsupported, TooLarge, KeyError, OverflowError, ValueError):
        return None
    return certify(problem, columns, gaps, np.flatnonzero(gaps >= SURE))


def _spread(columns: Grid, names: Sequence[str]) -> list[dict[str, int]]:
    """Solutions in as many directions as there are, each the smallest of its direction, then some of the smallest."""
    rows = np.stack([columns[n] for n in names], axis=1)
    left = rows - rows[0]
    chosen = [0]
    for _ in names:
        lengths = np.linalg.norm(left, axis=1)
        far = np.flatnonzero(lengths > 1e-6 * (1 + np.linalg.norm(rows, axis=1)))
        if not len(far):
            break
        place = int(far[0])
        chosen.append(place)
        way = left[place] / lengths[place]
        left = left - np.outer(left @ way, way)
    places = dict.fromkeys([*chosen, *range(min(len(rows), SHOWN))])
    return [{n: int(rows[p][k]) for k, n in enumerate(names)} for p in list(places)[:SHOWN]]


__all__ = ["explain_missing_span", "search_tied_sizes", "solutions", "ties_sizes"]
