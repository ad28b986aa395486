"""Expansions of nodes along one way to a limit.

The nodes of a graph as expansions in the variable that tends somewhere, each from the expansions of its arguments.
Functions that jump or have a kink are settled by which expansion ends up above which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.algebra.frames import Surd
from attention_core.derivation.algebra.roots import square_root
from attention_core.derivation.graph.nodes import Graph, Unsettled
from attention_core.derivation.graph.numbers import APPLY, COMPARE, exact
from attention_core.derivation.limits.transseries import Expansions, Series, constant, plain


@dataclass(frozen=True)
class Goal:
    """What a `limit` node holds: the node whose limit it is, the leaf that moves, where to, under which conditions.

    `way` is 1 or -1 for plus or minus infinity, 0 for the place that is the node's first argument. `leaves` are the
    other leaves, in the order of the node's further arguments. `conditions` are (difference, relation to 0).
    """

    body: int
    leaf: int
    way: int
    side: int
    leaves: tuple[int, ...]
    conditions: tuple[tuple[int, str], ...]
    name: str


class Expander:
    """Expansions of nodes along one side; `values` has what every other leaf is."""

    def __init__(self, graph: Graph, goal: Goal, values: Mapping[int, Any], path: Series, count: int) -> None:
        self.graph, self.goal, self.values, self.count = graph, goal, values, count
        self.tools = Expansions(count)
        self.known: dict[int, Series] = {goal.leaf: path}

    def series(self, root: int) -> Series:
        """The expansion of a node."""
        for node in self.graph.reachable([root]):
            if node not in self.known:
                self.known[node] = self.of(node)
        return self.known[root]

    def of(self, node: int) -> Series:
        """The expansion of a node whose arguments have theirs."""
        op, data = self.graph.ops[node], self.graph.data[node]
        args = [self.known[a] for a in self.graph.args[node]]
        if op == "leaf":
            return self.leaf(node)
        if op == "mean":
            from attention_core.derivation.limits.dominated import mean_limit

            return mean_limit(self, node)
        if op == "pow":
            return self.general_power(args[0], args[1])
        if op in SMOOTH:
            return SMOOTH[op](self.tools, args, data)
        return self.by_sign(op, args, data)

    def leaf(self, node: int) -> Series:
        """The value of a leaf as a constant."""
        value = self.values[node]
        if isinstance(value, Surd):
            return constant(square_root(value.square) * value.factor)
        return constant(value() if callable(value) else value)

    def general_power(self, base: Series, to: Series) -> Series:
        """A power; with an exponent that moves, e to the exponent times the logarithm."""
        if to.vanishes:
            return constant(fmpq(1))
        if to.error is None and len(to.terms) == 1 and to.terms[0][1].growth() == 0:
            return self.tools.power(base, plain(to.terms[0][0]))
        return self.tools.exp(self.tools.mul(to, self.tools.log(base)))

    def by_sign(self, op: str, args: list[Series], data: Any) -> Series:
        """Functions that are settled by which expansion ends up above which."""
        tools = self.tools
        if op == "abs":
            return tools.neg(args[0]) if args[0].eventual_sign() < 0 else args[0]
        if op == "sign":
            return constant(fmpq(args[0].eventual_sign()))
        if op == "indicator":
            return constant(fmpq(int(COMPARE[data](tools.sub(args[0], args[1]).eventual_sign()))))
        if op in ("max", "min"):
            best = args[0]
            for other in args[1:]:
                above = tools.sub(other, best).eventual_sign()
                best = other if (above > 0) == (op == "max") and above else best
            return best
        if op == "argmax":
            signs = [0 if k == data else tools.sub(other, args[data]).eventual_sign() for k, other in enumerate(args)]
            return Series() if max(signs) > 0 else constant(fmpq(1, signs.count(0)))
        if op in ("floor", "ceil"):
            return self.whole(op, args[0])
        if op == "limit" or op == "infinity":
            raise Unsettled("a limit inside a limit is not decided here")
        raise Unsettled(f"{op} has no expansion here")

    def whole(self, op: str, a: Series) -> Series:
        """floor or ceil of something that stays bounded."""
        big, middle, _ = self.tools.split(a)
        middle = plain(middle)
        if big:
            raise Unsettled(f"{op} of something that grows has no limit")
        if exact(middle) and middle.q == 1:
            away = self.tools.sub(a, constant(middle)).eventual_sign()
            return constant(middle + (min(away, 0) if op == "floor" else max(away, 0)))
        return constant(APPLY[op]([middle], op == "ceil"))


def _error_beyond(tools: Expansions, args: list[Series], data: Any) -> Series:
    """1 - erf, which is known to all its digits at a constant."""
    (a,) = args
    if a.error is None and all(s.growth() == 0 for _, s in a.terms):
        return constant(APPLY["erfc"]([plain(a.limit()[0])], None))
    return tools.sub(constant(fmpq(1)), tools.taylor("erf", a))


SMOOTH: dict[str, Callable[[Expansions, list[Series], Any], Series]] = {
    "const": lambda tools, args, data: constant(data),
    "pi": lambda tools, args, data: constant(arb.pi()),
    "add": lambda tools, args, data: tools.add(args),
    "mul": lambda tools, args, data: reduce(tools.mul, args),
    "inv": lambda tools, args, data: tools.inv(args[0]),
    "powi": lambda tools, args, data: tools.power(args[0], fmpq(data)),
    "sqrt": lambda tools, args, data: tools.power(args[0], fmpq(1, 2)),
    "exp": lambda tools, args, data: tools.exp(args[0]),
    "log": lambda tools, args, data: tools.log(args[0]),
    "sin": lambda tools, args, data: tools.taylor("sin", args[0]),
    "cos": lambda tools, args, data: tools.taylor("cos", args[0]),
    "erf": lambda tools, args, data: tools.taylor("erf", args[0]),
    "erfc": _error_beyond,
}
"""Operations whose expansion is made of those of their arguments by arithmetic."""
