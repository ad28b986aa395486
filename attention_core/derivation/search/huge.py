"""Enclosed values of terms at huge sizes.

Terms at sizes too large to write out: sums over a range are enclosed piece by piece, arrays are known by blocks.
Every value encloses the true one, so that what is apart here is apart; what has no such form is `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.effort import on_time
from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.graph.numbers import (
    APPLY,
    COMPARE,
    Imprecise,
    Value,
    ball,
    exact,
    sign_of,
    square_root_of,
)
from attention_core.derivation.lowering.block_arrays import Blocks, Unsupported, blocks_of, identity
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.search.ranges import Cut, Place, Spot, cut_range, find_places
from attention_core.derivation.search.taylor import Series, expand, sum_of_piece
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import Term, Type

OPERATIONS = 30_000  # at one point
HALVES = 2
NOWHERE: frozenset[Any] = frozenset()
EXACT_BITS = 20_000  # of an exact power


Env = Mapping[str, Spot]


class Terms:
    """What a term is at all points alike: its handler, the indices it depends on, where a sum has its index.

    Terms are told apart by their addresses; each is kept, so that its address stays its own.
    """

    def __init__(self, context: Context) -> None:
        self.names = Lowering(context, {})
        self.work = 0  # operations at all points
        self.known: dict[int, tuple[Handler, tuple[str, ...], Term]] = {}
        self.constants: dict[int, fmpq] = {}
        self.expansions: dict[int, Series | None] = {}
        self.shapes: dict[tuple[Any, ...], tuple[Type, tuple[int, ...], tuple[int, ...]]] = {}  # by a type and sizes
        self.arrays: dict[tuple[Any, ...], Blocks] = {}  # of the symbols, by what they are made of
        self.placed: dict[int, frozenset[Place] | None] = {}

    def of(self, term: Term) -> tuple[Handler, tuple[str, ...], Term]:
        """The handler of a term, its indices, and the term."""
        handler = HANDLERS.get(term.op)
        if handler is None:
            raise Unsupported
        known = self.known[id(term)] = handler, self.names.free(term), term
        return known

    def series(self, term: Term) -> Series:
        """How the summand of a sum expands in its index."""
        if id(term) not in self.expansions:
            self.expansions[id(term)] = None
            self.expansions[id(term)] = expand(term.args[2], term.data[1], self.names.free)
        found = self.expansions[id(term)]
        if found is None:
            raise Unsupported
        return found

    def places(self, term: Term) -> frozenset[Place] | None:
        """The places of entries that the index of a sum says; None where it stands in it as a number as well."""
        if id(term) not in self.placed:
            each = [find_places(t, term.data[1], self.names.free) for t in term.args[2:]]
            self.placed[id(term)] = None if None in each else frozenset().union(*(p for p in each if p is not None))
        return self.placed[id(term)]


class Huge:
    """Values at `sizes` (whole numbers, or balls where no array has them) and `leaves`; `split` says how a length falls
    into blocks: into none, the first entry and the others, or `HALVES`. With `fine` ranges fall into more pieces."""

    def __init__(
        self, terms: Terms, sizes: Mapping[str, Any], leaves: dict[str, Any], split: int, fine: bool = False
    ) -> None:
        self.terms, self.sizes, self.leaves, self.split, self.fine = terms, sizes, leaves, split, fine
        self.each = 0  # ranges of no more values are taken one by one
        self.operations = OPERATIONS
        self.lengths = split, *sizes.values()  # what the blocks of arrays depend on
        self.spots: dict[Spot, Spot] = {}
        self.memo: dict[Any, Any] = {}  # by the term and the spots of its indices, both as objects
        self.coarse = False  # whether a range fell into pieces that `fine` cuts again
        self.pieces: dict[tuple[Any, ...], list[Spot]] = {}
        self.work = 0
        self.top: Env = {}

    def spend(self, count: int = 1) -> None:
        """Note some work."""
        self.work += count
        if self.work > self.operations:
            raise TooLarge("too many operations at a huge size")
        if not self.work % 64:
            on_time()

    def cut(self, length: int) -> tuple[int, ...]:
        """The blocks of a length: all alike, the first entry for itself, or two halves."""
        if self.split == HALVES and length > 1:
            if length % 2:
                raise Unsupported
            return (length // 2, length // 2)
        return (1, length - 1) if self.split and length > 1 else (length,)

    def borders(self) -> set[int]:
        """The first places of blocks after the first one."""
        if self.split == HALVES:
            return {s // 2 + 1 for s in self.sizes.values() if isinstance(s, int) and s > 1}
        return {2} if self.split else set()

    def shape(self, kind: Type) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The blocks of the rows and columns of a type."""
        key = id(kind), *self.lengths
        known = self.terms.shapes.get(key)
        if known is not None:
            return known[1:]
        found = []
        for size in (kind.rows, kind.cols):
            if any(not isinstance(self.sizes.get(n), int) for n in size.symbols()):
                raise Unsupported
            length = size.value(self.sizes)
            if length.denominator != 1 or length < 1:
                raise Unsupported
            found.append(self.cut(int(length)))
        self.terms.shapes[key] = kind, found[0], found[1]
        return found[0], found[1]

    def value(self, term: Term, env: Env) -> Any:
        """A number or an array."""
        handler, names, _ = self.terms.known.get(id(term)) or self.terms.of(term)
        if not names:
            key: Any = id(term)
        elif len(names) == 1:
            key = id(term), id(env.get(names[0]))
        else:
            key = (id(term), *map(id, map(env.get, names)))
        found = self.memo.get(key)
        if found is None:
            self.spend()
            found = self.memo[key] = handler(self, term, env)
        return found

    def keep(self, spot: Spot) -> Spot:
        """One object for all equal spots, which lives as long as this does: every spot of an `Env` comes from here."""
        return self.spots.setdefault(spot, spot)

    def number(self, term: Term, env: Env) -> Value:
        """A value that is one number."""
        found = self.value(term, env)
        return self.number_in(found) if isinstance(found, Blocks) else found

    def number_in(self, array: Blocks) -> Value:
        """The one number of an array."""
        if not array.rows == array.cols == (1,):
            raise Unsupported
        return array.flat[0][0] + array.diagonal[0][0]

    def array(self, term: Term, env: Env) -> Blocks:
        """A value as an array."""
        found = self.value(term, env)
        return found if isinstance(found, Blocks) else blocks_of((1,), (1,), lambda r, c: found)

    def spot(self, term: Term, env: Env) -> Spot:
        """Where an index stands."""
        if term.op == "int" and term.data in env:
            return env[term.data]
        if term.op == "add":
            spots = [self.spot(a, env) for a in term.args]
            return Spot(sum(spot.low for spot in spots), sum(spot.high for spot in spots))
        if term.op == "neg":
            inner = self.spot(term.args[0], env)
            return Spot(-inner.high, -inner.low)
        found = self.number(term, env)
        if not exact(found) or found.q != 1:
            raise Unsupported
        return Spot(int(found.p), int(found.p))

    def holds(self, test: Term, env: Env) -> bool:
        """A condition among whole numbers; raises `Unsupported` where it is not the same for the whole piece."""
        if test.op == "all":
            return all(self.holds(t, env) for t in test.args)
        left, right = (self.spot(a, env) for a in test.args)
        if left.name and left.name == right.name:
            return bool(COMPARE[test.data](0))
        ends = {COMPARE[test.data](_sign(a - b)) for a in (left.low, left.high) for b in (right.low, right.high)}
        apart = left.high < right.low or right.high < left.low or (left.low == left.high == right.low == right.high)
        if len(ends) > 1 or (test.data in ("=", "!=") and not apart):
            raise Unsupported
        return ends.pop()


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


Handler = Callable[[Huge, Term, Env], Any]
HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Register a handler of operations."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(ops, handler))
        return handler

    return register


@handles("const")
def _const(at: Huge, term: Term, env: Env) -> Any:
    found = at.terms.constants.get(id(term))
    if found is None:
        value = Fraction(term.data)
        found = at.terms.constants[id(term)] = fmpq(value.numerator, value.denominator)
    return found


@handles("int")
def _int(at: Huge, term: Term, env: Env) -> Any:
    if term.data in env:
        return env[term.data].value()
    return _plain(at.sizes[term.data])


def _plain(size: Any) -> Value:
    return fmpq(size) if isinstance(size, int) else size()


@handles("size")
def _size(at: Huge, term: Term, env: Env) -> Any:
    total = fmpq(0)
    for monomial, c in term.data.terms:
        part: Value = fmpq(c.numerator, c.denominator)
        for name, power in monomial:
            part = part * APPLY["powi"]([_plain(at.sizes[name])], power)
        total = total + part
    return total


@handles("leaf", "member")
def _leaf(at: Huge, term: Term, env: Env) -> Any:
    found = at.leaves.get(term.data)
    if found is None:
        raise Unsupported
    return at.number_in(found) if isinstance(found, Blocks) and term.type.scalar else found


@handles("bind")
def _bind(at: Huge, term: Term, env: Env) -> Any:
    inner = {**at.top, **{n: at.keep(at.spot(v, env)) for n, v in zip(term.data, term.args[1:], strict=True)}}
    return at.value(term.args[0], inner)


@handles("neg")
def _neg(at: Huge, term: Term, env: Env) -> Any:
    inner = at.value(term.args[0], env)
    return inner.scale(fmpq(-1)) if isinstance(inner, Blocks) else -inner


@handles("add")
def _add(at: Huge, term: Term, env: Env) -> Any:
    total = at.value(term.args[0], env)
    for arg in term.args[1:]:
        other = at.value(arg, env)
        if isinstance(total, Blocks) != isinstance(other, Blocks):
            raise Unsupported
        total = total.combine(other, lambda a, b: a + b) if isinstance(total, Blocks) else total + other
    return total


@handles("mul")
def _mul(at: Huge, term: Term, env: Env) -> Any:
    first, second = term.args
    left, right = at.value(first, env), at.value(second, env)
    if isinstance(left, Blocks) and isinstance(right, Blocks):
        raise Unsupported
    if isinstance(left, Blocks):
        return left.scale(right)
    return right.scale(left) if isinstance(right, Blocks) else left * right


@handles("hadamard")
def _hadamard(at: Huge, term: Term, env: Env) -> Any:
    left, right = (at.array(a, env) for a in term.args)
    left.require_flat()
    right.require_flat()
    return left.combine(right, lambda a, b: a * b)


@handles("matmul")
def _matmul(at: Huge, term: Term, env: Env) -> Any:
    left, right = (at.array(a, env) for a in term.args)
    found = left.times(right)
    return found if term.type.kind == "matrix" else found.flat[0][0] + found.diagonal[0][0]


@handles("transpose")
def _transpose(at: Huge, term: Term, env: Env) -> Any:
    return at.array(term.args[0], env).transpose


@handles("div")
def _div(at: Huge, term: Term, env: Env) -> Any:
    top, over = at.value(term.args[0], env), APPLY["inv"]([at.number(term.args[1], env)], None)
    return top.scale(over) if isinstance(top, Blocks) else top * over


@handles("pow")
def _pow(at: Huge, term: Term, env: Env) -> Any:
    base, to = (at.number(a, env) for a in term.args)
    if exact(to) and abs(to) > 1_000 and not (exact(base) and base in (0, 1)):
        if exact(base) and base == -1 and to.q == 1:
            return fmpq(1 - 2 * int(to.p % 2))
        if sign_of(base) <= 0:
            raise Unsupported
        return (ball(base).log() * to).exp()
    return APPLY["pow"]([base, to], None)


@handles("sqrt", "abs", "max", "min", "pi")
def _plain_function(at: Huge, term: Term, env: Env) -> Any:
    return _apply(term.op, *(at.number(a, env) for a in term.args))


@handles("exp", "log", "sin", "cos", "sign", "floor", "arctan", "arcsin")
def _entrywise(at: Huge, term: Term, env: Env) -> Any:
    inner = at.value(term.args[0], env)
    if isinstance(inner, Blocks):
        return inner.entrywise(lambda v: _apply(term.op, v))
    return _apply(term.op, inner)


def _apply(op: str, *args: Value) -> Value:
    if op == "sqrt":
        return square_root_of(args[0])
    if op == "exp" and exact(args[0]) and abs(args[0]) > 10**12:
        return ball(args[0]).exp()
    return APPLY[op](list(args), 0)


@handles("relu", "sigmoid", "tanh")
def _activation(at: Huge, term: Term, env: Env) -> Any:
    def of(x: Value) -> Value:
        if term.op == "relu":
            return APPLY["max"]([x, fmpq(0)], 1)
        if term.op == "tanh":
            return ball(x).tanh()
        return APPLY["inv"]([1 + _apply("exp", -x)], None)

    inner = at.value(term.args[0], env)
    return inner.entrywise(of) if isinstance(inner, Blocks) else of(inner)


def total(groups: list[tuple[int, Value]]) -> Value:
    """A sum of entries, each so many times."""
    found = fmpq(0)
    for count, value in groups:
        found = found + value * fmpq(count)
    return found


@handles("norm", "norm1", "normmax")
def _norm(at: Huge, term: Term, env: Env) -> Any:
    groups = at.array(term.args[0], env).groups()
    if term.op == "norm":
        return _apply("sqrt", total([(n, v * v) for n, v in groups]))
    sizes = [(n, abs(v)) for n, v in groups]
    return total(sizes) if term.op == "norm1" else APPLY["max"]([v for _, v in sizes], 1)


@handles("maxof", "minof")
def _extreme_of(at: Huge, term: Term, env: Env) -> Any:
    return _apply(term.op[:3], *(v for _, v in at.array(term.args[0], env).groups()))


@handles("tr")
def _trace(at: Huge, term: Term, env: Env) -> Any:
    return total(at.array(term.args[0], env).trace())


@handles("lse")
def _lse(at: Huge, term: Term, env: Env) -> Any:
    groups = at.array(term.args[0], env).groups()
    return _apply("log", total([(n, _apply("exp", v)) for n, v in groups]))


@handles("softmax")
def _softmax(at: Huge, term: Term, env: Env) -> Any:
    inner = at.array(term.args[0], env)
    inner.require_flat()
    turned = inner.transpose if term.type.column else inner
    rows = []
    for line in turned.flat:
        most = APPLY["max"](list(line), 1)
        powers = [_apply("exp", v - most) for v in line]
        over = APPLY["inv"]([total(list(zip(turned.cols, powers, strict=True)))], None)
        rows.append(tuple(p * over for p in powers))
    found = Blocks(turned.rows, turned.cols, tuple(rows), turned.diagonal)
    return found.transpose if term.type.column else found


@handles("eye")
def _eye(at: Huge, term: Term, env: Env) -> Any:
    rows, cols = at.shape(term.type)
    if rows != cols:
        raise Unsupported
    return identity(rows, fmpq(1))


@handles("ones", "zeros")
def _fill_constant(at: Huge, term: Term, env: Env) -> Any:
    rows, cols = at.shape(term.type)
    return blocks_of(rows, cols, lambda r, c: fmpq(int(term.op == "ones")))


@handles("entry")
def _entry(at: Huge, term: Term, env: Env) -> Any:
    base = at.array(term.args[0], env)
    i, j = (at.spot(a, env) for a in term.args[1:])
    r, c = _block(base.rows, i), _block(base.cols, j)
    own = base.diagonal[r][c]
    if own == 0:
        return base.flat[r][c]
    if (i.name and i.name == j.name) or i.low == i.high == j.low == j.high:
        return base.flat[r][c] + own
    if i.high < j.low or j.high < i.low:
        return base.flat[r][c]
    raise Unsupported


@handles("slice")
def _slice(at: Huge, term: Term, env: Env) -> Any:
    base = at.array(term.args[0], env)
    low, high, left, right = (at.spot(a, env) for a in term.args[1:])
    rows, cols = _cover_blocks(base.rows, low, high), _cover_blocks(base.cols, left, right)
    if any(base.diagonal[r][c] != 0 for r, _ in rows for c, _ in cols):
        raise Unsupported
    return blocks_of(
        tuple(n for _, n in rows), tuple(n for _, n in cols), lambda r, c: base.flat[rows[r][0]][cols[c][0]]
    )


def _cover_blocks(lengths: tuple[int, ...], low: Spot, high: Spot) -> list[tuple[int, int]]:
    """The blocks between two places, with how much of each lies there: one place, or whole blocks."""
    if low == high and (low.name or low.low == low.high):
        return [(_block(lengths, low), 1)]
    if low.low != low.high or high.low != high.high:
        raise Unsupported
    found, start = [], 1
    for k, length in enumerate(lengths):
        inside = min(high.low, start + length - 1) - max(low.low, start) + 1
        if inside > 0:
            found.append((k, inside))
        start += length
    return found


def _block(lengths: tuple[int, ...], at: Spot) -> int:
    """The block in which a piece of a range lies."""
    start = 1
    for k, length in enumerate(lengths):
        if start <= at.low and at.high < start + length:
            return k
        start += length
    raise Unsupported


@handles("reduce")
def _reduce(at: Huge, term: Term, env: Env) -> Any:
    op, name = term.data
    first, last = at.spot(term.args[0], env), at.spot(term.args[1], env)
    if first.low != first.high or last.low != last.high or term.type.kind == "matrix":
        raise Unsupported
    parts: list[tuple[int, Value]] = []
    tests, label = term.args[3:], f"{name}@{id(term)}"  # two sums may use one letter
    for spot in _pieces(at, first.low, last.low, term, env, label):
        low, high, _ = spot
        inner = {**env, name: spot}
        if not tests or all(at.holds(test, inner) for test in tests):
            value = at.number(term.args[2], inner)
            if op == "sum" and high > low and not exact(value):
                parts.append((1, _smooth(at, term, inner, (low, high), value)))
            else:
                parts.append((high - low + 1, value))
    if op == "sum":
        return total(parts)
    if op == "prod":
        return _product(parts)
    if not parts:
        raise Unsupported
    return APPLY[op]([v for _, v in parts], 0)


def _smooth(at: Huge, term: Term, env: Env, piece: tuple[int, int], value: Value) -> Value:
    """A sum over a piece: as its largest and smallest terms bound it, and by expansion where that says more."""
    plain = ball(value) * (piece[1] - piece[0] + 1)
    at.spend(4)
    try:
        closer = sum_of_piece(at.terms.series(term), *piece, lambda t: at.number(t, env))
    except (Unsupported, ZeroDivisionError, ValueError):
        return plain
    return closer if closer.rad() < plain.rad() or not plain.is_finite() else plain


def _product(parts: list[tuple[int, Value]]) -> Value:
    """A product of values, each so many times: exactly as far as they are exact, through logarithms where they are not.

    Wide balls are multiplied by their ends, since the product of two balls around small numbers soon holds 0.
    """
    found, logs = fmpq(1), []
    for count, value in parts:
        if exact(value) and (value in (0, 1) or count * (value.p.bit_length() + value.q.bit_length()) < EXACT_BITS):
            found = found * value**count
        elif exact(value) or not value.contains(0):
            found = found if sign_of(value) > 0 or count % 2 == 0 else -found
            logs.append(abs(ball(value)).log() * count)
        else:
            return _through_zero(parts)
    if not logs:
        return found
    whole = sum(logs, arb(0))
    return found * whole.lower().exp().union(whole.upper().exp())


def _through_zero(parts: list[tuple[int, Value]]) -> Value:
    """The same where a factor may be 0: factor by factor, a few times each."""
    found: Value = fmpq(1)
    for count, value in parts:
        if count > 64 and not (exact(value) and value in (0, 1)):
            raise Imprecise
        found = found * (value**count if exact(value) else APPLY["powi"]([value], count))
    return found


def _pieces(at: Huge, first: int, last: int, term: Term, env: Env, label: str) -> list[Spot]:
    """A range in pieces: at the blocks of arrays, at known places, and for a counted index ever longer ones."""
    if last < first:
        return []
    if last - first < at.each:
        return [at.keep(Spot(k, k, label)) for k in range(first, last + 1)]
    known = {spot.low for spot in env.values() if spot.low == spot.high}
    alone = all(spot.low == spot.high for spot in env.values())
    places = _read_places(at, term, env)
    at.coarse = at.coarse or (places is None and alone)
    marks = at.borders() | known | {place + 1 for place in known} if places != NOWHERE else NOWHERE
    cut = Cut(places, frozenset(marks), at.fine and alone)
    key = label, first, last, cut
    found = at.pieces.get(key)
    if found is None:
        found = at.pieces[key] = [at.keep(Spot(a, b, label)) for a, b in cut_range(first, last, cut)]
    at.spend(len(found) + 1)
    return found


def _read_places(at: Huge, term: Term, env: Env) -> frozenset[tuple[int, int]] | None:
    """The places of entries that the index of a sum says, each a sign and what is added; None of a counted index."""
    places = at.terms.places(term)
    if not places:
        return places if places is None else NOWHERE
    found = set()
    for place in places:
        spots = [(sign, at.spot(number, at.top if top else env)) for sign, number, top in place.others]
        if any(spot.low != spot.high for _, spot in spots):
            return None
        found.add((place.sign, sum(sign * spot.low for sign, spot in spots)))
    return frozenset(found)


__all__ = ["Huge", "Spot"]
