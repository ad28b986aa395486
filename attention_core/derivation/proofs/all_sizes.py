"""Proofs of equations and inequalities at all sizes.

An equation holds for all sizes and values if the generic entry of the difference reduces to 0.
What hypotheses say enters before: which indices differ, and which inner products are declared.

Terms become polynomials with symbolic indices: what the entry (i, j) of a term is, for every operation that has a rule.
The rules: linearity of sums, contraction of deltas, e^(a+b) = e^a e^b; an operation without one is given up.

For an inequality, what stays of the difference is a sum of things that cannot be negative. Sizes are written as their
smallest value and what is above it; a coefficient below 0 leaves the claim open.

A search asks for proofs at one case and at one tuple of sizes as well. Balls that overlap never show that two sides are
equal; normal forms do, and rules for all sizes make cases needless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from flint import fmpq

from attention_core.derivation.algebra.frames import Surd
from attention_core.derivation.algebra.normal import Facts, is_nonnegative
from attention_core.derivation.algebra.normal import is_zero as reduces_to_zero
from attention_core.derivation.cases.problem import Problem, Site
from attention_core.derivation.effort import on_time
from attention_core.derivation.graph.compare import compare
from attention_core.derivation.graph.numbers import Case
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.proofs.contradiction import linear
from attention_core.derivation.proofs.indexed import (
    ENDS,
    Atom,
    CannotProve,
    Index,
    Mono,
    Poly,
    Range,
    Rule,
    Sums,
    constant,
    delta,
    exponential,
    is_zero,
    key,
    logarithm,
    plus,
    power,
    root,
    scale,
    single,
    slope,
    times,
)
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.terms import Relation, Size, Term

Env = dict[str, Index]


class Entries:
    """Turns entries of terms into polynomials; `tuples` knows the smallest sizes, `sums` what is known of indices."""

    def __init__(self, context: Context, tuples: Tuples, sums: Sums) -> None:
        self.context, self.tuples, self.sums = context, tuples, sums

    def free(self, size: Size) -> Index:
        """A generic position below a size."""
        if size.constant == 1:
            return 1
        return self.sums.fresh(("1", str(size)))

    # -- whole numbers ----------------------------------------------------------------------------------------------

    def size(self, term: Term, env: Env) -> Size:
        """A bound as a size."""
        if term.op == "const":
            return Size.number(term.data)
        if term.op == "size":
            return term.data  # type: ignore[no-any-return]
        if term.op == "int" and term.data in self.context.symbols and self.context.symbols[term.data].kind == "size":
            return Size.symbol(term.data)
        if term.op == "add":
            total = Size.number(0)
            for arg in term.args:
                total = total + self.size(arg, env)
            return total
        if term.op == "neg":
            return -self.size(term.args[0], env)
        raise CannotProve

    def index(self, term: Term, env: Env) -> Index:
        """An index: bound, declared, or a numeral."""
        if term.op == "int":
            return env.get(str(term.data), str(term.data))
        if term.op == "const" and term.data.denominator == 1:
            return int(term.data)
        raise CannotProve

    def count(self, low: Size, high: Size) -> Poly:
        """How many values a range has, if it is never less than none."""
        span = high + (-low) + Size.number(1)
        least = Fraction(0)
        parts: list[Poly] = []
        for monomial, c in span.terms:
            if monomial and (c < 0 or any(k < 0 for _, k in monomial)):
                raise CannotProve
            value = c
            for name, k in monomial:
                value *= Fraction(self.tuples.lowest(name)) ** k
            least += value
            parts.append(times(constant(c), *(single(("size", n), k) for n, k in monomial)))
        if least < 0:
            raise CannotProve
        return plus(*parts) if parts else {}

    def reduce(self, low: Size, high: Size, body: Any) -> Poly:
        """The sum of `body(index)` over a range."""
        index = self.sums.fresh((str(low), str(high)))
        return self.sums.total(index, body(index), self.count(low, high))

    def over(self, size: Size, body: Any) -> Poly:
        """The sum over 1..size."""
        if size.constant == 1:
            return body(1)  # type: ignore[no-any-return]
        return self.reduce(Size.number(1), size, body)

    # -- entries ----------------------------------------------------------------------------------------------------

    def number(self, term: Term, env: Env) -> Poly:
        """A term that is one number."""
        return self.entry(term, 1, 1, env)

    def entry(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        """The entry (i, j) of a term."""
        on_time()
        method = getattr(self, f"_{term.op}", None)
        if method is None:
            raise CannotProve
        return method(term, i, j, env)  # type: ignore[no-any-return]

    def _const(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return constant(term.data)

    def _size(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        parts = [times(constant(c), *(single(("size", n), k) for n, k in m)) for m, c in term.data.terms]
        return plus(*parts) if parts else {}

    def _int(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        symbol = self.context.symbols.get(term.data)
        if term.data in env or symbol is None or symbol.kind != "size":
            return single(("value", env.get(term.data, term.data)))
        return single(("size", term.data))

    def _leaf(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        if self.context.symbols[term.data].law is not None:
            raise CannotProve
        return single(("x", term.data, (i, j)))

    def _member(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        if self.context.symbols[term.data].law is not None:
            raise CannotProve
        return single(("x", term.data, (self.index(term.args[0], env), i, j)))

    def _bind(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        inner = {name: self.index(arg, env) for name, arg in zip(term.data, term.args[1:], strict=True)}
        return self.entry(term.args[0], i, j, inner)

    def _neg(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return scale(self.entry(term.args[0], i, j, env), Fraction(-1))

    def _add(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return plus(*(self.entry(a, i, j, env) for a in term.args))

    def _mul(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return times(*(self.number(a, env) if a.type.scalar else self.entry(a, i, j, env) for a in term.args))

    def _hadamard(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return times(*(self.entry(a, i, j, env) for a in term.args))

    def _matmul(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        left, right = term.args
        return self.over(left.type.cols, lambda k: times(self.entry(left, i, k, env), self.entry(right, k, j, env)))

    def _transpose(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return self.entry(term.args[0], j, i, env)

    def _div(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return times(self.entry(term.args[0], i, j, env), power(self.number(term.args[1], env), -1))

    def _pow(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        to = term.args[1]
        if to.op == "neg" and to.args[0].op == "const":
            to = Term("const", (), to.type, -to.args[0].data)
        if to.op != "const" or to.data.denominator != 1 or abs(to.data) > 8:
            raise CannotProve
        return power(self.number(term.args[0], env), int(to.data))

    def _exp(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return exponential(self.entry(term.args[0], i, j, env))

    def _log(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return logarithm(self.entry(term.args[0], i, j, env))

    def _opaque(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return single((term.op, key(self.entry(term.args[0], i, j, env))))

    _abs = _sin = _cos = _relu = _sign = _opaque

    def _sqrt(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return root(self.number(term.args[0], env))

    def _norm(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        body = term.args[0]
        total = self.over(
            body.type.rows, lambda r: self.over(body.type.cols, lambda c: power(self.entry(body, r, c, env), 2))
        )
        return root(total)

    def _tr(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        body = term.args[0]
        return self.over(body.type.rows, lambda k: self.entry(body, k, k, env))

    def _eye(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return delta(i, j, self.sums.apart)

    def _zeros(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return {}

    def _ones(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return constant(1)

    def _diag(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        body = term.args[0]
        row, col = (i, 1) if body.type.column else (1, i)
        return times(delta(i, j, self.sums.apart), self.entry(body, row, col, env))

    def _entry(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        return self.entry(term.args[0], self.index(term.args[1], env), self.index(term.args[2], env), env)

    def _reduce(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        op, name = term.data
        low, high = (self.size(a, env) for a in term.args[:2])
        if op != "sum":
            raise CannotProve

        def body(index: Index) -> Poly:
            inner = {**env, name: index}
            factors = [self.indicate_difference(test, inner) for test in term.args[3:]]
            return times(*factors, self.entry(term.args[2], i, j, inner))

        return self.reduce(low, high, body)

    def indicate_difference(self, test: Term, env: Env) -> Poly:
        """The condition that two indices differ, as 1 - delta."""
        if test.op != "test" or test.data != "!=":
            raise CannotProve
        a, b = (self.index(t, env) for t in test.args)
        return plus(constant(1), scale(delta(a, b, self.sums.apart), Fraction(-1)))

    def _softmax(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        body = term.args[0]
        top = exponential(self.entry(body, i, j, env))
        if body.type.column:
            bottom = self.over(body.type.rows, lambda k: exponential(self.entry(body, k, 1, env)))
        else:
            bottom = self.over(body.type.cols, lambda k: exponential(self.entry(body, i, k, env)))
        return times(top, power(bottom, -1))

    def _deriv(self, term: Term, i: Index, j: Index, env: Env) -> Poly:
        body, by = term.args
        if by.op not in ("leaf", "member"):
            raise CannotProve
        member = (self.index(by.args[0], env),) if by.op == "member" else ()
        if body.type.scalar:
            return slope(self.sums, self.number(body, env), (by.data, (*member, i, j)))
        if by.type.scalar:
            return slope(self.sums, self.entry(body, i, j, env), (by.data, (*member, 1, 1)))
        inner = self.entry(body, i, 1, env) if body.type.column else self.entry(body, 1, i, env)
        place: tuple[Index, ...] = (*member, j, 1) if by.type.column else (*member, 1, j)
        return slope(self.sums, inner, (by.data, place))


RULE = "index normal form: linear sums, contracted indices, exponentials, declared inner products"
SHARE = 3 / 8  # of a step's time, for one attempt


def holds_at_all_sizes(
    context: Context, claim: Relation, hypotheses: Sequence[Relation], tuples: Tuples, seconds: float = 8.0
) -> bool:
    """Whether the generic entry of left - right reduces to 0; `seconds` is the time of the step."""
    if claim.op != "=":
        return False
    before = ENDS.set(time.process_time() + SHARE * seconds)
    try:
        entries = entries_under(context, hypotheses, tuples)
        kind = claim.left.type
        i = entries.free(kind.rows) if kind.kind == "matrix" else 1
        j = entries.free(kind.cols) if kind.kind == "matrix" else 1
        left, right = entries.entry(claim.left, i, j, {}), entries.entry(claim.right, i, j, {})
        return is_zero(plus(left, scale(right, Fraction(-1))))
    except (CannotProve, RecursionError, ZeroDivisionError, KeyError):
        return False
    finally:
        ENDS.reset(before)


def entries_under(context: Context, hypotheses: Sequence[Relation], tuples: Tuples) -> Entries:
    """The entries of terms where the hypotheses hold."""
    ranges: dict[Index, Range] = {}
    apart: set[frozenset[Index]] = set()
    for name in tuples.indices:
        symbol = context.symbols[name]
        ranges[name] = (str(symbol.lowest), str(symbol.highest))
    for relation in hypotheses:
        if relation.op == "!=" and relation.left.op == "int" and relation.right.op == "int" and not relation.over:
            apart.add(frozenset((relation.left.data, relation.right.data)))
    sums = Sums(ranges, apart, [])
    sums.rules += [rule for r in hypotheses if (rule := product_rule(sums, r)) is not None]
    return Entries(context, tuples, sums)


def product_rule(sums: Sums, relation: Relation) -> Rule | None:
    """A hypothesis about inner products as a rule on sum_k x_k.. y_k.."""
    product, value = relation.left, relation.right
    if relation.op != "=" or product.op != "matmul" or value.op not in ("eye", "zeros", "const") or relation.where:
        return None
    left, right = product.args
    first, second = _side(left, True), _side(right, False)
    if first is None or second is None:
        return None
    extent = ("1", str(left.type.cols))

    def apply(a: Atom, b: Atom, index: Index) -> Poly | None:
        if (a[1], b[1]) != (first[0], second[0]) or sums.ranges.get(index) != extent:
            return None
        if a[2][first[1]] != index or b[2][second[1]] != index:
            return None
        i, j = a[2][1 - first[1]], b[2][1 - second[1]]
        if index in (i, j):
            return None
        if value.op == "eye":
            return delta(i, j, sums.apart)
        return constant(value.data) if value.op == "const" else {}

    return apply


def _side(term: Term, left: bool) -> tuple[str, int] | None:
    """Name of the array in a factor, and at which of its two positions the product sums."""
    turned = term.op == "transpose"
    inner = term.args[0] if turned else term
    if inner.op != "leaf":
        return None
    return inner.data, (1 if left else 0) if not turned else (0 if left else 1)


SIGN_RULE = "sign of the difference: no coefficient is negative when each size is its smallest value and more"
SURE = 40  # smallest values up to here are found by trying every one
MAX_DEGREE = 40
Powers = tuple[tuple[str, int], ...]


def ordered_at_all_sizes(
    context: Context, claim: Relation, hypotheses: Sequence[Relation], tuples: Tuples, seconds: float = 8.0
) -> bool:
    """Whether an inequality between numbers holds at all sizes and values, by the signs of the difference's terms.

    So n <= n^2 has n^2 - n = (1 + m)^2 - (1 + m) = m + m^2 with n = 1 + m.
    """
    if claim.op not in ("<=", ">=", "<", ">") or not (claim.left.type.scalar and claim.right.type.scalar):
        return False
    before = ENDS.set(time.process_time() + SHARE * seconds)
    try:
        entries = entries_under(context, hypotheses, tuples)
        low, high = entries.number(claim.left, {}), entries.number(claim.right, {})
        if claim.op in (">", ">="):
            low, high = high, low
        return _never_negative(plus(high, scale(low, Fraction(-1))), tuples, strict=claim.op in ("<", ">"))
    except (CannotProve, RecursionError, ZeroDivisionError, KeyError):
        return False
    finally:
        ENDS.reset(before)


def _never_negative(poly: Poly, tuples: Tuples, strict: bool) -> bool:
    """Whether every part of a difference is a non-negative one times a polynomial in sizes that is as well."""
    groups: dict[Mono, dict[Powers, Fraction]] = {}
    for mono, c in poly.items():
        rest = tuple((a, k) for a, k in mono if a[0] != "size")
        powers = {str(a[1]): k for a, k in mono if a[0] == "size"}
        if any(k.denominator != 1 for k in powers.values()):
            return False
        table = groups.setdefault(rest, {})
        table[tuple(sorted((n, int(k)) for n, k in powers.items()))] = c
    if not all(_positive(rest) for rest in groups):
        return False
    shifted = {rest: _shift(table, tuples) for rest, table in groups.items()}
    if any(c < 0 for table in shifted.values() for c in table.values()):
        return False
    return not strict or shifted.get((), {}).get((), Fraction(0)) > 0


def _shift(table: dict[Powers, Fraction], tuples: Tuples) -> dict[Powers, Fraction]:
    """A polynomial in sizes, times powers of them, with n = lowest + m."""
    names = {n for powers in table for n, _ in powers}
    least = {n: min(0, *(dict(p).get(n, 0) for p in table)) for n in names}
    out: dict[Powers, Fraction] = {}
    for powers, c in table.items():
        parts: dict[Powers, Fraction] = {(): c}
        for name in sorted(names):
            low, k = tuples.lowest(name), dict(powers).get(name, 0) - least[name]
            if k > MAX_DEGREE:
                raise CannotProve
            start = low if low <= SURE or _interval(tuples, name) else 1
            new: dict[Powers, Fraction] = {}
            for have, value in parts.items():
                for j in range(k + 1):
                    key = (*have, (name, j)) if j else have
                    new[key] = new.get(key, Fraction(0)) + value * comb(k, j) * start ** (k - j)
            parts = new
        for powers_of, value in parts.items():
            out[powers_of] = out.get(powers_of, Fraction(0)) + value
    return out


def _interval(tuples: Tuples, name: str) -> bool:
    """Whether the conditions on one size alone leave an interval, so that its smallest value is found for certain."""
    own = [r for r in tuples.conditions if relation_names(tuples.context, r) == {name}]
    return all(r.op != "!=" and linear(r.left) is not None and linear(r.right) is not None for r in own)


def _positive(factors: Sequence[tuple[Atom, Fraction]]) -> bool:
    """Whether a product of atoms cannot be negative where it is defined."""
    return all(_atom(atom) or (k.denominator == 1 and k % 2 == 0) for atom, k in factors)


def _atom(atom: Atom) -> bool:
    if atom[0] == "sum":
        return _positive(atom[2])
    if atom[0] == "poly":
        return all(c > 0 and _positive(mono) for mono, c in atom[1])
    return atom[0] in ("exp", "abs", "sqrt", "size", "count", "delta", "relu")


def is_proved_everywhere(problem: Problem) -> bool:
    """Whether the equation is proved for all sizes."""
    return _settle_once(problem, "equal", holds_at_all_sizes)


def is_ordered_everywhere(problem: Problem) -> bool:
    """Whether the inequality is proved for all sizes."""
    return _settle_once(problem, "ordered", ordered_at_all_sizes)


def _settle_once(problem: Problem, name: str, proof: Callable[..., bool]) -> bool:
    """The outcome of a proof at all sizes, which is looked for once."""
    if name not in problem.settled:
        about = problem.context, problem.claim, problem.hypotheses, problem.tuples
        problem.settled[name] = proof(*about, problem.effort.seconds)
    return problem.settled[name]


def identical(site: Site, deadline: float, op: str = "=") -> bool:
    """Whether the claim holds at one site by its form, wherever both sides are defined.

    For `=` the difference reduces to 0; for an inequality it reduces to something that cannot be negative.
    """
    graph = site.low.graph
    if site.identical is None:
        differences = [graph.sub(a, b) for a, b in site.pairs]
        given = site.plan.collect_facts()
        site.identical = reduces_to_zero(graph, differences, given, deadline)
        if not site.identical and op in ("<=", ">="):
            signed = [graph.neg(d) for d in differences] if op == "<=" else differences
            site.identical = all(is_nonnegative(graph, d, given, deadline) for d in signed)
    return site.identical


def equal_here(site: Site, case: Case, op: str, deadline: float) -> bool:
    """Whether the sides are exactly equal at one case, or ordered as they should be where they are not."""
    graph = site.low.graph
    values = {n: v for n, v in case.items() if graph.ops[n] == "leaf"}
    if not all(isinstance(v, fmpq | Surd) for v in values.values()):
        return False
    given = Facts(values=values)
    for left, right in site.pairs:
        order = graph.reachable([left, right])
        outcome = compare(graph, [(left, right)], op, case, order, most=512)
        if outcome.holds is False:
            return False
        if outcome.holds is None and not reduces_to_zero(graph, [graph.sub(left, right)], given, deadline):
            return False
    return True
