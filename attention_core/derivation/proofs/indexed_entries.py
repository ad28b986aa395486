"""Entries of terms at symbolic indices.

Terms to polynomials with symbolic indices: what the entry (i, j) of a term is, for every operation that has a rule.
The rules: linearity of sums, contraction of deltas, e^(a+b) = e^a e^b; an operation without one is given up.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from attention_core.derivation.effort import on_time
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.proofs.indexed import (
    CannotProve,
    Index,
    Poly,
    Sums,
    constant,
    delta,
    exponential,
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
from attention_core.derivation.terms.terms import Size, Term

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
