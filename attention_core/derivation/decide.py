# One relation under its hypotheses: tried at small and larger sizes, refuted with a shrunk case, or found to agree.
# Each stage may only lower what is claimed; a verdict is never raised by a stage that merely sampled.
"""The decision about one relation."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.allsizes import holds_at_all_sizes
from attention_core.derivation.choices import Choices, altered, shrink
from attention_core.derivation.compare import Outcome, compare, exact_text
from attention_core.derivation.contradiction import impossible, never_defined
from attention_core.derivation.declared import Context
from attention_core.derivation.generate import Case, NoCase, Plan, draw, plan
from attention_core.derivation.graph import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.limits import TOO_WIDE, slower
from attention_core.derivation.lower import Infeasible, Lowering, register
from attention_core.derivation.numbers import MAX_PRECISION, Imprecise, evaluate, exact, precision
from attention_core.derivation.probe import probe
from attention_core.derivation.prove import equal_here, identical, prove
from attention_core.derivation.reach import require_reach
from attention_core.derivation.records import Counterexample, Evidence, Verdict
from attention_core.derivation.scales import Scale
from attention_core.derivation.size_conditions import no_sizes
from attention_core.derivation.size_signs import ordered_at_all_sizes
from attention_core.derivation.size_ties import constants, whole_marks
from attention_core.derivation.spaces import Tuples, connected, relevant
from attention_core.derivation.terms import Relation

register()

LATE = (
    "the time of a step ran out before all sizes were tried: split the step, give its parts names of their own, "
    "or give it more time (--seconds)"
)
SECONDS = 8.0  # of processor time for one step
ATTEMPTS = 30
CLIMBS = 2
FRUITLESS = 12  # altered cases with equal sides after which no other is expected
SCARCE = 3  # cases
BEYOND = 1000  # numbers above may be sizes that the ladder leaves out
NAMED = 40  # tuples of each way up that are looked at there, and of all of them
CERTAIN = 20  # and for which a contradiction has to be certified
SEEN = 6  # tuples high up that are enough where the small ones are not defined
ORDINARY = 5  # larger values are drawn in some cases only


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    `small` cases at each small tuple, fewer where `total` would be passed; `tuples` larger tuples with `large` cases
    each; for an inequality `altered` cases that differ a little from the tightest one, shared among the tuples,
    `climb` at each at least; `ladder` operations at sizes far larger; without `proofs` a step that holds AGREES
    at best; `seconds` of processor time for one step, of which a stage may take a share.
    """

    small: int = 9
    tuples: int = 4
    large: int = 4
    seconds: float = field(default_factory=lambda: SECONDS)
    seed: int = 0
    total: int = 320
    climb: int = 6
    altered: int = 320
    ladder: int = 60_000
    proofs: bool = True


@dataclass(frozen=True)
class Finding:
    """What was found out about one relation."""

    verdict: Verdict
    evidence: Evidence
    counterexample: Counterexample | None = None


@dataclass
class _Tally:
    """What has been seen so far."""

    cases: int = 0
    undefined: int = 0
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
    seen: bool = False
    why: str = ""

    def add(self, outcome: Outcome) -> None:
        self.cases += 1
        self.bits = max(self.bits, outcome.bits)
        if outcome.margin is not None:
            self.margin = outcome.margin if self.margin is None else min(self.margin, outcome.margin)
        if outcome.rate is not None:
            self.rate = slower(self.rate, outcome.rate)


@dataclass
class _Best:
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


@dataclass
class Site:
    """A relation at one tuple of sizes and indices: its graph, how cases are made, the pairs to compare."""

    env: dict[str, int]
    low: Lowering
    plan: Plan
    pairs: list[tuple[int, int]]
    order: list[int]
    identical: bool | None = None


class Decider:
    """Decides `claim` in `context` under `extra` hypotheses."""

    def __init__(
        self, context: Context, claim: Relation, extra: Sequence[Relation] = (), effort: Effort | None = None
    ) -> None:
        self.context, self.claim = context, claim
        self.effort = effort or Effort()
        self.symbols, self.hypotheses, names = relevant(context, [claim.left, claim.right], extra)
        self.tuples = Tuples(context, names, self.hypotheses)
        self.tuples.marks = self.marks()
        self.close = connected(context, [claim, *extra], self.hypotheses)
        self.tally = _Tally()
        self.altered, self.waiting = self.effort.altered, 1  # altered cases that are left, tuples that share them
        self.sites: dict[tuple[tuple[str, int], ...], Site | None] = {}
        self.known = self.sites.copy()  # may be shared by those who decide the same claim with other seeds
        self.far = False  # whether only far larger sizes refute
        self.reached: dict[str, int] = {}  # the largest sizes that were probed
        self.means = ""  # which averages may stay without a closed form, see `Lowering.means`
        self.moves = claim.left.data[0] if claim.op == "->" else ""  # the variable of a limit has no value
        self.deadline = time.process_time() + self.effort.seconds

    def decide(self) -> Finding:
        """The verdict with its evidence."""
        try:
            found = self.search()
            if found is None and self.effort.ladder and not (self.tally.cases and (self.everywhere or self.ordered)):
                found = self.directed()
            if found is not None:
                return found
            return prove(self, self.agreement()) if self.effort.proofs else self.agreement()
        except Unsettled as error:
            return Finding(Verdict.UNDECIDED, Evidence(str(error)))
        except TooLarge as error:
            return Finding(Verdict.UNDECIDED, Evidence(f"too large to decide: {error}"))

    def marks(self) -> list[int]:
        """Sizes beyond the ladder that the claim names, and for `!=` all that it names."""
        if not self.tuples.sizes:
            return []
        said = constants(self.context, [self.claim])
        return whole_marks(v for v in said if self.claim.op == "!=" or abs(v) > BEYOND)

    def directed(self) -> Finding | None:
        """Cases made where the claim could fail: at its own numbers, at plain arrays, at large sizes."""
        from attention_core.derivation.pinpoint import pinpoint

        found = pinpoint(self)
        if found is None:
            found = probe(self)
            self.far = found is not None
        return found

    @property
    def scarce(self) -> bool:
        """Whether so few cases were compared that others have to be found."""
        return self.tally.cases < SCARCE

    # -- sites ------------------------------------------------------------------------------------------------------

    def site(self, env: dict[str, int]) -> Site | None:
        """The relation at these sizes, None where they admit no case."""
        place = tuple(env.items())
        if place not in self.sites:
            if place not in self.known:
                self.known[place] = self.make_site(env)
            self.sites[place] = self.known[place]
        return self.sites[place]

    def make_site(self, env: dict[str, int], graph: Graph | None = None) -> Site | None:
        """Lower the claim and the hypotheses at these sizes."""
        low = Lowering(self.context, env, graph)
        low.hypotheses, low.means = self.hypotheses, self.means
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
            require_reach(self, env)
        if len(left.cells) != len(right.cells):
            self.tally.impossible.append("the shapes do not fit at these sizes")
            return None
        pairs = list(dict.fromkeys(zip(left.cells, right.cells, strict=True)))
        return Site(env, low, made, pairs, low.graph.reachable([n for p in pairs for n in p]))

    def search(self) -> Finding | None:
        """Look for a counterexample, at small sizes first."""
        small, large = self.tuples.small(), self.tuples.large(self.effort.seed, self.effort.tuples)
        self.waiting = max(1, len(small) + len(large))
        if not small and not large and not self.tuples.further():
            if no_sizes(self.tuples):
                return Finding(Verdict.VACUOUS, Evidence("no sizes and indices satisfy the conditions among them"))
            text = "no sizes and indices that satisfy the conditions among them were found"
            return Finding(Verdict.UNDECIDED, Evidence(text))
        each = max(3, min(self.effort.small, self.effort.total // self.waiting))
        for count, said in (
            (each, small),
            (self.effort.large, large),
            (self.effort.small, self.tuples.further),
            (self.effort.small, self.named),
        ):
            high = callable(said)
            envs = [] if callable(said) else said
            if callable(said) and not self.tally.cases and (self.tally.undefined or not self.tally.seen):
                envs = said()  # no small sizes admit a case: look further up
            for env in envs:
                if high and len(self.tally.tuples) >= SEEN:
                    break
                if time.process_time() > self.deadline:
                    return Finding(Verdict.UNDECIDED, Evidence(LATE))
                share = max(self.effort.climb, self.altered // self.waiting)
                self.waiting = max(1, self.waiting - 1)
                try:
                    site = self.site(env)
                    if site is None:
                        continue
                    self.tally.seen = True
                    if found := self.at(site, count, share):
                        return found
                except TooLarge as error:
                    if high:
                        break
                    if not self.tally.cases:
                        raise
                    self.tally.notes.append(
                        f"sizes beyond {self.tally.tuples[-1] if self.tally.tuples else {}} were too large: {error}"
                    )
                    break
        return None

    def named(self) -> list[dict[str, int]]:
        """Tuples around the numbers that the claim and its hypotheses name, and up the ladder."""
        self.tuples.marks = whole_marks(constants(self.context, [self.claim, *self.hypotheses]))
        found = [env for way in self.tuples.ladder() for env in islice(way, NAMED)]
        marks = set(self.tuples.marks)
        return sorted(found, key=lambda env: not marks & set(env.values()))[:NAMED]

    def at(self, site: Site, count: int, share: int = 0) -> Finding | None:
        """Cases at one site, for an inequality `share` altered ones as well; the finding if one refutes."""
        constant = not any(site.low.graph.ops[n] == "leaf" for n in site.order)
        if constant or not site.plan.entries:
            count = min(count, 2 if site.plan.entries else 1)
        elif not self.tuples.sizes:
            count *= 6
        if self.moves and self.tally.cases > 24:
            count = min(count, 2)
        before, best = self.tally.cases, _Best()
        for number in range(count):
            if time.process_time() > self.deadline:
                break
            choices, case = self.case(site.plan, self.effort.seed * 1_000_003 + number)
            if case is None or choices is None:
                if self.tally.cases == before and number:
                    break
                continue
            if found := self.judge(site, choices, case, best):
                return found
        if self.claim.op in ("<", "<=", ">", ">=") and not constant:
            found = self.climb(site, share, best)
            if found is not None:
                return found
        if self.tally.cases > before:
            self.tally.tuples.append(site.env)
        return None

    def judge(self, site: Site, choices: Choices, case: Case, best: _Best) -> Finding | None:
        """One case: the finding if it refutes; else it is counted."""
        try:
            outcome = self.outcome(site, case)
        except Undefined as error:
            self.tally.undefined += 1
            self.tally.why = str(error)
            return None
        if outcome.holds is None and outcome.note == TOO_WIDE and any(callable(v) for v in case.values()):
            self.tally.enclosed += 1  # limits are decided at rational values of the other symbols
            return None
        if outcome.holds is None:
            if not outcome.note and outsized(site, case):
                self.tally.outsized += 1  # smaller values decide as well, and say more
                return None
            self.tally.unclear, self.tally.note = site.env, outcome.note
        elif not outcome.holds:
            return self.refuted(site, choices.made)
        else:
            best.add(choices.made, outcome.slack)
        self.tally.add(outcome)
        return None

    def climb(self, site: Site, steps: int, best: _Best) -> Finding | None:
        """For an inequality: go on from the tightest cases, altering a few choices at a time.

        Where the sides are equal in every case (a mean of one number) nothing is tighter than the rest: the steps
        are left to other sizes.
        """
        rng = random.Random(self.effort.seed * 1_000_003 + len(self.sites))  # other steps at every tuple
        for step in range(steps):
            if time.process_time() > self.deadline or (start := best.start(step)) is None:
                break
            self.altered -= 1
            choices = Choices(replay=altered(start, rng))
            try:
                case = draw(site.plan, choices)
            except (NoCase, Undefined, ZeroDivisionError, TooLarge):
                continue
            if found := self.judge(site, choices, case, best):
                return found
        return None

    def outcome(self, site: Site, case: Case) -> Outcome:
        """The comparison at one case; where balls cannot tell, exact forms are asked before more bits are spent."""
        op = self.claim.op
        found = compare(site.low.graph, site.pairs, op, case, site.order, most=512)
        if (
            found.holds is None
            and op in ("=", "<=", ">=")
            and (self.everywhere or identical(site, self.deadline, op) or equal_here(site, case, op, self.deadline))
        ):
            return replace(found, holds=True)
        if found.holds is None:
            found = compare(site.low.graph, site.pairs, op, case, site.order, start=1024)
        return found

    @cached_property
    def everywhere(self) -> bool:
        """Whether the equation is proved for all sizes."""
        return holds_at_all_sizes(self.context, self.claim, self.hypotheses, self.tuples, self.effort.seconds)

    @cached_property
    def ordered(self) -> bool:
        """Whether the inequality is proved for all sizes."""
        return ordered_at_all_sizes(self.context, self.claim, self.hypotheses, self.tuples, self.effort.seconds)

    def case(self, made: Plan, seed: int) -> tuple[Choices | None, Case | None]:
        """One case, after some attempts."""
        for attempt in range(ATTEMPTS):
            choices = Choices(seed * 97 + attempt)
            try:
                return choices, draw(made, choices)
            except (NoCase, Undefined, ZeroDivisionError):
                continue
        self.tally.barren.append("no case satisfies the hypotheses")
        return None, None

    # -- outcomes ---------------------------------------------------------------------------------------------------

    def refuted(self, site: Site, made: list[int]) -> Finding:
        """Shrink the case and report it."""

        def fails(numbers: Sequence[int]) -> Sequence[int] | None:
            choices = Choices(replay=list(numbers))
            if time.process_time() > self.deadline:
                return None  # what refutes already is shown as it is
            try:
                case = draw(site.plan, choices)
                outcome = compare(site.low.graph, site.pairs, self.claim.op, case, site.order, most=512)
            except (NoCase, Undefined, ZeroDivisionError, TooLarge):
                return None
            return choices.made if outcome.holds is False else None

        best = shrink(made, fails)
        choices = Choices(replay=best)
        case = draw(site.plan, choices)
        return self.shown(site, case, compare(site.low.graph, site.pairs, self.claim.op, case, site.order))

    def shown(self, site: Site, case: Case, outcome: Outcome) -> Finding:
        """A case that refutes, as it is reported."""
        example = Counterexample(self.values(site, case), outcome.left, outcome.right, self.entry(site, outcome.place))
        words = {
            "=": "is not",
            "!=": "is",
            "<": "is not below",
            "<=": "is above",
            ">": "is not above",
            ">=": "is below",
            "->": "is the limit, not",
        }
        text = f"{outcome.left} {words[self.claim.op]} {outcome.right} at {describe(example.values)}"
        return Finding(Verdict.REFUTED, Evidence(text, {"cases": self.tally.cases + 1}), example)

    def entry(self, site: Site, place: int) -> str:
        """Which entry of an array differs."""
        rows, cols = site.low.lower(self.claim.left).rows, site.low.lower(self.claim.left).cols
        if rows * cols == 1:
            return ""
        cells = list(zip(site.low.lower(self.claim.left).cells, site.low.lower(self.claim.right).cells, strict=True))
        at = cells.index(site.pairs[place])
        return f"entry {at // cols + 1}, {at % cols + 1}"

    def values(self, site: Site, case: Case) -> dict[str, Any]:
        """Sizes, indices and symbols of a case as text."""
        close = self.close - {self.moves}
        out: dict[str, Any] = {name: value for name, value in site.env.items() if name in close}
        for node, (symbol, key) in site.plan.entries.items():
            if symbol.name not in close:
                continue
            text = exact_text(case[node])
            if symbol.kind == "family":
                name, spot = f"{symbol.name}_{key[1][0]}", key[1][1:]
            else:
                name, spot = symbol.name, key[1]
            if symbol.type is not None and symbol.type.scalar:
                out[name] = text
            else:
                rows = out.setdefault(name, [])
                while len(rows) < spot[0]:
                    rows.append([])
                rows[spot[0] - 1].append(text)
        return out

    def agreement(self) -> Finding:
        """What the cases say when none refutes."""
        tally = self.tally
        if tally.unclear is not None and tally.note:
            text = f"not decided at {describe(tally.unclear)}: {tally.note}"
            return Finding(Verdict.UNDECIDED, Evidence(text))
        if tally.unclear is not None:
            return Finding(
                Verdict.UNDECIDED,
                Evidence(f"the two sides could not be told apart with 4096 bits at {describe(tally.unclear)}"),
            )
        if not tally.cases:
            return self.nothing()
        figures: dict[str, Any] = {"cases": tally.cases, "bits": tally.bits, "tuples": len(tally.tuples)}
        text = f"{tally.cases} cases at {len(tally.tuples)} tuples of sizes agree"
        if tally.bits:
            text += f", with {tally.bits} bits at most"
        if tally.margin is not None:
            figures["margin"] = tally.margin
            text += f"; smallest margin {tally.margin:.3g}"
        if self.moves and self.claim.right.op != "infinity":
            text += self.rate(figures)
        if tally.enclosed:
            figures["left_out"] = tally.enclosed
            text += f"; {tally.enclosed} cases with values that are not rational were left out"
        if tally.outsized:
            figures["outsized"] = tally.outsized
            text += (
                f"; {tally.outsized} cases with large values, not told apart with {MAX_PRECISION} bits, were left out"
            )
        if tally.undefined:
            figures["undefined"] = tally.undefined
            text += f"; {tally.undefined} cases where a side is not defined were left out"
        if self.reached:
            figures["reached"] = self.reached
            text += f"; some cases at larger sizes agree as well, up to {describe(self.reached)}"
        for note in tally.notes:
            text += f"; {note}"
        return Finding(Verdict.AGREES, Evidence(text, figures))

    def rate(self, figures: dict[str, Any]) -> str:
        """How fast the sides of a limit come together."""
        rate, (name, way, _) = self.tally.rate, self.claim.left.data
        if rate is None:
            return ""
        figures["rate"] = rate.text(name if way else "t")
        where = "" if way else f" with t = 1 / |{name} - its limit|"
        return f"; the difference is of order {figures['rate']}{where} in the slowest case"

    def nothing(self) -> Finding:
        """No case was ever compared."""
        tally = self.tally
        if tally.outsized:
            text = f"the values of the sides are too large or too close to be told apart with {MAX_PRECISION} bits"
            return Finding(Verdict.UNDECIDED, Evidence(text))
        if tally.enclosed:
            return Finding(
                Verdict.UNDECIDED, Evidence("no rational values satisfy the hypotheses, as a limit needs them")
            )
        if tally.undefined and not tally.barren:
            if self.nowhere():
                return Finding(Verdict.VACUOUS, Evidence(f"no case is defined: {tally.why} everywhere"))
            text = f"no case that was tried is defined ({tally.why}), at {self.attempts()}"
            return Finding(Verdict.UNDECIDED, Evidence(text, {}, "say for which values the step is meant"))
        if tally.impossible and not tally.barren:
            why = max(set(tally.impossible), key=tally.impossible.count)
            if not self.tuples.sizes:
                return Finding(Verdict.VACUOUS, Evidence(f"the hypotheses cannot be met: {why}"))
            text = f"the hypotheses were not met at any size that was tried: {why}"
            return Finding(Verdict.UNDECIDED, Evidence(text))
        certificate = self.contradiction()
        if certificate:
            return Finding(Verdict.VACUOUS, Evidence(f"the hypotheses cannot be met: {certificate}"))
        advice = "state the hypotheses so that values can be solved for, one symbol at a time"
        return Finding(Verdict.UNDECIDED, Evidence("no case that satisfies the hypotheses was found", {}, advice))

    def nowhere(self) -> bool:
        """Whether it is certain that a side is defined at no value.

        A side that is not defined at certain sizes alone says nothing about others: then it is not certain.
        """
        sites = list(self.sampled())
        if not self.tuples.sizes and not self.tuples.indices and None in sites:
            return True
        sized = bool(self.tuples.sizes or self.tuples.indices)
        return bool(sites) and all(s and never_defined(s.low.graph, s.order, s.plan.given(), sized) for s in sites)

    def attempts(self) -> str:
        """What was tried, in words."""
        tuples = f"{len(self.sites)} tuples of sizes" if self.tuples.sizes else "one tuple"
        return f"{tuples} and {self.tally.undefined} cases"

    def sampled(self) -> Iterator[Site | None]:
        """The sites of the small tuples and of others up the ladder, as far as these are not too large."""
        high = (env for way in self.tuples.ladder() for env in islice(way, CERTAIN))
        for env in [*self.tuples.small(), *high]:
            try:
                yield self.site(env)
            except TooLarge:
                continue

    def contradiction(self) -> str:
        """Why no case exists at any size that was tried, if that can be certified; else ''."""
        found = ""
        for site in self.sampled():
            if site is not None:
                found = impossible(site.plan)
                if not found:
                    return ""
        return found


def outsized(site: Site, case: Case) -> bool:
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


def describe(values: dict[str, Any]) -> str:
    """Values as one line."""
    parts = []
    for name, value in values.items():
        if isinstance(value, list):
            flat = "; ".join(", ".join(row) for row in value)
            parts.append(f"{name} = [{flat}]")
        else:
            parts.append(f"{name} = {value}")
    return ", ".join(parts) or "these values"


__all__ = ["Decider", "Effort", "Finding", "Graph", "Site", "describe"]
