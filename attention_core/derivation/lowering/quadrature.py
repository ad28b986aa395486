r"""Integrals over finite intervals without a closed form: enclosed by numbers at each case.

The method is that of Petras, as FLINT has it (`acb_calc_integrate`): Gauss-Legendre rules on pieces of the interval,
with an error bounded by the largest value of what is integrated on ellipses around each piece, where it has to be
analytic. The result is a ball that holds the integral; there is no tolerance. Where no bound is found (a pole, an end
where the form is 0 / 0) the step stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flint import acb, ctx

from attention_core.derivation.graph.nodes import Graph, Undefined
from attention_core.derivation.graph.numbers import WHOLE, Imprecise, Value, ball

MOST_BITS = 512
EVALUATIONS = 20_000
DEPTH = 200


@dataclass(frozen=True)
class Quadrature:
    """What is integrated over which leaf: a node, and the nodes in it that do not depend on the leaf."""

    body: int
    leaf: int
    constants: tuple[int, ...]


def quadrature(graph: Graph, body: int, leaf: int, low: int, high: int) -> int | None:
    """The node of an integral that is enclosed numerically, None where what is integrated has a part unknown here.

    Args:
        graph: The graph.
        body: What is integrated.
        leaf: By which leaf.
        low: The lower end.
        high: The upper end.
    """
    order = graph.reachable([body])
    moving: set[int] = {leaf}
    for node in order:
        if any(a in moving for a in graph.args[node]):
            if graph.ops[node] not in _FORMS:
                return None
            moving.add(node)
    outside = {a for node in moving for a in graph.args[node] if a not in moving}
    if body not in moving:
        outside.add(body)
    constants = tuple(sorted(outside))
    return graph.node("quadrature", (low, high, *constants), Quadrature(body, leaf, constants))


def _evaluate(graph: Graph, node: int, values: Mapping[int, Value]) -> Value:
    """The ball of an integral at the values of its ends and constants."""
    low, high, *given = (ball(values[a]) for a in graph.args[node])
    data: Quadrature = graph.data[node]
    if ctx.prec > MOST_BITS or not all(one.is_finite() for one in (low, high, *given)):
        raise Imprecise
    integrand = _Integrand(graph, data, [acb(one) for one in given])
    found = acb.integral(integrand, acb(low), acb(high), eval_limit=EVALUATIONS, depth_limit=DEPTH)
    if integrand.undefined:
        raise Undefined("what is integrated is not defined on the whole interval")
    if not found.is_finite() or not found.imag.contains(0):
        raise Imprecise
    return found.real


class _Integrand:
    """What is integrated as a function of complex balls, not finite where it is not analytic."""

    def __init__(self, graph: Graph, data: Quadrature, constants: list[acb]) -> None:
        self.graph, self.data = graph, data
        self.known = dict(zip(data.constants, constants, strict=True))
        inside = {data.leaf}
        self.order: list[int] = []
        for node in graph.reachable([data.body]):
            if node not in self.known and any(a in inside for a in graph.args[node]):
                inside.add(node)
                self.order.append(node)
        self.undefined = False

    def __call__(self, z: acb, analytic: bool) -> acb:
        """The value at a ball; FLINT asks with `analytic` where the value must be that of an analytic function."""
        values, graph = {**self.known, self.data.leaf: z}, self.graph
        real = not analytic and z.imag.is_zero()
        for node in self.order:
            args, op = [values[a] for a in graph.args[node]], graph.ops[node]
            if real and op in ("sqrt", "log", "pow") and args[0].real < 0:
                self.undefined = True  # no real value: the form on complex numbers has one
            values[node] = _FORMS[op](args, graph.data[node], analytic)
        return values[self.data.body]


def _total(args: list[acb], _: Any, __: bool) -> acb:
    found = args[0]
    for one in args[1:]:
        found = found + one
    return found


def _product(args: list[acb], _: Any, __: bool) -> acb:
    found = args[0]
    for one in args[1:]:
        found = found * one
    return found


def _whole_power(args: list[acb], whole: int, _: bool) -> acb:
    base, found, times = args[0], acb(1), abs(whole)
    while times:
        if times & 1:
            found = found * base
        base = base * base
        times >>= 1
    return found if whole >= 0 else 1 / found


def _arctangent(args: list[acb], _: Any, analytic: bool) -> acb:
    """arctan z = (log(1 + i z) - log(1 - i z)) / 2i: the logarithms say where it has its cuts."""
    turned = args[0] * acb(0, 1)
    return ((1 + turned).log(analytic=analytic) - (1 - turned).log(analytic=analytic)) / acb(0, 2)


def _arcsine(args: list[acb], _: Any, analytic: bool) -> acb:
    """arcsin z = -i log(i z + sqrt(1 - z^2)): root and logarithm say where it has its cuts."""
    z = args[0]
    return -acb(0, 1) * (z * acb(0, 1) + (1 - z * z).sqrt(analytic=analytic)).log(analytic=analytic)


_FORMS: dict[str, Callable[[list[acb], Any, bool], acb]] = {
    "add": _total,
    "mul": _product,
    "powi": _whole_power,
    "inv": lambda args, _, __: 1 / args[0],
    "pow": lambda args, _, analytic: args[0].pow(args[1], analytic=analytic),
    "exp": lambda args, _, __: args[0].exp(),
    "log": lambda args, _, analytic: args[0].log(analytic=analytic),
    "sqrt": lambda args, _, analytic: args[0].sqrt(analytic=analytic),
    "abs": lambda args, _, analytic: args[0].real_abs(analytic=analytic),
    "sin": lambda args, _, __: args[0].sin(),
    "cos": lambda args, _, __: args[0].cos(),
    "arctan": _arctangent,
    "arcsin": _arcsine,
    "erf": lambda args, _, __: args[0].erf(),
    "erfc": lambda args, _, __: args[0].erfc(),
}

WHOLE["quadrature"] = _evaluate

__all__ = ["Quadrature", "quadrature"]
