"""What a call gave, sorted: a result, an allowed refusal, or something that no correct implementation does.

Knows the outer form of responses alone; what a result should be is the business of subjects and laws.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace

from attention_core.conformance.subjects.evidence import Evidence, Refused, Shown, Violation
from attention_core.conformance.worker.exchange import Failure, Request, Response
from attention_core.declaration.gpu_advice import NOT_HERE, explain_missing_module, with_advice
from attention_core.declaration.implementation import TargetError

REFUSALS = ("ValueError", "TypeError", "NotImplementedError", "AssertionError")
INTERNAL_NAMES = re.compile(
    "Internal|Fatal|OutOfMemory|ResourceExhausted|DataLoss|UnknownError|Aborted|Cancelled|DeadlineExceeded|EngineError"
)
"""In the name of a library's exception: it reports a fault of its own or of the device, not of the arguments."""
INTERNAL_WORDS = re.compile(
    r"INTERNAL ASSERT|device-side assert|CUDA error|[Oo]ut of memory|can't allocate memory|"
    r"^(?:INTERNAL|RESOURCE_EXHAUSTED|DATA_LOSS|ABORTED|UNKNOWN)\b"
)
"""In the message of an exception: likewise. The words in capitals are how XLA's messages begin."""
NO_OPERATOR = re.compile(r"'_OpNamespace' '(\w+)' object has no attribute '(\w+)'")
"""The message of torch where a library of operators was not loaded."""
MOST_RESULTS = 4
"""Results that a call may have."""
TOO_MANY = re.compile(rf"expected at most {MOST_RESULTS} results, got (\d+)$")
LOST = {"died": 1, "hung": 100}
"""How much patience a lost call costs; a session gives a target up when it is spent."""


EVENTS = {
    "hang": "The call returns.", "flood": "The call returns, and prints no more than a person would read.",
    "exit": "The call returns, and leaves the process alone.", "crash": "The call returns.",
    "wrong shape": "The result has the shape that its inputs give it.",
    "wrong dtype": "The result has the dtype of the query.",
    "different answers": "The same call gives the same answer.",
}  # fmt: skip
"""What a call can come to under any law alike, and what should be so; results carry this name."""


class SetUpError(TargetError):
    """The target cannot be judged as it is called here: something is missing, or it returns something undeclared."""


def event(message: str) -> str:
    """Which of `EVENTS` a lost call is, from its message."""
    if "no answer within" in message:
        return "flood" if "printed" in message else "hang"
    return "exit" if "sys.exit" in message or "ended with status" in message else "crash"


def check_response(response: Response, request: Request, also: tuple[str, ...] = ()) -> Response:
    """Sort out what is not a result: refusals become `Refused`, everything else that is wrong a `Violation`.

    `also` names further exceptions that decline a case.
    """
    crash = Evidence((Shown(request),), kind="crash")
    if response.status in ("died", "hung"):
        lost = replace(crash, event=event(response.message))
        raise Violation(f"the call did not return: {response.message}", lost)
    if response.status == "raised":
        failure = response.failure
        assert failure is not None
        line = failure.message.splitlines()[0] if failure.message else ""
        text = f"{failure.types[0]}: {line}" if line else f"{failure.types[0]} without a message"
        if "WrongReturn" in failure.types:
            raise Violation(f"wrong result: {failure.message}", Evidence((Shown(request),), kind="shape"))
        if "FaultyAccess" in failure.types:
            raise Violation(f"a valid call reached memory wrongly: {line}", crash)
        if "LacksOperation" in failure.types:
            raise SetUpError(f"the target cannot run here: {line}")
        if is_named(failure, also):
            raise Refused(text, request)
        if missing := what_is_missing(failure):
            raise SetUpError(f"the target cannot run here: {missing}")
        if declines(failure):
            raise Refused(text, request)
        raise Violation(f"a valid call raised {text}", crash)
    if response.mutated:
        names = ", ".join(input_name(n) for n in response.mutated)
        raise Violation(
            f"{CHANGED} {names}, but should leave inputs as they are",
            Evidence((Shown(request),), kind="mutated"),
        )
    return response


CHANGED = "the call changed its input"
"""The words of a message that a call wrote into what it was given."""


def number_of_results(response: Response) -> int | None:
    """How many results a call gave; None where it gave none for another reason than their number."""
    if response.status == "ok":
        return len(response.outputs)
    too_many = TOO_MANY.match(response.failure.message) if response.failure is not None else None
    return int(too_many[1]) if too_many else None


def declared_returns(returns: str, got: int, contract: str = "attention") -> str:
    """What to say when a call gives another number of results than declared."""
    message = f"the call returns {got} value{'' if got == 1 else 's'}, but is declared to return {returns!r}"
    if got == 1 and contract == "attention-lse":
        return f"{message}, as the contract attention-lse says: declare --contract attention"
    if got == 1:
        return f"{message}: declare --returns out (in Python returns='out')"
    if got == 2:
        return f"{message}: declare --returns out,weights or --returns out,lse (in Python returns='out,weights')"
    return f"{message}: let it return the output alone, (output, weights) or (output, lse)"


def declines(failure: Failure) -> bool:
    """Whether an exception is an allowed way to decline a case: refusal is allowed, silence is not.

    So are builtin ones for wrong arguments, a RuntimeError, and a class that a library or the target defines for the
    purpose (onnxruntime's derive from Exception alone), unless they report an internal fault or one of the device.
    """
    return is_refusal(failure.types, failure.message, failure.homes)


def is_named(failure: Failure, names: tuple[str, ...]) -> bool:
    """Whether an exception, or a class that it derives from, is among some names, dotted or plain.

    Example:
        >>> is_named(Failure(("Full", "Exception"), "", "", ("queue", "builtins")), ("queue.Full",))
        True
    """
    dotted = {f"{home}.{name}" for name, home in zip(failure.types, failure.homes, strict=False)}
    return not dotted.union(failure.types).isdisjoint(names)


def is_refusal(types: tuple[str, ...], message: str, homes: tuple[str, ...] = ()) -> bool:
    """`declines`, of an exception's classes, its message and the modules that define the classes.

    Example:
        >>> is_refusal(("InvalidArgument", "Exception"), "rank", ("onnxruntime.capi", "builtins"))
        True
        >>> is_refusal(("KeyError", "LookupError", "Exception"), "'a'", ("builtins",) * 3)
        False
    """
    if any(t in types for t in REFUSALS):
        return True
    if "RecursionError" in types:  # a RuntimeError by descent, but it is never raised to decline
        return False
    foreign = [t for t, home in zip(types, homes, strict=False) if not of_python(home)]
    if any(map(INTERNAL_NAMES.search, foreign)) or INTERNAL_WORDS.search(message):
        return False
    builtin = [t for t in types if t not in foreign]
    return "RuntimeError" in types or (bool(foreign) and builtin[:1] == ["Exception"])


def of_python(module: str) -> bool:
    """Whether a module is Python's own."""
    return module.partition(".")[0] in {"builtins", *sys.stdlib_module_names}


def what_is_missing(failure: Failure) -> str:
    """What an exception says is not on this machine (a module, a device, its driver, a compiler); "" if nothing."""
    line = failure.message.splitlines()[0] if failure.message else ""
    if "ImportError" in failure.types:
        module = re.match(r"No module named '([^']+)'", line)
        return f"it needs the module {module[1]!r} ({explain_missing_module(module[1])})" if module else line
    if operator := NO_OPERATOR.match(line):
        return f"the operator {operator[1]}.{operator[2]} is not loaded: import the package that brings it"
    if not {"RuntimeError", "AssertionError", "OSError"}.isdisjoint(failure.types) and NOT_HERE.search(failure.message):
        return with_advice(f"{failure.types[0]}: {line}", failure.message)
    return ""


def input_name(name: str) -> str:
    """What an argument of a request is called: query, key and value by their places, others by their names."""
    return ("query", "key", "value")[int(name)] if name.isdigit() and int(name) < 3 else name
