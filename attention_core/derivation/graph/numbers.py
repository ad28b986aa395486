"""Values of a graph: exact and enclosed at one point, in float64 at many.

Evaluation at a point: exact rationals as long as they last, then balls that enclose the true value.
A value is an `fmpq` (exact) or an `arb` (a ball at the precision of the moment); nothing is ever rounded unseen.

In float64 a graph is evaluated at many points at once, to look for cases that are worth an exact comparison.
Nothing is decided there: what looks like a violation is compared again in exact or ball arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flint import arb, ctx, fmpq

from attention_core.derivation.effort import on_time
from attention_core.derivation.graph.nodes import MAX_BITS, Graph, TooLarge, Undefined, cannot_be_negative, square_root

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, np.dtype[np.float64]]
else:
    Column = Any


START_BITS = 128
MAX_PRECISION = 4096
Value = Any  # fmpq or arb
Leaf = Any  # fmpq, or a function of nothing that gives an arb at the precision of the moment
Case = dict[int, Leaf]  # the values of the leaves, by node

WHOLE: dict[str, Callable[[Graph, int, Mapping[int, Value]], Value]] = {}
"""Operations that see the graph below them, not only the values there: `limits.evaluate` registers limits."""


class Imprecise(Exception):
    """The balls are too wide to go on: more bits are needed."""


class Precision:
    """Ball arithmetic with that many bits inside a block: a class, as a generator takes three times as long."""

    __slots__ = ("before", "bits")

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        self.before = ctx.prec
        ctx.prec = self.bits

    def __exit__(self, *_: object) -> None:
        ctx.prec = self.before


precision = Precision


def evaluate(
    graph: Graph, roots: Sequence[int], leaves: Mapping[int, Leaf], order: Sequence[int] | None = None
) -> list[Value]:
    """The values of the roots; `leaves` gives each leaf's node its value.

    Raises `Undefined` where one is not defined, `Imprecise` where the balls cannot tell.
    """
    on_time()
    values: dict[int, Value] = {}
    ops, args, data = graph.ops, graph.args, graph.data
    for node in order if order is not None else graph.reachable(roots):
        op = ops[node]
        if op == "const":
            values[node] = data[node]
        elif op == "leaf":
            found = leaves[node]
            values[node] = found if type(found) is fmpq or not callable(found) else found()
        elif op == "add":
            parts = args[node]
            total = values[parts[0]] + values[parts[1]]
            for part in parts[2:]:
                total = total + values[part]
            values[node] = total
        elif op == "mul":
            parts = args[node]
            result = values[parts[0]] * values[parts[1]]
            for part in parts[2:]:
                result = result * values[part]
            values[node] = _require_short(result) if type(result) is fmpq else result
        elif op == "sqrt":
            below = args[node][0]
            value = values[below]
            surely = type(value) is fmpq or value > 0  # so that its form says no more
            values[node] = _sqrt([value], not surely and cannot_be_negative(graph, below))
        elif op in WHOLE:
            values[node] = WHOLE[op](graph, node, values)
        else:
            values[node] = APPLY[op]([values[a] for a in args[node]], data[node])
    return [values[root] for root in roots]


def _require_short(value: fmpq) -> fmpq:
    if value.q.bit_length() + value.p.bit_length() > MAX_BITS:
        raise TooLarge("a number has too many digits")
    return value


def ball(value: Value) -> arb:
    """Any value as a ball."""
    return value if type(value) is arb else arb(value)


def exact(value: Value) -> bool:
    """Whether a value is a rational number."""
    return type(value) is fmpq


def _inv(args: list[Value], _: Any) -> Value:
    x = args[0]
    if exact(x):
        if x == 0:
            raise Undefined("a division by 0")
        return 1 / x
    if x.contains(0):
        raise Imprecise
    return 1 / x


def _powi(args: list[Value], whole: int) -> Value:
    x = args[0]
    if whole < 0:
        x = _inv([x], None)
    if exact(x) and max(x.p.bit_length(), x.q.bit_length()) * abs(whole) > MAX_BITS:
        x = arb(x)
    return x ** abs(whole) if exact(x) else _square_repeatedly(x, abs(whole))


def _square_repeatedly(x: arb, times: int) -> arb:
    """A whole power by squaring: flint's own goes through the logarithm, which is undefined around 0."""
    result = None
    while times:
        if times & 1:
            result = x if result is None else result * x
        times >>= 1
        if times:
            x = x * x
    return arb(1) if result is None else result


def _pow(args: list[Value], _: Any) -> Value:
    base, to = args
    if exact(to) and to.q == 1:
        if abs(to.p) > 100_000:
            raise TooLarge("an exponent is too large")
        return fmpq(1) if to == 0 else _powi([base], int(to.p))
    if exact(to) and to == fmpq(1, 2):
        return _sqrt([base], False)
    sign = sign_of(base)
    if sign < 0:
        raise Undefined("a power of a negative number with a broken exponent")
    if sign == 0:
        if sign_of(to) <= 0:
            raise Undefined("0 to a power that is not positive")
        return fmpq(0)
    return (ball(to) * ball(base).log()).exp()


def sign_of(x: Value) -> int:
    """-1, 0 or 1; raises `Imprecise` where the ball holds 0 and more."""
    if exact(x):
        return int(x > 0) - int(x < 0)
    if x > 0:
        return 1
    if x < 0:
        return -1
    if x.is_zero():
        return 0
    raise Imprecise


def _exp(args: list[Value], _: Any) -> Value:
    x = args[0]
    if exact(x) and x == 0:
        return fmpq(1)
    if exact(x) and abs(x) > 10**12:
        raise TooLarge("an exponent of e is too large")
    return ball(x).exp()


def _log(args: list[Value], _: Any) -> Value:
    x = args[0]
    if exact(x):
        if x <= 0:
            raise Undefined("the logarithm of a number that is not positive")
        return fmpq(0) if x == 1 else arb(x).log()
    if not x > 0:
        if x < 0:
            raise Undefined("the logarithm of a negative number")
        raise Imprecise
    return x.log()


def _sqrt(args: list[Value], nonnegative: Any) -> Value:
    """`nonnegative`: the argument cannot be negative by its form, so that a ball around 0 may be cut at 0."""
    x = args[0]
    if exact(x):
        if x < 0:
            raise Undefined("the square root of a negative number")
        root = square_root(x)
        return root if root is not None else arb(x).sqrt()
    if x > 0:
        return x.sqrt()
    if x < 0:
        raise Undefined("the square root of a negative number")
    if nonnegative and x.is_finite():
        return arb(0).union(x.upper().sqrt())
    raise Imprecise


def square_root_of(x: Value) -> Value:
    """The square root of a number that cannot be negative by its form, or of any other."""
    return _sqrt([x], False)


def _arcsine(args: list[Value], _: Any) -> Value:
    x = args[0]
    if exact(x):
        if abs(x) > 1:
            raise Undefined("the arcsine of a number beyond -1 and 1")
        return fmpq(0) if x == 0 else arb(x).asin()
    if x < -1 or x > 1:
        raise Undefined("the arcsine of a number beyond -1 and 1")
    if not (x >= -1 and x <= 1):
        raise Imprecise
    return x.asin()


def _extreme(args: list[Value], which: int) -> Value:
    if all(exact(a) for a in args):
        return max(args) if which > 0 else min(args)
    result = ball(args[0])
    for other in args[1:]:
        result = result.max(ball(other)) if which > 0 else result.min(ball(other))
    return result


def _argmax(args: list[Value], which: int) -> Value:
    """1 over the number of maxima if the chosen argument is one, else 0."""
    chosen = args[which]
    ties = 0
    for other in args:
        sign = 0 if other is chosen else sign_of(other - chosen)
        if sign > 0:
            return fmpq(0)
        ties += sign == 0
    return fmpq(1, ties)


COMPARE: dict[str, Callable[[int], bool]] = {
    "=": lambda s: s == 0,
    "!=": lambda s: s != 0,
    "<": lambda s: s < 0,
    "<=": lambda s: s <= 0,
    ">": lambda s: s > 0,
    ">=": lambda s: s >= 0,
}


LARGEST_ROUNDED = arb(2) ** 65536
"""Balls beyond it are not rounded to a whole number, which would be written out."""


def _round(args: list[Value], up: int) -> Value:
    x = args[0]
    if exact(x):
        return fmpq(-((-x.p) // x.q)) if up else fmpq(x.p // x.q)
    if not bool(abs(x) < LARGEST_ROUNDED):  # its digits may fill the memory, and FLINT ends the process then
        raise Imprecise
    found = (x.ceil() if up else x.floor()).unique_fmpz()
    if found is None:
        raise Imprecise
    return fmpq(found)


APPLY: dict[str, Callable[[list[Value], Any], Value]] = {
    "inv": _inv,
    "powi": _powi,
    "pow": _pow,
    "exp": _exp,
    "log": _log,
    "abs": lambda a, _: abs(a[0]),
    "sign": lambda a, _: fmpq(sign_of(a[0])),
    "max": lambda a, _: _extreme(a, 1),
    "min": lambda a, _: _extreme(a, -1),
    "argmax": _argmax,
    "pi": lambda a, _: arb.pi(),
    "sin": lambda a, _: fmpq(0) if exact(a[0]) and a[0] == 0 else ball(a[0]).sin(),
    "cos": lambda a, _: fmpq(1) if exact(a[0]) and a[0] == 0 else ball(a[0]).cos(),
    "arctan": lambda a, _: fmpq(0) if exact(a[0]) and a[0] == 0 else ball(a[0]).atan(),
    "arcsin": _arcsine,
    "erf": lambda a, _: fmpq(0) if exact(a[0]) and a[0] == 0 else ball(a[0]).erf(),
    "erfc": lambda a, _: fmpq(1) if exact(a[0]) and a[0] == 0 else ball(a[0]).erfc(),
    "floor": lambda a, _: _round(a, 0),
    "ceil": lambda a, _: _round(a, 1),
    "indicator": lambda a, op: fmpq(int(COMPARE[op](sign_of(a[0] - a[1])))),
}


KNOWN = frozenset({
    "const", "leaf", "add", "mul", "inv", "powi", "pow", "exp", "log", "abs", "sign", "sqrt", "max", "min", "sin",
    "cos", "arctan", "arcsin", "floor", "ceil", "pi", "indicator",
})  # fmt: skip


def is_supported(graph: Graph, order: Sequence[int]) -> bool:
    """Whether every operation among these nodes has a form here."""
    return all(graph.ops[n] in KNOWN for n in order)


def columns(graph: Graph, order: Sequence[int], leaves: Mapping[int, Column]) -> dict[int, Column]:
    """The value of each node at every point, `nan` where it is not defined.

    `leaves` gives each leaf of the order its values; `order` has arguments first; every operation is `supported`.
    """
    import numpy as np

    values: dict[int, Column] = {}
    with np.errstate(all="ignore"):
        for node in order:
            op, data = graph.ops[node], graph.data[node]
            if op == "const":
                values[node] = np.asarray(number(data))
            elif op == "leaf":
                values[node] = leaves[node]
            else:
                values[node] = _apply(op, [values[a] for a in graph.args[node]], data)
    return values


def number(value: Any) -> float:
    """A rational as a float, an infinity where it is too large."""
    try:
        return int(value.p) / int(value.q)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _apply(op: str, args: list[Any], data: Any) -> Any:
    import numpy as np

    first: Any = args[0] if args else None
    if op in ("add", "mul", "max", "min"):
        combine = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[op]
        total = first
        for other in args[1:]:
            total = combine(total, other)
        return total
    if op == "inv":
        return np.where(first == 0, np.nan, 1 / first)
    if op in ("powi", "pow"):
        return first ** float(data) if op == "powi" else first ** args[1]
    if op == "pi":
        return np.float64(np.pi)
    if op == "log":
        return np.where(first > 0, np.log(first), np.nan)
    if op == "indicator":
        with np.errstate(all="ignore"):
            gap = first - args[1]
        return {"=": gap == 0, "!=": gap != 0, "<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0}[data] * 1.0
    plain: Any = getattr(np, op)
    return plain(first)


def _half_turns(graph: Graph, node: int, values: Mapping[int, Value]) -> fmpq | None:
    """How many times pi an angle is where that is a fraction, so that its sine may be a whole number."""
    factors = graph.args[node] if graph.ops[node] == "mul" else (node,)
    rest = [values[one] for one in factors if graph.ops[one] != "pi"]
    if len(rest) != len(factors) - 1 or not all(exact(one) for one in rest):
        return None
    turns = fmpq(1)
    for one in rest:
        turns = turns * one
    return turns


def _sine(graph: Graph, node: int, values: Mapping[int, Value]) -> Value:
    """A sine or cosine; at whole and half multiples of pi it is exact."""
    angle, cosine = graph.args[node][0], graph.ops[node] == "cos"
    turns = _half_turns(graph, angle, values)
    if turns is not None and turns.q <= 2:
        quarter = int(2 * turns) % 4  # of a turn: 0, 1, 2 or 3
        return fmpq((1, 0, -1, 0)[quarter] if cosine else (0, 1, 0, -1)[quarter])
    return APPLY["cos" if cosine else "sin"]([values[angle]], None)


WHOLE.update(sin=_sine, cos=_sine)
