"""Whether a counterexample fails by itself, in a process that made no other call; if not, the call that it needs first.

A fault of state (a cache, a buffer, a table of the first call) shows in the middle of a run, and its counterexample
may pass where it is the whole program. A fresh process forks for every trial, so that a trial costs as much as its
calls. What the suite called before is tried in front of the counterexample, the first calls and the last ones.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.report.flaky import number_in
from attention_core.conformance.report.law_result import AS_WRONG_ALONE, LOST
from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.worker.exchange import Request, Response

NUMERIC = ("value", "pair", "nonfinite")
"""Kinds of evidence that a number decides."""
MOST_BEFORE = 4
"""So many earlier calls stand in a program at most."""
MOST_PARTS = 16
"""Into so many parts the earlier calls are cut at most."""


def complete(subject: Any, violation: Violation) -> Violation:
    """The violation, with the earlier call it needs in front, or marked where none was found.

    It stays as it is where it fails by itself, or where no fresh process can be had.
    """
    evidence = violation.evidence
    if evidence.kind not in NUMERIC or evidence.event in LOST or not evidence.calls[0].index:
        return violation
    fresh = fresh_runner(subject)
    alone = None if fresh is None else fails(fresh, (), evidence)
    if fresh is None or alone is None or alone:
        return violation
    history = getattr(subject.runner, "history", None)
    for calls in history.blocks() if history else ():
        if fails(fresh, calls, evidence):
            needed = fewest(fresh, calls, evidence)
            if len(needed) <= MOST_BEFORE:
                before = (*map(Shown, needed), *evidence.before)
                return Violation(violation.message, replace(evidence, before=before))
    return Violation(violation.message, replace(evidence, alone=False))


def clear_state(subject: Any, violation: Violation) -> Violation:
    """The violation of a law of state; where its last call is as wrong in a process that made no other, it says so."""
    evidence = violation.evidence
    if evidence.kind not in NUMERIC or not evidence.before or not evidence.calls[0].index:
        return violation
    fresh, alone = fresh_runner(subject), replace(evidence, before=())
    if fresh is None or not fails(fresh, (), alone):
        return violation
    return Violation(f"{violation.message}{AS_WRONG_ALONE}", alone)


def fewest(fresh: Any, calls: Sequence[Request], evidence: Evidence) -> Sequence[Request]:
    """Some of the calls, in their order, after which the counterexample fails: halves, quarters, ... are left out."""
    parts = 2
    while len(calls) > 1:
        size = -(-len(calls) // parts)
        cuts = [(k, k + size) for k in range(0, len(calls), size)]
        fewer = [calls[a:b] for a, b in cuts] + ([[*calls[:a], *calls[b:]] for a, b in cuts] if parts > 2 else [])
        smaller = next((some for some in fewer if fails(fresh, some, evidence)), None)
        if smaller is not None:
            calls, parts = smaller, 2
        elif parts >= min(len(calls), MOST_PARTS):
            break
        else:
            parts = min(2 * parts, len(calls))
    return calls


class Fresh:
    """A process of the target that has made no call: the worker's spare, else one that is started when it is needed."""

    def __init__(self, runner: Any, array: str) -> None:
        self.runner, self.array = runner, array
        self.own: Any = None

    def trial(self, requests: Sequence[Request]) -> list[Response] | None:
        """The responses to some calls, made in a fork of it; None where that is lost."""
        if self.own is None and self.array == self.runner.options["array"]:
            there, responses = self.runner.spare_trial(requests)
            if there:
                answered: list[Response] | None = responses
                return answered
        if self.own is None:
            self.own = self.runner.with_array(self.array, spare=False)
        answered = self.own.trial(requests)
        return answered

    def close(self) -> None:
        """End the process that was started, if any."""
        if self.own is not None:
            self.own.close()


def fresh_runner(subject: Any) -> Any:
    """A process of the target that has made no call; None where the target is not in one of its own."""
    if not hasattr(subject, "fresh"):
        runner, declared = subject.runner, subject.implementation
        can = runner.isolated and hasattr(os, "fork") and declared.array != "jax" and declared.device == "cpu"
        subject.fresh = Fresh(runner, declared.array) if can else None
    return subject.fresh


def fails(fresh: Any, first: Sequence[Request], evidence: Evidence) -> bool | None:
    """Whether the number in question is wrong after these calls; None where the process says nothing of it."""
    requests = [*first, *(shown.request for shown in (*evidence.before, *evidence.calls))]
    responses: list[Response] | None = fresh.trial(requests)
    if responses is None:
        return None
    own = responses[-len(evidence.calls) :]
    numbers = [number_of(response, shown) for response, shown in zip(own, evidence.calls, strict=True)]
    got, want = numbers[0], evidence.want
    if evidence.kind == "pair":
        want = None if len(numbers) < 2 or numbers[1] is None else evidence.times * numbers[1]
    if got is None or (want is None and evidence.kind != "nonfinite"):
        return None
    if evidence.kind == "nonfinite" or want is None:
        return not np.isfinite(got)
    if np.isnan(got) or np.isnan(want):
        return bool(np.isnan(got) != np.isnan(want))
    return bool(got != want and not abs(got - want) <= (evidence.bound or 0.0))


def number_of(response: Response, shown: Shown) -> float | None:
    """The number in question, also where a law's own expression makes it out of a result."""
    if not shown.expression or response.status != "ok" or not response.outputs:
        return number_in(response, shown)
    known = {"out": response.outputs[0].values, "__builtins__": {}, "sum": sum, "zip": zip, "float": float}
    try:
        return float(eval(shown.expression.format(out="out"), known))  # the text is a law's, never a target's
    except (TypeError, ValueError, IndexError, NameError, AttributeError):
        return None
