r"""Sums without end in closed form, as nodes: `\sum_{k=a}^\infty k^p r^k`, with `/ k` or `/ k!`.

What is summed becomes a sum of $c\, k^p r^k$ or $c\, k^p r^k / k!$ with factors that do not depend on k. With
Stirling's numbers S(p, m) of the second kind (k^p = sum_m S(p, m) k (k - 1) ... (k - m + 1)):

    $\sum_{k \ge 0} k^p r^k = \sum_m S(p, m)\, m!\, r^m / (1 - r)^{m + 1}$ for $|r| < 1$,
    $\sum_{k \ge 0} k^p r^k / k! = e^r \sum_m S(p, m)\, r^m$, and $\sum_{k \ge 1} r^k / k = -\log(1 - r)$.

Each formula is exact. What a sum needs to converge stands in its nodes: they are not defined where $|r| < 1$ fails.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from attention_core.derivation.graph.nodes import Graph, Unsettled
from attention_core.derivation.graph.numbers import Case, evaluate, sign_of
from attention_core.derivation.lowering.expansions import Expansion, Piece, Sum
from attention_core.derivation.lowering.lower import Cells, Env, Lowering, handles, one
from attention_core.derivation.terms.terms import Term

MAX_POWER = 12
MAX_FIRST = 200
_SQUARES = {1: Fraction(1, 6), -1: Fraction(-1, 12)}  # sum r^k / k^2 over pi^2


class Summand(Expansion):
    """A node as a sum of powers of one leaf times powers of something to it.

    A piece is the power of k, what is taken to the k-th power, and -1 for a division by k!.
    """

    name = "a sum without end"
    max_power, max_terms = MAX_POWER, 200

    def __init__(self, graph: Graph, leaf: int) -> None:
        super().__init__(graph, leaf)
        self.plain = (0, graph.one, 0)

    def multiply_pieces(self, left: Piece, right: Piece) -> Piece:
        """The product of two pieces: their powers add up."""
        (p, r, f), (q, s, g) = left, right
        return p + q, self.graph.mul((r, s)), f + g

    def expand_function(self, node: int) -> Sum:
        """The sum that a factorial, a power with k in its exponent, or one over a single piece is."""
        graph, args, op = self.graph, self.graph.args[node], self.graph.ops[node]
        if op == "factorial" and args[0] == self.leaf:
            return {(0, graph.one, 1): graph.one}
        if op in ("pow", "exp"):
            return self._raise(op, args)
        if op == "inv" or (op == "powi" and graph.data[node] < 0):
            return self._invert(self.known[args[0]], 1 if op == "inv" else -graph.data[node])
        raise Unsettled(f"a sum without end of {op} has no closed form here")

    def _raise(self, op: str, args: tuple[int, ...]) -> Sum:
        """Something without k to a power a k + b, or e to it."""
        graph, exponent = self.graph, self.known[args[-1]]
        steps = {p: factor for (p, r, f), factor in exponent.items() if r == graph.one and f == 0 and p in (0, 1)}
        if len(steps) < len(exponent) or (op == "pow" and set(self.known[args[0]]) != {self.plain}):
            raise Unsettled("a sum without end of such a power has no closed form here")
        rate, start = steps.get(1, graph.zero), steps.get(0, graph.zero)
        if op == "exp":
            return {(0, graph.call("exp", rate), 0): graph.call("exp", start)}
        return {(0, graph.power(args[0], rate), 0): graph.power(args[0], start)}

    def _invert(self, inside: Sum, times: int) -> Sum:
        """One over a single piece."""
        graph = self.graph
        if len(inside) != 1:
            raise Unsettled("a sum without end of a quotient has no closed form here")
        ((p, r, f), factor) = next(iter(inside.items()))
        by = graph.const(Fraction(-times))
        return {(-times * p, graph.power(r, by), -times * f): graph.power(factor, by)}


def _stirling(p: int, m: int) -> int:
    """How many ways there are to split p things into m parts."""
    return int(sum((-1) ** (m - j) * comb(m, j) * j**p for j in range(m + 1))) // factorial(m)


class Series:
    """Sums from `first` on without end."""

    def __init__(self, graph: Graph, first: int) -> None:
        self.graph, self.first = graph, first

    def loses(self, piece: Piece, factor: int, case: Case) -> bool | None:
        """Whether a piece has a value at a case where its form is not defined; None where it diverges."""
        p, ratio, kind = piece
        size, high, low = (sign_of(x) for x in evaluate(self.graph, [factor, *self._distances(ratio)], case))
        if not size or kind < 0 or p < -1:
            return False
        if p == -1 and low == 0:
            return self.graph.value(ratio) is None  # r = -1, where the guard is not defined
        return False if high > 0 and low > 0 else None

    def _distances(self, ratio: int) -> tuple[int, int]:
        """1 - r and 1 + r."""
        return self.graph.sub(self.graph.one, ratio), self.graph.add((self.graph.one, ratio))

    def number(self, value: int | Fraction) -> int:
        """The node of a number."""
        return self.graph.const(Fraction(value))

    def total(self, piece: Piece) -> int:
        """The sum of one piece."""
        p, ratio, kind = piece
        if kind == 0 and 0 <= p <= MAX_POWER:
            return self.geometric(p, ratio)
        if kind == -1 and 0 <= p <= MAX_POWER:
            return self.exponential(p, ratio)
        if kind == 0 and p in (-1, -2) and self.first >= 1:
            return self.harmonic(-p, ratio)
        raise Unsettled("a sum without end of such terms has no closed form here")

    def geometric(self, p: int, ratio: int) -> int:
        """The sum of k^p r^k: r^a sum_j (j + a)^p r^j."""
        graph, over = self.graph, self.graph.inv(self.graph.sub(self.graph.one, ratio))
        parts = []
        for q in range(p + 1):
            shift = comb(p, q) * self.first ** (p - q)
            for m in range(q + 1):
                scale = shift * _stirling(q, m) * factorial(m)
                parts.append(graph.mul((self.number(scale), self.power(ratio, m), self.power(over, m + 1))))
        return graph.mul((self.guard(ratio), self.power(ratio, self.first), graph.add(parts)))

    def exponential(self, p: int, ratio: int) -> int:
        """The sum of k^p r^k / k!, less its terms before the first."""
        graph = self.graph
        whole = graph.add(graph.mul((self.number(_stirling(p, m)), self.power(ratio, m))) for m in range(p + 1))
        before = [self.term(p, ratio, k, factorial(k)) for k in range(self.first)]
        return graph.sub(graph.mul((graph.call("exp", ratio), whole)), graph.add(before))

    def harmonic(self, p: int, ratio: int) -> int:
        """The sum of r^k / k, and of r^k / k^2 for r = 1 and -1, less its terms before the first."""
        graph, known = self.graph, self.graph.value(ratio)
        before = graph.add(self.term(0, ratio, k, k**p) for k in range(1, self.first))
        if p == 2:
            if known is None or known not in (1, -1):
                raise Unsettled("a sum without end of r^k / k^2 has a closed form here for r = 1 and -1 alone")
            square = self.power(graph.node("pi"), 2)
            return graph.sub(graph.mul((self.number(_SQUARES[int(known)]), square)), before)
        guard = graph.one if known == -1 else self.guard(ratio)
        whole = graph.neg(graph.call("log", graph.sub(graph.one, ratio)))
        return graph.mul((guard, graph.sub(whole, before)))

    def term(self, p: int, ratio: int, k: int, over: int) -> int:
        """k^p r^k over a number."""
        return self.graph.mul((self.number(Fraction(k**p, over)), self.power(ratio, k)))

    def power(self, base: int, to: int) -> int:
        """A whole power."""
        return self.graph.power(base, self.number(to))

    def guard(self, ratio: int) -> int:
        """1 where -1 < r < 1; not defined elsewhere.

        Raises:
            Unsettled: r is a number beyond.
        """
        graph, known = self.graph, self.graph.value(ratio)
        if known is not None:
            if abs(known) >= 1:
                raise Unsettled("the sum diverges: its terms do not fall fast enough")
            return graph.one
        root = graph.call("sqrt", graph.sub(graph.one, self.power(ratio, 2)))
        return graph.mul((root, graph.inv(root)))


@handles("series")
def _series(low: Lowering, term: Term, env: Env) -> Cells:
    graph = low.graph
    leaf = graph.leaf((term.data, (1, 1)))
    first = low.whole(term.args[0], env)
    if not 0 <= first <= MAX_FIRST:
        raise Unsettled(f"a sum without end starts here from 0 to {MAX_FIRST}")
    pieces = Summand(graph, leaf).expand(low.number(term.args[1], env))
    series = Series(graph, first)
    low.integrals.append((series, pieces))
    return one(graph.add(graph.mul((c, series.total(piece))) for piece, c in pieces.items() if c != graph.zero))
