"""Smaller and plainer cases that still fail in the same way, found one reduction after the other.

A full search for the smallest takes hundreds of calls; a light one takes what tells the cause (options that do not
matter, one problem for many), which is enough to rank the refuted laws of a target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any

from attention_core.conformance.contracts import Contract
from attention_core.conformance.search.judging import SHRINK_CALLS, Found, Tally, allowance, judge
from attention_core.conformance.snippets.array_text import MAX_ELEMENTS
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.worker.exchange import Array

HANDFUL = 12
"""A call with so few numbers need not become smaller."""
LOW = ("bfloat16", "float16")
"""What float32 holds as well, whose numbers are easier to read."""
WIDER = ("float32", "float64")
"""Dtypes in which a failure of a lower one is looked for: what fails there, too, fails whatever the precision."""
NEW_SHAPES = 40
"""So many shapes are tried for one counterexample where the target is compiled for each."""
Reductions = Callable[[Any], Iterator[Any]]


class Reducer:
    """Tries reductions of one failure, each with a call, until its calls are spent.

    Args:
        calls: how many calls are left.
        further: how many more there are while the case is too large to be read.
    """

    def __init__(
        self, law: Law, contract: Contract, subject: Any, space: Any, found: Found, calls: int, further: int = 0
    ) -> None:  # fmt: skip
        self.law, self.contract, self.subject, self.space = law, contract, subject, space
        self.shapes = {shape_of(found.case)} if subject.implementation.shapes == "pool" else None
        self.kind, self.left, self.least, self.tally = found.violation.evidence.kind, calls, -further, Tally()

    def failing(self, case: Any, kinds: Sequence[str] = ()) -> Found | None:
        """The case with its failure, where it is allowed and fails in the same way, or in one of these kinds."""
        if not self.contract.allows(self.subject, self.space, case):
            return None
        if self.shapes is not None and (shape := shape_of(case)) not in self.shapes:
            if len(self.shapes) > NEW_SHAPES:
                return None
            self.shapes.add(shape)
        self.left -= 1
        violation = judge(self.law, self.subject, case, self.tally)
        same = violation is not None and violation.evidence.kind in (kinds or (self.kind,))
        return Found(case, violation) if violation is not None and same else None

    def one_round(self, best: Found, reductions: Reductions) -> Found:
        """Every reduction once; what fails to reduce is not tried again after each success, only in the next round."""
        at: int | None = 0
        while at is not None:
            start, at = at, None
            for number, case in islice(enumerate(reductions(best.case)), start, None):
                if self.left <= (self.least if unreadable(best.case) else 0):
                    return best
                if (smaller := self.failing(case)) is not None:
                    best, at = smaller, number
                    break
        return best

    def rounds(self, best: Found, *stages: Reductions) -> Found:
        """Round after round, stage after stage, until none reduces any more."""
        before = None
        while before is not best:
            before = best
            for reductions in stages:
                best = self.one_round(best, reductions) if len(stages) == 1 else self.rounds(best, reductions)
        return best


def minimise(law: Law, contract: Contract, subject: Any, space: Any, found: Found, calls: int) -> Found:
    """Smaller cases, then plainer ones, that still fail in the same way, again and again, until there are none."""
    if not getattr(space, "shrinks", True):
        return reduce_lightly(law, contract, subject, space, found, calls)
    left = allowance(found.violation, calls)
    # Entered while the case could not be read; none where nothing is to be shrunk at all.
    further = allowance(found.violation, max(SHRINK_CALLS // 2 - calls, 0)) if calls else 0
    reducer = Reducer(law, contract, subject, space, found, left, further)
    return reducer.rounds(found, lambda case: case.smaller(), lambda case: case.plainer())


def reduce_lightly(law: Law, contract: Contract, subject: Any, space: Any, found: Found, calls: int) -> Found:
    """The reductions that say most about the cause, once each: fewer options, then fewer problems and rows."""
    reducer = Reducer(law, contract, subject, space, found, allowance(found.violation, calls))
    dtypes = getattr(space, "dtypes", None) or subject.implementation.dtypes
    if getattr(found.case, "dtype", "") in LOW:
        found = in_wider(reducer, found, [dtype for dtype in WIDER if dtype in dtypes])
    if not getattr(space, "shrinks", True):
        return found
    return reducer.one_round(found, lambda case: case.simpler())


def in_wider(reducer: Reducer, found: Found, dtypes: Sequence[str]) -> Found:
    """The failure in the first of these dtypes in which the case fails with a number, or as it did; else as it is."""
    kind = reducer.kind
    for dtype in dtypes if reducer.left > 0 else ():
        if (wider := reducer.failing(found.case.with_(dtype=dtype), kinds=(kind, "value"))) is not None:
            reducer.kind = wider.violation.evidence.kind
            return wider
    return found


def shape_of(case: Any) -> tuple[Any, ...]:
    """What a compiler builds a program for: shapes, dtype, form of the mask, flags."""
    mask = case.mask if case.mask is None else (case.mask.shape, case.mask.dtype)
    return case.query.shape, case.key.shape, case.value.shape, case.dtype, mask, case.is_causal, case.scale


def size(found: Found) -> int:
    """How many numbers the failing call was given, which a law may have made of fewer in its case."""
    requests = [shown.request for shown in found.violation.evidence.calls[:1]]
    given = [a for request in requests for a in (*request.args, *dict(request.kwargs).values())]
    return sum(prod(a.shape) for a in given if isinstance(a, Array))


def unreadable(case: Any) -> bool:
    """Whether an array of the case holds more numbers than a snippet writes out."""
    arrays = [getattr(case, name, None) for name in ("query", "key", "value", "mask")]
    return any(getattr(a, "size", 0) > MAX_ELEMENTS for a in arrays)
