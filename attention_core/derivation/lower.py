# A typed term at given sizes becomes arrays of nodes in one scalar graph.
# Derivatives are taken and expectations are replaced by moments here, so that the graph holds neither.
"""From terms to the scalar graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from attention_core.derivation.declared import Context
from attention_core.derivation.graph import Graph, TooLarge, Undefined
from attention_core.derivation.terms import Relation, Term, Type

MAX_CELLS = 4096
ENTRYWISE = frozenset({"exp", "log", "sin", "cos", "sign", "erf", "floor", "ceil"})


class Infeasible(Exception):
    """These sizes give no arrays: a size is broken, or an index leaves its range."""


@dataclass(frozen=True, slots=True)
class Cells:
    """An array of nodes, row by row."""

    rows: int
    cols: int
    cells: tuple[int, ...]

    def at(self, i: int, j: int) -> int:
        """The entry in row i, column j, counted from 0."""
        return self.cells[i * self.cols + j]


Env = Mapping[str, int]


class Lowering:
    """Lowers terms at sizes and indices `env` into `graph`; `top` is what definitions see."""

    def __init__(self, context: Context, env: Env, graph: Graph | None = None) -> None:
        self.context, self.top = context, dict(env)
        self.graph = graph or Graph()
        self.memo: dict[tuple[int, tuple[int, ...]], Cells] = {}
        self.names: dict[int, tuple[str, ...]] = {}
        self.keep: list[Term] = []  # terms whose id is a key stay alive
        self.hypotheses: Sequence[Relation] = ()  # what limits have to respect
        self.means = ""  # which expectations may stay as `mean` nodes: "" none, "open" those without closed form, "all"

    # -- whole numbers ----------------------------------------------------------------------------------------------

    def whole(self, term: Term, env: Env) -> int:
        """The value of a term among sizes and indices."""
        value = self.rational(term, env)
        if value.denominator != 1:
            raise Infeasible(f"{value} is no whole number")
        return int(value)

    def rational(self, term: Term, env: Env) -> Fraction:
        """The same, before it must be whole."""
        op, args = term.op, term.args
        if op == "const":
            return Fraction(term.data)
        if op == "int":
            return Fraction(env[term.data])
        if op == "size":
            return Fraction(term.data.value(self.top))
        if op == "neg":
            return -self.rational(args[0], env)
        if op == "add":
            return sum((self.rational(a, env) for a in args), Fraction(0))
        if op == "mul":
            return self.rational(args[0], env) * self.rational(args[1], env)
        if op == "div":
            return self.rational(args[0], env) / self.rational(args[1], env)
        if op == "bind" and not args[1:]:
            return self.rational(args[0], self.top)
        if op == "pow":
            base, to = (self.rational(a, env) for a in args)
            if to.denominator == 1 and abs(to) <= 64 and abs(base) <= 1000 and (base or to >= 0):
                return base ** int(to)
        raise TooLarge("a bound or an index that is not made of sizes and indices")

    def scalar(self, term: Term, env: Env) -> int:
        """A number made of sizes and indices as a node."""
        return self.graph.const(self.rational(term, env))

    def holds(self, test: Term, env: Env) -> bool:
        """A condition among whole numbers."""
        if test.op == "all":
            return all(self.holds(t, env) for t in test.args)
        left, right = (self.rational(a, env) for a in test.args)
        outcomes = {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right}
        return outcomes.get(test.data, left >= right)

    def shape(self, kind: Type) -> tuple[int, int]:
        """Rows and columns of a type at these sizes."""
        if kind.kind == "eye":
            raise Infeasible("the size of an identity matrix is not clear: write I_d")
        rows, cols = kind.rows.value(self.top), kind.cols.value(self.top)
        if rows.denominator != 1 or cols.denominator != 1 or rows < 0 or cols < 0:
            raise Infeasible(f"the shape {rows} x {cols}")
        if rows * cols > MAX_CELLS:
            raise TooLarge(f"an array of {rows} x {cols} entries")
        self.graph.count(int(rows * cols))
        return int(rows), int(cols)

    # -- terms ------------------------------------------------------------------------------------------------------

    def free(self, term: Term) -> tuple[str, ...]:
        """The index names that a term's value depends on beyond the top environment."""
        found = self.names.get(id(term))
        if found is None:
            collected: set[str] = {term.data} if term.op == "int" else set()
            if term.op == "bind":
                for arg in term.args[1:]:
                    collected |= set(self.free(arg))
            else:
                for arg in term.args:
                    collected |= set(self.free(arg))
            found = self.names[id(term)] = tuple(sorted(collected))
            self.keep.append(term)
        return found

    def lower(self, term: Term, env: Env | None = None) -> Cells:
        """The array of a term."""
        env = self.top if env is None else env
        key = id(term), tuple(env.get(n, -1) for n in self.free(term))
        found = self.memo.get(key)
        if found is None:
            handler = HANDLERS.get(term.op)
            if handler is not None:
                found = handler(self, term, env)
            elif term.op in ENTRYWISE:
                inner = self.lower(term.args[0], env)
                found = Cells(inner.rows, inner.cols, tuple(self.graph.call(term.op, c) for c in inner.cells))
            else:
                raise TooLarge(f"the operation {term.op} is not supported here")
            self.memo[key] = found
        return found

    def number(self, term: Term, env: Env | None = None) -> int:
        """The node of a term that is one number."""
        found = self.lower(term, env)
        if len(found.cells) != 1:
            raise Infeasible("an array stands where a number is needed")
        return found.cells[0]

    def leaf(self, name: str, kind: Type, member: tuple[int, ...] = ()) -> Cells:
        """The leaves of a declared array or of one member of a family."""
        rows, cols = self.shape(kind)
        cells = tuple(self.graph.leaf((name, (*member, i + 1, j + 1))) for i in range(rows) for j in range(cols))
        return Cells(rows, cols, cells)


def one(node: int) -> Cells:
    """A number as cells."""
    return Cells(1, 1, (node,))


Handler = Callable[[Lowering, Term, Env], Cells]
HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Register a handler of operations."""

    def register(handler: Handler) -> Handler:
        for op in ops:
            HANDLERS[op] = handler
        return handler

    return register


@handles("const", "size", "int")
def _rational(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.scalar(term, env))


@handles("leaf")
def _leaf(low: Lowering, term: Term, env: Env) -> Cells:
    return low.leaf(term.data, term.type)


@handles("member")
def _member(low: Lowering, term: Term, env: Env) -> Cells:
    which = low.whole(term.args[0], env)
    family = low.context.symbols[term.data]
    assert family.lowest is not None and family.highest is not None
    if not family.lowest.value(low.top) <= which <= family.highest.value(low.top):
        raise Undefined(f"{term.data}_{which} does not exist")
    return low.leaf(term.data, term.type, (which,))


@handles("bind")
def _bind(low: Lowering, term: Term, env: Env) -> Cells:
    inner = dict(low.top)
    for name, value in zip(term.data, term.args[1:], strict=True):
        inner[name] = low.whole(value, env)
    return low.lower(term.args[0], inner)


@handles("neg")
def _neg(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(low.graph.neg(c) for c in inner.cells))


@handles("add")
def _add(low: Lowering, term: Term, env: Env) -> Cells:
    parts = [low.lower(a, env) for a in term.args]
    if len({(p.rows, p.cols) for p in parts}) != 1:
        raise Infeasible("arrays of different shapes are added")
    cells = tuple(low.graph.add(group) for group in zip(*(p.cells for p in parts), strict=True))
    return Cells(parts[0].rows, parts[0].cols, cells)


@handles("mul")
def _mul(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.lower(a, env) for a in term.args)
    if not term.args[0].type.scalar:
        left, right = right, left
    return Cells(right.rows, right.cols, tuple(low.graph.mul((left.cells[0], c)) for c in right.cells))


@handles("hadamard")
def _hadamard(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.lower(a, env) for a in term.args)
    cells = tuple(low.graph.mul(pair) for pair in zip(left.cells, right.cells, strict=True))
    return Cells(left.rows, left.cols, cells)


@handles("matmul")
def _matmul(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.lower(a, env) for a in term.args)
    return matmul(low.graph, left, right)


def matmul(graph: Graph, left: Cells, right: Cells) -> Cells:
    """The matrix product."""
    if left.cols != right.rows:
        raise Infeasible("the shapes of a product do not fit at these sizes")
    graph.count(left.rows * left.cols * right.cols)
    cells = []
    for i in range(left.rows):
        for j in range(right.cols):
            cells.append(graph.add(graph.mul((left.at(i, k), right.at(k, j))) for k in range(left.cols)))
    return Cells(left.rows, right.cols, tuple(cells))


@handles("transpose")
def _transpose(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.cols, inner.rows, tuple(inner.at(i, j) for j in range(inner.cols) for i in range(inner.rows)))


@handles("div")
def _div(low: Lowering, term: Term, env: Env) -> Cells:
    top, bottom = low.lower(term.args[0], env), low.number(term.args[1], env)
    over = low.graph.inv(bottom)
    return Cells(top.rows, top.cols, tuple(low.graph.mul((c, over)) for c in top.cells))


@handles("pow")
def _pow(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.power(low.number(term.args[0], env), low.number(term.args[1], env)))


@handles("sqrt", "abs")
def _unary(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.call(term.op, low.number(term.args[0], env)))


@handles("norm")
def _norm(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return one(
        low.graph.call("sqrt", low.graph.add(low.graph.power(c, low.graph.const(Fraction(2))) for c in inner.cells))
    )


@handles("norm1", "normmax")
def _other_norm(low: Lowering, term: Term, env: Env) -> Cells:
    sizes = [low.graph.call("abs", c) for c in low.lower(term.args[0], env).cells]
    return one(low.graph.add(sizes) if term.op == "norm1" else low.graph.call("max", *sizes))


@handles("pi")
def _pi(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.node("pi"))


@handles("max", "min")
def _extreme(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.call(term.op, *(low.number(a, env) for a in term.args)))


@handles("maxof", "minof")
def _extreme_of(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.call(term.op[:3], *low.lower(term.args[0], env).cells))


@handles("relu")
def _relu(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(low.graph.call("max", c, low.graph.zero) for c in inner.cells))


@handles("sigmoid", "tanh")
def _sigmoid(low: Lowering, term: Term, env: Env) -> Cells:
    graph, inner = low.graph, low.lower(term.args[0], env)
    out = []
    for cell in inner.cells:
        if term.op == "sigmoid":
            out.append(graph.inv(graph.add((graph.one, graph.call("exp", graph.neg(cell))))))
        else:
            double = graph.call("exp", graph.mul((graph.const(Fraction(2)), cell)))
            out.append(graph.div(graph.add((double, graph.minus)), graph.add((double, graph.one))))
    return Cells(inner.rows, inner.cols, tuple(out))


@handles("entry")
def _entry(low: Lowering, term: Term, env: Env) -> Cells:
    base = low.lower(term.args[0], env)
    i, j = (low.whole(a, env) for a in term.args[1:])
    if not (1 <= i <= base.rows and 1 <= j <= base.cols):
        raise Undefined(f"the entry {i}, {j} does not exist")
    return one(base.at(i - 1, j - 1))


@handles("slice")
def _slice(low: Lowering, term: Term, env: Env) -> Cells:
    base = low.lower(term.args[0], env)
    top, bottom, left, right = (low.whole(a, env) for a in term.args[1:])
    if not (1 <= top <= bottom <= base.rows and 1 <= left <= right <= base.cols):
        raise Undefined("a slice leaves its array")
    cells = tuple(base.at(i, j) for i in range(top - 1, bottom) for j in range(left - 1, right))
    return Cells(bottom - top + 1, right - left + 1, cells)


@handles("deriv")
def _deriv(low: Lowering, term: Term, env: Env) -> Cells:
    from attention_core.derivation.gradient import gradients

    body, by = (low.lower(a, env) for a in term.args)
    rows = [gradients(low.graph, cell, by.cells) for cell in body.cells]
    if len(body.cells) == 1:
        return Cells(by.rows, by.cols, tuple(rows[0]))
    if len(by.cells) == 1 and term.args[1].type.scalar:
        return Cells(body.rows, body.cols, tuple(row[0] for row in rows))
    return Cells(len(body.cells), len(by.cells), tuple(c for row in rows for c in row))


@handles("expect")
def _expect(low: Lowering, term: Term, env: Env) -> Cells:
    from attention_core.derivation.moments import expectation

    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(expectation(low, cell) for cell in inner.cells))


@handles("indicator")
def _indicator(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.number(a, env) for a in term.args)
    return one(low.graph.node("indicator", (left, right), term.data))


def register() -> Any:
    """Import the handlers of arrays, so that the table is complete."""
    from attention_core.derivation import lower_arrays, lower_limits

    return lower_arrays, lower_limits
