"""The problem that a step poses.

One claim under its hypotheses: the sizes it can be tried at, the sites where it is tried, and a tally of what has
been seen so far. Searches and proofs read and write this record; none of them sees the one that calls it. A site is a
relation at one tuple of sizes and indices, ready to be compared at cases.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.cases.generate import NoCase, draw
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.choices import POSITIVE, SPARSE, Choices
from attention_core.derivation.graph.compare import Outcome
from attention_core.derivation.graph.nodes import Graph, Undefined, Unsettled
from attention_core.derivation.graph.numbers import MAX_PRECISION, Case, Imprecise, evaluate, exact, precision
from attention_core.derivation.limits.expander import slower
from attention_core.derivation.limits.scales import Scale
from attention_core.derivation.lowering.limits import approaches
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.lowering.plans import CasePlan, plan
from attention_core.derivation.lowering.spaces import Tuples, constants, whole_marks
from attention_core.derivation.probability.operations import register
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import find_connected_names, relevant
from attention_core.derivation.terms.terms import Relation, Term

CLIMBS = 2
FRUITLESS = 12  # altered cases with equal sides after which no other is expected


@dataclass
class Tally:
    """What has been seen so far."""

    cases: int = 0
    undefined: int = 0
    lost: bool = False  # whether an integral has a value where its closed form is not defined
    divergent: list[dict[str, float]] = field(default_factory=list)  # values of numbers where an integral diverges
    convergent: list[dict[str, float]] = field(default_factory=list)  # and where all of them have a value
    bits: int = 0
    margin: float | None = None
    tuples: list[dict[str, int]] = field(default_factory=list)
    unclear: dict[str, Any] | None = None
    note: str = ""
    enclosed: int = 0
    outsized: int = 0
    rate: Scale | None = None
    barren: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    too_large: bool = False  # whether values or sizes were left out since numbers grew too long
    seen: bool = False
    why: str = ""
    altered: int = 0  # cases that differ a little from a tight one
    far: bool = False  # whether only far larger sizes refute
    reached: dict[str, int] = field(default_factory=dict)  # the largest sizes that were probed
    swept: dict[str, int] = field(default_factory=dict)  # sizes up to which all were tried, of a claim about sizes
    further: dict[str, str] = field(default_factory=dict)  # still larger ones, at plain arrays alone

    def add(self, outcome: Outcome) -> None:
        self.cases += 1
        self.bits = max(self.bits, outcome.bits)
        if outcome.margin is not None:
            self.margin = outcome.margin if self.margin is None else min(self.margin, outcome.margin)
        if outcome.rate is not None:
            self.rate = slower(self.rate, outcome.rate)


@dataclass
class Best:
    """Where a search for a counterexample of an inequality may go on: the last case with equal sides, and the tightest
    cases with sides that differ.

    Equality at a degenerate point (both sides 0) says nothing about where the inequality is tightest elsewhere, so
    neither stands in for the other. Two of the tightest go on each for itself, since one may end in a corner.
    """

    equal: list[int] | None = None
    strict: list[tuple[float, list[int]]] = field(default_factory=list)
    origin: int | None = None  # which of the tightest the case that is judged was made from

    def add(self, made: list[int], slack: float) -> None:
        """A case that holds, with its slack."""
        if slack == 0:
            self.equal = made
        elif self.origin is None:
            self.strict = sorted([*self.strict, (slack, made)], key=lambda one: one[0])[:CLIMBS]
        elif slack <= self.strict[self.origin][0]:
            self.strict[self.origin] = slack, made

    def start(self, step: int) -> list[int] | None:
        """The case to go on from: one with equal sides in every fourth step, a few times where there is no other."""
        if not self.strict:
            return self.equal if step < FRUITLESS else None
        if step % 4 == 0 and self.equal is not None:
            self.origin = len(self.strict) - 1
            return self.equal
        self.origin = step % len(self.strict)
        return self.strict[self.origin][1]


ORDINARY = 5  # larger values are drawn in some cases only


STEPWISE = frozenset({"rank", "pinv"})
"""Operations that nearly all arrays give one value: those with many zeros tell what else there is."""
ROOTED = frozenset({"log", "sqrt", "pow"})
"""Operations that have no value at most arrays: those with positive entries are tried as often as all others."""


@dataclass
class Site:
    """A relation at one tuple of sizes and indices: its graph, how cases are made, the pairs to compare."""

    env: dict[str, int]
    low: Lowering
    plan: CasePlan
    pairs: list[tuple[int, int]]
    order: list[int]
    identical: bool | None = None


def is_outsized(site: Site, case: Case) -> bool:
    """Whether a case was drawn large, or has a side that is beyond all numbers."""
    if any(isinstance(v, fmpq) and abs(v) > ORDINARY for v in case.values()):
        return True
    try:
        with precision(MAX_PRECISION):
            values = evaluate(site.low.graph, [n for p in site.pairs for n in p], case, site.order)
    except Imprecise:
        return False
    return any(not exact(v) and (not v.is_finite() or _beyond(v)) for v in values)


def _beyond(value: arb) -> bool:
    """Whether a ball at the highest precision has no certain digit and reaches further than its bits count."""
    return bool(value.rel_accuracy_bits() <= 0 and value.abs_upper() > arb(2) ** MAX_PRECISION)


register()

ATTEMPTS = 30
SCARCE = 3  # cases
BEYOND = 1000  # numbers above may be sizes that the ladder leaves out


class Problem:
    """`claim` in `context` under `extra` hypotheses: what a search or a proof needs to know of it."""

    def __init__(
        self, context: Context, claim: Relation, extra: Sequence[Relation] = (), effort: Effort | None = None
    ) -> None:
        self.context, self.claim = context, claim
        self.effort = effort or Effort()
        self.symbols, self.hypotheses, names = relevant(context, [claim.left, claim.right], extra)
        self.tuples = Tuples(context, names, self.hypotheses)
        self.tuples.marks = self.marks()
        self.close = find_connected_names(context, [claim, *extra], self.hypotheses)
        self.tally = Tally()
        self.sites: dict[tuple[tuple[str, int], ...], Site | None] = {}
        self.shared = self.sites.copy()  # sites of all problems that differ in their seed alone
        self.refuted: tuple[Site, Case] | None = None  # the case that is reported
        self.means = ""  # which averages may stay without a closed form, see `Lowering.means`
        self.moves = claim.left.data[0] if claim.op == "->" else ""  # the variable of a limit has no value
        self.deadline = time.process_time() + self.effort.seconds
        self.kept: dict[str, Any] = {}  # what a search keeps from one point to the next, by what it is
        self.free_names: tuple[dict[int, tuple[str, ...]], list[Term]] = {}, []  # see `Lowering.names`
        self.settled: dict[str, bool] = {}  # proofs at all sizes, see `proofs.all_sizes`

    def marks(self) -> list[int]:
        """Sizes beyond the ladder that the claim names, and for `!=` all that it names."""
        if not self.tuples.sizes:
            return []
        numbers = constants(self.context, [self.claim])
        return whole_marks(v for v in numbers if self.claim.op == "!=" or abs(v) > BEYOND)

    @property
    def is_scarce(self) -> bool:
        """Whether so few cases were compared that others have to be found."""
        return self.tally.cases < SCARCE

    # -- sites ------------------------------------------------------------------------------------------------------

    def site(self, env: dict[str, int]) -> Site | None:
        """The relation at these sizes, None where they admit no case."""
        place = tuple(env.items())
        if place not in self.sites:
            if place not in self.shared:
                self.shared[place] = self.make_site(env)
            self.sites[place] = self.shared[place]
        return self.sites[place]

    def make_site(self, env: dict[str, int], graph: Graph | None = None) -> Site | None:
        """Lower the claim and the hypotheses at these sizes."""
        low = Lowering(self.context, env, graph)
        low.hypotheses, low.means = self.hypotheses, self.means
        low.names, low.keep = self.free_names
        try:
            made = plan(self.context, low, self.symbols, self.hypotheses)
            left, right = low.lower(self.claim.left), low.lower(self.claim.right)
        except Infeasible as error:
            self.tally.impossible.append(str(error))
            return None
        except Undefined as error:
            self.tally.undefined += 1
            self.tally.why = str(error)
            return None
        if self.moves:
            self.require_reach(env)
        if len(left.cells) != len(right.cells):
            self.tally.impossible.append("the shapes do not fit at these sizes")
            return None
        pairs = list(dict.fromkeys(zip(left.cells, right.cells, strict=True)))
        order = low.graph.reachable([n for p in pairs for n in p])
        if any(low.graph.ops[n] in STEPWISE for n in order):
            made.modes = SPARSE
        elif any(low.graph.ops[n] in ROOTED for n in order):
            made.modes = POSITIVE
        return Site(env, low, made, pairs, order)

    def require_reach(self, env: dict[str, int]) -> None:
        """Raise `Unsettled` unless cases exist with the variable of a limit close to its place, from one side."""
        ways = approaches(Lowering(self.context, env), self.claim.left, self.hypotheses)
        if ways and not any(all(self.has_case(env, near) for near in way) for way in ways):
            raise Unsettled(
                f"no values were found that satisfy the hypotheses with {self.moves} close to its limit: "
                "put the limit into a section of its own, or define what moves with it (Put ... := ...)"
            )

    # -- cases ------------------------------------------------------------------------------------------------------

    def has_case(self, env: dict[str, int], more: Sequence[Relation]) -> bool:
        """Whether a case is found at these sizes under further hypotheses."""
        low = Lowering(self.context, env)
        try:
            made = plan(self.context, low, self.symbols, [*more, *self.hypotheses])
        except Infeasible:
            return False
        return self.case(made, self.effort.seed)[1] is not None

    def case(self, made: CasePlan, seed: int) -> tuple[Choices | None, Case | None]:
        """One case, after some attempts."""
        for attempt in range(ATTEMPTS):
            choices = Choices(seed * 97 + attempt)
            try:
                return choices, draw(made, choices)
            except (NoCase, Undefined, ZeroDivisionError):
                continue
        self.tally.barren.append("no case satisfies the hypotheses")
        return None, None
