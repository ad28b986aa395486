"""Values of terms in any number of digits: sums are loops, derivatives are difference quotients.

Expectations over normals are Gauss-Hermite sums. Nothing of the checker's graph, normal forms, balls, limits or moments
is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from mpmath import mp, mpf

from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import Term

Values = dict[tuple[str, int], Any]  # (symbol, member or 0) -> a table of numbers
Env = Mapping[str, int]
DIGITS = (60, 120)
MOST_DIGITS = 2000  # where more could cancel a point says nothing
QUADRATURE = 4  # nodes for each random number: exact up to degree 7 in it
POLYNOMIAL = frozenset({
    "leaf", "member", "bind", "neg", "add", "mul", "hadamard", "matmul", "transpose", "div", "pow", "entry", "slice",
    "reduce", "tr", "diag", "blocks", "hcat", "vcat", "expect",
})  # fmt: skip
MOST_RANDOM = 4  # random numbers in one expectation


class Cannot(Exception):
    """This evaluator has no way to compute it."""


class NoValue(Exception):
    """A side has no value at this point."""


@dataclass(frozen=True)
class Arithmetic:
    """What numbers are: a constructor and their functions."""

    number: Callable[[Any], Any]
    functions: Mapping[str, Callable[..., Any]]


def _rational(value: Any) -> Any:
    return mpf(value.numerator) / mpf(value.denominator) if isinstance(value, Fraction) else mpf(value)


class Largest:
    """The largest magnitude of an exponent since it was reset: so many digits may cancel."""

    exponent = 0.0


def _exp(x: Any) -> Any:
    Largest.exponent = max(Largest.exponent, float(abs(x)))
    return mp.exp(x)


EXACT = Arithmetic(_rational, {
    "exp": _exp, "log": mp.log, "sqrt": mp.sqrt, "sin": mp.sin, "cos": mp.cos, "erf": mp.erf, "tanh": mp.tanh,
    "floor": mp.floor, "ceil": mp.ceil, "sign": mp.sign,
})  # fmt: skip
FLOAT = Arithmetic(lambda v: np.float64(float(v)), {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "floor": np.floor, "ceil": np.ceil, "sign": np.sign,
})  # fmt: skip


def table(rows: int, cols: int, value: Any) -> Any:
    """A table with one value everywhere."""
    out = np.empty((rows, cols), dtype=object)
    out.fill(value)
    return out


class Evaluator:
    """Values of terms at one point: sizes and indices `top`, tables `values`."""

    def __init__(self, context: Context, top: Env, values: Values, arithmetic: Arithmetic = EXACT) -> None:
        self.context, self.top, self.values, self.how = context, dict(top), values, arithmetic
        self.known: dict[Any, Any] = {}

    def number(self, term: Term, env: Env) -> Any:
        """A term that is one number."""
        return self.value(term, env)[0, 0]

    def whole(self, term: Term, env: Env) -> int:
        """A term that is a whole number, exactly."""
        found = self.rational(term, env)
        if found.denominator != 1:
            raise NoValue
        return int(found)

    def rational(self, term: Term, env: Env) -> Fraction:
        """A number made of sizes and indices."""
        match term.op:
            case "const":
                return Fraction(term.data)
            case "int":
                return Fraction(env[term.data])
            case "size":
                return Fraction(term.data.value(self.top))
            case "neg":
                return -self.rational(term.args[0], env)
            case "add":
                return sum((self.rational(a, env) for a in term.args), Fraction(0))
            case "mul":
                return self.rational(term.args[0], env) * self.rational(term.args[1], env)
            case "div":
                return self.rational(term.args[0], env) / self.rational(term.args[1], env)
            case "bind" if len(term.args) == 1:
                return self.rational(term.args[0], self.top)
            case "pow":
                return self.rational(term.args[0], env) ** int(self.rational(term.args[1], env))
        raise Cannot(term.op)

    def test(self, term: Term, env: Env) -> bool:
        """A condition among whole numbers."""
        if term.op == "all":
            return all(self.test(t, env) for t in term.args)
        left, right = (self.rational(a, env) for a in term.args)
        return bool({"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right,
                     ">": left > right, ">=": left >= right}[term.data])  # fmt: skip

    def shape(self, term: Term) -> tuple[int, int]:
        """Rows and columns of a term's type."""
        rows, cols = term.type.rows.value(self.top), term.type.cols.value(self.top)
        if rows.denominator != 1 or cols.denominator != 1 or min(rows, cols) < 0:
            raise NoValue
        return int(rows), int(cols)

    def value(self, term: Term, env: Env) -> Any:
        """The table of a term."""
        key = id(term), tuple(sorted(env.items()))
        if key not in self.known:
            self.known[key] = (term, self.compute(term, env))  # the term is kept alive, so that its id stays its own
        return self.known[key][1]

    def compute(self, term: Term, env: Env) -> Any:
        """By the operation."""
        name = f"on_{term.op}"
        if hasattr(self, name):
            return getattr(self, name)(term, env)
        if term.op in self.how.functions and len(term.args) == 1:
            return self.each(self.how.functions[term.op], self.value(term.args[0], env))
        raise Cannot(term.op)

    def each(self, function: Callable[..., Any], *tables: Any) -> Any:
        """Entry by entry."""
        out = np.empty(tables[0].shape, dtype=object)
        for place in np.ndindex(*tables[0].shape):
            found = function(*(t[place] for t in tables))
            if isinstance(found, mp.mpc):
                raise NoValue
            out[place] = found
        return out

    def one(self, value: Any) -> Any:
        """A number as a table."""
        return table(1, 1, value)

    # -- leaves and names -------------------------------------------------------------------------------------------

    def on_const(self, term: Term, env: Env) -> Any:
        return self.one(self.how.number(Fraction(term.data)))

    def on_size(self, term: Term, env: Env) -> Any:
        return self.one(self.how.number(Fraction(term.data.value(self.top))))

    def on_int(self, term: Term, env: Env) -> Any:
        return self.one(self.how.number(Fraction(env[term.data])))

    def on_leaf(self, term: Term, env: Env) -> Any:
        if (term.data, 0) not in self.values:
            raise Cannot(f"no value of {term.data}")
        return self.values[term.data, 0]

    def on_member(self, term: Term, env: Env) -> Any:
        which = self.whole(term.args[0], env)
        if (term.data, which) not in self.values:
            raise NoValue
        return self.values[term.data, which]

    def on_bind(self, term: Term, env: Env) -> Any:
        inner = dict(self.top)
        inner.update((n, self.whole(v, env)) for n, v in zip(term.data, term.args[1:], strict=True))
        return self.value(term.args[0], inner)

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def on_neg(self, term: Term, env: Env) -> Any:
        return -self.value(term.args[0], env)

    def on_add(self, term: Term, env: Env) -> Any:
        parts = [self.value(a, env) for a in term.args]
        return sum(parts[1:], parts[0])

    def on_mul(self, term: Term, env: Env) -> Any:
        left, right = (self.value(a, env) for a in term.args)
        return left[0, 0] * right if left.shape == (1, 1) else left * right[0, 0]

    def on_hadamard(self, term: Term, env: Env) -> Any:
        return self.value(term.args[0], env) * self.value(term.args[1], env)

    def on_matmul(self, term: Term, env: Env) -> Any:
        left, right = (self.value(a, env) for a in term.args)
        if left.shape[1] != right.shape[0]:
            raise NoValue
        zero = self.how.number(Fraction(0))
        out = table(left.shape[0], right.shape[1], zero)
        for i, j, k in product(range(left.shape[0]), range(right.shape[1]), range(left.shape[1])):
            out[i, j] = out[i, j] + left[i, k] * right[k, j]
        return out

    def on_transpose(self, term: Term, env: Env) -> Any:
        return self.value(term.args[0], env).T

    def on_div(self, term: Term, env: Env) -> Any:
        bottom = self.number(term.args[1], env)
        if bottom == 0:
            raise NoValue
        return self.value(term.args[0], env) / bottom

    def on_pow(self, term: Term, env: Env) -> Any:
        base, to = (self.number(a, env) for a in term.args)
        if base == 0 and to <= 0:
            if to == 0:
                return self.one(self.how.number(Fraction(1)))
            raise NoValue
        if base < 0 and to != int(to):
            raise NoValue
        return self.one(base ** (int(to) if to == int(to) else to))

    def on_sqrt(self, term: Term, env: Env) -> Any:
        inner = self.number(term.args[0], env)
        if inner < 0:
            raise NoValue
        return self.one(self.how.functions["sqrt"](inner))

    def on_log(self, term: Term, env: Env) -> Any:
        inner = self.value(term.args[0], env)
        if any(x <= 0 for x in inner.flat):
            raise NoValue
        return self.each(self.how.functions["log"], inner)

    def on_abs(self, term: Term, env: Env) -> Any:
        return self.each(abs, self.value(term.args[0], env))

    on_magnitudes = on_abs

    def on_norm(self, term: Term, env: Env) -> Any:
        return self.one(self.how.functions["sqrt"](sum(x * x for x in self.value(term.args[0], env).flat)))

    def on_pi(self, term: Term, env: Env) -> Any:
        return self.one(+mp.pi)

    def on_max(self, term: Term, env: Env) -> Any:
        return self.one(max(self.number(a, env) for a in term.args))

    def on_min(self, term: Term, env: Env) -> Any:
        return self.one(min(self.number(a, env) for a in term.args))

    def on_maxof(self, term: Term, env: Env) -> Any:
        return self.one(max(self.value(term.args[0], env).flat))

    def on_minof(self, term: Term, env: Env) -> Any:
        return self.one(min(self.value(term.args[0], env).flat))

    def on_relu(self, term: Term, env: Env) -> Any:
        zero = self.how.number(Fraction(0))
        return self.each(lambda x: max(x, zero), self.value(term.args[0], env))

    def on_sigmoid(self, term: Term, env: Env) -> Any:
        return self.each(lambda x: 1 / (1 + self.how.functions["exp"](-x)), self.value(term.args[0], env))

    # -- arrays -----------------------------------------------------------------------------------------------------

    def on_entry(self, term: Term, env: Env) -> Any:
        base = self.value(term.args[0], env)
        i, j = (self.whole(a, env) for a in term.args[1:])
        if not (1 <= i <= base.shape[0] and 1 <= j <= base.shape[1]):
            raise NoValue
        return self.one(base[i - 1, j - 1])

    def on_slice(self, term: Term, env: Env) -> Any:
        base = self.value(term.args[0], env)
        top, bottom, left, right = (self.whole(a, env) for a in term.args[1:])
        if not (1 <= top <= bottom <= base.shape[0] and 1 <= left <= right <= base.shape[1]):
            raise NoValue
        return base[top - 1 : bottom, left - 1 : right]

    def on_reduce(self, term: Term, env: Env) -> Any:
        op, name = term.data
        first, last = (self.whole(a, env) for a in term.args[:2])
        places = [{**env, name: k} for k in range(first, last + 1)]
        parts = [self.value(term.args[2], e) for e in places if all(self.test(t, e) for t in term.args[3:])]
        if op == "sum":
            return sum(parts, table(*self.shape(term), self.how.number(Fraction(0))))
        if op == "prod":
            out = self.how.number(Fraction(1))
            for part in parts:
                out = out * part[0, 0]
            return self.one(out)
        if not parts:
            raise NoValue
        return self.one((max if op == "max" else min)(p[0, 0] for p in parts))

    def rows_of(self, term: Term, env: Env) -> tuple[Any, list[Any]]:
        """A table and the lines that softmax runs over."""
        inner = self.value(term.args[0], env)
        return inner, [list(inner.flat)] if term.type.vector else [list(row) for row in inner]

    def on_softmax(self, term: Term, env: Env) -> Any:
        inner, rows = self.rows_of(term, env)
        out = []
        for row in rows:
            powers = [self.how.functions["exp"](x) for x in row]
            out += [p / sum(powers) for p in powers]
        return np.array(out, dtype=object).reshape(inner.shape)

    def on_argmax(self, term: Term, env: Env) -> Any:
        inner, rows = self.rows_of(term, env)
        one, zero = (self.how.number(Fraction(k)) for k in (1, 0))
        out = []
        for row in rows:
            best = [abs(x - max(row)) <= abs(max(row)) * mpf(10) ** -(mp.dps - 10) for x in row]
            out += [one / sum(best) if b else zero for b in best]
        return np.array(out, dtype=object).reshape(inner.shape)

    def on_lse(self, term: Term, env: Env) -> Any:
        return self.one(self.how.functions["log"](sum(
            self.how.functions["exp"](x) for x in self.value(term.args[0], env).flat
        )))  # fmt: skip

    def on_eye(self, term: Term, env: Env) -> Any:
        rows, cols = self.shape(term)
        out = table(rows, cols, self.how.number(Fraction(0)))
        for k in range(min(rows, cols)):
            out[k, k] = self.how.number(Fraction(1))
        return out

    def on_ones(self, term: Term, env: Env) -> Any:
        return table(*self.shape(term), self.how.number(Fraction(1)))

    def on_zeros(self, term: Term, env: Env) -> Any:
        return table(*self.shape(term), self.how.number(Fraction(0)))

    def on_filled(self, term: Term, env: Env) -> Any:
        return table(*self.shape(term), self.number(term.args[0], env))

    def on_clip(self, term: Term, env: Env) -> Any:
        bound, choose = self.number(term.args[1], env), max if term.data == "max" else min
        return self.each(lambda x: choose(x, bound), self.value(term.args[0], env))

    def on_diag(self, term: Term, env: Env) -> Any:
        line = list(self.value(term.args[0], env).flat)
        out = table(len(line), len(line), self.how.number(Fraction(0)))
        for k, x in enumerate(line):
            out[k, k] = x
        return out

    def on_diagonal(self, term: Term, env: Env) -> Any:
        inner = self.value(term.args[0], env)
        return np.array([[inner[k, k]] for k in range(inner.shape[0])], dtype=object)

    def on_tr(self, term: Term, env: Env) -> Any:
        inner = self.value(term.args[0], env)
        return self.one(sum(inner[k, k] for k in range(inner.shape[0])))

    def on_inv(self, term: Term, env: Env) -> Any:
        inner = self.value(term.args[0], env)
        if abs(mp.det(mp.matrix(inner.tolist()))) < mpf(10) ** -20:
            raise NoValue  # singular, or too near to it
        try:
            return np.array((mp.matrix(inner.tolist()) ** -1).tolist(), dtype=object)
        except ZeroDivisionError:
            raise NoValue from None

    def on_blocks(self, term: Term, env: Env) -> Any:
        parts = [self.value(a, env) for a in term.args]
        lines = [np.hstack(parts[k : k + term.data]) for k in range(0, len(parts), term.data)]
        return np.vstack(lines)

    def _dotted(self, term: Term, env: Env) -> list[Any]:
        first, last = (self.whole(a, env) for a in term.args[:2])
        return [self.value(term.args[2], {**env, term.data: k}) for k in range(first, last + 1)]

    def on_hcat(self, term: Term, env: Env) -> Any:
        return np.hstack(self._dotted(term, env))

    def on_vcat(self, term: Term, env: Env) -> Any:
        return np.vstack(self._dotted(term, env))

    # -- derivatives and expectations -------------------------------------------------------------------------------

    def place_of(self, term: Term, env: Env) -> tuple[tuple[str, int], list[tuple[int, int]]]:
        """Which numbers a derivative is taken by."""
        if term.op == "entry":
            key, _ = self.place_of(term.args[0], env)
            return key, [(self.whole(term.args[1], env) - 1, self.whole(term.args[2], env) - 1)]
        if term.op == "leaf":
            key = (term.data, 0)
        elif term.op == "member":
            key = (term.data, self.whole(term.args[0], env))
        else:
            raise Cannot(f"derivative by {term.op}")
        return key, list(np.ndindex(*self.values[key].shape))

    def on_deriv(self, term: Term, env: Env) -> Any:
        if self.how is not EXACT:
            raise Cannot("derivative")
        body, by = term.args
        key, places = self.place_of(by, env)
        step = mpf(10) ** -(mp.dps // 3)
        slopes = []
        for place in places:
            ends = []
            for way in (step, -step):
                moved = self.values[key].copy()
                moved[place] = moved[place] + way
                ends.append(Evaluator(self.context, self.top, {**self.values, key: moved}).value(body, env))
            slopes.append((ends[0] - ends[1]) / (2 * step))
        if slopes[0].size == 1:
            shape = self.values[key].shape if by.op != "entry" else (1, 1)
            return np.array([s[0, 0] for s in slopes], dtype=object).reshape(shape)
        if by.type.scalar:
            return slopes[0]
        return np.array([[s.flat[k] for s in slopes] for k in range(slopes[0].size)], dtype=object)

    def on_expect(self, term: Term, env: Env) -> Any:
        if self.how is not EXACT:
            raise Cannot("expectation")
        if any(part.op not in POLYNOMIAL and self.is_random(part) for part in term.args[0].walk()):
            raise Cannot("an expectation of no polynomial")
        needed = self.random_below(term.args[0], env)
        total = None
        for weight, values in self.outcomes(needed):
            part = weight * Evaluator(self.context, self.top, {**self.values, **values}).value(term.args[0], env)
            total = part if total is None else total + part
        return total

    def is_random(self, term: Term) -> bool:
        """Whether a term reads anything random."""
        leaves = (p.data for p in term.walk() if p.op in ("leaf", "member"))
        return any(self.context.symbols[name].law is not None for name in leaves)

    def random_below(self, term: Term, env: Env) -> list[tuple[str, int]]:
        """The random arrays and members that a term reads."""
        found = set()
        for part in term.walk():
            if part.op in ("leaf", "member") and self.context.symbols[part.data].law is not None:
                symbol = self.context.symbols[part.data]
                if symbol.law is None or symbol.law.name != "normal":
                    raise Cannot(f"a law that is {symbol.law and symbol.law.name}")
                members = [0]
                if symbol.kind == "family":
                    assert symbol.lowest is not None and symbol.highest is not None
                    members = list(range(int(symbol.lowest.value(self.top)), int(symbol.highest.value(self.top)) + 1))
                found |= {(part.data, m) for m in members}
        return sorted(found)

    def outcomes(self, needed: list[tuple[str, int]]) -> Iterator[tuple[Any, Values]]:
        """Weights and values of a product rule: mean + root of the covariance times the nodes."""
        laws, count = [], 0
        for name, member in needed:
            symbol = self.context.symbols[name]
            assert symbol.law is not None and symbol.type is not None
            env = {**self.top, symbol.law.index: member} if symbol.law.index else self.top
            mean, spread = (self.value(p, env) for p in symbol.law.parameters)
            rows, cols = (int(s.value(self.top)) for s in (symbol.type.rows, symbol.type.cols))
            if mean.size == 1 and rows * cols > 1:
                mean = table(rows, cols, mean[0, 0])
            if spread.size == 1 and rows * cols > 1:
                raise Cannot("a covariance that is one number")
            laws.append(((name, member), mean.reshape(rows, cols), root_of(spread)))
            count += rows * cols
        if count > MOST_RANDOM:
            raise NoValue  # at smaller sizes there are fewer
        for chosen in product(nodes(mp.dps), repeat=count):
            weight, values, place = mpf(1), {}, 0
            for w, _ in chosen:
                weight *= w
            for key, mean, root in laws:
                line = [x for _, x in chosen[place : place + mean.size]]
                place += mean.size
                moved = [sum(root[i][j] * line[j] for j in range(len(line))) for i in range(len(line))]
                values[key] = mean + np.array(moved, dtype=object).reshape(mean.shape)
            yield weight, values


def root_of(spread: Any) -> list[list[Any]]:
    """A lower triangular root of a covariance."""
    n = spread.shape[0]
    out = [[mpf(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = spread[i, j] - sum(out[i][k] * out[j][k] for k in range(j))
            if i == j:
                if rest < 0:
                    raise NoValue
                out[i][i] = mp.sqrt(rest)
            elif out[j][j] != 0:
                out[i][j] = rest / out[j][j]
    return out


@cache
def nodes(digits: int) -> tuple[tuple[Any, Any], ...]:
    """Weights and nodes of Gauss-Hermite quadrature for a standard normal."""
    with mp.workdps(digits + 10):
        # the roots of He_4 = x^4 - 6 x^2 + 3, and the weights 4! / (4 He_3(x))^2
        roots = [s * mp.sqrt(3 + t * mp.sqrt(6)) for s in (1, -1) for t in (1, -1)]
        assert len(roots) == QUADRATURE
        return tuple((mpf(24) / (4 * (x**3 - 3 * x)) ** 2, x) for x in roots)
