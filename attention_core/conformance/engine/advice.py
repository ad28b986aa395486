"""What to say beside a refutation: another array library, NaN in dead rows, faults that known kernels have too.

Other conventions than those declared are found by the first look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.untested import Fates
from attention_core.conformance.subjects.law import Law
from attention_core.declaration.implementation import Implementation


def other_library(implementation: Implementation, description: Mapping[str, Any]) -> list[str]:
    """A sentence where the target's file imports another array library than the one it is called with."""
    libraries, array = description.get("libraries") or [], implementation.array
    if array in libraries or not libraries:
        return []
    other = next(name for name in ("torch", "jax", "numpy") if name in libraries)
    return [
        f"it was called with arrays of {array}, but its file imports {other} and not {array}: "
        f"give --array {other} (in Python array={other!r})"
    ]


def nan_in_dead_rows(results: Sequence[LawResult]) -> list[str]:
    """A sentence where rows without a key give NaN, beside other faults that no convention explains."""
    found = [r.counterexample for r in results if r.law == "dead_rows_are_as_declared" and r.status == "refuted"]
    if not found or found[0] is None or found[0].got is None or found[0].got == found[0].got:
        return []
    return ["rows without any key give NaN: if that is meant, declare --dead-rows nan (in Python dead_rows='nan')"]


def known_of_others(
    implementation: Implementation, refuted: Sequence[Law], description: Mapping[str, Any]
) -> list[str]:
    """A sentence on refuted laws that the kernels a target calls, or comes from, are known to break, with what to do.

    Code that calls none of them has its own fault, whoever else has one like it.
    """
    names, calls = [law.name for law in refuted], description.get("calls") or []
    if not names or not calls or implementation.array != "torch" or implementation.contract != "attention":
        return []
    from attention_core.registry.table import KERNELS

    theirs: dict[str, str] = {}
    for row in KERNELS:
        for name in row.known_failures:
            if name in names and row.name != implementation.name and row.name.partition(":")[0] in calls:
                theirs.setdefault(name, row.name)
    if not theirs:
        return []
    failures = ", ".join(f"{name} ({row})" for name, row in theirs.items())
    return [
        f"known kernels break this too: {failures}; if yours calls one, see docs/findings.md for a way round it, "
        "or declare it with --known-failures"
    ]


def unjudged_masks(fates: Fates, masks: Sequence[str], results: Sequence[LawResult]) -> str:
    """What to say of a module that answered calls with a mask, and declined every call whose output was compared."""
    declined = [r for r in results if r.law == MASKED and r.status == "refused"]
    taken = sorted({name for (_, name), fate in fates.items() if name in masks and fate == "tested"})
    if not declined or not taken or any(r.status == "refuted" for r in results):
        return ""
    return f"no output with {', '.join(taken)} was compared with a truth, because of {MASKED}: {declined[0].message}"


MASKED = "masked_heads_attend_as_the_formula_says"
"""The comparison of modules that take masks."""
