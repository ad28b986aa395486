"""Expectations of products that cannot be taken apart further.

Closed forms of one factor of an expectation: which one there is, and finite laws by going through their values.
Moments, exponentials and waves of normal numbers, and products of them: completing the square moves the mean, and
Stein's recursion takes the moment there. Functions that are averaged alone (half lines, |x|, max) are at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.graph.nodes import Graph, TooLarge, Unsettled
from attention_core.derivation.probability.distributions import DISCRETE, MAX_OUTCOMES, RandomArray
from attention_core.derivation.probability.moments import DependenceUnsaid, Group, Moments, Monomial, NotPolynomial

if TYPE_CHECKING:
    from attention_core.derivation.lowering.lower import Lowering

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
        means: dict[int, Complex] = {x: (self.mean(x), graph.zero) for x in leaves}
        half = graph.const(Fraction(1, 2))
        for x in leaves if growth or turn else ():
            (a, b), mean = grown[x], means[x][0]
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
        if a[1] == b[1] == graph.zero:
            return graph.mul((a[0], b[0])), graph.zero
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


def moments_of(low: Lowering, random: set[int]) -> Moments:
    """The engine of moments over some random leaves, with all closed forms."""
    return Moments(low, random, part_moment)


def part_moment(engine: Moments, groups: set[Group], part: Monomial) -> int:
    """E of one part: factors with their powers, about `groups`."""
    graph = engine.graph
    leaves_only = all(node in engine.random for node, _ in part)
    laws = {g: engine.drawn[g].law.name for g in groups}
    if "moments" in laws.values():
        return second_moment(engine, groups, part)
    if all(name == "normal" for name in laws.values()):
        found = NormalMoments(engine).moment(part)
        if found is not None:
            return found
    if leaves_only:
        (group,) = groups
        if len(part) != 1:
            raise DependenceUnsaid(f"whether the entries of {group[0]} are independent is not said")
        return engine.drawn[group].moment(part[0][1])
    finite = sorted(g for g in groups if laws[g] in DISCRETE)
    if finite:
        return over_outcomes(engine, finite[0], part)
    if len(part) == 1:
        found = lone_function(engine, part[0][0], part[0][1], sorted(groups))
        if found is not None:
            return found
    what = ", ".join(sorted({graph.ops[n] for n, _ in part if n not in engine.random}))
    raise NotPolynomial(
        f"the average of {what} of something random has no closed form here: "
        "write '% check: mc alpha=1e-9 beta=1e-6 detect=5%' above the step to test it with random samples"
    )


def second_moment(engine: Moments, groups: set[Group], part: Monomial) -> int:
    r"""E[x_a] = m_a and E[x_a x_b] = C_{a b} + m_a m_b, which hold for every law with mean m and covariance C.

    Raises:
        Unsettled: the part depends on more of the law.
    """
    leaves = [node for node, power in part for _ in range(power)]
    if len(leaves) > 2 or any(node not in engine.random for node in leaves):
        names = ", ".join(sorted(name for name, _ in groups))
        raise Unsettled(f"of {names} only mean and variance are given, and what is averaged depends on more of its law")
    (group,) = groups
    drawn = engine.drawn[group]
    means = engine.graph.mul(drawn.mean(leaf) for leaf in leaves)
    return means if len(leaves) == 1 else engine.graph.add((means, drawn.covariance(*leaves)))


def over_outcomes(engine: Moments, group: Group, part: Monomial) -> int:
    """E = sum_v P(v) E[. given v] over the values of one finite law."""
    graph, drawn = engine.graph, engine.drawn[group]
    leaves = {n for node, _ in part for n in engine.leaves_below(node) if engine.group(n) == group}
    if len(leaves) != 1:
        raise DependenceUnsaid(f"whether the entries of {group[0]} are independent is not said")
    support = drawn.support()
    assert support is not None
    engine.outcomes *= len(support)
    if engine.outcomes > MAX_OUTCOMES:
        raise TooLarge(f"more than {MAX_OUTCOMES} outcomes")
    (leaf,) = leaves
    product = graph.mul(graph.power(node, graph.const(Fraction(power))) for node, power in part)
    total = []
    for value, weight in support:
        body = substitute(graph, product, {leaf: value})
        inner = moments_of(engine.low, engine.random - leaves)
        inner.outcomes = engine.outcomes
        total.append(graph.mul((weight, inner.expect(body))))
    engine.outcomes //= len(support)
    return graph.add(total)


def substitute(graph: Graph, root: int, values: Mapping[int, int]) -> int:
    """The node with some nodes replaced."""
    new: dict[int, int] = dict(values)
    for node in graph.reachable([root]):
        if node in new:
            continue
        args = tuple(new[a] for a in graph.args[node])
        if args == graph.args[node]:
            new[node] = node
        else:
            new[node] = rebuilt(graph, node, args)
    return new[root]


def rebuilt(graph: Graph, node: int, args: tuple[int, ...]) -> int:
    """The node's operation on other arguments, constants folded."""
    op, data = graph.ops[node], graph.data[node]
    if op == "add":
        return graph.add(args)
    if op == "mul":
        return graph.mul(args)
    if op == "inv":
        return graph.inv(args[0])
    if op == "powi":
        return graph.power(args[0], graph.const(Fraction(data)))
    if op == "pow":
        return graph.power(*args)
    if op == "indicator":
        from attention_core.derivation.graph.numbers import COMPARE

        known = [graph.value(a) for a in args]
        if known[0] is not None and known[1] is not None:
            gap = known[0] - known[1]
            return graph.one if COMPARE[data](int(gap > 0) - int(gap < 0)) else graph.zero
    if op in ("max", "min"):
        values = [graph.value(a) for a in args]
        if all(v is not None for v in values):
            pick = max if op == "max" else min
            return graph.const(pick(v for v in values if v is not None))
    if op in ("mean", "limit"):
        raise NotPolynomial("an average of a limit has no closed form here")
    return graph.call(op, *args, data=data)


# -- one function that is averaged alone -------------------------------------------------------------------------------


def lone_function(engine: Moments, node: int, power: int, groups: list[Group]) -> int | None:
    """E of one function alone: a probability, |x|, max and min of normal numbers, a geometric number cut off."""
    graph = engine.graph
    op, args = graph.ops[node], graph.args[node]
    laws = {engine.drawn[g].law.name for g in groups}
    if op == "indicator":
        return probability(engine, node, laws)
    if op == "abs" and power % 2 == 0:
        return engine.expect(graph.power(args[0], graph.const(Fraction(power))))
    if power == 1 and laws == {"normal"} and op == "abs":
        return magnitude(engine, args[0])
    if power == 1 and laws == {"normal"} and op in ("max", "min") and len(args) == 2:
        distance = magnitude(engine, graph.sub(*args))
        if distance is None:
            return None
        sum_ = engine.expect(graph.add(args))
        signed = distance if op == "max" else graph.neg(distance)
        return graph.mul((graph.const(Fraction(1, 2)), graph.add((sum_, signed))))
    if laws == {"geometric"} and len(groups) == 1 and op == "min" and len(args) == 2:
        return cut_geometric(engine, node, power, groups[0])
    return None


def _mean_and_variance(engine: Moments, node: int) -> tuple[int, int] | None:
    found = engine.affine(node)
    if found is None:
        return None
    slopes, constant = found
    graph, normal = engine.graph, NormalMoments(engine)
    mean = graph.add((constant, *(graph.mul((c, normal.mean(n))) for n, c in slopes.items())))
    variance = graph.add(
        graph.mul((a, b, normal.covariance(x, y))) for x, a in slopes.items() for y, b in slopes.items()
    )
    return mean, variance


def probability(engine: Moments, node: int, laws: set[str]) -> int | None:
    """P(left op right) of normal numbers that enter linearly, of |x| <= r, of one uniform or exponential number."""
    graph, op = engine.graph, engine.graph.data[node]
    left, right = graph.args[node]
    if op in (">", ">="):
        left, right, op = right, left, "<"
    if laws == {"normal"}:
        if op in ("=", "!="):
            found = _mean_and_variance(engine, graph.sub(left, right))
            return None if found is None else (graph.zero if op == "=" else graph.one)
        if graph.ops[left] == "abs" and not engine.leaves_below(right):
            return _within(engine, graph.args[left][0], right)
        if graph.ops[right] == "abs" and not engine.leaves_below(left):
            inside = _within(engine, graph.args[right][0], left)
            return None if inside is None else graph.sub(graph.one, inside)
        found = _mean_and_variance(engine, graph.sub(left, right))
        return None if found is None else _below(graph, graph.zero, *found)
    if laws <= {"uniform", "exponential"} and len(laws) == 1:
        return _below_by_law(engine, graph.sub(left, right), op)
    return None


def _below(graph: Graph, edge: int, mean: int, variance: int) -> int:
    """P(X <= edge) of a normal X."""
    two = graph.const(Fraction(2))
    ratio = graph.mul((graph.sub(mean, edge), graph.inv(graph.call("sqrt", graph.mul((two, variance))))))
    return graph.mul((graph.const(Fraction(1, 2)), graph.call("erfc", ratio)))


def _within(engine: Moments, inner: int, radius: int) -> int | None:
    found = _mean_and_variance(engine, inner)
    if found is None:
        return None
    graph = engine.graph
    gap = graph.sub(_below(graph, radius, *found), _below(graph, graph.neg(radius), *found))
    return graph.mul((graph.node("indicator", (radius, graph.zero), ">="), gap))


def _below_by_law(engine: Moments, difference: int, op: str) -> int | None:
    """P(c X + d < 0) of one uniform or exponential number X with a numeral c."""
    graph, found = engine.graph, engine.affine(difference)
    if found is None or len(found[0]) != 1 or op in ("=", "!="):
        return None
    ((leaf, slope),), constant = found[0].items(), found[1]
    known = graph.value(slope)
    if known is None or known == 0:
        return None
    drawn = engine.drawn[engine.group(leaf)]
    edge = graph.mul((graph.const(-1 / known), constant))
    if drawn.law.name == "exponential":
        gone = graph.mul((drawn.number(0), graph.call("max", edge, graph.zero)))
        share = graph.sub(graph.one, graph.call("exp", graph.neg(gone)))
    else:
        a, b = drawn.number(0), drawn.number(1)
        share = graph.call(
            "max", graph.call("min", graph.div(graph.sub(edge, a), graph.sub(b, a)), graph.one), graph.zero
        )
    return share if known > 0 else graph.sub(graph.one, share)


def magnitude(engine: Moments, inner: int) -> int | None:
    r"""E|X| = s sqrt(2 / pi) e^{-m^2 / (2 s^2)} + m erf(m / (s sqrt 2))."""
    found = _mean_and_variance(engine, inner)
    if found is None:
        return None
    graph, (mean, variance) = engine.graph, found
    two = graph.const(Fraction(2))
    twice = graph.mul((two, variance))
    bell = graph.call("exp", graph.neg(graph.div(graph.mul((mean, mean)), twice)))
    front = graph.call("sqrt", graph.div(twice, graph.node("pi")))
    ratio = graph.div(mean, graph.call("sqrt", twice))
    return graph.add((graph.mul((front, bell)), graph.mul((mean, graph.call("erf", ratio)))))


def cut_geometric(engine: Moments, node: int, power: int, group: Group) -> int | None:
    """E[min(L, c)^power] = sum_{k < c} k^power P(L = k) + c^power P(L >= c) with a whole c."""
    graph = engine.graph
    args = graph.args[node]
    leaf = next((a for a in args if a in engine.random), None)
    cut = next((graph.value(a) for a in args if a != leaf), None)
    if leaf is None or cut is None or cut.q != 1 or not 1 <= cut <= MAX_OUTCOMES:
        return None
    p = engine.drawn[group].number(0)
    q = graph.sub(graph.one, p)
    last = int(cut.p)
    parts = []
    for k in range(1, last):
        weight = graph.mul((p, graph.power(q, graph.const(Fraction(k - 1)))))
        parts.append(graph.mul((graph.const(Fraction(k**power)), weight)))
    parts.append(graph.mul((graph.const(Fraction(last**power)), graph.power(q, graph.const(Fraction(last - 1))))))
    return graph.add(parts)
