r"""Up to which size a false claim holds: "$n! \le 10^{58}$ is true for $n \le 46$".

Where one size or index alone decides a claim, it is compared exactly at each value from the smallest on. A run that
begins there, or one that goes on to the last value that was tried, says what a hypothesis is missing.
"""

from __future__ import annotations

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.effort import OutOfTime, ceiling, on_time
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Imprecise
from attention_core.derivation.lowering.lower import Infeasible
from attention_core.derivation.terms.relevance import relation_names

HIGHEST = 400  # the largest value that is tried one by one
BEHIND = 20  # values after a change that must agree with it
SHARE = 0.2  # of a step's time
NODES = 20_000


def find_size_range(problem: Problem) -> str:
    """For which values of its only size a refuted claim holds, '' where that is not one run.

    Args:
        problem: The claim, with its counterexample found.
    """
    names = relation_names(problem.context, problem.claim)
    if problem.symbols or problem.moves or names != set(problem.tuples.sizes) or len(names) != 1:
        return ""
    (name,) = names
    held: dict[int, bool] = {}
    try:
        with ceiling(SHARE * problem.effort.seconds):
            for value in range(problem.tuples.lowest(name), HIGHEST + 1):
                on_time()
                verdict = _holds_at(problem, name, value)
                if verdict is None:
                    break
                held[value] = verdict
    except OutOfTime:
        pass
    return _describe(name, held)


def _holds_at(problem: Problem, name: str, value: int) -> bool | None:
    """Whether the claim holds at a value, None where that is not known."""
    if not problem.tuples.feasible({name: value}):
        return None
    try:
        site = problem.make_site({name: value}, Graph(NODES))
        if site is None or site.plan.entries:
            return None
        return compare(site.low.graph, site.pairs, problem.claim.op, {}, site.order).holds
    except (Undefined, Imprecise, TooLarge, Unsettled, Infeasible, ZeroDivisionError):
        return None


def _describe(name: str, held: dict[int, bool]) -> str:
    """One run of values in words."""
    values = list(held)
    changes = [k for k in range(1, len(values)) if held[values[k]] != held[values[k - 1]]]
    if not changes or len(values) - changes[-1] < BEHIND:
        return ""
    last, end = values[changes[-1]], values[-1]
    if held[end]:
        return f"the step is true for ${name} \\ge {last}$, up to {end} at least: is that meant?"
    if len(changes) > 1 or changes[0] < 2:
        return ""  # one value makes no range
    return f"the step is true for ${name} \\le {last - 1}$, and for no other up to {end}: is that meant?"
