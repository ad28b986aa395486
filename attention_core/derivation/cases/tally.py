"""The record of a search for a counterexample.

What the cases of a relation have shown so far, and which of them a search may go on from.
Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from attention_core.derivation.graph.compare import Outcome
from attention_core.derivation.limits.evaluate import slower
from attention_core.derivation.limits.scales import Scale

CLIMBS = 2
FRUITLESS = 12  # altered cases with equal sides after which no other is expected


@dataclass
class Tally:
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
