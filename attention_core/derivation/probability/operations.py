"""Expectations as nodes, and with them the complete table of operations that terms are lowered by.

An expectation becomes the node of its closed form, else a `mean` node that holds what is averaged. Handlers register
themselves where they are defined; expectations, which need moments, are the last of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.limits import expander
from attention_core.derivation.lowering import (
    arithmetic,
    array_functions,
    elementary,
    integral_forms,
    limits,
    series_forms,
)
from attention_core.derivation.lowering.lower import Cells, Env, Lowering, handles
from attention_core.derivation.probability.closed_forms import moments_of
from attention_core.derivation.probability.distributions import RandomArray, drawn_of
from attention_core.derivation.probability.moments import NotPolynomial
from attention_core.derivation.terms.terms import Term


@dataclass(frozen=True)
class MeanLaw:
    """The law of one random leaf of a `mean` node: its name and its parameters as nodes."""

    name: str
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class Mean:
    """What a `mean` node holds: what is averaged, over which leaves, with the law of each group they belong to."""

    body: int
    random: tuple[int, ...]
    laws: tuple[MeanLaw, ...]


def random_leaves(low: Lowering, node: int) -> set[int]:
    """The leaves of random symbols below a node."""
    return {n for n in low.graph.leaves([node]) if drawn_of(low, low.graph.data[n]) is not None}


def expectation(low: Lowering, node: int) -> int:
    """The node of E[node], without the leaves of random symbols; a `mean` node where there is no closed form."""
    random = random_leaves(low, node)
    if not random:
        return node
    if low.means == "all":
        return mean_node(low, node, random)
    try:
        return moments_of(low, random).expect(node)
    except NotPolynomial:
        if low.means:
            return mean_node(low, node, random)
        raise


def mean_node(low: Lowering, node: int, random: set[int]) -> int:
    """A node that stands for an average without a closed form."""
    graph, engine = low.graph, moments_of(low, random)
    groups = sorted({engine.group(n) for n in random})
    engine.require_independence(groups)
    inner = [n for n in graph.reachable([node]) if graph.ops[n] in ("mean", "limit")]
    if inner:
        raise Unsettled("an average inside an average without a closed form: write it with Var or Cov")
    order = tuple(sorted(random))
    if low.means == "all" or len(order) > 1:
        engine.require_free_entries(order)
    laws = tuple(_law_nodes(engine.drawn[engine.group(n)], n) for n in order)
    parameters = {p for law in laws for p in law.parameters}
    below = sorted(set(graph.leaves([node, *parameters])) - random)
    return graph.node("mean", tuple(below), Mean(node, order, laws))


def _law_nodes(drawn: RandomArray, leaf: int) -> MeanLaw:
    """Mean and variance of an entry of a normal array with independent entries, else the parameters."""
    if drawn.law.name == "normal":
        return MeanLaw("normal", (drawn.mean(leaf), drawn.covariance(leaf, leaf)))
    cells = tuple(c for k in range(len(drawn.law.parameters)) for c in drawn.lower_parameter(k).cells)
    return MeanLaw(drawn.law.name, cells)


@handles("expect")
def _expect(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(expectation(low, cell) for cell in inner.cells))


def register() -> tuple[ModuleType, ...]:
    """Complete the tables: of operations, and of the values and the comparison of limits.

    Returns:
        The modules that fill them when they are imported.
    """
    return arithmetic, array_functions, elementary, integral_forms, limits, series_forms, expander
