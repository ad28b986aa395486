"""The scalar graph, and its derivatives.

A step at given sizes: one graph of numbers, shared subexpressions once, constants folded exactly.
Every decider reads this graph: exact and ball evaluation, normal forms, moments, limits.

Derivatives of a node are nodes again: reverse accumulation through the graph.
Where a function has a kink (|x| at 0, max at a tie) the derivative is a node that is undefined there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from flint import fmpq

from attention_core.derivation.effort import on_time

MAX_NODES = 120_000
MAX_BITS = 200_000
WORK = 3  # operations for each node that a bounded graph may have

Key = tuple[str, tuple[int, ...]]  # a leaf: its symbol and its indices (family member, row, column), 1-based


class TooLarge(Exception):
    """A step that outgrows its bounds; it ends UNDECIDED."""


class Unsettled(Exception):
    """No rule here decides the step; it ends UNDECIDED with this reason."""


class Undefined(Exception):
    """A side is not defined at this point."""


class Graph:
    """Nodes by number; `ops[i]`, `args[i]`, `data[i]`. Arguments come before what uses them.

    Operations: const (data: fmpq), leaf (data: Key), add, mul (any number of arguments), inv, powi (data: exponent),
    pow (base, exponent), exp, log, sqrt, abs, max, min, sign, argmax (data: which argument; the share of the maximum),
    pi, sin, cos, arctan, arcsin, erf, erfc, floor, ceil, indicator (data: relation).
    """

    def __init__(self, most: int = MAX_NODES) -> None:
        self.most, self.work = most, 0  # how many nodes there may be, and how often one was wanted
        self.allowed = WORK * most if most < MAX_NODES else float("inf")
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.data: list[Any] = []
        self.table: dict[tuple[str, tuple[int, ...], Any], int] = {}
        self.zero, self.one = self.const(fmpq(0)), self.const(fmpq(1))
        self.minus = self.const(fmpq(-1))

    def node(self, op: str, args: tuple[int, ...] = (), data: Any = None) -> int:
        """The node of that operation, made once."""
        key = (op, args, data)
        self.work += 1
        if self.work > self.allowed:
            self.count(0)
        found = self.table.get(key)
        if found is not None:
            return found
        new = len(self.ops)
        if new >= self.most:
            raise TooLarge(f"the step has more than {self.most} operations at these sizes")
        if not new % 1024:
            on_time()
        self.ops.append(op)
        self.args.append(args)
        self.data.append(data)
        self.table[key] = new
        return new

    def count(self, operations: int) -> None:
        """Note some work; a graph that is only tried gives up after a few times its bound."""
        self.work += operations
        if self.work > self.allowed:
            raise TooLarge(f"the step takes more than {self.allowed} operations at these sizes")

    def const(self, value: Any) -> int:
        """An exact rational."""
        number = value if isinstance(value, fmpq) else fmpq(value.numerator, value.denominator)
        self.count(1)
        key = ("const", (), (number.p, number.q))
        found = self.table.get(key)
        if found is None:
            self.ops.append("const")
            self.args.append(())
            self.data.append(number)
            found = self.table[key] = len(self.ops) - 1
        return found

    def value(self, node: int) -> fmpq | None:
        """The constant of a node, None if it is not one."""
        return self.data[node] if self.ops[node] == "const" else None

    def leaf(self, key: Key) -> int:
        """One entry of a declared symbol."""
        return self.node("leaf", (), key)

    def _take_constants(self, parts: Iterable[int], neutral: int) -> tuple[list[int], list[int]]:
        """The constants among some nodes, but for the neutral one, and the other nodes."""
        ops, constants, rest = self.ops, list[int](), list[int]()
        for part in parts:
            if ops[part] != "const":
                rest.append(part)
            elif part != neutral:
                constants.append(part)
        return constants, rest

    def add(self, parts: Iterable[int]) -> int:
        """A sum."""
        constants, rest = self._take_constants(parts, self.zero)
        if len(constants) == 1:
            self.count(1)
            rest.append(constants[0])
        elif constants:
            total = sum((self.data[one] for one in constants), fmpq(0))
            if total != 0:
                rest.append(self.const(total))
        if not rest:
            return self.zero
        return rest[0] if len(rest) == 1 else self.node("add", tuple(sorted(rest)))

    def mul(self, parts: Iterable[int]) -> int:
        """A product; a factor that is exactly 0 makes it 0."""
        constants, rest = self._take_constants(parts, self.one)
        if self.zero in constants:
            return self.zero
        if len(constants) == 1:
            self.count(1)
            rest.append(constants[0])
        elif constants:
            scale = prod((self.data[one] for one in constants), start=fmpq(1))
            if scale != 1:
                rest.append(self.const(scale))
        if not rest:
            return self.one
        return rest[0] if len(rest) == 1 else self.node("mul", tuple(sorted(rest)))

    def neg(self, part: int) -> int:
        """Minus a node."""
        return self.mul((self.minus, part))

    def sub(self, left: int, right: int) -> int:
        """A difference."""
        return self.zero if left == right else self.add((left, self.neg(right)))

    def inv(self, part: int) -> int:
        """One over a node; of the constant 0 it stays a node, undefined wherever it is evaluated."""
        found = self.value(part)
        if found is not None and found != 0:
            return self.const(1 / found)
        return self.node("inv", (part,))

    def div(self, top: int, bottom: int) -> int:
        """A quotient."""
        return self.mul((top, self.inv(bottom)))

    def power(self, base: int, exponent: int) -> int:
        """A power; whole constant exponents are kept apart."""
        to = self.value(exponent)
        if to is None or to.q != 1:
            if to == fmpq(1, 2):
                return self.call("sqrt", base)
            return self.node("pow", (base, exponent))
        whole = int(to.p)
        if whole in (0, 1):
            return self.one if whole == 0 else base
        known = self.value(base)
        if known is not None and (known != 0 or whole > 0):
            bits = max(int(known.p).bit_length(), int(known.q).bit_length())
            if bits > 1 and bits * abs(whole) > MAX_BITS:
                raise TooLarge("a power has too many digits")
            return self.const(known**whole)
        if abs(whole) > 100_000:
            raise TooLarge("an exponent is too large")
        if self.ops[base] == "sqrt" and whole % 2 == 0 and cannot_be_negative(self, self.args[base][0]):
            return self.power(self.args[base][0], self.const(fmpq(whole // 2)))
        return self.node("powi", (base,), whole)

    def call(self, op: str, *args: int, data: Any = None) -> int:
        """A function; the few values that are exact are folded."""
        known = self.value(args[0]) if len(args) == 1 else None
        if known is not None:
            folded = _fold(op, known)
            if folded is not None:
                return self.const(folded)
        if op in ("max", "min") and len(set(args)) == 1:
            return args[0]
        if op == "exp" and self.ops[args[0]] == "log":
            return self.node(op, args, data)
        return self.node(op, tuple(sorted(set(args))) if op in ("max", "min") else args, data)

    def reachable(self, roots: Iterable[int]) -> list[int]:
        """All nodes below the roots, arguments first."""
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(self.args[node])
        return sorted(seen)

    def leaves(self, roots: Iterable[int]) -> list[int]:
        """The leaves below the roots."""
        return [n for n in self.reachable(roots) if self.ops[n] == "leaf"]


def _fold(op: str, value: fmpq) -> fmpq | None:
    """Values that are rational."""
    if op == "exp" and value == 0:
        return fmpq(1)
    if op == "log" and value == 1:
        return fmpq(0)
    if op == "abs":
        return abs(value)
    if op == "sign":
        return fmpq((value > 0) - (value < 0))
    if op in ("floor", "ceil"):
        return fmpq(value.p // value.q if op == "floor" else -((-value.p) // value.q))
    if op == "sqrt" and value >= 0:
        return square_root(value)
    if op in ("sin", "erf", "arctan", "arcsin") and value == 0:
        return fmpq(0)
    return fmpq(1) if op in ("cos", "erfc") and value == 0 else None


def square_root(value: fmpq) -> fmpq | None:
    """The root of a rational square, None of anything else."""
    top, bottom = value.p, value.q
    return fmpq(top.isqrt(), bottom.isqrt()) if top.is_square() and bottom.is_square() else None


def cannot_be_negative(graph: Graph, node: int) -> bool:
    """Whether a node is a sum of squares, magnitudes, exponentials and the like."""
    op, args = graph.ops[node], graph.args[node]
    if op == "const":
        return bool(graph.data[node] >= 0)
    if op in ("exp", "abs", "sqrt", "argmax", "indicator"):
        return True
    if op == "powi":
        return graph.data[node] % 2 == 0 or cannot_be_negative(graph, args[0])
    if op == "mul" and len(set(args)) < len(args):
        odd = [a for a in set(args) if args.count(a) % 2]
        return all(cannot_be_negative(graph, a) for a in odd)
    return op in ("add", "mul", "max", "inv") and all(cannot_be_negative(graph, a) for a in args)


def gradients(graph: Graph, root: int, by: Sequence[int]) -> list[int]:
    """The derivative of `root` by each node of `by`."""
    order = graph.reachable([root])
    wanted = set(by)
    depends: set[int] = set()
    for node in order:
        if node in wanted or any(a in depends for a in graph.args[node]):
            depends.add(node)
    sums: dict[int, list[int]] = {root: [graph.one]}
    for node in reversed(order):
        if node not in depends or node not in sums:
            continue
        flow = graph.add(sums[node])
        sums[node] = [flow]
        if node in wanted:
            continue
        for argument, slope in _slopes(graph, node, depends):
            sums.setdefault(argument, []).append(graph.mul((flow, slope)))
    return [graph.add(sums[node]) if node in sums else graph.zero for node in by]


_APART = frozenset({"limit", "quadrature", "mean"})  # nodes that keep a body of their own


def substitute(graph: Graph, roots: Sequence[int], new: Mapping[int, int]) -> list[int]:
    """The roots with some leaves replaced by other nodes.

    Args: graph; roots, nodes; new, the node in the place of each leaf.
    Raises: Unsettled where one stands in a limit, an integral or an average, whose bodies are kept apart.
    """
    made = dict(new)
    for node in graph.reachable(roots):
        args = tuple(made.get(one, one) for one in graph.args[node])
        if node in made or args == graph.args[node]:
            continue
        op, data = graph.ops[node], graph.data[node]
        if op in _APART:
            raise Unsettled(f"a derivative by a defined quantity inside a {op} is not computed here")
        if op in ("add", "mul"):
            made[node] = graph.add(args) if op == "add" else graph.mul(args)
        elif op in ("powi", "pow"):
            made[node] = graph.power(args[0], graph.const(fmpq(data)) if op == "powi" else args[1])
        else:
            made[node] = graph.inv(args[0]) if op == "inv" else graph.call(op, *args, data=data)
    return [made.get(root, root) for root in roots]


def _slopes(graph: Graph, node: int, depends: set[int]) -> list[tuple[int, int]]:
    """Each argument that matters with the partial derivative by it."""
    op, args = graph.ops[node], graph.args[node]
    if op == "add":
        return [(a, graph.one) for a in args if a in depends]
    if op == "mul":
        return [(a, graph.mul(args[:i] + args[i + 1 :])) for i, a in enumerate(args) if a in depends]
    x = args[0]
    if op == "inv":
        return [(x, graph.neg(graph.mul((node, node))))]
    if op == "powi":
        whole = graph.data[node]
        return [(x, graph.mul((graph.const(Fraction(whole)), graph.power(x, graph.const(Fraction(whole - 1))))))]
    if op == "pow":
        base, to = args
        out = []
        if base in depends:
            out.append((base, graph.mul((to, graph.power(base, graph.add((to, graph.minus)))))))
        if to in depends:
            out.append((to, graph.mul((node, graph.call("log", base)))))
        return out
    if op in ("max", "min"):
        return _extreme_slopes(graph, node, depends)
    table = {
        "exp": lambda: node,
        "log": lambda: graph.inv(x),
        "sqrt": lambda: graph.inv(graph.mul((graph.const(Fraction(2)), node))),
        "abs": lambda: graph.mul((x, graph.inv(node))),
        "sin": lambda: graph.call("cos", x),
        "cos": lambda: graph.neg(graph.call("sin", x)),
        "arctan": lambda: graph.inv(_one_and_square(graph, x, graph.one)),
        "arcsin": lambda: graph.inv(graph.call("sqrt", _one_and_square(graph, x, graph.minus))),
        "erf": lambda: _bell(graph, x),
        "erfc": lambda: graph.neg(_bell(graph, x)),
    }
    if op not in table:
        raise TooLarge(f"the derivative of {op} is not supported")
    return [(x, table[op]())]


def _one_and_square(graph: Graph, x: int, sign: int) -> int:
    """1 + x^2 or 1 - x^2."""
    return graph.add((graph.one, graph.mul((sign, graph.power(x, graph.const(Fraction(2)))))))


def _bell(graph: Graph, x: int) -> int:
    """2 / sqrt(pi) e^(-x^2), the derivative of erf."""
    two = graph.const(Fraction(2))
    below = graph.call("exp", graph.neg(graph.power(x, two)))
    return graph.mul((two, graph.inv(graph.call("sqrt", graph.node("pi"))), below))


def _extreme_slopes(graph: Graph, node: int, depends: set[int]) -> list[tuple[int, int]]:
    """The derivative of a maximum: 1 for the argument that is it; at a tie it is undefined (a division by 0)."""
    op, args = graph.ops[node], graph.args[node]
    signed = args if op == "max" else tuple(graph.neg(a) for a in args)
    out = []
    for i, a in enumerate(args):
        if a in depends:
            share = graph.node("argmax", signed, i)
            # gap / gap is 1, and not defined at a tie
            gaps = [graph.sub(signed[i], other) for other in signed if other != signed[i]]
            defined = graph.mul(g for gap in gaps for g in (gap, graph.inv(gap)))
            out.append((a, graph.mul((share, defined))))
    return out
