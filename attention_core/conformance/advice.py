"""When a target is refuted under its conventions, tries the others and says which would explain it.

"refuted as zeros; consistent with --dead-rows nan": conventions are not faults, they are declared, then verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from attention_core.conformance.contracts import Contract
from attention_core.conformance.evidence import Refused, Violation
from attention_core.conformance.implementation import CHOICES, Implementation, TargetError
from attention_core.conformance.law import Law
from attention_core.conformance.report import LawResult
from attention_core.conformance.runner import Runner
from attention_core.conformance.search import run_law

STEPS = (("returns",), ("layout",), ("mask_true",), ("causal", "dead_rows"))
"""Conventions that are tried, the coarsest first; a bottom-right diagonal makes dead rows, so these two go together."""
GUARDS = ("agrees_with_truth", "dead_rows_are_as_declared", "causal_alignment_is_as_declared")
"""What a convention must not break to count as an explanation."""
SILENT = "unspecified"
"""No convention but the lack of one: it would explain everything that is wrong with dead rows."""


def advise(
    runner: Runner, implementation: Implementation, description: Mapping[str, Any], contract: Contract,
    refuted: Sequence[Law], seed: int,
) -> tuple[str, list[str]]:  # fmt: skip
    """A sentence naming the conventions under which refuted laws hold, and these laws; "" if none explains a value."""
    tried, left = implementation, list(refuted)
    for names in STEPS:
        best, fewest = tried, left
        for changes in candidates(tried, names):
            if not fewest:
                break
            try:
                other = tried.with_(**changes)
            except TargetError:  # these conventions do not go together
                continue
            guards = [law for law in contract.laws if law.name in GUARDS and law not in fewest]
            still = _still_refuted(runner, other, description, contract, fewest, guards, seed)
            if still is not None:
                best, fewest = other, still
        tried, left = best, fewest
    changed = [name for names in STEPS for name in names if getattr(tried, name) != getattr(implementation, name)]
    remaining = [law.name for law in left]
    if not changed or GUARDS[0] in remaining:
        return "", []  # what does not explain the value itself is no explanation
    old = ", ".join(f"{name}={getattr(implementation, name)}" for name in changed)
    new = " ".join(f"--{name.replace('_', '-')} {getattr(tried, name)}" for name in changed)
    rest = f", save for {len(left)} of {len(refuted)} refuted laws: {', '.join(remaining[:3])}" if left else ""
    explained = [law.name for law in refuted if law not in left]
    return f"refuted as {old}; consistent with {new}{rest}", explained


def candidates(tried: Implementation, names: Sequence[str]) -> list[dict[str, str]]:
    """Other values of some conventions, those with the fewest changes first."""
    now = {name: getattr(tried, name) for name in names}
    every = [dict(zip(names, values, strict=True)) for values in product(*(CHOICES[name] for name in names))]
    every = [one for one in every if one != now and SILENT not in one.values()]
    return sorted(every, key=lambda one: sum(one[name] != now[name] for name in names))


def _still_refuted(
    runner: Runner, implementation: Implementation, description: Mapping[str, Any], contract: Contract,
    laws: Sequence[Law], guards: Sequence[Law], seed: int,
) -> list[Law] | None:  # fmt: skip
    """The laws still refuted under another convention; None when they are no fewer, or when a guard breaks."""
    try:
        subject = contract.subject(runner, implementation, description, seed)
        for _, case in contract.core(subject)[:1]:
            subject.forward(case)
    except (TargetError, Violation, Refused):
        return None
    still = []
    for law in laws:
        result = run_law(law, contract, subject, "quick", seed, shrink=0)
        if result.status not in ("held", "not_applicable"):
            still.append(law)
        if len(still) == len(laws):
            return None
    for law in guards:
        if run_law(law, contract, subject, "quick", seed, shrink=0).status == "refuted":
            return None
    return still


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
    from attention_core.kernels import KERNELS

    names, calls = [law.name for law in refuted], description.get("calls") or []
    if implementation.array != "torch" or implementation.contract != "attention":
        return []
    theirs: dict[str, str] = {}
    for row in KERNELS:
        for name in row.known_failures:
            if name in names and row.name != implementation.name and row.name.partition(":")[0] in calls:
                theirs.setdefault(name, row.name)
    if not theirs:
        return []
    told = ", ".join(f"{name} ({row})" for name, row in theirs.items())
    return [
        f"known kernels break this too: {told}; if yours calls one, see docs/findings.md for a way round it, "
        "or declare it with --known-failures"
    ]
