"""Tuples of sizes and indices.

Which sizes and indices a step is tried at: every feasible tuple up to 3, and some larger ones.
Conditions among sizes and indices alone (n >= 3, a != b) are applied here, before anything is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, product

from attention_core.derivation.effort import on_time
from attention_core.derivation.graph.nodes import TooLarge
from attention_core.derivation.lowering.lower import Lowering
from attention_core.derivation.lowering.size_ties import FEW, TRIED, constants, is_met, whole_marks
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import relation_names
from attention_core.derivation.terms.terms import Relation, Term

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
        for values in sorted(climbed, key=lambda v: (sum(v), v)):
            yield from self.few_indices(dict(zip(self.sizes, values, strict=True)))

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
