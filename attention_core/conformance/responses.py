"""What a call gave, sorted: a result, an allowed refusal, or something that no correct implementation does.

Knows the outer form of responses alone; what a result should be is the business of subjects and laws.
"""

from __future__ import annotations

from dataclasses import replace

from attention_core.conformance.evidence import Evidence, Refused, Shown, Violation
from attention_core.conformance.exchange import Request, Response

REFUSALS = ("ValueError", "TypeError", "NotImplementedError", "AssertionError")
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


def event(message: str) -> str:
    """Which of `EVENTS` a lost call is, from what was told of it."""
    if "no answer within" in message:
        return "flood" if "printed" in message else "hang"
    return "exit" if "sys.exit" in message or "ended with status" in message else "crash"


def check_response(response: Response, request: Request) -> Response:
    """Sort out what is not a result: refusals become `Refused`, everything else that is wrong a `Violation`."""
    crash = Evidence((Shown(request),), kind="crash")
    if response.status in ("died", "hung"):
        lost = replace(crash, event=event(response.message))
        raise Violation(f"the call did not return: {response.message}", lost)
    if response.status == "raised":
        failure = response.failure
        assert failure is not None
        text = f"{failure.types[0]}: {failure.message.splitlines()[0] if failure.message else ''}"
        if "WrongReturn" in failure.types:
            raise Violation(f"wrong result: {failure.message}", Evidence((Shown(request),), kind="shape"))
        if is_refusal(failure.types, failure.message):
            raise Refused(text)
        raise Violation(f"a valid call raised {text}", crash)
    if response.mutated:
        names = ", ".join(_input_name(n) for n in response.mutated)
        raise Violation(
            f"the call changed its input {names}, but should leave inputs as they are",
            Evidence((Shown(request),), kind="mutated"),
        )
    return response


def declared_returns(returns: str, got: int) -> str:
    """What to say when a call gives another number of results than declared."""
    told = f"the call returns {got} value{'' if got == 1 else 's'}, but is declared to return {returns!r}"
    if got == 1:
        return f"{told}: declare --returns out (in Python returns='out')"
    if got == 2:
        return f"{told}: declare --returns out,weights or --returns out,lse (in Python returns='out,weights')"
    return f"{told}: let it return the output alone, (output, weights) or (output, lse)"


def is_refusal(types: tuple[str, ...], message: str) -> bool:
    """Whether an exception is an allowed way to decline a case (design: refusal is allowed, silence is not)."""
    if any(t in types for t in REFUSALS):
        return True
    if "RecursionError" in types:  # a RuntimeError by descent, but nobody raises it to decline
        return False
    internal = ("INTERNAL ASSERT", "device-side assert", "CUDA error", "out of memory", "can't allocate memory")
    return "RuntimeError" in types and not any(word in message for word in internal)


def _input_name(name: str) -> str:
    return ("query", "key", "value")[int(name)] if name.isdigit() and int(name) < 3 else name
