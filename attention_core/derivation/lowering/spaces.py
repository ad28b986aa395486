"""Tuples of sizes and indices, and the conditions among them.

Which sizes and indices a step is tried at: every feasible tuple up to 3, and some larger ones.
Conditions among sizes and indices alone (n >= 3, a != b) are applied here, before anything is drawn.

A condition with powers, roots or logarithms is evaluated at whole numbers; nothing about it is assumed beyond that.
The numbers that conditions and claims name are worth trying.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import ceil, floor, isqrt

from flint import fmpq

from attention_core.derivation.effort import on_time
from attention_core.derivation.graph.nodes import TooLarge, Undefined
from attention_core.derivation.graph.numbers import COMPARE, Imprecise, evaluate, exact, precision, sign_of
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.terms import Relation, Term

BITS = (128, 1024)
HIGHEST = 10**60  # no number above is worth trying
UNFIXED = frozenset(
    {"variable", "int", "size", "leaf", "member", "expect", "limit", "infinity", "bind", "reduce", "entry"}
)
FEW = 3  # fewer small tuples than this call for a search among larger ones
TRIED = 2_000  # tuples looked at in that search


def is_met(low: Lowering, relation: Relation) -> bool:
    """Whether a condition on sizes and indices holds at those of `low`; where that is unknown, it counts as holding."""
    try:
        node = low.graph.sub(low.number(relation.left), low.number(relation.right))
    except (Infeasible, Undefined, ZeroDivisionError):
        return False
    except TooLarge:
        return True
    for bits in BITS:
        try:
            with precision(bits):
                (found,) = evaluate(low.graph, [node], {})
                return COMPARE[relation.op](sign_of(found))
        except Imprecise:
            continue
        except (Undefined, ZeroDivisionError):
            return False
        except TooLarge:
            return True
    return True


def constants(context: Context, relations: Iterable[Relation], highest: int = HIGHEST) -> list[Fraction]:
    """The numbers that relations name: every part without symbols, such as 10^7, to 30 bits where it is irrational."""
    found: dict[Fraction, None] = {}
    for relation in relations:
        for side in (relation.left, relation.right):
            for part in _find_closed_terms(side):
                value = _value(context, part, highest)
                if value is not None and abs(value) <= highest:
                    found[value] = None
    return list(found)


def _find_closed_terms(term: Term) -> Iterator[Term]:
    """The numbers in a term, and the largest parts of it that no symbol occurs in; what is shared is looked at once."""
    symbolic = _symbolic(term)
    seen: set[int] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if part.op == "const" or not symbolic[id(part)]:
            yield part
        if symbolic[id(part)]:
            stack.extend(part.args)
        else:
            yield from (t for t in part.walk() if t.op == "const")


def _symbolic(term: Term) -> dict[int, bool]:
    """Whether a symbol occurs in each part of a term."""
    found: dict[int, bool] = {}
    stack = [term]
    while stack:
        part = stack[-1]
        waiting = [a for a in part.args if id(a) not in found]
        if waiting and id(part) not in found:
            stack.extend(waiting)
            continue
        stack.pop()
        sizes = (part.type.rows, part.type.cols) if part.type.kind == "matrix" else ()
        own = part.op in UNFIXED or any(s.symbols() for s in sizes)
        found[id(part)] = own or any(found[id(a)] for a in part.args)
    return found


def _value(context: Context, term: Term, highest: int, env: dict[str, int] | None = None) -> Fraction | None:
    try:
        low = Lowering(context, env or {})
        with precision(128):
            (found,) = evaluate(low.graph, [low.number(term)], {})
            if not exact(found):
                if not found.is_finite() or found.abs_upper() > highest:
                    return None
                found = fmpq(int((found.mid() * 2**30).floor().unique_fmpz() or 0), 2**30)
    except (Infeasible, Undefined, Imprecise, TooLarge, ZeroDivisionError):
        return None
    return Fraction(int(found.p), int(found.q))


def whole_marks(marks: Iterable[Fraction]) -> list[int]:
    """Whole numbers around those a claim names, their roots, squares, halves and doubles."""
    found: set[int] = set()
    for value in marks:
        size = abs(value)
        for mark in {size, size / 2, 2 * size, Fraction(isqrt(floor(size)))} | ({size * size} if size < 100 else set()):
            found |= {floor(mark) - 1, floor(mark), ceil(mark), ceil(mark) + 1}
    return sorted(v for v in found if 1 <= v <= HIGHEST)


SMALL_LIMIT = 72
LARGE = 6
NEAR = 40  # smallest values of a size are searched one by one up to here
RUNGS = (
    *range(4, 14), 15, 16, 17, 20, 24, 32, 33, 41, 50, 64, 65, 100, 101, 128, 150, 200, 256, 257, 500, 512,
    1000, 1023, 1024, 1500, 2000, 4096, 10_000, 10_001, 65_536, 100_000, 1_000_000, 1_000_001,
)  # fmt: skip


class Tuples:
    """Enumerates the feasible tuples of sizes and indices of a step."""

    def __init__(self, context: Context, names: set[str], hypotheses: Sequence[Relation]) -> None:
        self.context = context
        self.sizes = [n for n in context.symbols if n in names and context.symbols[n].kind == "size"]
        self.indices = [n for n in context.symbols if n in names and context.symbols[n].kind == "index"]
        self.conditions = [r for r in hypotheses if self.whole(r) or self.is_nonlinear(r)]
        self.ties = [r for r in self.conditions if not self.whole(r)]
        self.starts: dict[str, int] = {}
        self.marks: list[int] = []  # sizes that the claim's numbers make worth trying

    def whole(self, relation: Relation) -> bool:
        """Whether a hypothesis is about sizes and indices alone."""
        if relation.over or relation.left.type.kind not in ("scalar", "zero"):
            return False
        ops = {t.op for side in (relation.left, relation.right) for t in side.walk()}
        return ops <= {"int", "size", "const", "add", "neg", "mul", "div"} and "int" in ops

    def is_nonlinear(self, relation: Relation) -> bool:
        """Whether a hypothesis is about sizes and indices alone, with powers, roots, logarithms and the like."""
        if relation.over or relation.where or relation.left.type.kind not in ("scalar", "zero") or self.whole(relation):
            return False
        names = relation_names(self.context, relation)
        ops = {t.op for side in (relation.left, relation.right) for t in side.walk()}
        known = relation.op in ("=", "!=", "<", "<=", ">", ">=")
        return (
            known and bool(names) and names <= {*self.sizes, *self.indices} and not ops & {"leaf", "member", "expect"}
        )

    def feasible(self, env: dict[str, int], only: set[str] | None = None) -> bool:
        """Whether the conditions hold, as far as they speak of `only`."""
        on_time()
        low = Lowering(self.context, env)
        for relation in self.conditions:
            names = relation_names(self.context, relation)
            if only is not None and not names <= only:
                continue
            test = Term("test", (relation.left, relation.right), relation.left.type, relation.op)
            if any(relation is tie for tie in self.ties):
                if not self.tie_holds(low, relation, test):
                    return False
                continue
            if relation.op in ("=", "!=", "<", "<=", ">", ">=") and not low.holds(test, env):
                return False
        return True

    def tie_holds(self, low: Lowering, relation: Relation, test: Term) -> bool:
        """Whether a nonlinear condition holds: as fractions where that is enough, else evaluated."""
        try:
            return low.holds(test, low.top)
        except ZeroDivisionError:
            return False
        except TooLarge:
            return is_met(Lowering(self.context, low.top), relation)

    def lowest(self, name: str) -> int:
        """The smallest value of one size that its own conditions allow; 1 if none is found."""
        if name not in self.starts:
            self.starts[name] = self.first(name)
        return self.starts[name]

    def first(self, name: str) -> int:
        """The same, searched: one by one up to 40, then around the numbers of the conditions and up the ladder."""
        own = [r for r in self.conditions if relation_names(self.context, r) == {name}]
        marks = whole_marks(constants(self.context, own))
        further = {v for v in marks if v > NEAR} | {r for r in RUNGS if r > NEAR}
        below = NEAR
        for value in [*range(1, NEAR + 1), *sorted(further)]:
            if self.feasible({name: value}, {name}):
                while value > NEAR and value - below > 1:  # between a value that is too small and one that is not
                    middle = (below + value) // 2
                    below, value = (below, middle) if self.feasible({name: middle}, {name}) else (middle, value)
                return int(value)
            below = value
        return 1

    def small(self) -> list[dict[str, int]]:
        """All tuples up to 3 (and up to one more than the smallest that is allowed), the smallest first."""
        starts = {n: self.lowest(n) for n in self.sizes}
        ranges = [range(starts[n], max(3, starts[n] + 1) + 1) for n in self.sizes]
        found = []
        for values in product(*ranges):
            found += list(self.with_indices(dict(zip(self.sizes, values, strict=True))))
            if len(found) > 4000:
                break
        joint = any(r.op == "=" and len(relation_names(self.context, r)) > 1 for r in self.conditions)
        if len(found) < FEW and (joint or self.ties):
            found = self.nonlinear_tuples or found
        found.sort(key=lambda env: (sum(env[n] for n in self.sizes), sum(env.values()), max(env.values(), default=0)))
        if len(found) > SMALL_LIMIT:
            kept = found[: SMALL_LIMIT // 3]
            rest = found[SMALL_LIMIT // 3 :]
            found = kept + sorted(random.Random(0).sample(rest, SMALL_LIMIT - len(kept)), key=rest.index)
        return found

    @cached_property
    def nonlinear_tuples(self) -> list[dict[str, int]]:
        """The first tuples that nonlinear conditions such as n = m^2 leave, among those of small sizes."""
        found: list[dict[str, int]] = []
        each = int(TRIED ** (1 / max(1, len(self.sizes))))
        starts = [self.lowest(n) for n in self.sizes]
        for values in sorted(product(*(range(low, low + each) for low in starts)), key=lambda v: (sum(v), v)):
            found += list(self.with_indices(dict(zip(self.sizes, values, strict=True)), limit=4))
            if len(found) >= LARGE:
                break
        return found

    def first_few(self, k: int, most: int) -> list[dict[str, int]] | None:
        """All feasible tuples of the `k` smallest values of every size, None if there are too many."""
        found: list[dict[str, int]] = []
        if k ** len(self.sizes) > most:
            return None
        for values in product(*(range(self.lowest(n), self.lowest(n) + k) for n in self.sizes)):
            found += list(self.with_indices(dict(zip(self.sizes, values, strict=True))))
            if len(found) > most:
                return None
        return found

    def further(self) -> list[dict[str, int]]:
        """Tuples with larger sizes, for shapes and conditions that small ones do not admit."""
        found: list[dict[str, int]] = []
        for top in range(3, 12):
            tops = [self.lowest(n) + top for n in self.sizes]
            for values in product(*(range(self.lowest(n), end + 1) for n, end in zip(self.sizes, tops, strict=True))):
                if any(v == end for v, end in zip(values, tops, strict=True)) and len(found) < SMALL_LIMIT:
                    found += list(self.with_indices(dict(zip(self.sizes, values, strict=True)), limit=4))
        return found or list(islice((env for way in self.ladder() for env in way), SMALL_LIMIT))

    def ladder(self) -> Iterator[Iterator[dict[str, int]]]:
        """Ever larger tuples, one sequence for every way to go up: all sizes alike, one alone, all but one."""
        names = set(self.sizes)
        ways = [
            names,
            *({n} for n in self.sizes if len(names) > 1),
            *(names - {n} for n in self.sizes if len(names) > 2),
        ]
        yield from (self.rungs(way) for way in ways if way)

    def rungs(self, way: set[str]) -> Iterator[dict[str, int]]:
        """The tuples of one way up: some sizes at each rung, and as far above their smallest; the others smallest."""
        low = {n: self.lowest(n) for n in self.sizes}
        rungs = {*RUNGS, *self.marks}
        climbed = {tuple(max(rung, low[n]) if n in way else low[n] for n in self.sizes) for rung in rungs}
        climbed |= {tuple(low[n] + rung - 1 if n in way else low[n] for n in self.sizes) for rung in RUNGS}
        climbed |= {tied for values in climbed for tied in self._tie(values)}
        for values in sorted(climbed, key=lambda v: (sum(v), v)):
            yield from self.few_indices(dict(zip(self.sizes, values, strict=True)))

    def _tie(self, values: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The tuple with a size that an equation such as $n = 2^k$ gives at that value."""
        env = dict(zip(self.sizes, values, strict=True))
        for relation in self.conditions:
            for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
                names = {p.data for p in other.walk() if p.op == "int"}
                if relation.op == "=" and side.op == "int" and side.data in env and side.data not in names:
                    value = _value(self.context, other, RUNGS[-1], env)
                    if value is not None and value.denominator == 1 and 1 <= value <= HIGHEST:
                        yield tuple(int(value) if n == side.data else v for n, v in env.items())

    def few_indices(self, env: dict[str, int]) -> list[dict[str, int]]:
        """The tuple with its indices at the ends of their ranges and in between: three choices at most."""
        if not self.feasible(env, set(self.sizes)):
            return []
        low, spots = Lowering(self.context, env), []
        for name in self.indices:
            symbol = self.context.symbols[name]
            assert symbol.lowest is not None and symbol.highest is not None
            first, last = symbol.lowest.value(low.top), symbol.highest.value(low.top)
            if first.denominator != 1 or last.denominator != 1 or first > last:
                return []
            a, b = int(first), int(last)
            spots.append(sorted({v for v in (a, a + 1, (a + b) // 2, b - 1, b) if a <= v <= b}))
        choices = list(islice(product(*spots), 125))
        found: list[dict[str, int]] = []
        for values in random.Random(0).sample(choices, min(len(choices), 24)):
            full = {**env, **dict(zip(self.indices, values, strict=True))}
            if len(found) < 3 and self.feasible(full):
                found.append(full)
        return found

    def large(self, seed: int, count: int) -> list[dict[str, int]]:
        """Some larger tuples, each of them once: the cases of one that comes again would be the same."""
        if not self.sizes:
            return []
        rng = random.Random(seed)
        found: list[dict[str, int]] = []
        for _ in range(12 * count):
            env = {n: max(self.lowest(n), rng.randint(1, LARGE)) for n in self.sizes}
            tuples = list(self.with_indices(env, limit=60))
            if tuples and max(env.values()) > 3 and (drawn := rng.choice(tuples)) not in found:
                found.append(drawn)
            if len(found) >= count:
                break
        return found

    def with_indices(self, env: dict[str, int], limit: int = 400) -> Iterator[dict[str, int]]:
        """All values of the indices at these sizes."""
        if not self.feasible(env, set(self.sizes)):
            return
        low = Lowering(self.context, env)
        ranges = []
        for name in self.indices:
            symbol = self.context.symbols[name]
            assert symbol.lowest is not None and symbol.highest is not None
            first, last = symbol.lowest.value(low.top), symbol.highest.value(low.top)
            if first.denominator != 1 or last.denominator != 1:
                return
            ranges.append(range(int(first), int(last) + 1))
        made = 0
        for values in product(*ranges):
            full = {**env, **dict(zip(self.indices, values, strict=True))}
            if self.feasible(full):
                yield full
                made += 1
                if made >= limit:
                    return
