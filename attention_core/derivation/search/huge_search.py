"""A search at huge sizes.

Sizes beyond all that can be written out, with plain arrays that have them: all entries alike, one for itself, I.
Every hypothesis is checked at the point; a claim is refuted only where enclosed sides are apart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import cycle, islice, product
from math import isqrt
from typing import TYPE_CHECKING, Any

from flint import fmpq

from attention_core.derivation.cases.counterexamples import describe_counterexample
from attention_core.derivation.effort import processor_time
from attention_core.derivation.graph.compare import apart, exact_text, long_text, relation
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import Imprecise, precision
from attention_core.derivation.lowering.block_arrays import Blocks, Unsupported, blocks_of, identity
from attention_core.derivation.lowering.spaces import constants
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict
from attention_core.derivation.search.far import OPEN, Power
from attention_core.derivation.search.huge import HALVES, OPERATIONS, Env, Huge, Spot, Terms
from attention_core.derivation.search.huge_counts import OPS
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.same_sizes import equal_sizes
from attention_core.derivation.terms.terms import Relation

if TYPE_CHECKING:
    from attention_core.derivation.cases.problem import Problem

WHOLE = (100, 256, 1024, 10**4, 10**6, 2**30, 2**40, 10**20, 10**50, 10**100, 2**1_000, 2**5_000)
NAMED = 12
KINDS = {0: 9, 1: 9, HALVES: 5}  # of arrays, by how their lengths are split
MOST_MIXED = 2  # arrays of different kinds
NUMBERS = (fmpq(1), fmpq(1, 2), fmpq(10), fmpq(2**40), fmpq(1, 2**40), fmpq(-1), fmpq(0))
MIXED = (64, 10**4, 2**40)  # sizes at which arrays of different kinds go together
SMALL = {1: 400, 2: 48, 3: 12}  # sizes up to which all tuples are tried for `!=`, by how many sizes there are
SHARE = 0.16  # of a step's time, as the last resort
POINTS, WORK = 4_000, 3_200_000  # points, and operations at all of them
FAILS = (Unsupported, TooLarge, Undefined, Imprecise, ZeroDivisionError, OverflowError, ValueError)


@dataclass
class Point:
    """Sizes, indices, and how every array and number is made, with what is shown of it."""

    sizes: dict[str, Any]
    env: Env
    split: int
    kinds: tuple[int, ...]  # one for each array, or one for all
    numbers: tuple[fmpq, ...]


def huge(problem: Problem) -> Finding | None:
    """Search at huge sizes; the finding if a point refutes."""
    names = problem.tuples.sizes
    if not names or problem.moves or problem.claim.op == "->" or not _can(problem):
        return None
    end = min(problem.deadline, time.process_time() + SHARE * problem.effort.seconds)
    terms, reached = _terms(problem), dict[str, int]()
    most, held = terms.work + WORK, set[Any]()
    for point in islice(_points(problem), POINTS):
        if processor_time() > end or terms.work > most:
            break
        case = _case_of(problem, point)
        if case is not None and case in held:
            continue  # the same values of everything, made in another way
        found = judge_point(problem, point)
        if isinstance(found, Finding):
            return found
        if found:
            held.add(case)
            whole = {n: v for n, v in point.sizes.items() if isinstance(v, int)}
            reached.update({n: v for n, v in whole.items() if v > reached.get(n, 0)})
    problem.tally.further = {
        n: long_text(fmpq(v)) for n, v in reached.items() if v > max(3, problem.tally.reached.get(n, 0))
    }
    return None


def _can(problem: Problem) -> bool:
    """Whether the claim is one number on both sides, made of operations that are understood here."""
    from attention_core.derivation.search.huge import HANDLERS

    claim = problem.claim
    ops = {t.op for side in (claim.left, claim.right) for t in side.walk()}
    return claim.left.type.scalar and claim.right.type.scalar and ops <= HANDLERS.keys() | OPS


def _points(problem: Problem) -> Iterator[Point]:
    """The points, smaller sizes first."""
    arrays = any(s.kind == "family" or (s.type is not None and not s.type.scalar) for s in problem.symbols)
    scalars = [s for s in problem.symbols if s.type is not None and s.type.scalar and s.kind == "array"]
    sides = (problem.claim.left, problem.claim.right)
    summed = any(t.op in ("reduce", "eye", "ones", "zeros") for side in sides for t in side.walk())
    numbers = {abs(v) for v in constants(problem.context, [problem.claim], highest=2**5_000) if v.denominator == 1}
    near = {int(v) + k for v in sorted(numbers)[-NAMED:] if v > 3 for k in (0, 1)}
    sizes: list[Any] = sorted({*WHOLE, *near})
    if not arrays and not summed:
        sizes += [Power(e) for e in OPEN]
    if problem.claim.op == "!=" and not arrays:
        yield from _all_small(problem, scalars)
    alike = [(split, (kind,)) for split in (0, 1, HALVES) for kind in range(KINDS[split])] if arrays else [(0, (0,))]
    yield from _at_sizes(problem, _numbers(len(scalars)), sizes, alike)
    count = len(problem.symbols) - len(scalars)
    if 1 < count <= MOST_MIXED:
        mixed = [
            (split, kinds)
            for split in (0, 1, HALVES)
            for kinds in product(range(KINDS[split]), repeat=count)
            if len(set(kinds)) > 1
        ]
        yield from _at_sizes(problem, _numbers(len(scalars))[:1], MIXED, mixed)


def _at_sizes(
    problem: Problem,
    numbers: list[tuple[fmpq, ...]],
    sizes: Sequence[Any],
    kinds: Sequence[tuple[int, tuple[int, ...]]],
) -> Iterator[Point]:
    """The points at these sizes, all of them large, or some."""
    for values, size, way in product(numbers, sizes, _ways(problem)):
        chosen = _sizes(problem, {n: size if n in way else problem.tuples.lowest(n) for n in problem.tuples.sizes})
        for env in _indices(problem, chosen) if chosen is not None else ():
            yield from (Point(chosen or {}, env, split, kind, values) for split, kind in kinds)


def _all_small(problem: Problem, scalars: list[Symbol]) -> Iterator[Point]:
    """All small sizes together, the smallest sum first: two sides that are to differ may meet at a few alone."""
    names = problem.tuples.sizes
    most = SMALL.get(len(names), 0)
    if scalars or problem.tuples.indices or not most:
        return
    low = [problem.tuples.lowest(n) for n in names]
    for values in sorted(product(*(range(a, a + most) for a in low)), key=lambda v: (sum(v), v)):
        chosen = _sizes(problem, dict(zip(names, values, strict=True)))
        if chosen is not None:
            yield Point(chosen, {}, 0, (0,), ())


def _numbers(count: int) -> list[tuple[fmpq, ...]]:
    """Values of the numbers, all alike first."""
    if not count:
        return [()]
    alike = [(v,) * count for v in NUMBERS]
    return list(dict.fromkeys([*alike, *islice(product(NUMBERS[:5], repeat=count), 25)]))


def _ways(problem: Problem) -> list[set[str]]:
    names = problem.tuples.sizes
    return [set(names), *({n} for n in names if len(names) > 1), *(set(names) - {n} for n in names if len(names) > 2)]


def _sizes(problem: Problem, chosen: dict[str, Any]) -> dict[str, Any] | None:
    """The sizes with those that equations settle; None where one would not be a size."""
    found = dict(chosen)
    for name, size in equal_sizes(problem.context).items():
        others = size.symbols()
        if name not in found or not others or not all(isinstance(found.get(n), int) for n in others):
            continue
        value = Fraction(size.value(found))
        if value.denominator != 1 or value < 1:
            return None
        found[name] = int(value)
    return found


def _indices(problem: Problem, sizes: dict[str, Any]) -> Iterator[Env]:
    """Declared indices at the first places and at the last."""
    spots: list[list[int]] = []
    whole = {n: v for n, v in sizes.items() if isinstance(v, int)}
    for name in problem.tuples.indices:
        symbol = problem.context.symbols[name]
        assert symbol.lowest is not None and symbol.highest is not None
        try:
            ends = symbol.lowest.value(whole), symbol.highest.value(whole)
        except KeyError:
            return
        if any(e.denominator != 1 for e in ends) or ends[0] > ends[1]:
            return
        low, high = (int(e) for e in ends)
        spots.append(sorted({low, min(low + 1, high), high}))
    for values in islice(product(*spots), 9):
        yield {n: Spot(v, v) for n, v in zip(problem.tuples.indices, values, strict=True)}


def _case_of(problem: Problem, point: Point) -> Any:
    """The values of everything at a point, alike wherever they are the same; None where an array has none.

    Members of a family of numbers are all alike, and arrays of one entry, too: 23 ways to make them give six cases.
    """
    at, kinds = Huge(_terms(problem), point.sizes, {}, point.split), cycle(point.kinds)
    try:
        arrays = [_array(at, symbol, next(kinds)).content for symbol in problem.symbols if not _is_number(symbol)]
    except FAILS:
        return None
    return *point.sizes.values(), *point.env.values(), *point.numbers, *arrays


def judge_point(problem: Problem, point: Point, each: int = 0) -> Finding | bool:
    """The finding if the point meets the hypotheses and refutes; else whether it was compared.

    Ranges of up to `each` values are taken one by one: that takes long, but knows signs that alternate.
    """
    met, coarse = False, True
    for bits, fine in ((128, False), (128, True), (1024, True)):
        if fine and bits == 128 and not coarse:
            continue  # no range falls into finer pieces: all would be as it was
        at = Huge(_terms(problem), point.sizes, {}, point.split, fine)
        try:
            with precision(bits):
                _fill(problem, point, at)
                if each:
                    at.each, at.operations = each, OPERATIONS * each
                met = met or _admits(problem, at, bits)  # what certainly holds does so with more bits, too
                if not met:
                    return False
                left, right = at.number(problem.claim.left, at.top), at.number(problem.claim.right, at.top)
                holds, _ = relation(left, problem.claim.op, right, bits)
                if holds is False:
                    return _finding(problem, point, at, apart(left, right))
                if holds:
                    return True
        except Imprecise:
            continue
        except FAILS:
            return False
        finally:
            coarse = at.coarse
            at.terms.work += at.work
    return False


def _finding(problem: Problem, point: Point, at: Huge, sides: tuple[str, str]) -> Finding:
    problem.tally.far = True
    values = {n: long_text(fmpq(v)) if isinstance(v, int) else str(v) for n, v in point.sizes.items()}
    values |= {n: str(s.low) for n, s in point.env.items()} | _show(problem, point, at)
    example = Counterexample({n: v for n, v in values.items() if n in problem.close}, *sides, "")
    return Finding(
        Verdict.REFUTED,
        Evidence(describe_counterexample(problem.claim.op, example), {"cases": problem.tally.cases + 1}),
        example,
    )


def _is_met(at: Huge, relation_: Relation, bits: int) -> bool:
    """Whether a hypothesis certainly holds, for all values of its indices at once."""
    env = dict(at.top)
    for name, first, last in relation_.over:
        low, high = at.spot(first, env), at.spot(last, env)
        if low.low != low.high or high.low != high.high:
            raise Unsupported
        env[name] = at.keep(Spot(low.low, high.low, f"{name}@{id(relation_)}"))
    todo: list[Env] = [env]
    if at.split:
        todo = [e for one in todo for e in _cut(at, one, [name for name, _, _ in relation_.over])]
    return all(_met_at(at, relation_, e, bits) for e in todo)


def _cut(at: Huge, env: Env, names: list[str]) -> list[Env]:
    """Ranges that hold places of two blocks, cut there."""
    found = [env]
    for name in names:
        for border in at.borders():
            parts: list[Env] = []
            for one in found:
                spot = one[name]
                if spot.low < border <= spot.high:
                    ends = (spot.low, border - 1), (border, spot.high)
                    parts += [{**one, name: at.keep(Spot(a, b, spot.name))} for a, b in ends]
                else:
                    parts.append(one)
            found = parts
    return found


def _met_at(at: Huge, relation_: Relation, env: Env, bits: int) -> bool:
    left, right = at.value(relation_.left, env), at.value(relation_.right, env)
    if isinstance(left, Blocks) != isinstance(right, Blocks):
        raise Unsupported
    if not isinstance(left, Blocks):
        return _certain(left, relation_.op, right, bits)
    if (left.rows, left.cols) != (right.rows, right.cols) or relation_.op != "=":
        raise Unsupported
    return all(
        _certain(a, "=", b, bits)
        for one, two in ((left.flat, right.flat), (left.diagonal, right.diagonal))
        for p, q in zip(one, two, strict=True)
        for a, b in zip(p, q, strict=True)
    )


def _certain(left: Any, op: str, right: Any, bits: int) -> bool:
    """Whether a relation is certain; an equation only between exact values."""
    if op == "=" and not (isinstance(left, fmpq) and isinstance(right, fmpq)):
        return False
    if op in ("<=", ">=") and not (isinstance(left, fmpq) and isinstance(right, fmpq)):
        op = op[0]
    return relation(left, op, right, bits)[0] is True


def _terms(problem: Problem) -> Terms:
    """What the terms of a problem are at all points alike; it is forgotten with the problem."""
    if "terms" not in problem.kept:
        problem.kept["terms"] = Terms(problem.context)
    terms: Terms = problem.kept["terms"]
    return terms


def _fill(problem: Problem, point: Point, at: Huge) -> None:
    """Give every symbol its value at a point."""
    at.top = {name: at.keep(spot) for name, spot in point.env.items()}
    numbers, kinds = iter(point.numbers), cycle(point.kinds)
    for symbol in problem.symbols:
        number = _is_number(symbol)
        at.leaves[symbol.name] = next(numbers) if number else _array(at, symbol, next(kinds))


def _admits(problem: Problem, at: Huge, bits: int) -> bool:
    """Whether all hypotheses certainly hold; raises `Unsupported` where a value is not within its declared bounds."""
    for symbol in problem.symbols:
        _require_bounds(at, symbol, at.leaves[symbol.name])
    return all(_is_met(at, r, bits) for r in problem.hypotheses)


def _show(problem: Problem, point: Point, at: Huge) -> dict[str, str]:
    """How the values of a point are shown."""
    kinds = cycle(point.kinds)
    return {
        s.name: exact_text(at.leaves[s.name]) if _is_number(s) else _array_text(at, s, next(kinds))
        for s in problem.symbols
    }


def _is_number(symbol: Symbol) -> bool:
    assert symbol.type is not None
    return symbol.type.scalar and symbol.kind == "array"


def _require_bounds(at: Huge, symbol: Symbol, value: Any) -> None:
    values = [v for _, v in value.groups()] if isinstance(value, Blocks) else [value]
    for bound, op in ((symbol.lower, ">"), (symbol.upper, "<")):
        if bound is None:
            continue
        end = at.number(bound[0], at.top)
        if not all(_certain(v, op if bound[1] else op + "=", end, 128) for v in values):
            raise Unsupported
    if symbol.values and any(v not in symbol.values for v in values):
        raise Unsupported


def _array(at: Huge, symbol: Symbol, kind: int) -> Blocks:
    """An array of the point's kind."""
    key = symbol.name, kind, *at.lengths
    found = at.terms.arrays.get(key)
    if found is None:
        found = at.terms.arrays[key] = _make_array(at, symbol, kind)
    return found


def _make_array(at: Huge, symbol: Symbol, kind: int) -> Blocks:
    rows, cols, entries = _entries(at, symbol, kind)
    if not entries:
        return identity(rows, fmpq(1))
    if len(entries) == 1:
        return blocks_of(rows, cols, lambda r, c: entries[0])
    one, rest = entries
    if at.split == HALVES:
        across = len(rows) == 1
        return blocks_of(rows, cols, lambda r, c: rest if (c if across else r) else one)
    return blocks_of(rows, cols, lambda r, c: one if r == c == 0 else rest)


def _array_text(at: Huge, symbol: Symbol, kind: int) -> str:
    """How an array of the point's kind is shown."""
    _, _, entries = _entries(at, symbol, kind)
    if not entries:
        return "the identity"
    if len(entries) == 1:
        return f"all {exact_text(entries[0])}"
    one, rest = map(exact_text, entries)
    if at.split == HALVES:
        return f"{one} in the first half, {rest} in the other"
    return f"{one} at the first place, {rest} elsewhere"


def _entries(at: Huge, symbol: Symbol, kind: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[fmpq, ...]]:
    """The blocks of an array's rows and columns and its entries: all alike, or two, one of them at the first place or
    in the first half; none where it is I."""
    assert symbol.type is not None
    rows, cols = at.shape(symbol.type)
    length = max(sum(rows), sum(cols))
    if rows == cols and len(rows) == 1 and rows[0] > 1 and kind in (5, 6):
        return rows, cols, ()
    return rows, cols, _pattern(at.split, length, kind)


@lru_cache(maxsize=512)
def _pattern(split: int, length: int, kind: int) -> tuple[fmpq, ...]:
    """The entries of an array of some length."""
    root = isqrt(length)
    values: Sequence[tuple[Any, ...]]
    if split == HALVES:
        values = ((1, -1), (-1, 1), (1, 0), (fmpq(1, root), fmpq(-1, root)), (2**40, -(2**40)))
    elif split:
        last = fmpq(1, 2), fmpq(1, 2 * max(1, length - 1))
        values = (
            (1, 0),
            (0, 1),
            (root, 1),
            (1, -1),
            (-1, 0),
            (2**40, 1),
            (length.bit_length(), 0),
            (1, fmpq(1, length)),
            last,
        )
    else:
        values = (
            (1,),
            (fmpq(1, length),),
            (fmpq(1, root),),
            (-1,),
            (0,),
            (root,),
            (fmpq(1, 2),),
            (2**40,),
            (fmpq(1, 2**40),),
        )
    return tuple(fmpq(v) for v in values[kind])


__all__ = ["Point", "huge", "judge_point"]
