"""Points where a false step is defined, at which its mends are tried first.

Most changes of a false step leave it false. One that is false at a point where the step itself has a value needs no
search, and no proof is tried: the time is left for the few that hold at all points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attention_core.derivation.cases.problem import Problem, Site
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case

MOST = 4
"""Points of one step: a false change that holds at so many is searched for as others are."""
SEEDS = 12  # cases that are drawn for them
BITS = 256
SIZES = 5  # tuples of small sizes at which a change is looked at

Key = tuple[str, Any]  # the name of a symbol, and which of its entries
Point = tuple[dict[str, int], dict[Key, Any]]  # sizes and indices, and the value of each entry


def find_spots(problem: Problem) -> list[Point]:
    """Points where both sides of a problem that was refuted have values; the one that refutes it comes first.

    Args:
        problem: A problem whose search ended with a counterexample.
    """
    if problem.refuted is None:
        return []
    return [(site.env, {_key(site, node): value for node, value in case.items()}) for site, case in _cases(problem)]


def fails_at_spots(problem: Problem, spots: Sequence[Point]) -> bool:
    """Whether a relation between the same symbols is false at one of some points.

    Args:
        problem: The changed step.
        spots: Points of the step as it stands.
    """
    return any(_fails_at(problem, env, values) for env, values in spots)


def has_no_sites(problem: Problem, spots: Sequence[Point]) -> bool:
    """Whether a relation has no value at small sizes, nor where its step has one: it names y_0, or sums up to 1/2.

    Args:
        problem: The changed step.
        spots: Points of the step as it stands.
    """
    tuples = problem.tuples
    names = (*tuples.sizes, *tuples.indices)
    if not spots or not names or not set(names) <= spots[0][0].keys():
        return False
    small = tuples.small()
    envs = [{name: spots[0][0][name] for name in names}, *small[:: max(1, len(small) // SIZES)]]
    return bool(small) and all(problem.site(env) is None for env in envs)


def _key(site: Site, node: int) -> Key:
    symbol, key = site.plan.entries[node]
    return symbol.name, key


def _cases(problem: Problem) -> Iterator[tuple[Site, Case]]:
    assert problem.refuted is not None
    site, case = problem.refuted
    yield site, case
    found = 1
    for seed in range(SEEDS):
        drawn = problem.case(site.plan, problem.effort.seed + seed)[1] if found < MOST else None
        if drawn is not None and _holds(problem, site, drawn) is not None:
            found += 1
            yield site, drawn


def _holds(problem: Problem, site: Site, case: Case) -> bool | None:
    """Whether the relation of a problem holds at a case, None where that is not known."""
    try:
        return compare(site.low.graph, site.pairs, problem.claim.op, case, site.order, most=BITS).holds
    except (Undefined, ZeroDivisionError, TooLarge, Unsettled):
        return None


def _fails_at(problem: Problem, env: dict[str, int], values: dict[Key, Any]) -> bool:
    tuples = problem.tuples
    if problem.moves or not {*tuples.sizes, *tuples.indices} <= env.keys():
        return False
    site = problem.site({name: env[name] for name in (*tuples.sizes, *tuples.indices)})
    if site is None or not all(_key(site, node) in values for node in site.plan.entries):
        return False
    return _holds(problem, site, {node: values[_key(site, node)] for node in site.plan.entries}) is False


__all__ = ["Point", "fails_at_spots", "find_spots", "has_no_sites"]
