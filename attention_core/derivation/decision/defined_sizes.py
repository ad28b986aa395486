"""Sizes and values at which both sides of a claim are defined.

An entry that does not exist, such as a_{12} of an array with one column, leaves a side without a value. A few such
sizes are usual (the largest of no number, x_2 at n = 1) and are left out. If the sides are defined only where the sizes
satisfy one more equation (m = n under swapped bounds), the cases that were compared say nothing about the claim. The
same holds of values: the root of -x^2 is defined at x = 0 alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import exact
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.lowering.plans import plan

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem, Site

Env = dict[str, int]
Row = Mapping[str, int | Fraction]
NEIGHBOURS = 4  # tuples where the sides are defined whose neighbours are tried
SECONDS = 2.0
DRAWN = 60  # cases that are drawn again where most have a side without a value
ENTRIES = 6  # numbers of a case at most, for these
SITES = 3


def explain_unstated_equation(problem: Problem) -> str:
    """Say which equation among the sizes both sides need that no hypothesis states.

    Args:
        problem: the problem, after its cases were compared.

    Returns:
        Where the sides are defined, with a tuple of sizes where they are not; '' if they are defined at sizes that
        satisfy no further equation.
    """
    defined: list[Env] = [dict(place) for place, site in problem.sites.items() if site is not None]
    missing = [dict(place) for place, site in problem.sites.items() if site is None]
    undefined = [(env, why) for env in missing if (why := _explain_gap(problem, env))]
    if not defined or not undefined:
        return ""
    directions = _directions([*defined, *(env for env, _ in undefined)])
    deadline = time.process_time() + SECONDS
    neighbours = _iterate_neighbours(problem, defined)
    while len(_directions(defined)) < len(directions):
        env = next(neighbours, None) if time.process_time() < deadline else None
        if env is None:
            where, why = min(undefined, key=lambda one: sum(one[0].values()))
            shown = ", ".join(f"{name} = {value}" for name, value in where.items())
            return f"the two sides are defined only {_equation(defined)}: at {shown} {why}"
        if _is_defined(problem, env):
            defined.append(env)
    return ""


def _explain_gap(problem: Problem, env: Env) -> str:
    """Why a side has no value at sizes that the hypotheses admit; '' where they do not admit them."""
    low = Lowering(problem.context, env)
    low.hypotheses, low.means = problem.hypotheses, problem.means
    try:
        plan(problem.context, low, problem.symbols, problem.hypotheses)
    except Infeasible:
        return ""
    except (Undefined, TooLarge) as error:
        return str(error) if isinstance(error, Undefined) else ""
    try:
        low.lower(problem.claim.left), low.lower(problem.claim.right)
    except Undefined as error:
        return str(error)
    except (Infeasible, TooLarge):
        return ""
    return ""


def _is_defined(problem: Problem, env: Env) -> bool:
    try:
        return problem.site(env) is not None
    except TooLarge:
        return False


def _iterate_neighbours(problem: Problem, defined: list[Env]) -> Iterator[Env]:
    """Admitted tuples that differ by 1 or 2 in one size or index from tuples where the sides are defined."""
    for env in sorted(defined, key=lambda one: sum(one.values()))[-NEIGHBOURS:]:
        for name in env:
            for shift in (1, -1, 2, -2):
                near = {**env, name: env[name] + shift}
                if near[name] >= 1 and _is_admitted(problem, near):
                    yield near


def _is_admitted(problem: Problem, env: Env) -> bool:
    """Whether the conditions among sizes hold and every index is in its range."""
    sizes = {name: env[name] for name in problem.tuples.sizes}
    low = Lowering(problem.context, sizes)
    for name in problem.tuples.indices:
        symbol = problem.context.symbols[name]
        assert symbol.lowest is not None and symbol.highest is not None
        if not symbol.lowest.value(low.top) <= env[name] <= symbol.highest.value(low.top):
            return False
    return problem.tuples.feasible(env)


def has_unstated_equation(problem: Problem) -> bool:
    """Whether the cases where both sides have a value satisfy an equation that the other cases do not.

    Asked only where most cases have a side without a value; linear equations at small sizes are found.
    """
    tally = problem.tally
    if problem.moves or tally.undefined <= tally.cases:
        return False
    sites = [s for s in problem.sites.values() if s is not None and 0 < len(s.plan.entries) <= ENTRIES][:SITES]
    return bool(sites) and all(_is_thin(problem, site) for site in sites)


def _is_thin(problem: Problem, site: Site) -> bool:
    defined: list[Row] = []
    undefined: list[Row] = []
    for number in range(DRAWN):
        _, case = problem.case(site.plan, problem.effort.seed * 1_000_003 + number)
        if case is None or not all(exact(case[node]) for node in site.plan.entries):
            continue
        row = {str(node): Fraction(int(case[node].p), int(case[node].q)) for node in site.plan.entries}
        try:
            compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=512)
        except Undefined:
            undefined.append(row)
        else:
            defined.append(row)
    if not defined or not undefined:
        return False
    known = len(_directions(defined))
    return len(defined) > known + 2 and known < len(_directions([*defined, *undefined]))


def _directions(envs: Sequence[Row]) -> list[list[Fraction]]:
    """A basis of the differences between tuples, by elimination."""
    basis: list[list[Fraction]] = []
    for env in envs[1:]:
        row = [Fraction(env[name] - first) for name, first in envs[0].items()]
        for known in basis:
            place = next(k for k, value in enumerate(known) if value)
            row = [a - row[place] / known[place] * b for a, b in zip(row, known, strict=True)]
        if any(row):
            basis.append(row)
    return basis


def _equation(defined: list[Env]) -> str:
    """The equation that the tuples satisfy, in words, if it is a simple one."""
    names = list(defined[0])
    for name in names:
        if len({env[name] for env in defined}) == 1:
            return f"at {name} = {defined[0][name]}"
    for one, other in combinations(names, 2):
        gaps = {env[one] - env[other] for env in defined}
        if len(gaps) == 1:
            gap = gaps.pop()
            end = f" {'+' if gap > 0 else '-'} {abs(gap)}" if gap else ""
            return f"where {one} = {other}{end}"
    return "where the sizes satisfy a further equation"


__all__ = ["explain_unstated_equation", "has_unstated_equation"]
