"""The problem that a step poses.

One claim under its hypotheses: the sizes it can be tried at, the sites that were made, and what has been seen so far.
Searches and proofs read and write this record; none of them sees the one that calls it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from attention_core.derivation.cases.admissible import NoCase
from attention_core.derivation.cases.generate import draw
from attention_core.derivation.cases.sites import Site
from attention_core.derivation.cases.tally import Tally
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.choices import Choices
from attention_core.derivation.graph.nodes import Graph, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case
from attention_core.derivation.lowering.lower import Infeasible, Lowering
from attention_core.derivation.lowering.plans import CasePlan, plan
from attention_core.derivation.lowering.reach import approaches
from attention_core.derivation.lowering.size_ties import constants, whole_marks
from attention_core.derivation.lowering.spaces import Tuples
from attention_core.derivation.probability.operations import register
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.relevance import find_connected_names, relevant
from attention_core.derivation.terms.terms import Relation

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
        self.means = ""  # which averages may stay without a closed form, see `Lowering.means`
        self.moves = claim.left.data[0] if claim.op == "->" else ""  # the variable of a limit has no value
        self.deadline = time.process_time() + self.effort.seconds
        self.settled: dict[str, bool] = {}  # proofs at all sizes, see `proofs.shortcuts`

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
        return Site(env, low, made, pairs, low.graph.reachable([n for p in pairs for n in p]))

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
