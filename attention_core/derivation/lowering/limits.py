"""Lowering of limits.

Limits become nodes that keep their body apart: it is expanded in the variable, never evaluated at a finite place.
A size may tend to infinity as well, as long as no shape and no range of an index grows with it.

Reach of a limit under hypotheses about other symbols.

Whether a variable can go where its limit is taken, as far as symbols decide that the claim does not mention.
Hypotheses about those are not part of the limit; cases that satisfy them close to the place show that it is in reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from attention_core.derivation.graph.nodes import Graph, Unsettled
from attention_core.derivation.limits.expander import Goal
from attention_core.derivation.lowering.lower import Cells, Env, Lowering, handles, one
from attention_core.derivation.lowering.plans import instances
from attention_core.derivation.terms.relevance import find_mentioned_names, relation_names, symbol_names
from attention_core.derivation.terms.terms import SCALAR, Relation, Size, Term, integer

CLOSE = (10**3, 10**9)


def foreign(low: Lowering, limit: Term, relation: Relation) -> bool:
    """Whether a hypothesis ties what moves to arrays or numbers that the limit does not mention."""
    about = find_mentioned_names(low.context, limit)
    for name in list(about):
        about |= symbol_names(low.context, name)
    names = relation_names(low.context, relation)
    return any(n not in about and low.context.symbols[n].kind in ("array", "family") for n in names)


def approaches(low: Lowering, limit: Term, hypotheses: Sequence[Relation]) -> list[list[list[Relation]]]:
    """Relations that keep the variable close to its place and closer, for each side that it may come from.

    There are none where no hypothesis ties it to symbols that the limit does not mention: it can get there then.
    """
    name, way, side = limit.data
    if not any(name in relation_names(low.context, r) and foreign(low, limit, r) for r in hypotheses):
        return []
    symbol = low.context.symbols[name]
    if symbol.kind != "array":
        raise Unsettled(
            f"hypotheses tie {name} to symbols that the limit does not mention: put the limit into a section of its own"
        )
    leaf = Term("leaf", (), SCALAR, name)
    ways = [way] if way else [side] if side else [1, -1]
    return [[_near(leaf, limit, way, k, far) for far in CLOSE] for k in ways]


def _near(leaf: Term, limit: Term, way: int, sign: int, far: int) -> list[Relation]:
    """What keeps the variable close to its place."""
    if way:
        return [Relation(leaf, ">=" if sign > 0 else "<=", integer(sign * far))]
    step = Term("div", (integer(sign), integer(far)), SCALAR)
    edge = Term("add", (limit.args[1], step), SCALAR)
    inner, outer = (">", "<=") if sign > 0 else ("<", ">=")
    return [Relation(leaf, inner, limit.args[1]), Relation(leaf, outer, edge)]


class _Without(dict[str, int]):
    """Sizes, one of which has no value."""

    def __missing__(self, name: str) -> int:
        raise Unsettled(f"{name} changes a shape or how many terms there are, and a limit in it is not decided here")


class Moving(Lowering):
    """Lowers with one symbol that moves; as a size or an index it becomes a leaf of its own."""

    def __init__(self, low: Lowering, name: str) -> None:
        super().__init__(low.context, {}, low.graph)
        self.name, self.hypotheses = name, low.hypotheses
        self.top = _Without({k: v for k, v in low.top.items() if k != name})
        self.means = "open"
        symbol = low.context.symbols[name]
        self.size = symbol.kind in ("size", "index")
        self.leaf_node = low.graph.leaf((name, () if self.size else (1, 1)))

    def rational(self, term: Term, env: Env) -> Any:
        """Whole numbers, none of which may be the one that moves."""
        if term.op == "int" and term.data == self.name:
            return self.top[self.name]
        return super().rational(term, env)

    def scalar(self, term: Term, env: Env) -> int:
        """A number that is made of sizes; the one that moves stays a leaf."""
        if term.op == "int" and term.data == self.name:
            return self.leaf_node
        if term.op == "size" and self.name in term.data.symbols():
            return self.polynomial(term.data)
        return super().scalar(term, env)

    def polynomial(self, size: Size) -> int:
        """A polynomial in the sizes as a node."""
        graph = self.graph
        parts = []
        for monomial, c in size.terms:
            factors = [graph.const(c)]
            for name, k in monomial:
                base = self.leaf_node if name == self.name else graph.const(Fraction(self.top[name]))
                factors.append(graph.power(base, graph.const(Fraction(k))))
            parts.append(graph.mul(factors))
        return graph.add(parts)

    def lower(self, term: Term, env: Env | None = None) -> Cells:
        """As before; a sum of equal terms is counted even where the number of terms moves."""
        if term.op == "reduce" and self.size and self.grows(term):
            return self.multiply_by_count(term, self.top if env is None else env)
        return super().lower(term, env)

    def grows(self, term: Term) -> bool:
        """Whether the range of a sum has the moving size in it."""
        return any(
            (t.op == "int" and t.data == self.name) or (t.op == "size" and self.name in t.data.symbols())
            for bound in term.args[:2]
            for t in bound.walk()
        )

    def multiply_by_count(self, term: Term, env: Env) -> Cells:
        """sum_{i=a}^{b} c = (b - a + 1) c."""
        op, index = term.data
        if op != "sum" or term.args[3:] or index in self.free(term.args[2]):
            raise Unsettled(
                f"the number of terms grows with {self.name}, and a limit of such a sum is not decided here"
            )
        graph = self.graph
        first, last = (self.number(t, env) for t in term.args[:2])
        count = graph.add((graph.sub(last, first), graph.one))
        body = super().lower(term.args[2], env)
        return Cells(body.rows, body.cols, tuple(graph.mul((count, c)) for c in body.cells))


@handles("limit")
def _limit(low: Lowering, term: Term, env: Env) -> Cells:
    name, way, side = term.data
    moving = Moving(low, name)
    inner = {k: v for k, v in env.items() if k != name}
    body = moving.lower(term.args[0], inner)
    place = low.number(term.args[1], env)
    about = [r for r in low.hypotheses if not foreign(low, term, r)]
    conditions = tuple(c for r in about for c in _conditions(moving, r))
    return Cells(
        body.rows,
        body.cols,
        tuple(limit_node(low.graph, c, moving.leaf_node, (way, side), place, conditions, name) for c in body.cells),
    )


def limit_node(
    graph: Graph,
    body: int,
    leaf: int,
    way: tuple[int, int],
    place: int,
    conditions: tuple[tuple[int, str], ...],
    name: str,
) -> int:
    """The node of one limit; what it depends on are its arguments, the variable is not among them."""
    leaves = tuple(n for n in graph.leaves([body, *(d for d, _ in conditions)]) if n != leaf)
    return graph.node("limit", (place, *leaves), Goal(body, leaf, *way, leaves, conditions, name))


def _conditions(moving: Moving, relation: Relation) -> list[tuple[int, str]]:
    """The hypothesis at every index, if it speaks of what moves: differences with their relation to 0."""
    if moving.name not in relation_names(moving.context, relation):
        return []
    out = []
    for env in instances(moving, relation):
        left, right = moving.lower(relation.left, env), moving.lower(relation.right, env)
        for a, b in zip(left.cells, right.cells, strict=True):
            difference = moving.graph.sub(a, b)
            if moving.leaf_node in moving.graph.reachable([difference]):
                out.append((difference, relation.op))
    return out


@handles("infinity")
def _infinity(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.node("infinity", (), term.data))
