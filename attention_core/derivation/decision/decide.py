"""The decision about one relation.

One relation under its hypotheses: tried at small and larger sizes, refuted with a shrunk case, or found to agree.
Each stage may only lower what is claimed; a verdict is never raised by a stage that merely sampled.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

from attention_core.derivation.cases.admissible import Case, NoCase
from attention_core.derivation.cases.generate import draw
from attention_core.derivation.cases.sites import Site
from attention_core.derivation.cases.tally import Tally
from attention_core.derivation.cases.trials import tried
from attention_core.derivation.decision.agreement import agreement
from attention_core.derivation.effort import LATE, Effort
from attention_core.derivation.graph.choices import Choices
from attention_core.derivation.graph.compare import Outcome, compare
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, Unsettled
from attention_core.derivation.lowering.lower import Infeasible, Lowering, register
from attention_core.derivation.lowering.plans import Plan, plan
from attention_core.derivation.lowering.reach import require_reach
from attention_core.derivation.lowering.size_ties import constants, whole_marks
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.proofs.all_sizes import holds_at_all_sizes
from attention_core.derivation.proofs.prove import equal_here, identical, prove
from attention_core.derivation.proofs.size_conditions import no_sizes
from attention_core.derivation.proofs.size_signs import ordered_at_all_sizes
from attention_core.derivation.records import Evidence, Finding, Verdict
from attention_core.derivation.search.larger_sizes import probe
from attention_core.derivation.search.sharpen import sharpen
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import connected, relevant
from attention_core.derivation.terms.terms import Relation

register()

ATTEMPTS = 30
SCARCE = 3  # cases
BEYOND = 1000  # numbers above may be sizes that the ladder leaves out
NAMED = 40  # tuples of each way up that are looked at there, and of all of them
SEEN = 6  # tuples high up that are enough where the small ones are not defined


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
        self.tally = Tally()
        self.altered, self.waiting = self.effort.altered, 1  # altered cases that are left, tuples that share them
        self.sites: dict[tuple[tuple[str, int], ...], Site | None] = {}
        self.known = self.sites.copy()  # may be shared by those who decide the same claim with other seeds
        self.far = False  # whether only far larger sizes refute
        self.reached: dict[str, int] = {}  # the largest sizes that were probed
        self.swept: dict[str, int] = {}  # sizes up to which all were tried, of a claim about sizes alone
        self.further: dict[str, str] = {}  # still larger ones, at plain arrays alone
        self.means = ""  # which averages may stay without a closed form, see `Lowering.means`
        self.moves = claim.left.data[0] if claim.op == "->" else ""  # the variable of a limit has no value
        self.deadline = time.process_time() + self.effort.seconds

    def decide(self) -> Finding:
        """The verdict with its evidence."""
        try:
            found = self.search()
            if found is None and self.effort.ladder and not (self.tally.cases and (self.everywhere or self.ordered)):
                found = self.directed()
            if found is None and not (self.tally.cases and self.everywhere):
                found = sharpen(self)
            if found is not None:
                return found
            return prove(self, agreement(self)) if self.effort.proofs else agreement(self)
        except Unsettled as error:
            return Finding(Verdict.UNDECIDED, Evidence(str(error)))
        except TooLarge as error:
            return Finding(Verdict.UNDECIDED, Evidence(f"too large to decide: {error}"))

    def marks(self) -> list[int]:
        """Sizes beyond the ladder that the claim names, and for `!=` all that it names."""
        if not self.tuples.sizes:
            return []
        numbers = constants(self.context, [self.claim])
        return whole_marks(v for v in numbers if self.claim.op == "!=" or abs(v) > BEYOND)

    def directed(self) -> Finding | None:
        """Cases made where the claim could fail: at its own numbers, at plain arrays, at large sizes."""
        from attention_core.derivation.search.far import far
        from attention_core.derivation.search.huge_search import huge
        from attention_core.derivation.search.integer_points import integer_points
        from attention_core.derivation.search.large_frames import large_frames
        from attention_core.derivation.search.pinpoint import pinpoint
        from attention_core.derivation.search.size_sweep import size_sweep

        found = pinpoint(self) or far(self)
        if found is None:
            found = probe(self)
            self.far = found is not None
        if found is None:
            found = large_frames(self)
            self.far = self.far or found is not None
        if found is None:
            found = size_sweep(self) or integer_points(self) or huge(self)
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
                    if found := tried(self, site, count, share):
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
