"""Reverse-mode differentiation of the scalar graph.

Derivatives of a node, as nodes: reverse accumulation through the graph.
Where a function has a kink (|x| at 0, max at a tie) the derivative is a node that is undefined there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from attention_core.derivation.graph.nodes import Graph, TooLarge


def gradients(graph: Graph, root: int, by: Sequence[int]) -> list[int]:
    """The derivative of `root` by each node of `by`."""
    order = graph.reachable([root])
    wanted = set(by)
    depends: set[int] = set()
    for node in order:
        if node in wanted or any(a in depends for a in graph.args[node]):
            depends.add(node)
    sums: dict[int, list[int]] = {root: [graph.one]}
    for node in reversed(order):
        if node not in depends or node not in sums:
            continue
        flow = graph.add(sums[node])
        sums[node] = [flow]
        if node in wanted:
            continue
        for argument, slope in _slopes(graph, node, depends):
            sums.setdefault(argument, []).append(graph.mul((flow, slope)))
    return [graph.add(sums[node]) if node in sums else graph.zero for node in by]


def _slopes(graph: Graph, node: int, depends: set[int]) -> list[tuple[int, int]]:
    """Each argument that matters with the partial derivative by it."""
    op, args = graph.ops[node], graph.args[node]
    two = graph.const(Fraction(2))
    if op == "add":
        return [(a, graph.one) for a in args if a in depends]
    if op == "mul":
        out = []
        for i, a in enumerate(args):
            if a in depends:
                out.append((a, graph.mul(args[:i] + args[i + 1 :])))
        return out
    x = args[0]
    if op == "inv":
        return [(x, graph.neg(graph.mul((node, node))))]
    if op == "powi":
        whole = graph.data[node]
        return [(x, graph.mul((graph.const(Fraction(whole)), graph.power(x, graph.const(Fraction(whole - 1))))))]
    if op == "pow":
        base, to = args
        out = []
        if base in depends:
            out.append((base, graph.mul((to, graph.power(base, graph.add((to, graph.minus)))))))
        if to in depends:
            out.append((to, graph.mul((node, graph.call("log", base)))))
        return out
    if op in ("max", "min"):
        return _extreme_slopes(graph, node, depends)
    table = {
        "exp": lambda: node,
        "log": lambda: graph.inv(x),
        "sqrt": lambda: graph.inv(graph.mul((two, node))),
        "abs": lambda: graph.mul((x, graph.inv(node))),
        "sin": lambda: graph.call("cos", x),
        "cos": lambda: graph.neg(graph.call("sin", x)),
        "erf": lambda: _bell(graph, x),
        "erfc": lambda: graph.neg(_bell(graph, x)),
    }
    if op not in table:
        raise TooLarge(f"the derivative of {op} is not supported")
    return [(x, table[op]())]


def _bell(graph: Graph, x: int) -> int:
    """2 / sqrt(pi) e^(-x^2), the derivative of erf."""
    two = graph.const(Fraction(2))
    below = graph.call("exp", graph.neg(graph.power(x, two)))
    return graph.mul((two, graph.inv(graph.call("sqrt", graph.node("pi"))), below))


def _extreme_slopes(graph: Graph, node: int, depends: set[int]) -> list[tuple[int, int]]:
    """The derivative of a maximum: 1 for the argument that is it; at a tie it is undefined (a division by 0)."""
    op, args = graph.ops[node], graph.args[node]
    signed = args if op == "max" else tuple(graph.neg(a) for a in args)
    out = []
    for i, a in enumerate(args):
        if a in depends:
            share = graph.node("argmax", signed, i)
            # gap / gap is 1, and not defined at a tie
            gaps = [graph.sub(signed[i], other) for other in signed if other != signed[i]]
            defined = graph.mul(g for gap in gaps for g in (gap, graph.inv(gap)))
            out.append((a, graph.mul((share, defined))))
    return out
