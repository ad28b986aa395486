"""From terms to the scalar graph.

A typed term at given sizes becomes arrays of nodes in one scalar graph: each operation by its row of a table.
The table is filled where operations are defined; `probability.operations` completes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from attention_core.derivation.graph.nodes import Graph, TooLarge, Unsettled
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import Relation, Size, Term, Type

MAX_CELLS = 4096
TESTS: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
ENTRYWISE = frozenset({"exp", "log", "sin", "cos", "sign", "erf", "erfc", "floor", "ceil", "arctan", "arcsin"})


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
        self.memo: dict[Any, Cells] = {}  # by the term and the values of its indices
        self.names: dict[int, tuple[str, ...]] = {}
        self.keep: list[Term] = []  # terms whose id is a key stay alive
        self.shapes: dict[int, tuple[Type, int, int]] = {}  # rows and columns, by the type that is kept with them
        self.orders: dict[int, tuple[tuple[int, ...], frozenset[int]]] = {}  # what is below a node, and its leaves
        self.spans: dict[str, tuple[Fraction, Fraction]] = {}  # of the families, by name
        self.holes = 0  # defined quantities that were free for a derivative
        self.hypotheses: Sequence[Relation] = ()  # what limits have to respect
        self.integrals: list[Any] = []  # intervals, with what is integrated over them
        self.means = ""  # which expectations may stay as `mean` nodes: "" none, "open" those without closed form, "all"

    # -- whole numbers ----------------------------------------------------------------------------------------------

    def whole(self, term: Term, env: Env) -> int:
        """The value of a term among sizes and indices."""
        value = self.rational(term, env)
        if value.denominator != 1:
            raise Infeasible(f"{value} is not a whole number")
        return int(value)

    def rational(self, term: Term, env: Env) -> Fraction | int:
        """The same, before it must be whole."""
        op, args = term.op, term.args
        if op == "const":
            return term.data if type(term.data) is Fraction else Fraction(term.data)
        if op == "int":
            return env[term.data]
        if op == "size":
            value: Fraction = term.data.value(self.top)
            return value
        if op == "neg":
            return -self.rational(args[0], env)
        if op == "add":
            return sum(self.rational(a, env) for a in args)
        if op == "mul":
            return self.rational(args[0], env) * self.rational(args[1], env)
        if op == "div":
            return Fraction(self.rational(args[0], env)) / self.rational(args[1], env)
        if op == "bind" and not args[1:]:
            return self.rational(args[0], self.top)
        if op == "pow":
            base, to = (Fraction(self.rational(a, env)) for a in args)
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
        return bool(TESTS.get(test.data, TESTS[">="])(left, right))

    def shape(self, kind: Type) -> tuple[int, int]:
        """Rows and columns of a type at these sizes."""
        if kind.kind == "eye":
            raise Infeasible("the size of an identity matrix is not clear: write I_d")
        if id(kind) not in self.shapes:
            rows, cols = self.value_of(kind.rows), self.value_of(kind.cols)
            if rows.denominator != 1 or cols.denominator != 1 or rows < 0 or cols < 0:
                raise Infeasible(f"the shape {rows} x {cols}")
            if rows * cols > MAX_CELLS:
                raise TooLarge(f"an array of {rows} x {cols} entries")
            self.shapes[id(kind)] = kind, int(rows), int(cols)
        _, height, width = self.shapes[id(kind)]
        self.graph.count(height * width)
        return height, width

    def span(self, family: Symbol) -> tuple[Fraction, Fraction]:
        """The first and the last index of a family's members."""
        if family.name not in self.spans:
            assert family.lowest is not None and family.highest is not None
            self.spans[family.name] = self.value_of(family.lowest), self.value_of(family.highest)
        return self.spans[family.name]

    def value_of(self, size: Size) -> Fraction:
        """The value of a size.

        Raises: Unsettled for one that the step does not have, since it is read as something else there.
        """
        try:
            return size.value(self.top)
        except KeyError as error:
            raise Unsettled(f"{error.args[0]} is a size of an array here, and the step reads it otherwise") from None

    # -- terms ------------------------------------------------------------------------------------------------------

    def free(self, term: Term) -> tuple[str, ...]:
        """The index names that a term's value depends on beyond the top environment."""
        found = self.names.get(id(term))
        if found is None:
            collected: set[str] = {term.data} if term.op == "int" else set()
            for arg in term.args[1:] if term.op == "bind" else term.args:
                collected |= set(self.free(arg))
            if term.op == "reduce":  # inside, its index is its own, also where one outside has the same name
                ends = {name for end in term.args[:2] for name in self.free(end)}
                collected = ends | (collected - {term.data[1]})
            found = self.names[id(term)] = tuple(sorted(collected))
            self.keep.append(term)
        return found

    def lower(self, term: Term, env: Env | None = None) -> Cells:
        """The array of a term."""
        env = self.top if env is None else env
        names = self.names.get(id(term))
        if names is None:
            names = self.free(term)
        key = (id(term), *map(env.get, names)) if names else id(term)
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
