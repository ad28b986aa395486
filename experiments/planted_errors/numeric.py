"""A second opinion on a step: both sides in 60, 120 and more digits at drawn points, by other code than the checker's.

It reads what the checker read (typed terms) and takes points that the checker's generator draws, wider ones too, but
every hypothesis is computed again here. `evaluator` computes the values.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from evaluator import (
    DIGITS,
    EXACT,
    FLOAT,
    MOST_DIGITS,
    Arithmetic,
    Cannot,
    Env,
    Evaluator,
    Largest,
    NoValue,
    Values,
    table,
)
from flint import arb, fmpq
from mpmath import mp, mpf

from attention_core.derivation.cases.generate import NoCase, draw
from attention_core.derivation.claims import claim_of
from attention_core.derivation.graph.choices import Choices
from attention_core.derivation.graph.nodes import TooLarge, Undefined, Unsettled
from attention_core.derivation.graph.numbers import precision
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.lowering.plans import plan
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.probability.operations import register
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import relevant
from attention_core.derivation.terms.terms import Relation, ShapeMismatch

register()


class Wide(Choices):
    """Numbers of many magnitudes, beyond those that the checker draws."""

    def number(self) -> fmpq:
        """A rational with three digits and a power of ten."""
        if self.random is None or self.draw(3):
            return super().number()
        digits, power = 1 + self.draw(999), self.draw(11) - 5
        sign = 1 - 2 * self.draw(2)
        return fmpq(sign * digits * 10 ** max(power, 0), 100 * 10 ** max(-power, 0))


@dataclass(frozen=True)
class Point:
    """Sizes and indices, and the tables of the symbols as exact numbers or balls."""

    top: dict[str, int]
    entries: dict[tuple[str, tuple[int, ...]], Any]

    def values(self, context: Context, arithmetic: Arithmetic) -> Values:
        """The tables as numbers."""
        out: Values = {}
        for (name, place), value in self.entries.items():
            symbol = context.symbols[name]
            *member, i, j = place
            key = (name, member[0] if member else 0)
            if key not in out:
                assert symbol.type is not None
                rows, cols = (int(s.value(self.top)) for s in (symbol.type.rows, symbol.type.cols))
                out[key] = table(rows, cols, None)
            out[key][i - 1, j - 1] = arithmetic.number(value() if callable(value) else value)
        return out


def as_number(value: Any) -> Any:
    """A drawn value: an exact fraction, or a function that computes an irrational one."""
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))

    def computed() -> Any:
        with precision(600):
            found = value()
            if isinstance(found, fmpq):
                return Fraction(int(found.p), int(found.q))
            assert isinstance(found, arb)
            man, exp = found.mid().man_exp()
            return mp.ldexp(mpf(int(man)), int(exp))

    return computed


class Judge:
    """Looks for points where a step's claim is false."""

    def __init__(self, step: Step, seed: int = 0, largest: int = 3, wide: bool = False) -> None:
        self.context, self.claim, extra = claim_of(step)
        self.symbols, self.hypotheses, names = relevant(self.context, [self.claim.left, self.claim.right], extra)
        self.tuples = Tuples(self.context, names, self.hypotheses)
        self.random, self.largest, self.wide = random.Random(seed), largest, wide

    def sizes(self) -> list[dict[str, int]]:
        """Tuples of sizes and indices: the checker's small ones, or larger ones."""
        if self.largest <= 3:
            return self.tuples.small()
        found = []
        for _ in range(40):
            env = {n: self.random.randint(low := self.tuples.lowest(n), max(low + 1, self.largest))
                   for n in self.tuples.sizes}  # fmt: skip
            choices = list(self.tuples.with_indices(env, limit=200))
            if choices:
                found.append(self.random.choice(choices))
        return found

    def fits(self, env: dict[str, int]) -> Any:
        """How points are drawn at these sizes, None where there are none."""
        low = Lowering(self.context, env)
        low.hypotheses = self.hypotheses
        try:
            return plan(self.context, low, self.symbols, self.hypotheses)
        except (Infeasible, Undefined, TooLarge, Unsettled):
            return None

    def points(self, count: int) -> Iterator[Point]:
        """Points that satisfy the hypotheses, computed again."""
        envs = self.sizes() or self.tuples.further()
        if not any(self.fits(env) for env in envs[:4]):
            envs = self.tuples.further()
        plans: dict[int, Any] = {}
        made = 0
        for attempt in range(8 * count):
            if made >= count or not envs:
                return
            place = attempt % len(envs) if attempt < len(envs) // 2 else self.random.randrange(len(envs))
            env = envs[place]
            if place not in plans:
                plans[place] = self.fits(env)
            if plans[place] is None:
                continue
            choices = (Wide if self.wide else Choices)(self.random.randrange(1 << 30))
            try:
                case = draw(plans[place], choices)
            except (NoCase, Undefined, ZeroDivisionError, TooLarge):
                continue
            entries = {key: as_number(case[node]) for node, (_, key) in plans[place].entries.items()}
            point = Point(dict(env), entries)
            if self.admissible(point):
                made += 1
                yield point

    def admissible(self, point: Point) -> bool:
        """Whether every hypothesis holds at a point, to 50 digits."""
        with mp.workdps(DIGITS[0]):
            here = Evaluator(self.context, point.top, point.values(self.context, EXACT))
            for relation in self.hypotheses:
                envs: list[dict[str, int]] = [dict(point.top)]
                for name, first, last in relation.over:
                    envs = [{**e, name: k} for e in envs for k in range(here.whole(first, e), here.whole(last, e) + 1)]
                for env in envs:
                    if all(here.test(t, env) for t in relation.where) and not self.met(here, relation, env):
                        return False
        return True

    def met(self, here: Evaluator, relation: Relation, env: Env) -> bool:
        """One hypothesis at one value of its indices."""
        try:
            left, right = here.value(relation.left, env), here.value(relation.right, env)
        except NoValue:
            return False
        near = mpf(10) ** -50
        for a, b in zip(left.flat, right.flat, strict=True):
            gap, scale = a - b, near * max(abs(a), abs(b), 1)
            good = {"=": abs(gap) <= scale, "!=": gap != 0, "<": gap < 0, "<=": gap <= scale, ">": gap > 0,
                    ">=": gap >= -scale}[relation.op]  # fmt: skip
            if not good:
                return False
        return True

    def gaps(self, point: Point, digits: int) -> list[tuple[Any, Any, Any]]:
        """(difference, left, right) of every entry."""
        with mp.workdps(digits):
            here = Evaluator(self.context, point.top, point.values(self.context, EXACT))
            left, right = here.value(self.claim.left, point.top), here.value(self.claim.right, point.top)
            if left.shape != right.shape:
                raise NoValue
            return [(a - b, a, b) for a, b in zip(left.flat, right.flat, strict=True)]

    def false_at(self, point: Point) -> bool:
        """Whether the claim is false there: the same clear difference with 60 and with 120 digits."""
        if self.claim.op == "->":
            return self.limit_false(point)
        Largest.exponent = 0.0
        if not self.differs(point, DIGITS):
            return False
        needed = DIGITS[1] + int(2 * 0.4343 * Largest.exponent)  # a sum of exponentials may cancel down to the smallest
        if needed > MOST_DIGITS:
            raise NoValue
        return needed <= DIGITS[1] + 20 or self.differs(point, (needed, 2 * needed))

    def differs(self, point: Point, digits: tuple[int, int]) -> bool:
        """Whether some entry is wrong with so many digits and with more."""
        rough, fine = (self.gaps(point, d) for d in digits)
        with mp.workdps(digits[1]):
            return any(self.wrong(a[0], b) for a, b in zip(rough, fine, strict=True))

    def wrong(self, rough: Any, fine: tuple[Any, Any, Any]) -> bool:
        """One entry. Difference quotients are good to a third of the digits, so 15 are asked for."""
        gap, scale = fine[0], max(abs(fine[1]), abs(fine[2]))
        clear = abs(gap) > scale * mpf(10) ** -15 and abs(rough - gap) <= abs(gap) * mpf(10) ** -3
        equal = abs(gap) <= scale * mpf(10) ** -(mp.dps - 20)
        match self.claim.op:
            case "=":
                return bool(clear)
            case "<=":
                return bool(clear and gap > 0)
            case ">=":
                return bool(clear and gap < 0)
            case "<":
                return bool(equal or (clear and gap > 0))
            case ">":
                return bool(equal or (clear and gap < 0))
            case "!=":
                return bool(equal)
        raise Cannot(self.claim.op)

    def limit_false(self, point: Point) -> bool:
        """A limit is called false if the two sides keep a distance along a sequence of places."""
        name, way, side = self.claim.left.data
        bodies = [t.args[0] if t.op == "limit" else t for t in (self.claim.left, self.claim.right)]
        if "infinity" in (bodies[0].op, bodies[1].op):
            raise Cannot("an infinite limit")
        symbol = self.context.symbols[name]
        if symbol.kind != "array" or not symbol.type or not symbol.type.scalar:
            raise Cannot("a limit in a size")
        ratios = []
        with mp.workdps(DIGITS[1]):
            where = None if way else Evaluator(self.context, point.top, point.values(self.context, EXACT)).number(
                self.claim.left.args[1], point.top)  # fmt: skip
            for power in (6, 9, 12):
                far = mpf(10) ** power
                place = way * far if where is None else where + (side or 1) / far
                values = {**point.values(self.context, EXACT), (name, 0): table(1, 1, place)}
                here = Evaluator(self.context, point.top, values)
                sides = [here.value(t, point.top) for t in bodies]
                ratios.append([
                    0 if a == b else abs(a - b) / max(1 if max(abs(a), abs(b)) < 10**4 else 0, abs(a), abs(b))
                    for a, b in zip(sides[0].flat, sides[1].flat, strict=True)
                ])  # fmt: skip
        return any(c > mpf(10) ** -3 * a and c > mpf(10) ** -30 for a, _, c in zip(*ratios, strict=True))

    def float_says(self, point: Point) -> bool | None:
        """What comparing float64 numbers would say; None where this evaluator has no floats."""
        if self.claim.op == "->":
            return None
        try:
            with np.errstate(all="ignore"):
                here = Evaluator(self.context, point.top, point.values(self.context, FLOAT), FLOAT)
                left, right = here.value(self.claim.left, point.top), here.value(self.claim.right, point.top)
                left, right = (np.array(t, dtype=np.float64) for t in (left, right))
                match self.claim.op:
                    case "=":
                        return bool(np.allclose(left, right))
                    case "<=":
                        return bool((left <= right).all())
                    case ">=":
                        return bool((left >= right).all())
                    case "<":
                        return bool((left < right).all())
                    case ">":
                        return bool((left > right).all())
        except (Cannot, OverflowError, ValueError, NoValue, ZeroDivisionError):
            return None
        return None


def opinion(step: Step, count: int = 24, seed: int = 0, largest: int = 3, wide: bool = False) -> dict[str, Any]:
    """Whether some of `count` points makes a step false: {"says": false, holds, cannot; "points", "float"}.

    `float` counts the points where comparing float64 numbers would have said the opposite.
    """
    tried, lies = 0, 0
    try:
        judge = Judge(step, seed, largest, wide)
        for point in judge.points(count):
            try:
                false = judge.false_at(point)
            except NoValue:
                continue
            tried += 1
            said = judge.float_says(point)
            lies += said is not None and said is false
            if false:
                return {
                    "says": "false",
                    "points": tried,
                    "float": lies,
                    "at": {k: str(v) for k, v in point.top.items()},
                }
    except ShapeMismatch:
        return {"says": "false", "points": 0, "float": 0, "at": {"shapes": "do not fit"}}
    except (Cannot, Unreadable, Unsettled, TooLarge, Infeasible, Undefined) as error:
        return {"says": "cannot", "why": str(error)[:80] or type(error).__name__, "points": tried, "float": lies}
    return {"says": "holds" if tried else "cannot", "points": tried, "float": lies}
