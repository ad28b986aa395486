r"""Integrals in closed form, as nodes.

What is integrated becomes a sum of $c\, x^k e^{a x^2 + b x}$ with factors that do not depend on $x$. With
$A = -a > 0$, $m = b / (2 A)$ and $v = 1 / (2 A)$, integration by parts gives

    $I_0 = \sqrt{\pi / A}\, e^{b^2 / (4 A)}\, (\mathrm{erf}(\sqrt A (U - m)) - \mathrm{erf}(\sqrt A (L - m))) / 2$,
    $I_k = m I_{k-1} + v (k - 1) I_{k-2} + v (L^{k-1} e^{q(L)} - U^{k-1} e^{q(U)})$,

and for $a = 0$: $J_k = (U^k e^{b U} - L^k e^{b L} - k J_{k-1}) / b$, where an infinite end contributes nothing if the
exponential falls towards it. Each formula is exact, so no error is to be budgeted. What an integral needs to converge
stands in its nodes: they are not defined where $A$, or the rate towards an infinite end, is not positive.
"""

from __future__ import annotations

from fractions import Fraction

from attention_core.derivation.graph.nodes import Graph, Undefined, Unsettled
from attention_core.derivation.graph.numbers import START_BITS, Case, Imprecise, evaluate, precision, sign_of
from attention_core.derivation.lowering.expansions import Expansion, Piece, Sum
from attention_core.derivation.lowering.lower import Cells, Env, Lowering, handles, one
from attention_core.derivation.lowering.quadrature import quadrature
from attention_core.derivation.terms.terms import Term


class _NoForm(Unsettled):
    """What is integrated is not a sum of powers times exponentials."""


class Infinite(Unsettled):
    """What is integrated has one sign and does not fall towards an infinite end: the integral is infinite."""


class Integrand(Expansion):
    """A node as a sum of powers of one leaf times exponentials of its square.

    A piece is the power of x, and the coefficients of x^2 and x in the exponent.
    """

    name = "an integral"

    def __init__(self, graph: Graph, leaf: int) -> None:
        super().__init__(graph, leaf)
        self.plain = (0, graph.zero, graph.zero)

    def multiply_pieces(self, left: Piece, right: Piece) -> Piece:
        """The product of two pieces: their powers and exponents add up."""
        (k, a, b), (n, c, d) = left, right
        return k + n, self.graph.add((a, c)), self.graph.add((b, d))

    def expand_function(self, node: int) -> Sum:
        """The sum that an exponential, or one over an exponential, is."""
        graph, args, op = self.graph, self.graph.args[node], self.graph.ops[node]
        if op == "exp":
            return self._exponential(self.known[args[0]])
        if op == "powi" and graph.data[node] < 0 and len(self.known[args[0]]) == 1:
            return self._invert(self.known[args[0]], -graph.data[node])
        if op == "inv" and len(self.known[args[0]]) == 1:
            return self._invert(self.known[args[0]], 1)
        raise _NoForm(f"an integral of {'a quotient' if op in ('inv', 'powi') else op} has no closed form here")

    def _exponential(self, inside: Sum) -> Sum:
        graph = self.graph
        if any(k > 2 or a != graph.zero or b != graph.zero for k, a, b in inside):
            raise _NoForm("an integral of an exponential of more than a square has no closed form here")
        by = {k: factor for (k, _, _), factor in inside.items()}
        constant = graph.call("exp", by.get(0, graph.zero))
        return {(0, by.get(2, graph.zero), by.get(1, graph.zero)): constant}

    def _invert(self, inside: Sum, times: int) -> Sum:
        """One over an exponential."""
        graph, ((k, a, b), factor) = self.graph, next(iter(inside.items()))
        if k:
            raise _NoForm("an integral of a quotient has no closed form here")
        by = graph.const(Fraction(-times))
        return {(0, graph.mul((by, a)), graph.mul((by, b))): graph.power(factor, by)}


class Interval:
    """Integrals of powers times exponentials from `low` to `high`, None at an infinite end."""

    def __init__(self, graph: Graph, low: int | None, high: int | None) -> None:
        self.graph, self.low, self.high = graph, low, high
        self.half, self.two = graph.const(Fraction(1, 2)), graph.const(Fraction(2))

    def integrate(self, piece: Piece) -> int:
        """The integral of one piece."""
        k, square, rate = piece
        if square != self.graph.zero:
            return self.bell(k, square, rate)
        if rate != self.graph.zero:
            return self.exponential(k, rate)
        if self.low is None or self.high is None:
            raise Unsettled("the integral diverges: what is integrated does not fall towards an infinite end")
        return self.monomial(k)

    def monomial(self, k: int) -> int:
        """The integral of x^k over a finite interval."""
        graph, to = self.graph, self.graph.const(Fraction(k + 1))
        assert self.low is not None and self.high is not None
        return graph.mul((graph.inv(to), graph.sub(graph.power(self.high, to), graph.power(self.low, to))))

    def at(self, end: int | None, k: int, square: int, rate: int) -> int:
        """x^k e^(a x^2 + b x) at an end; nothing at an infinite one."""
        graph = self.graph
        if end is None:
            return graph.zero
        exponent = graph.add((graph.mul((square, end, end)), graph.mul((rate, end))))
        return graph.mul((graph.power(end, graph.const(Fraction(k))), graph.call("exp", exponent)))

    def exponential(self, k: int, rate: int) -> int:
        """The integral of x^k e^(b x)."""
        graph = self.graph
        if self.low is None and self.high is None:
            raise Unsettled("the integral diverges: an exponential does not fall towards both ends")
        guard = graph.one
        if self.low is None or self.high is None:
            guard = self.positive(rate if self.low is None else graph.neg(rate))
        over, found = graph.inv(rate), graph.zero
        for power in range(k + 1):
            ends = graph.sub(self.at(self.high, power, graph.zero, rate), self.at(self.low, power, graph.zero, rate))
            found = graph.mul((over, graph.sub(ends, graph.mul((graph.const(Fraction(power)), found)))))
        return graph.mul((guard, found))

    def positive(self, rate: int) -> int:
        """1 where a number is positive; not defined elsewhere.

        Raises:
            Unsettled: It is a constant that is not positive.
        """
        graph, known = self.graph, self.graph.value(rate)
        if known is not None:
            if known <= 0:
                raise Unsettled("the integral diverges: what is integrated grows towards an infinite end")
            return graph.one
        root = graph.call("sqrt", rate)
        return graph.mul((root, graph.inv(root)))

    def bell(self, k: int, square: int, rate: int) -> int:
        """The integral of x^k e^(a x^2 + b x)."""
        graph, depth = self.graph, self.graph.neg(square)
        known = graph.value(depth)
        if known is not None and known <= 0:
            if self.low is None or self.high is None:
                raise Unsettled("the integral diverges: what is integrated grows towards an infinite end")
            raise _NoForm("an integral of e^(x^2) has no closed form here")
        variance = graph.inv(graph.mul((self.two, depth)))
        mean = graph.mul((rate, variance))
        scale = graph.call("sqrt", depth)
        height = graph.call("exp", graph.mul((self.half, mean, rate)))
        area = graph.mul((graph.call("sqrt", graph.node("pi")), graph.inv(scale), height))
        parts = [self.share(self.high, mean, scale, 1), graph.neg(self.share(self.low, mean, scale, -1))]
        found = [graph.mul((self.half, area, graph.add(parts)))]
        for power in range(1, k + 1):
            ends = graph.sub(self.at(self.low, power - 1, square, rate), self.at(self.high, power - 1, square, rate))
            before = graph.mul((graph.const(Fraction(power - 1)), found[power - 2])) if power > 1 else graph.zero
            found.append(graph.add((graph.mul((mean, found[-1])), graph.mul((variance, graph.add((before, ends)))))))
        return found[k]

    def share(self, end: int | None, mean: int, scale: int, infinite: int) -> int:
        """erf at an end, 1 or -1 at an infinite one."""
        graph = self.graph
        if end is None:
            return graph.const(Fraction(infinite))
        return graph.call("erf", graph.mul((scale, graph.sub(end, mean))))

    def is_of_one_sign(self, piece: Piece, factor: int) -> bool:
        """Whether a piece that has no integral has one sign towards its infinite ends, and is not 0."""
        ends = [end for end in (self.low, self.high) if end is None]
        try:
            with precision(START_BITS):
                size = sign_of(evaluate(self.graph, [factor], {})[0])
        except (Undefined, Imprecise, KeyError):  # a factor with symbols may be 0
            return False
        return bool(ends and size) and (piece[0] % 2 == 0 or len(ends) == 1)

    def loses(self, piece: Piece, factor: int, case: Case) -> bool | None:
        """Whether a piece has a value at a case where its form is not defined; None where it has no value itself."""
        _, square, rate = piece
        size, bend, slope = (sign_of(x) for x in evaluate(self.graph, [factor, square, rate], case))
        outward = [s for s, end in ((slope, self.high), (-slope, self.low)) if end is None]
        falls = all(s < 0 for s in outward)
        if size and outward and not (bend < 0 or (bend == 0 and falls)):
            return None
        if square != self.graph.zero:
            return bend >= 0
        return rate != self.graph.zero and not (falls if outward else slope)


def loses_a_value(integrals: list[tuple[Interval, Sum]], case: Case) -> bool:
    """Whether at a case every integral has a value, and a closed form has none: that of e^(b x) at b = 0.

    Args:
        integrals: Those of a claim, with what they integrate.
        case: The values of leaves.
    """
    found = _losses(integrals, case)
    return None not in found and any(found)


def diverges(integrals: list[tuple[Interval, Sum]], case: Case) -> bool:
    """Whether at a case an integral has no value.

    Args:
        integrals: Those of a claim, with what they integrate.
        case: The values of leaves.
    """
    return None in _losses(integrals, case)


def _losses(integrals: list[tuple[Interval, Sum]], case: Case) -> list[bool | None]:
    try:
        with precision(START_BITS):
            return [one.loses(piece, factor, case) for one, pieces in integrals for piece, factor in pieces.items()]
    except (Undefined, Imprecise, KeyError):  # a factor is not defined, or belongs to an integral inside another
        return []


@handles("variable")
def _variable(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.leaf((term.data, (1, 1))))


@handles("integral")
def _integral(low: Lowering, term: Term, env: Env) -> Cells:
    key, has_low, has_high = term.data
    graph, ends = low.graph, [low.number(one_, env) for one_ in term.args[1:]]
    interval = Interval(graph, ends[0] if has_low else None, ends[-1] if has_high else None)
    leaf = graph.leaf((key, (1, 1)))
    body = low.number(term.args[0], env)
    try:
        pieces = Integrand(graph, leaf).expand(body)
    except _NoForm:
        node = quadrature(graph, body, leaf, *ends) if has_low and has_high else None
        if node is None or leaf in graph.reachable(ends):
            raise
        return one(node)
    low.integrals.append((interval, pieces))
    parts = [(piece, factor) for piece, factor in pieces.items() if factor != graph.zero]
    try:
        found = [graph.mul((factor, interval.integrate(piece))) for piece, factor in parts]
    except Unsettled as error:
        if len(parts) == 1 and interval.is_of_one_sign(*parts[0]):
            raise Infinite(str(error)) from error
        raise
    if leaf in graph.reachable(found):
        raise Unsettled("the limits of an integral depend on its variable")
    return one(graph.add(found))


__all__ = ["Infinite", "Integrand", "Interval", "diverges", "loses_a_value"]
