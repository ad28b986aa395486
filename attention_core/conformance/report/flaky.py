"""Whether the failing call gives the same answer when it is made again: if not, no law names the cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan
from typing import Any

from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.worker.exchange import Response
from attention_core.declaration.sizes import ATTENTION

DIFFERENT = "different answers"
SAME_CALL = "the same call gives different answers"
BY_CHANCE = ("dropout", "state", "sharing")
"""Families whose calls may differ by right, or whose laws are about what earlier calls leave behind."""
OFTEN = 200
"""So many calls in a new process look whether the answers change by themselves, or after other calls only."""


def if_different(subject: Any, law: Law, violation: Violation) -> Violation:
    """The violation, or that its call gives different answers, where two more calls show that."""
    evidence = violation.evidence
    usual = law.contract in ATTENTION and law.family not in BY_CHANCE
    if not usual or evidence.kind not in ("value", "pair", "nonfinite") or evidence.bound is None:
        return violation
    second = () if evidence.want is None or evidence.kind != "pair" else (evidence.want / (evidence.times or 1),)
    for shown, first in zip(evidence.calls, (evidence.got, *second), strict=False):
        again = [number(subject.runner, shown) for _ in range(2)]
        numbers = [x for x in again if x is not None]
        if first is not None and len(numbers) == 2 and differ([first, *numbers], evidence.bound):
            return report_difference(subject, law, violation, shown, [first, *numbers])
    return violation


def report_difference(subject: Any, law: Law, violation: Violation, shown: Shown, numbers: list[float]) -> Violation:
    """The violation in other words, with the one call that shows it, or with all that came before it."""
    evidence, where = violation.evidence, ", ".join(map(str, shown.index))
    bound, (first, *again) = evidence.bound or 0.0, numbers
    other = next((x for x in again if differ([first, x], bound)), again[-1])
    message = f"{SAME_CALL}: got {first:.9g} at [{where}], then {other:.9g} when made again (met by {law.name})"
    if by_itself(subject, shown, bound):
        return Violation(message, Evidence((shown,), first, other, bound, "again", event=DIFFERENT))
    message += ", which may depend on earlier calls, or on memory that is used again"
    return Violation(message, replace(evidence, event=DIFFERENT))


def by_itself(subject: Any, shown: Shown, bound: float) -> bool:
    """Whether the answers differ where no other call was made before: looked for once in a process of its own."""
    if not hasattr(subject, "differs_by_itself"):
        runner = subject.runner.with_array(subject.implementation.array)
        try:
            subject.differs_by_itself = differ([number(runner, shown) for _ in range(OFTEN)], bound)
        finally:
            runner.close()
    found: bool = subject.differs_by_itself
    return found


def number(runner: Any, shown: Shown) -> float | None:
    """The number in question of a call that is made now; None where there is none."""
    return number_in(runner.run(shown.request), shown)


def number_in(response: Response, shown: Shown) -> float | None:
    """The number in question in the response to its call; None where there is none."""
    quantity, _, name = shown.quantity.partition(":")
    if response.status != "ok" or shown.expression or not shown.index:
        return None
    if quantity in ("grad", "second"):
        value = (response.gradients if quantity == "grad" else response.second).get(name)
    else:
        place = int(quantity[3:] or 0)
        value = response.outputs[place] if place < len(response.outputs) else None
    try:
        return None if value is None else float(value.values[shown.index])
    except IndexError:
        return None


def differ(numbers: Sequence[float | None], bound: float) -> bool:
    """Whether some are further apart than their law allows; NaN is another number than any other."""
    given = [x for x in numbers if x is not None]
    finite = [x for x in given if not isnan(x) and abs(x) != inf]
    odd = {str(x) for x in given if x not in finite}
    return len(odd) + bool(finite) > 1 or (bool(finite) and max(finite) - min(finite) > bound)
