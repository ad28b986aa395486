"""Whether the failing call gives the same answer when it is made again: if not, no law names the cause."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from typing import Any

from attention_core.conformance.evidence import Evidence, Shown, Violation
from attention_core.conformance.exchange import Response
from attention_core.conformance.law import Law

DIFFERENT = "different answers"
SAME_CALL = "the same call gives different answers"
BY_CHANCE = ("dropout", "state", "sharing")
"""Families whose calls may differ by right, or whose laws are about what earlier calls leave behind."""
OFTEN = 200
"""So many more calls look whether the answers change by themselves, or after other calls only."""


def if_different(subject: Any, law: Law, violation: Violation) -> Violation:
    """The violation, or that its call gives different answers, where two more calls show that."""
    evidence = violation.evidence
    usual = law.contract in ("attention", "attention-lse") and law.family not in BY_CHANCE
    if not usual or evidence.kind not in ("value", "pair", "nonfinite") or evidence.bound is None:
        return violation
    second = () if evidence.want is None or evidence.kind != "pair" else (evidence.want / (evidence.times or 1),)
    for shown, first in zip(evidence.calls, (evidence.got, *second), strict=False):
        again = [number(subject, shown) for _ in range(2)]
        if first is None or None in again or not differ([first, *again], evidence.bound):
            continue
        return told(subject, law, violation, shown, first)
    return violation


def told(subject: Any, law: Law, violation: Violation, shown: Shown, first: float) -> Violation:
    """The violation in other words, with the one call that shows it, or with all that came before it."""
    evidence, where = violation.evidence, ", ".join(map(str, shown.index))
    bound = evidence.bound or 0.0
    later = [number(subject, shown) for _ in range(OFTEN)]
    other = next((x for x in later if differ([first, x], bound)), None)
    message = f"{SAME_CALL}: got {first:.9g} at [{where}], then {other} when made again (met by {law.name})"
    if differ(later, bound):
        found = Evidence((shown,), first, other, bound, "again", event=DIFFERENT)
        return Violation(message, found)
    message += ", which may depend on earlier calls, or on memory that is used again"
    return Violation(message, replace(evidence, event=DIFFERENT))


def number(subject: Any, shown: Shown) -> float | None:
    """The number in question of a call that is made now; None where there is none."""
    response: Response = subject.runner.run(shown.request)
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


def differ(numbers: list[float | None], bound: float) -> bool:
    """Whether some are further apart than their law allows; NaN is another number than any other."""
    given = [x for x in numbers if x is not None]
    finite = [x for x in given if not isnan(x) and abs(x) != inf]
    odd = {str(x) for x in given if x not in finite}
    return len(odd) + bool(finite) > 1 or (bool(finite) and max(finite) - min(finite) > bound)
