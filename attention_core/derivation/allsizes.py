# Terms to polynomials with symbolic indices, and the proof of an equation for all sizes and values.
# The rules: linearity of sums, contraction of deltas, renaming, e^(a+b) = e^a e^b, and the declared inner products.
"""Proof of equations at all sizes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from attention_core.derivation.declared import Context
from attention_core.derivation.indexed import (
    ENDS,
    Atom,
    CannotProve,
    Poly,
    constant,
    exponential,
    is_zero,
    key,
    logarithm,
    plus,
    power,
    root,
    scaled,
    single,
    times,
)
from attention_core.derivation.indexed_sums import Index, Range, Rule, Sums, delta, renamed
from attention_core.derivation.spaces import Tuples
from attention_core.derivation.terms import Relation, Size, Term

RULE = "index normal form: linear sums, contracted indices, exponentials, declared inner products"
SHARE = 3 / 8  # of a step's time, for one attempt
Env = dict[str, Index]


def holds_at_all_sizes(
    context: Context, claim: Relation, hypotheses: Sequence[Relation], tuples: Tuples, seconds: float = 8.0
) -> bool:
    """Whether the generic entry of left - right reduces to 0; `seconds` is the time of the step."""
    if claim.op != "=":
        return False
    before = ENDS.set(time.process_time() + SHARE * seconds)
    try:
        prover = Prover(context, hypotheses, tuples)
        kind = claim.left.type
        i = prover.free(kind.rows) if kind.kind == "matrix" else 1
        j = prover.free(kind.cols) if kind.kind == "matrix" else 1
        left, right = prover.entry(claim.left, i, j, {}), prover.entry(claim.right, i, j, {})
        return is_zero(plus(left, scaled(right, Fraction(-1))))
    except (CannotProve, RecursionError, ZeroDivisionError, KeyError):
        return False
    finally:
        ENDS.reset(before)


class Prover:
    """Turns entries of terms into polynomials."""

    def __init__(self, context: Context, hypotheses: Sequence[Relation], tuples: Tuples) -> None:
        self.context, self.tuples = context, tuples
        ranges: dict[Index, Range] = {}
        apart: set[frozenset[Index]] = set()
        for name in tuples.indices:
            symbol = context.symbols[name]
            ranges[name] = (str(symbol.lowest), str(symbol.highest))
        for relation in hypotheses:
            if relation.op == "!=" and relation.left.op == "int" and relation.right.op == "int" and not relation.over:
                apart.add(frozenset((relation.left.data, relation.right.data)))
        self.sums = Sums(ranges, apart, [])
        self.sums.rules += [rule for r in hypotheses if (rule := self.rule(r)) is not None]

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
        return scaled(self.entry(term.args[0], i, j, env), Fraction(-1))

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
            factors = [self.excluded(test, inner) for test in term.args[3:]]
            return times(*factors, self.entry(term.args[2], i, j, inner))

        return self.reduce(low, high, body)

    def excluded(self, test: Term, env: Env) -> Poly:
        """The condition that two indices differ, as 1 - delta."""
        if test.op != "test" or test.data != "!=":
            raise CannotProve
        a, b = (self.index(t, env) for t in test.args)
        return plus(constant(1), scaled(delta(a, b, self.sums.apart), Fraction(-1)))

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
            return self.slope(self.number(body, env), (by.data, (*member, i, j)))
        if by.type.scalar:
            return self.slope(self.entry(body, i, j, env), (by.data, (*member, 1, 1)))
        inner = self.entry(body, i, 1, env) if body.type.column else self.entry(body, 1, i, env)
        place: tuple[Index, ...] = (*member, j, 1) if by.type.column else (*member, 1, j)
        return self.slope(inner, (by.data, place))

    # -- derivatives ------------------------------------------------------------------------------------------------

    def slope(self, poly: Poly, by: tuple[str, tuple[Index, ...]]) -> Poly:
        """The derivative of a polynomial by one entry."""
        parts: list[Poly] = []
        for mono, c in poly.items():
            for place, (atom, k) in enumerate(mono):
                inner = self.atom_slope(atom, k, by)
                if inner:
                    rest = tuple(p for q, p in enumerate(mono) if q != place)
                    parts.append(times({rest: c}, inner))
        return plus(*parts) if parts else {}

    def atom_slope(self, atom: Atom, k: Fraction, by: tuple[str, tuple[Index, ...]]) -> Poly:
        """The derivative of atom^k."""
        lowered: Poly = constant(k) if k == 1 else {((atom, k - 1),): k}
        if atom[0] == "x":
            if atom[1] != by[0]:
                return {}
            return times(lowered, *(delta(a, b, self.sums.apart) for a, b in zip(atom[2], by[1], strict=True)))
        if atom[0] == "exp":
            return times({((atom, k),): k}, self.slope({atom[1]: Fraction(1)}, by))
        if atom[0] == "poly":
            return times(lowered, self.slope(dict(atom[1]), by))
        if atom[0] == "sum":
            return times(lowered, self.sum_slope(atom, by))
        if atom[0] in ("size", "delta", "count", "value"):
            return {}
        if atom[0] in ("log", "sqrt") and k == 1:
            inner = dict(atom[1])
            over = power(inner, -1) if atom[0] == "log" else scaled(single(atom, -1), Fraction(1, 2))
            return times(over, self.slope(inner, by))
        if atom[0] in ("log", "sqrt", "abs", "sin", "cos", "relu", "sign") and not self.slope(dict(atom[1]), by):
            return {}
        raise CannotProve

    def sum_slope(self, atom: Atom, by: tuple[str, tuple[Index, ...]]) -> Poly:
        """The derivative under a sum."""
        names: dict[Index, Index] = {name: self.sums.fresh((low, high)) for name, low, high in atom[1]}
        result = self.slope({tuple(renamed(atom[2], names)): Fraction(1)}, by)
        for index in names.values():
            result = self.sums.total(str(index), result, self.sums.extent(str(index)))
        return result

    # -- declared identities ----------------------------------------------------------------------------------------

    def rule(self, relation: Relation) -> Rule | None:
        """A hypothesis about inner products as a rule on sum_k x_k.. y_k.."""
        product, value = relation.left, relation.right
        if relation.op != "=" or product.op != "matmul" or value.op not in ("eye", "zeros", "const") or relation.where:
            return None
        left, right = product.args
        first, second = self.side(left, True), self.side(right, False)
        if first is None or second is None:
            return None
        extent = ("1", str(left.type.cols))

        def apply(a: Atom, b: Atom, index: Index) -> Poly | None:
            if (a[1], b[1]) != (first[0], second[0]) or self.sums.ranges.get(index) != extent:
                return None
            if a[2][first[1]] != index or b[2][second[1]] != index:
                return None
            i, j = a[2][1 - first[1]], b[2][1 - second[1]]
            if index in (i, j):
                return None
            if value.op == "eye":
                return delta(i, j, self.sums.apart)
            return constant(value.data) if value.op == "const" else {}

        return apply

    def side(self, term: Term, left: bool) -> tuple[str, int] | None:
        """Name of the array in a factor, and at which of its two positions the product sums."""
        turned = term.op == "transpose"
        inner = term.args[0] if turned else term
        if inner.op != "leaf":
            return None
        return inner.data, (1 if left else 0) if not turned else (0 if left else 1)
