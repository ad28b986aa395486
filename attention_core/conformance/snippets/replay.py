"""The calls of a counterexample made again, as the snippet makes them and as the law made them.

The suite calls without gradients where none are needed, a reader's program does not: where that matters, the
snippet has to say so, or it would pass on faulty code.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from attention_core.conformance.report.law_result import LOST
from attention_core.conformance.subjects.evidence import Evidence
from attention_core.conformance.worker.exchange import Request, Response, Value

INSTANCES = count(1 << 40)
"""Numbers for objects that are built once more: a built object may remember the calls of the law."""


def note_no_grad(subject: Any, evidence: Evidence) -> Evidence:
    """The evidence, with `no_grad` set if its calls give something else with gradients on."""
    runner = getattr(subject, "runner", None)
    requests = [shown.request for shown in (*evidence.before, *evidence.calls)]
    if runner is None or subject.implementation.array != "torch" or evidence.event in LOST:
        return evidence
    between = [request.between for request in requests if request.between is not None]
    if not any(without_gradients(request) for request in requests + between):
        return evidence
    once, kept = responses(runner, requests), responses(runner, [with_gradients(request) for request in requests])
    if same(once, kept) or not same(once, responses(runner, requests)):  # the answers change by themselves
        return evidence
    return replace(evidence, no_grad=True)


def without_gradients(request: Request) -> bool:
    """Whether the suite makes this call with gradients switched off."""
    return not request.graph and not request.wrt


def with_gradients(request: Request) -> Request:
    """The call as a program makes it that says nothing of gradients."""
    between = None if request.between is None else with_gradients(request.between)
    return replace(request, graph=True, between=between)


def responses(runner: Any, requests: list[Request]) -> list[Response]:
    """What the calls give one after another, on objects of their own."""
    numbers: dict[int, int] = {}
    found = []
    for request in requests:
        if request.instance is not None:
            number, *given = request.instance
            request = replace(request, instance=(numbers.setdefault(number, next(INSTANCES)), *given))
        found.append(runner.run(request))
    return found


def same(one: list[Response], other: list[Response]) -> bool:
    """Whether the calls ended alike, with the same bits in every result."""
    return all(_alike(a, b) for a, b in zip(one, other, strict=True))


def _alike(a: Response, b: Response) -> bool:
    if (a.status, a.mutated, len(a.outputs)) != (b.status, b.mutated, len(b.outputs)):
        return False
    if a.failure is not None and b.failure is not None:
        return a.failure.types == b.failure.types
    pairs: list[tuple[Value | None, Value | None]] = [*zip(a.outputs, b.outputs, strict=True)]
    for mine, theirs in ((a.gradients, b.gradients), (a.second, b.second)):
        if mine.keys() != theirs.keys():
            return False
        pairs += [(mine[name], theirs[name]) for name in mine]
    return all(_equal(x, y) for x, y in pairs)


def _equal(x: Value | None, y: Value | None) -> bool:
    if x is None or y is None:
        return x is y
    number = x.values.dtype.kind == "f" and y.values.dtype.kind == "f"
    return (x.dtype, x.shape) == (y.dtype, y.shape) and np.array_equal(x.values, y.values, equal_nan=number)
