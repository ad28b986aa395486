"""Laws of random symbols.

The laws a symbol can be drawn from: their moments, their support where it is finite, what their parameters must be.
Parameters of a family's law may mention the member through its index.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING

from attention_core.derivation.graph.nodes import Key, TooLarge, Unsettled
from attention_core.derivation.lowering.lower import Cells, Infeasible
from attention_core.derivation.terms.relevance import MAX_SUPPORT

if TYPE_CHECKING:
    from attention_core.derivation.lowering.lower import Lowering

DISCRETE = frozenset({"bernoulli", "categorical", "range", "rademacher"})
MAX_OUTCOMES = 4096  # of several finite laws together


class RandomArray:
    """One random array, or one member of a random family, with its law at the sizes of a lowering."""

    def __init__(self, low: Lowering, name: str, member: int) -> None:
        symbol = low.context.symbols[name]
        assert symbol.law is not None
        self.low, self.symbol, self.law = low, symbol, symbol.law
        self.env = {**low.top, self.law.index: member} if self.law.index else low.top
        self.key = name, member

    def lower_parameter(self, which: int) -> Cells:
        """A parameter."""
        return self.low.lower(self.law.parameters[which], self.env)

    def number(self, which: int) -> int:
        """A parameter that is a number."""
        return self.low.number(self.law.parameters[which], self.env)

    def mean(self, leaf: int) -> int:
        """The mean of one entry of an array whose law is normal, or known by its moments."""
        mean = self.lower_parameter(0)
        *_, i, j = self.low.graph.data[leaf][1]
        return mean.cells[0] if len(mean.cells) == 1 else mean.at(i - 1, j - 1)

    def alike(self, left: int, right: int) -> bool:
        """Whether two entries are the same by their form: those of u u^T / 2 are products in another order."""
        from attention_core.derivation.algebra.normal import Facts, is_zero

        return is_zero(self.low.graph, [self.low.graph.sub(left, right)], Facts(), float("inf"))

    def covariance(self, left: int, right: int) -> int:
        """The covariance of two entries; a number, or a multiple of I, is the variance of every entry."""
        graph, term = self.low.graph, self.law.parameters[1]
        a, b = (graph.data[leaf][1][-2:] for leaf in (left, right))
        if term.type.kind == "matrix":
            place = max(a) - 1, max(b) - 1
            found = self.lower_parameter(1)
            here, there = found.at(*place), found.at(*place[::-1])
            if here != there and not self.alike(here, there):
                raise Unsettled("the covariance is not seen to be symmetric: write it so, such as B B^\\top or s^2 I_d")
            return here
        if a != b:
            return graph.zero
        if term.type.kind == "eye":
            from attention_core.derivation.terms.terms import ONE, matrix, with_size

            return self.low.lower(with_size(term, matrix(ONE, ONE)), self.env).cells[0]
        return self.number(1)

    def support(self) -> list[tuple[int, int]] | None:
        """(value, probability) as nodes where there are finitely many, else None."""
        graph, name = self.low.graph, self.law.name
        if name == "bernoulli":
            p = self.number(0)
            return [(graph.zero, graph.sub(graph.one, p)), (graph.one, p)]
        if name == "rademacher":
            half = graph.const(Fraction(1, 2))
            return [(graph.neg(graph.one), half), (graph.one, half)]
        if name == "categorical":
            weights = [c for k in range(len(self.law.parameters)) for c in self.lower_parameter(k).cells]
            return [(graph.const(Fraction(k + 1)), w) for k, w in enumerate(weights)]
        if name == "range":
            first, last = (self.low.whole(p, self.env) for p in self.law.parameters)
            if last < first:
                raise Infeasible("a uniform law on no value")
            if last - first >= MAX_SUPPORT:
                raise TooLarge(f"a law with more than {MAX_SUPPORT} values")
            weight = graph.const(Fraction(1, last - first + 1))
            return [(graph.const(Fraction(v)), weight) for v in range(first, last + 1)]
        return None

    def moment(self, power: int) -> int:
        """E[x^power] of one number."""
        graph, name = self.low.graph, self.law.name
        support = self.support()
        if name == "bernoulli":
            return self.number(0)
        if support is not None:
            to = graph.const(Fraction(power))
            return graph.add(graph.mul((w, graph.power(v, to))) for v, w in support)
        if name == "geometric":
            return self.geometric_moment(power)
        if name == "exponential":
            rate = graph.power(self.number(0), graph.const(Fraction(-power)))
            return graph.mul((graph.const(Fraction(factorial(power))), rate))
        if name in ("poisson", "binomial"):
            return self.factorial_moment(power)
        a, b = self.number(0), self.number(1)
        over = graph.const(Fraction(1, power + 1))
        parts = []
        for k in range(power + 1):
            one, two = (graph.const(Fraction(e)) for e in (k, power - k))
            parts.append(graph.mul((graph.power(a, one), graph.power(b, two))))
        return graph.mul((over, graph.add(parts)))

    def factorial_moment(self, power: int) -> int:
        """sum_k S(m, k) E[x (x-1) ... (x-k+1)]: lambda^k of a Poisson number, n (n-1) ... (n-k+1) p^k of a binomial."""
        graph, row = self.low.graph, stirling_row(power)
        rate, falling, parts = self.number(len(self.law.parameters) - 1), graph.one, []
        for k in range(1, power + 1):
            if self.law.name == "binomial":
                trials = self.low.whole(self.law.parameters[0], self.env)
                falling = graph.mul((falling, graph.const(Fraction(trials - k + 1))))
            raised = graph.power(rate, graph.const(Fraction(k)))
            parts.append(graph.mul((graph.const(Fraction(row[k])), falling, raised)))
        return graph.add(parts)

    def geometric_moment(self, power: int) -> int:
        """sum_k S(m, k) k! (1 - p)^{k-1} / p^k: Stirling numbers times factorial moments, on 1, 2, ..."""
        graph, p = self.low.graph, self.number(0)
        q, row, parts = graph.sub(graph.one, p), stirling_row(power), []
        for k in range(1, power + 1):
            factors = (graph.power(q, graph.const(Fraction(k - 1))), graph.power(p, graph.const(Fraction(-k))))
            parts.append(graph.mul((graph.const(Fraction(row[k] * factorial(k))), *factors)))
        return graph.add(parts)


def stirling_row(power: int) -> list[int]:
    """The Stirling numbers of the second kind S(power, 0), ..., S(power, power).

    Example:
        >>> stirling_row(4)
        [0, 1, 7, 6, 1]
    """
    row = [1]
    for m in range(1, power + 1):
        row = [0, *(row[k - 1] + (k * row[k] if k < m else 0) for k in range(1, m + 1))]
    return row


def drawn_of(low: Lowering, key: Key) -> RandomArray | None:
    """What a leaf belongs to, None if it is not random."""
    symbol = low.context.symbols.get(key[0])
    if symbol is None or symbol.law is None:
        return None
    return RandomArray(low, key[0], key[1][0] if symbol.kind == "family" else 0)
