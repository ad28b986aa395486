"""What to say beside a refutation: another array library, NaN in dead rows, faults that known kernels have too.

Other conventions than those declared are found by the first look.

Whether a target that fails at once was only called with arrays of another library than its own.

It is found by calling: the plain call fails with the arrays that were declared and works with the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from attention_core.conformance.contracts import Contract
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.report.untested import Fates
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.outcomes import SetUpError
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
    for call in plain_calls(contract, subject)[:1]:
        try:
            call()
        except Refused as refused:
            return str(refused)
        except Violation as violation:
            lost = violation.message.startswith("the call did not return")  # a call that hangs is not made twice
            broken = violation.message.startswith(("a valid call raised", "wrong result"))
            return violation.message if broken and not lost else ""
        except (NotApplicable, TargetError):
            return ""
    return ""


def plain_calls(contract: Contract, subject: Any) -> list[Callable[[], object]]:
    """The plain calls of a contract, each to be made; those of other packages have one where their subject has."""
    cases = [case for _, case in contract.core(subject)]
    if cases or not hasattr(subject, "plain"):
        return [partial(contract.ask, subject, case) for case in cases]
    space = contract.restrict(subject, contract.laws[0])
    case = None if space is None else contract.draw(subject, space, np.random.default_rng(0))
    return [] if case is None else [partial(subject.plain, case)]


def no_arrays(contract: Contract, subject: Any, description: Mapping[str, Any]) -> str:
    """Why nothing can be compared: no plain call gives an array; "" where one does, or where all are declined.

    Without plain calls (contracts of other packages may have none) it says nothing.
    """
    words = ""
    for _, case in contract.core(subject):
        try:
            contract.ask(subject, case)
        except Refused:
            continue
        except Violation as violation:
            if not violation.message.startswith(NOT_READ):
                return ""
            words = words or violation.message.removeprefix(NOT_READ)
        except SetUpError as error:
            return str(error)
        except (NotApplicable, TargetError):
            return ""
        else:
            return ""
    return words and f"{NO_ARRAY}: {words}; {advise_on_result(words, subject.implementation, description)}"


NO_ARRAY = "no call gave an array"
"""How the problem of a target begins whose results cannot be read."""
NOT_READ = "wrong result: "
"""How the message of a result begins that is not an array."""
ARRAYS = "Tensor|Parameter|ndarray|Array|ArrayImpl"
"""Types of arrays by name."""


def advise_on_result(words: str, implementation: Implementation, description: Mapping[str, Any]) -> str:
    """What to do where a target returns something else than arrays, from the words about the result."""
    kind = (re.search(r"got (\w+)", words) or ["", ""])[1]
    keys = re.search(r"with the (keys|fields) (.*)$", words)
    if keys is not None and not words.startswith("result "):
        name = re.search(rf"'([^']+)' \((?:{ARRAYS})\)", keys[2]) or re.search(r"'([^']+)'", keys[2])
        part = "" if name is None else f"[{name[1]!r}]" if keys[1] == "keys" else f".{name[1]}"
        return hand_out(part, implementation, description)
    if words.startswith("result "):
        return f"let it return its output alone, as an array of {implementation.array}"
    if kind == "NoneType":
        return "let it return its output"
    if kind in ("generator", "coroutine", "async_generator"):
        return "let it return its output, as a plain function does (no yield, no async)"
    if kind in ARRAYS.split("|"):
        return f"let it return arrays of {implementation.array}, or name the library that it takes with --array"
    return f"let it return its output alone, as an array of {implementation.array}"


def hand_out(part: str, implementation: Implementation, description: Mapping[str, Any]) -> str:
    """How to have one part of a result judged: for a function the line of an adapter that keeps its signature."""
    name = re.split(r"[:.]", implementation.name)[-1]
    plain = description.get("type") == "function" and not implementation.factory and name.isidentifier()
    if not plain:
        return f"let it return the array alone, such as its result{part}"
    return (
        f"name an adapter: attention = functools.wraps({name})(lambda *args, **kwargs: {name}(*args, **kwargs){part})"
    )


def works_with(array: str, contract: Contract, subject: Any, description: Mapping[str, Any]) -> bool:
    """Whether the plain call gives a result with another library's arrays, in a process of its own where it has one."""
    runner: Runner | None = None
    try:
        runner = subject.runner.with_array(array)
        other = contract.subject(runner, subject.implementation.with_(array=array), description, subject.seed)
        return bool(plain_calls(contract, other)) and not what_fails(contract, other)
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


def one_kind_of_masks(implementation: Implementation, results: Sequence[LawResult]) -> list[str]:
    """A sentence where every mask of one kind is refused, and those of the other kind are taken."""
    status = {result.law: result.status for result in results}
    if implementation.masks != "any" or status.get(BOTH_KINDS) != "refused":
        return []
    added, hidden = status.get(ADDED), status.get(HIDDEN)
    what, kind = ("masks that are added to the scores", "bool") if added == "refused" else ("bool masks", "additive")
    if (hidden if kind == "bool" else added) not in ("held", "refuted"):
        return []
    return [f"{what} were declined every time: if that is meant, declare --masks {kind} (in Python masks={kind!r})"]


BOTH_KINDS, ADDED, HIDDEN = (
    "bool_and_additive_masks_agree", "a_bias_is_added_to_scaled_scores", "masked_keys_are_invisible",
)  # fmt: skip
"""Laws whose masks are of both kinds, added alone, and of either kind."""


def fails_without_keys(implementation: Implementation, results: Sequence[LawResult]) -> list[str]:
    """A sentence where the only fault is an exception for calls without any key, as many a `max` over keys raises."""
    refuted = [r for r in results if r.status == "refuted"]
    if not refuted or any(r.law != WITHOUT_KEYS or not r.message.startswith(RAISED) for r in refuted):
        return []
    if implementation.sizes is not None:
        return []
    return [f"it raises an error only where there is no key: if that is meant, declare --sizes '{SOME_KEY}'"]


WITHOUT_KEYS, SOME_KEY = "an_empty_key_sequence_leaves_dead_rows", "n_kv >= 1"
RAISED = "a valid call raised "
"""How a law's message begins where the call raised what declines nothing."""


def known_of_others(
    implementation: Implementation, refuted: Sequence[Law], description: Mapping[str, Any]
) -> list[str]:
    """A sentence on refuted laws that the kernels a target calls, or comes from, are known to break, with what to do.

    Code that calls none of them has its own fault, even if another package has one like it.
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
        f"or declare it with --known-failures; the file is a line: {write_known_failures(implementation.name, theirs)}"
    ]


def write_known_failures(target: str, rows: Mapping[str, str]) -> str:
    """Known failures of a target as a line of TOML: law -> the kernel that breaks it, too.

    Example:
        >>> write_known_failures("a.py:f", {"a_law": "torch:default"})
        'known_failure = [{target = "a.py:f", law = "a_law", reason = "torch:default breaks it, too"}]'
    """
    entries = (
        f"{{target = {json.dumps(target)}, law = {json.dumps(law)}, reason = {json.dumps(f'{row} breaks it, too')}}}"
        for law, row in rows.items()
    )
    return f"known_failure = [{', '.join(entries)}]"


def unjudged_masks(fates: Fates, masks: Sequence[str], results: Sequence[LawResult]) -> str:
    """What to say of a module that answered calls with a mask, and declined every call whose output was compared."""
    declined = [r for r in results if r.law == MASKED and r.status == "refused"]
    taken = sorted({name for (_, name), fate in fates.items() if name in masks and fate == "tested"})
    if not declined or not taken or any(r.status == "refuted" for r in results):
        return ""
    return f"no output with {', '.join(taken)} was compared with a truth, because of {MASKED}: {declined[0].message}"


MASKED = "masked_heads_attend_as_the_formula_says"
"""The comparison of modules that take masks."""
