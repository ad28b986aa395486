"""Exact expansion of the scalar graph, the ground of EXACT.

Normal forms with symbolic entries: a quotient of polynomials in the leaves and in atoms such as e^x and sqrt(x). If
the difference of two sides reduces to 0, they agree where both are defined; if not, nothing is concluded.

Declared identities are polynomials known to be 0: a Groebner basis as far as it goes, and reduction modulo it. Every
reduction stays in the ideal, so reaching 0 is sound even where the basis was cut short.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import lcm
from typing import Any

from flint import Ordering, fmpq, fmpz_mpoly_ctx, fmpz_mpoly_vec
from flint.utils.flint_exceptions import DomainError

from attention_core.derivation.algebra.frames import Surd
from attention_core.derivation.algebra.ratios import Atoms, Crowded, Finer, Ratio, TooComplex
from attention_core.derivation.graph.nodes import Graph, Undefined
from attention_core.derivation.graph.numbers import Imprecise, evaluate, precision, sign_of

ROOM = 6  # atoms for each function of a graph, at most
LIMITS = (160, 240, 160)  # polynomials in the basis, terms of one, bits of a coefficient
Poly = Any


class Ideal:
    """The identities `polys`, given in the ring `ring` (flint.fmpq_mpoly_ctx)."""

    def __init__(self, ring: Any, polys: list[Poly]) -> None:
        self.ring = ring
        names = [*ring.names(), "marker"]
        self.whole = fmpz_mpoly_ctx.get(names, Ordering.degrevlex)
        self.marker = len(names) - 1
        started = [self.integral(p, 0)[0] for p in polys]
        started = [p for p in started if not p.is_zero()]
        self.basis: Any = None
        if started:
            basis = fmpz_mpoly_vec(started, self.whole)
            self.basis = basis.buchberger_naive(limits=LIMITS)[0] if len(started) <= 40 else basis

    def integral(self, poly: Poly, marker: int) -> tuple[Any, int]:
        """The polynomial times the common denominator, plus that times `marker`, over the integers."""
        terms = list(zip(poly.monoms(), poly.coeffs(), strict=True))
        scale = lcm(1, *(int(c.q) for _, c in terms))
        table = {(*m, 0): int(c.p) * (scale // int(c.q)) for m, c in terms}
        if marker:
            table[(*(0,) * self.marker, 1)] = scale
        return self.whole.from_dict(table), scale

    def reduce(self, poly: Poly) -> Poly:
        """A polynomial equal to `poly` wherever the identities hold; 0 if the basis shows that it is 0."""
        if self.basis is None or poly.is_zero() or poly.is_constant():
            return poly
        whole, _ = self.integral(poly, 1)
        rest = whole.reduction_primitive_part(self.basis)
        scale, table = fmpq(0), {}
        for monomial, c in zip(rest.monoms(), rest.coeffs(), strict=True):
            if monomial[self.marker]:
                scale = fmpq(c)
            else:
                table[monomial[:-1]] = fmpq(c)
        if scale == 0:
            return poly
        return self.ring.from_dict({m: c / scale for m, c in table.items()}) if table else self.ring.constant(0)


@dataclass(frozen=True)
class Facts:
    """What is known: leaves that are not negative, what some are equal to, nodes that are 0, exact values of all."""

    nonnegative: frozenset[int] = frozenset()
    assigned: Mapping[int, int] = field(default_factory=dict)
    zeros: tuple[int, ...] = ()
    values: Mapping[int, Any] = field(default_factory=dict)


def is_zero(graph: Graph, roots: Iterable[int], given: Facts, deadline: float = float("inf")) -> bool:
    """Whether every root reduces to 0."""
    roots = [r for r in roots if r != graph.zero]
    return not roots or _ask(lambda form: all(map(form.vanishes, roots)), graph, roots, given, deadline)


def is_nonnegative(graph: Graph, root: int, given: Facts, deadline: float = float("inf")) -> bool:
    """Whether a node is a quotient of polynomials that cannot be negative, so that an inequality holds outright."""

    def question(form: Normal) -> bool:
        return all(map(form.is_positive, form.reduce_ratio(form.of(root))))

    return _ask(question, graph, [root], given, deadline)


def _ask(question: Callable[[Normal], bool], graph: Graph, roots: list[int], given: Facts, deadline: float) -> bool:
    """The answer from normal forms; False where they grow beyond their bounds.

    Each variable makes every polynomial dearer, so the first try has few of them to spare.
    """
    units: dict[Any, int] = {}
    room, finer = 1, 0
    while finer < 12:
        try:
            return question(Normal(graph, roots, given, units, deadline, room))
        except Finer:
            finer += 1
        except Crowded:
            if room == ROOM:
                return False
            room = ROOM
        except (TooComplex, OverflowError, ZeroDivisionError, DomainError):
            return False
    return False


class Normal(Atoms):
    """Normal forms of the nodes under some roots."""

    def __init__(
        self,
        graph: Graph,
        roots: Iterable[int],
        given: Facts,
        units: dict[Any, int],
        deadline: float,
        room: int = ROOM,
    ) -> None:
        self.graph, self.deadline, self.given = graph, deadline, given
        everything = graph.reachable([*roots, *given.assigned.values(), *given.zeros])
        leaves = [n for n in everything if graph.ops[n] == "leaf"]
        count = sum(graph.ops[n] not in ("const", "leaf", "add", "mul", "inv", "powi") for n in everything)
        if ROOM * count + 8 + len(given.values) + len(leaves) > 900:
            raise TooComplex
        spare = room * count + 8 + len(given.values)
        names = [f"a{i}" for i in range(spare)] + [f"x{n}" for n in leaves]
        super().__init__(names, spare, units)
        self.leaves = {n: self.gens[spare + i] for i, n in enumerate(leaves)}
        self.positive = {spare + i for i, n in enumerate(leaves) if n in given.nonnegative}
        self.values: dict[int, Ratio] = {}
        self.pending: set[int] = set()
        self.ideal: Ideal | None = None
        zeros = [] if given.values else [self.of(node)[0] for node in given.zeros]
        self.ideal = Ideal(self.ring, [z for z in zeros if not z.is_zero()]) if zeros else None

    def vanishes(self, root: int) -> bool:
        """Whether a node is 0 wherever it is defined and the identities hold."""
        top = self.of(root)[0]
        return bool(top.is_zero() or (self.ideal is not None and self.ideal.reduce(top).is_zero()))

    def reduce_ratio(self, value: Ratio) -> Ratio:
        """A form reduced by the identities, so that equal arguments of functions become equal atoms."""
        if self.ideal is None or value[0].is_constant():
            return value
        return self.ratio(self.ideal.reduce(value[0]), self.ideal.reduce(value[1]))

    def of(self, root: int) -> Ratio:
        """The normal form of one node."""
        graph = self.graph
        for node in graph.reachable([root]):
            if node in self.values:
                continue
            if time.process_time() > self.deadline:
                raise TooComplex
            op, args = graph.ops[node], [self.values[a] for a in graph.args[node]]
            if op == "const":
                value = (self.ring.constant(graph.data[node]), self.one)
            elif op == "leaf":
                value = self.leaf(node)
            elif op == "add":
                value = self.total(args)
            elif op == "mul":
                value = self.product(args)
            elif op == "inv":
                value = self.inverse(args[0])
            elif op == "powi":
                value = self.power(args[0], graph.data[node])
            else:
                chosen = self.decide_choice(node) if self.given.values else None
                if chosen is None:
                    value = self.function(op, [self.reduce_ratio(a) for a in args], graph.data[node])
                else:
                    value = self.values[chosen[0]] if chosen[1] > 0 else self.negative(self.values[chosen[0]])
            self.values[node] = value
        return self.values[root]

    def leaf(self, node: int) -> Ratio:
        """A variable, what it is equal to by hypothesis, or its exact value at a point."""
        if self.given.values:
            return self.exact(self.given.values[node])
        source = self.given.assigned.get(node)
        if source is None or node in self.pending:
            return self.leaves[node], self.one
        self.pending.add(node)
        return self.of(source)

    def decide_choice(self, node: int) -> tuple[int, int] | None:
        """At a point: which argument a maximum is, or which sign a magnitude drops, where balls can tell."""
        op, args = self.graph.ops[node], self.graph.args[node]
        if op not in ("max", "min", "abs"):
            return None
        try:
            with precision(256):
                found = evaluate(self.graph, args, self.given.values)
                if op == "abs":
                    return args[0], sign_of(found[0])
                sign = 1 if op == "max" else -1
                for place, value in enumerate(found):
                    rest = [v for i, v in enumerate(found) if i != place]
                    if all(sign * sign_of(value - other) > 0 for other in rest):
                        return args[place], 1
        except (Imprecise, Undefined):
            return None
        return None

    def exact(self, value: Any) -> Ratio:
        """A rational, or a rational times a root of one."""
        if isinstance(value, fmpq):
            return self.ring.constant(value), self.one
        if isinstance(value, Surd):
            return self.product(
                [(self.ring.constant(value.factor), self.one), self.root((self.ring.constant(value.square), self.one))]
            )
        raise TooComplex
