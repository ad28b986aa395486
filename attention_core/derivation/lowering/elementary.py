r"""Elementary functions as nodes: tangents, hyperbolic functions and the inverse ones, entry by entry.

All but the arctangent and the arcsine are written by what the graph knows, so that proofs, derivatives, limits and
enclosures see through them, and each is undefined where the formula is:

    $\tan x = \sin x / \cos x$, $\cosh x = (e^x + e^{-x}) / 2$, $\arccos x = \pi / 2 - \arcsin x$,
    $\operatorname{artanh} x = (\log(1 + x) - \log(1 - x)) / 2$,
    $\operatorname{arsinh} x = \log(x + \sqrt{x^2 + 1})$, $\operatorname{arcosh} x = \log(x + \sqrt{x^2 - 1})$.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attention_core.derivation.graph.nodes import Graph
from attention_core.derivation.lowering.lower import Cells, Env, Lowering, handles
from attention_core.derivation.terms.terms import Term


def _tangent(graph: Graph, x: int) -> int:
    return graph.div(graph.call("sin", x), graph.call("cos", x))


def _cotangent(graph: Graph, x: int) -> int:
    return graph.div(graph.call("cos", x), graph.call("sin", x))


def _exponentials(graph: Graph, x: int, sign: int) -> int:
    """(e^x + e^-x) / 2, or (e^x - e^-x) / 2."""
    up, down = graph.call("exp", x), graph.call("exp", graph.neg(x))
    return graph.mul((graph.const(Fraction(1, 2)), graph.add((up, down)) if sign > 0 else graph.sub(up, down)))


def _hyperbolic_sine(graph: Graph, x: int) -> int:
    return _exponentials(graph, x, -1)


def _hyperbolic_cosine(graph: Graph, x: int) -> int:
    return _exponentials(graph, x, 1)


def _arccosine(graph: Graph, x: int) -> int:
    half = graph.mul((graph.const(Fraction(1, 2)), graph.node("pi")))
    return graph.sub(half, graph.call("arcsin", x))


def _area(graph: Graph, x: int, one: int) -> int:
    """log(x + sqrt(x^2 + 1)), or with -1 for 1."""
    root = graph.call("sqrt", graph.add((graph.power(x, graph.const(Fraction(2))), one)))
    return graph.call("log", graph.add((x, root)))


def _area_tangent(graph: Graph, x: int) -> int:
    above, below = (graph.call("log", graph.add((graph.one, part))) for part in (x, graph.neg(x)))
    return graph.mul((graph.const(Fraction(1, 2)), graph.sub(above, below)))


FORMS: Mapping[str, Callable[[Graph, int], int]] = {
    "tan": _tangent,
    "cot": _cotangent,
    "sec": lambda graph, x: graph.inv(graph.call("cos", x)),
    "csc": lambda graph, x: graph.inv(graph.call("sin", x)),
    "sinh": _hyperbolic_sine,
    "cosh": _hyperbolic_cosine,
    "coth": lambda graph, x: graph.div(_hyperbolic_cosine(graph, x), _hyperbolic_sine(graph, x)),
    "sech": lambda graph, x: graph.inv(_hyperbolic_cosine(graph, x)),
    "csch": lambda graph, x: graph.inv(_hyperbolic_sine(graph, x)),
    "arccos": _arccosine,
    "arsinh": lambda graph, x: _area(graph, x, graph.one),
    "arcosh": lambda graph, x: _area(graph, x, graph.minus),
    "artanh": _area_tangent,
}


@handles(*FORMS)
def _elementary(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(FORMS[term.op](low.graph, cell) for cell in inner.cells))
