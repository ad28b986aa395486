"""Lowering of functions of matrices and of whole numbers: Kronecker products, ranks, spectra, norms, factorials.

A rank, a pseudo-inverse or a singular value is one node over all entries, which is evaluated and never expanded: a
step that holds one is compared in numbers. A factorial is a whole number of its own, written out with all its digits.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from flint import fmpq

from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined
from attention_core.derivation.graph.spectra import SPECTRA
from attention_core.derivation.lowering.lower import Cells, Env, Lowering, handles, one
from attention_core.derivation.terms.terms import Term

LARGEST_FACTORIAL = 4000  # beyond, its digits alone would cost more than a step may
LARGEST_SIDE = 12


@handles("kron")
def _kron(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.lower(a, env) for a in term.args)
    rows, cols = left.rows * right.rows, left.cols * right.cols
    low.graph.count(rows * cols)
    places = ((i, j) for i in range(rows) for j in range(cols))
    cells = (
        low.graph.mul((left.at(i // right.rows, j // right.cols), right.at(i % right.rows, j % right.cols)))
        for i, j in places
    )
    return Cells(rows, cols, tuple(cells))


@handles("vec")
def _vec(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    cells = tuple(inner.at(i, j) for j in range(inner.cols) for i in range(inner.rows))
    return Cells(len(cells), 1, cells)


def _of_matrix(graph: Graph, op: str, inner: Cells, data: object) -> int:
    """A number that all entries of a matrix give; of numbers it is found at once."""
    if max(inner.rows, inner.cols) > LARGEST_SIDE:
        raise TooLarge(f"the {op} of an array beyond {LARGEST_SIDE} x {LARGEST_SIDE}")
    values = [graph.value(c) for c in inner.cells]
    if all(v is not None for v in values):
        found = SPECTRA[op](values, data)
        if isinstance(found, fmpq):
            return graph.const(found)
    return graph.node(op, inner.cells, data)


@handles("rank")
def _rank(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return one(_of_matrix(low.graph, "rank", inner, (inner.rows, inner.cols)))


@handles("pinv")
def _pinv(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    shape, places = (inner.rows, inner.cols), ((i, j) for i in range(inner.cols) for j in range(inner.rows))
    cells = tuple(_of_matrix(low.graph, "pinv", inner, (shape, i, j)) for i, j in places)
    return Cells(inner.cols, inner.rows, cells)


def _which(low: Lowering, term: Term, env: Env) -> int | str:
    return str(term.data) if len(term.args) == 1 else low.whole(term.args[1], env)


@handles("singular")
def _singular(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return one(_of_matrix(low.graph, "singular", inner, ((inner.rows, inner.cols), _which(low, term, env))))


@handles("eigen")
def _eigen(low: Lowering, term: Term, env: Env) -> Cells:
    inner, n = low.lower(term.args[0], env), low.lower(term.args[0], env).rows
    symmetric = all(inner.at(i, j) == inner.at(j, i) for i in range(n) for j in range(i))
    return one(_of_matrix(low.graph, "eigen", inner, (n, _which(low, term, env), symmetric)))


@handles("normp")
def _norm_p(low: Lowering, term: Term, env: Env) -> Cells:
    graph, inner, to = low.graph, low.lower(term.args[0], env), low.number(term.args[1], env)
    total = graph.add(graph.power(graph.call("abs", c), to) for c in inner.cells)
    return one(graph.power(total, graph.inv(to)))


@handles("norm0")
def _norm_0(low: Lowering, term: Term, env: Env) -> Cells:
    graph, inner = low.graph, low.lower(term.args[0], env)
    return one(graph.add(graph.node("indicator", (c, graph.zero), "!=") for c in inner.cells))


@handles("factorial")
def _factorial(low: Lowering, term: Term, env: Env) -> Cells:
    if any(part.op == "variable" for part in term.args[0].walk()):  # of what runs in a sum without end
        return one(low.graph.node("factorial", (low.number(term.args[0], env),)))
    value = low.rational(term.args[0], env)
    if value.denominator != 1 or value < 0:
        raise Undefined("a factorial is of a whole number from 0 on")
    if value > LARGEST_FACTORIAL:
        raise TooLarge(f"a factorial beyond {LARGEST_FACTORIAL}!")
    return one(low.graph.const(Fraction(factorial(int(value)))))


@handles("binom")
def _binom(low: Lowering, term: Term, env: Env) -> Cells:
    below = low.rational(term.args[1], env)
    if below.denominator != 1:
        raise Undefined("a binomial coefficient whose lower number is broken")
    k = int(below)
    if k < 0:
        return one(low.graph.zero)
    try:
        above = low.rational(term.args[0], env)
    except TooLarge:
        if k > LARGEST_SIDE:
            raise
        return one(_falling(low.graph, low.number(term.args[0], env), k))
    if above.denominator != 1 or above < 0:
        return one(_falling(low.graph, low.graph.const(above), min(k, LARGEST_FACTORIAL)))
    if above > LARGEST_FACTORIAL and min(k, int(above) - k) > 64:
        raise TooLarge(f"a binomial coefficient beyond {LARGEST_FACTORIAL}")
    return one(low.graph.const(Fraction(comb(int(above), k))))


def _falling(graph: Graph, above: int, k: int) -> int:
    """x (x - 1) ... (x - k + 1) / k! of any number x."""
    factors = [graph.add((above, graph.const(Fraction(-j)))) for j in range(k)]
    return graph.mul([*factors, graph.const(Fraction(1, factorial(k)))])
