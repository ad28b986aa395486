r"""Claims about sizes and indices of finitely many values, decided at each: `\binom{10}{5} > n` for $n \le 100$."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.lowering.spaces import constants
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.terms import Relation, Term

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem

Env = dict[str, int]
MOST = 2000  # tuples of sizes and indices
SHARE = 0.25  # of a step's time
_OPEN = frozenset({"leaf", "member", "expect", "limit", "infinity"})
_BELOW = {"<=": 0, "<": 1}
_ABOVE = {">=": 0, ">": 1}


def count_decided_values(problem: Problem) -> int:
    """How many values the sizes and indices of a claim have, if it was decided at each of them; 0 if not.

    Each is compared by exact numbers, or by intervals that do not meet; what a side is not defined at is not decided.

    Args:
        problem: The problem; no case of it refutes the claim.
    """
    tuples, claim = problem.tuples, problem.claim
    if problem.moves or not (tuples.sizes or tuples.indices):
        return 0
    if any(part.op in _OPEN for side in (claim.left, claim.right) for part in side.walk()):
        return 0
    if any(not any(h is one for one in tuples.conditions) for h in problem.hypotheses):
        return 0
    deadline, count = time.process_time() + SHARE * problem.effort.seconds, 0
    for env in _all_values(problem):
        if env is None or time.process_time() > deadline or not _is_decided(problem, env):
            return 0
        count += 1
    return count


def _all_values(problem: Problem) -> Iterator[Env | None]:
    """All tuples that the conditions allow; None where there are too many to go through."""
    tuples = problem.tuples
    tops = [_highest(problem, name) for name in tuples.sizes]
    ranges = [range(1, top + 1) for top in tops if top is not None]
    if len(ranges) < len(tops) or prod(len(one) for one in ranges) > MOST:
        yield None
        return
    made = 0
    for values in product(*ranges):
        for env in tuples.with_indices(dict(zip(tuples.sizes, values, strict=True)), limit=MOST + 1):
            made += 1
            if made > MOST:
                yield None
                return
            yield env


def _highest(problem: Problem, name: str) -> int | None:
    """The largest value that a condition on one size alone allows, `n <= 100`; None if none says it."""
    found = [bound for one in problem.tuples.conditions if (bound := _bound(problem, one, name)) is not None]
    return min(found, default=None)


def _bound(problem: Problem, relation: Relation, name: str) -> int | None:
    for side, other, signs in ((relation.left, relation.right, _BELOW), (relation.right, relation.left, _ABOVE)):
        alone = side.op == "int" and side.data == name and relation_names(problem.context, relation) == {name}
        if alone and relation.op in signs and (value := _number(problem, other)) is not None:
            return value - signs[relation.op]
    return None


def _number(problem: Problem, term: Term) -> int | None:
    """A whole number without symbols."""
    if any(part.op in ("int", "size", *_OPEN) for part in term.walk()):
        return None
    found = constants(problem.context, [Relation(term, "=", term, 0)], MOST + 1)
    return int(found[0]) if found and found[0].denominator == 1 else None


def _is_decided(problem: Problem, env: Env) -> bool:
    """Whether the claim is certain to hold at some values."""
    try:
        site = problem.site(env)
        if site is None or len(site.pairs) != 1:
            return False
        outcome = compare(site.low.graph, site.pairs, problem.claim.op, {}, site.order)
    except (Undefined, TooLarge):
        return False
    apart = outcome.margin is not None and problem.claim.op != "="
    return outcome.holds is True and (outcome.bits == 0 or apart)
