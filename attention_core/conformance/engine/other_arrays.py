"""Whether a target that fails at once was only called with arrays of another library than its own.

It is found by calling: the plain call fails with the arrays that were declared and works with the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attention_core.conformance.contracts import Contract
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError, Unavailable

NUMPYS = re.compile(r"numpy|ndarray")
"""What the failure of such a call may speak of where the target's file does not show what it imports."""


def own_library(contract: Contract, subject: Any, description: Mapping[str, Any]) -> str:
    """The array library with which the plain call works where it fails with the declared one; "" where it works."""
    implementation: Implementation = subject.implementation
    failure = what_fails(contract, subject)
    if not failure:
        return ""
    imported = [name for name in ("numpy", "torch", "jax") if name in (description.get("libraries") or [])]
    others = [name for name in imported if name != implementation.array]
    if not imported and NUMPYS.search(failure) and implementation.array != "numpy":
        others = ["numpy"]
    for name in others:
        if works_with(name, contract, subject, description):
            return name
    return ""


def what_fails(contract: Contract, subject: Any) -> str:
    """How the plain call failed: the exception, or the type that was no array; "" where it gave an array."""
    cases = contract.core(subject)[:1]
    for _, case in cases:
        try:
            contract.ask(subject, case)
        except Refused as refused:
            return str(refused)
        except Violation as violation:
            lost = violation.message.startswith("the call did not return")  # a hang is not asked twice
            broken = violation.message.startswith(("a valid call raised", "wrong result"))
            return violation.message if broken and not lost else ""
        except (NotApplicable, TargetError):
            return ""
    return ""


def works_with(array: str, contract: Contract, subject: Any, description: Mapping[str, Any]) -> bool:
    """Whether the plain call gives a result with another library's arrays, in a process of its own where it has one."""
    runner: Runner | None = None
    try:
        runner = subject.runner.with_array(array)
        other = contract.subject(runner, subject.implementation.with_(array=array), description, subject.seed)
        return bool(contract.core(other)) and not what_fails(contract, other)
    except (TargetError, Unavailable):
        return False
    finally:
        if runner is not None:
            runner.close()


def array_advice(array: str, own: str) -> str:
    """What to say: nothing was judged, and how to have it judged."""
    return (
        f"the plain call fails with arrays of {array} and works with those of {own}: "
        f"give --array {own} (in Python array={own!r})"
    )
