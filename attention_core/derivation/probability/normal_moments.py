"""Expectations of products of powers, exponentials and waves of normal numbers.

Moments, exponentials and waves of normal numbers, and products of them: completing the square moves the mean, and
Stein's recursion takes the moment there. Waves are exponentials with an imaginary slope.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.probability.distributions import RandomArray
from attention_core.derivation.probability.moments import Moments, Monomial

MAX_WAVES = 8
Complex = tuple[int, int]  # nodes of the real and the imaginary part


class NormalMoments:
    r"""E[x^m e^{s x + c}] with complex s: e^{c + s mu + s C s / 2} times the moment under the mean mu + C s."""

    def __init__(self, engine: Moments) -> None:
        self.engine, self.graph = engine, engine.graph
        self.shift: dict[int, Complex] = {}
        self.known: dict[Monomial, Complex] = {}

    def moment(self, part: Monomial) -> int | None:
        """E of a product of powers, exponentials and waves; None if it is something else."""
        graph, engine = self.graph, self.engine
        powers = tuple((n, k) for n, k in part if n in engine.random)
        growth: dict[int, int] = {}
        front = graph.zero
        waves: list[tuple[str, dict[int, int], int]] = []
        for node, power in part:
            if node in engine.random:
                continue
            op = graph.ops[node]
            if op not in ("exp", "cos", "sin"):
                return None
            found = engine.affine(graph.args[node][0])
            if found is None:
                return None
            slopes, constant = found
            if op == "exp":
                times = graph.const(Fraction(power))
                front = graph.add((front, graph.mul((times, constant))))
                for leaf, c in slopes.items():
                    growth[leaf] = graph.add((growth.get(leaf, graph.zero), graph.mul((times, c))))
            else:
                waves += [(op, slopes, constant)] * power
        if len(waves) > MAX_WAVES:
            raise TooLarge(f"a product of more than {MAX_WAVES} sines and cosines")
        return graph.add(self.tilt(powers, growth, front, signs, waves) for signs in _signs(len(waves)))

    def tilt(
        self,
        powers: Monomial,
        growth: dict[int, int],
        front: int,
        signs: tuple[int, ...],
        waves: list[tuple[str, dict[int, int], int]],
    ) -> int:
        """The real part of one term, after cos t = (e^{it} + e^{-it}) / 2 and sin t = (e^{it} - e^{-it}) / 2i."""
        graph = self.graph
        turn: dict[int, int] = {}
        phase, scale = graph.zero, (Fraction(1), Fraction(0))
        for sign, (op, slopes, constant) in zip(signs, waves, strict=True):
            node = graph.const(Fraction(sign))
            phase = graph.add((phase, graph.mul((node, constant))))
            for leaf, c in slopes.items():
                turn[leaf] = graph.add((turn.get(leaf, graph.zero), graph.mul((node, c))))
            one, other = scale
            scale = (one / 2, other / 2) if op == "cos" else (other * sign / 2, -one * sign / 2)
        leaves = sorted({*growth, *turn, *(n for n, _ in powers)})
        grown = {n: (growth.get(n, graph.zero), turn.get(n, graph.zero)) for n in leaves}
        real, angle = front, phase
        means: dict[int, Complex] = {}
        half = graph.const(Fraction(1, 2))
        for x in leaves:
            a, b = grown[x]
            mean = self.mean(x)
            moved = self.shift_mean(x, grown)
            means[x] = graph.add((mean, moved[0])), moved[1]
            real = graph.add((real, graph.mul((a, mean)), graph.mul((half, a, moved[0])),
                              graph.neg(graph.mul((half, b, moved[1])))))  # fmt: skip
            angle = graph.add((angle, graph.mul((b, mean)), graph.mul((half, a, moved[1])),
                               graph.mul((half, b, moved[0]))))  # fmt: skip
        self.known = {(): (graph.one, graph.zero)}
        value = self.stein(powers, means)
        size = graph.call("exp", real)
        spin = (graph.call("cos", angle), graph.call("sin", angle)) if angle != graph.zero else (graph.one, graph.zero)
        value = self.times(self.times(value, spin), (graph.const(scale[0]), graph.const(scale[1])))
        return graph.mul((size, value[0]))

    def times(self, a: Complex, b: Complex) -> Complex:
        """The product of two complex numbers."""
        graph = self.graph
        return (
            graph.sub(graph.mul((a[0], b[0])), graph.mul((a[1], b[1]))),
            graph.add((graph.mul((a[0], b[1])), graph.mul((a[1], b[0])))),
        )

    def find_array(self, leaf: int) -> RandomArray:
        """The random array of a leaf."""
        return self.engine.drawn[self.engine.group(leaf)]

    def mean(self, leaf: int) -> int:
        """The mean of a leaf."""
        return self.find_array(leaf).mean(leaf)

    def covariance(self, left: int, right: int) -> int:
        """The covariance of two leaves; 0 between independent symbols."""
        if self.engine.group(left) != self.engine.group(right):
            return self.graph.zero
        return self.find_array(left).covariance(left, right)

    def shift_mean(self, leaf: int, grown: Mapping[int, Complex]) -> Complex:
        """The entry of C s: how far the exponential moves the mean."""
        graph = self.graph
        real, imaginary = [], []
        for other, (a, b) in grown.items():
            if a == graph.zero and b == graph.zero:
                continue
            c = self.covariance(leaf, other)
            real.append(graph.mul((c, a)))
            imaginary.append(graph.mul((c, b)))
        return graph.add(real), graph.add(imaginary)

    def stein(self, monomial: Monomial, means: Mapping[int, Complex]) -> Complex:
        """Stein's recursion E[x f] = m E[f] + sum_j C_j E[df/dx_j]."""
        known = self.known.get(monomial)
        if known is not None:
            return known
        graph = self.graph
        (leaf, power), rest = monomial[0], monomial[1:]
        less = ((leaf, power - 1), *rest) if power > 1 else rest
        parts = [self.times(means[leaf], self.stein(less, means))]
        for other, k in less:
            covariance = self.covariance(leaf, other)
            if covariance != graph.zero:
                reduced = tuple((n, p - (n == other)) for n, p in less if p - (n == other) > 0)
                factor = graph.mul((graph.const(Fraction(k)), covariance))
                parts.append(self.times((factor, graph.zero), self.stein(reduced, means)))
        result = graph.add(p[0] for p in parts), graph.add(p[1] for p in parts)
        self.known[monomial] = result
        return result


def _signs(count: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for _ in range(count):
        found = [(*s, one) for s in found for one in (1, -1)]
    return found
