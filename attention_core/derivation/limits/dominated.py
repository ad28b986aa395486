"""The limit of an expectation of something bounded.

Limits of averages by dominated convergence: the integrand is bounded, and its limit is known on every piece of the
line of one random number; the average of a step function is a sum of probabilities.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from flint import fmpq, fmpq_poly

from attention_core.derivation.graph.bounds import bounds, enclosing
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.graph.numbers import ball, evaluate, exact
from attention_core.derivation.limits.regions import Divided, End, Piece, Region
from attention_core.derivation.limits.scales import VAGUE
from attention_core.derivation.limits.transseries import Series, constant, plain

if TYPE_CHECKING:
    from attention_core.derivation.limits.expander import Expander

MAX_PARTS = 64


def mean_limit(expander: Expander, node: int) -> Series:
    """The expansion c + o(1) of a `mean` node whose integrand converges almost everywhere and is bounded."""
    graph, data = expander.graph, expander.graph.data[node]
    if expander.goal.leaf not in graph.args[node]:
        raise Unsettled("an average without a closed form stands beside the limit")
    if len(data.random) != 1:
        raise Unsettled("a limit of an average over more than one random number is not decided here")
    (leaf,) = data.random
    law = data.laws[0]
    low, high = bounds(graph, [data.body], _ranges(expander))[0]
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise Unsettled("what is averaged is not seen to be bounded, so the limit may not be taken inside")
    if law.name not in ("normal", "uniform"):
        raise Unsettled(f"a limit of an average over the law '{law.name}' is not decided here")
    parameters = [evaluate(graph, [p], _select_leaf_values(expander, p))[0] for p in law.parameters]
    if law.name == "normal" and not parameters[1] > 0:
        raise Unsettled("the variance is not seen to be positive")
    ends = (None, None) if law.name == "normal" else (parameters[0], parameters[1])
    if not all(end is None or exact(end) for end in ends):
        raise Unsettled("the ends of the uniform law are not rational")
    total: Any = fmpq(0)
    todo = [Region(*ends)]
    parts = 0
    while todo:
        region = todo.pop()
        parts += 1
        if parts > MAX_PARTS:
            raise Unsettled("the line of the random number falls into too many pieces")
        try:
            value = _limit_on(expander, data.body, leaf, region)
        except Divided as found:
            cuts = _sort_ends([region.low, *found.roots, region.high])
            todo += [Region(a, b) for a, b in pairwise(cuts)]
            continue
        if value != 0:
            total = total + value * _probability(law.name, parameters, region)
    result = constant(total)
    return Series(result.terms, VAGUE)


def _ranges(expander: Expander) -> dict[int, tuple[float, float]]:
    return {n: enclosing(v() if callable(v) else v) for n, v in expander.values.items()}


def _select_leaf_values(expander: Expander, node: int) -> dict[int, Any]:
    if expander.goal.leaf in expander.graph.reachable([node]):
        raise Unsettled("the law itself moves, and a limit of such an average is not decided here")
    return {n: expander.values[n] for n in expander.graph.leaves([node])}


def _limit_on(expander: Expander, body: int, leaf: int, region: Region) -> Any:
    """The limit of the integrand on a region, where it has to be one number."""
    inner = type(expander)(
        expander.graph, expander.goal, expander.values, expander.known[expander.goal.leaf], expander.count
    )
    line = Piece(fmpq_poly([0, 1]), fmpq_poly([1]), region)
    inner.known[leaf] = constant(line)
    value, far = inner.series(body).limit()
    assert not far, "a bounded integrand has no infinite limit"
    return plain(value)


def _sort_ends(ends: list[End]) -> list[End]:
    """Ends in their order, each once; roots that are not rational are told apart by their balls."""
    inner: list[End] = []
    for end in ends[1:-1]:
        if any(end is other or (exact(end) and exact(other) and end == other) for other in inner):
            continue
        for other in inner:
            if not (exact(end) and exact(other)) and ball(end).overlaps(ball(other)):
                raise Unsettled("two roots lie too close together")
        inner.append(end)
    inner.sort(key=lambda e: ball(e).mid())
    return [ends[0], *inner, ends[-1]]


def _probability(law: str, parameters: list[Any], region: Region) -> Any:
    """The probability of an interval."""
    if law == "uniform":
        a, b = parameters
        return (region.high - region.low) / (b - a)
    mean, variance = parameters
    if region.low is None or region.high is None:
        if region.low is None and region.high is None:
            return fmpq(1)
        return (
            normal_below(region.high, mean, variance)
            if region.low is None
            else normal_below(-region.low, -mean, variance)
        )
    return normal_below(region.high, mean, variance) - normal_below(region.low, mean, variance)


def normal_below(x: Any, mean: Any, variance: Any) -> Any:
    """P(X <= x) of a normal law."""
    if exact(x) and exact(mean) and x == mean:
        return fmpq(1, 2)
    return ((ball(mean) - ball(x)) / (2 * ball(variance)).sqrt()).erfc() / 2
