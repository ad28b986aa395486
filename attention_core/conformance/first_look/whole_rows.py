"""The first look at functions that cut projected tokens into heads themselves: the contract `self-attention`.

A target of the contract `attention` that names a number of heads is looked at in this way too: with one head both
contracts say the same, and only this one asks for several.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_core.conformance.first_look.findings import FirstLook, option_text
from attention_core.conformance.laws.gradients import differentiable
from attention_core.conformance.laws.seed_attention import CONTRACT, HEADS, INPUTS, SelfAttention
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation, excess
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

PROBES = tuple(ParameterCase({"B": 2, "n": 5, "H": heads, "d": 3}, seed=5) for heads in (2, 1))
"""Several heads first; with one head alone, what is wrong with several is left to the laws."""
SHAPES = {4: "(B, n, E)", 2: "(n, E)"}


def look_at_self_attention(
    runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int
) -> FirstLook:
    """How a function of the contract `self-attention` takes its tokens: (B, n, E), or (n, E).

    Raises: TargetError.
    """
    calls = 0
    for axes in dict.fromkeys((implementation.axes, 4, 2)):
        record = implementation.with_(axes=axes)
        subject = SelfAttention(runner, record, description, seed)
        right = agrees(subject, PROBES[:1])
        calls += subject.calls
        if right:
            found: dict[str, Any] = {} if axes == implementation.axes else {"axes": axes}
            found |= {"gradients": False} if is_forward_only(subject) else {}
            options = " ".join(option_text(name, value) for name, value in found.items())
            under = f"under {options}, not as it is declared" if found else "as it is declared"
            lines = (f"takes Q, K, V {SHAPES[axes]} of projected tokens", f"agrees with self-attention {under}")
            return FirstLook(lines, found, agrees=True, calls=calls)
    return FirstLook(("agrees with self-attention neither on (B, n, E) nor on (n, E)",), calls=calls)


def is_forward_only(subject: SelfAttention) -> bool:
    """Whether a call is answered, but its output carries no gradient though gradients are declared."""
    if not differentiable(subject.implementation):
        return False
    case = subject.adapt_case(PROBES[0])
    inputs = subject.inputs(case)
    down = array(np.ones_like(inputs[0][0] if subject.alone else inputs[0]), case.dtype)
    answer = subject.runner.run(subject.make_request(case, inputs, subject.has_flag, wrt_=INPUTS, cotangent_=down))
    return answer.status == "ok" and not answer.has_graph


def look_for_heads(
    runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int
) -> FirstLook | None:
    """What a target of the contract `attention` is that names a number of heads; None for any other.

    Raises: TargetError.
    """
    names = {p["name"] for p in description.get("parameters") or ()}
    if implementation.contract != "attention" or not names & {*HEADS}:
        return None
    for axes in (4, 2):
        changes: dict[str, Any] = {"contract": CONTRACT, **({"axes": axes} if axes != 4 else {})}
        record = Implementation(implementation.function, implementation.name, **changes)
        subject = SelfAttention(runner, record, description, seed)
        if agrees(subject, PROBES):
            options = " ".join(option_text(name, value) for name, value in changes.items())
            lines = (
                f"takes Q, K, V {SHAPES[axes]} of projected tokens, and cuts them into heads itself",
                f"to be judged with several heads under {options}",
            )
            return FirstLook(lines, changes, agrees=True, calls=subject.calls)
    return None


def agrees(subject: SelfAttention, cases: tuple[ParameterCase, ...]) -> bool:
    """Whether some case agrees with the truth, with or without causality."""
    for case in cases:
        case = subject.adapt_case(case)
        for causal in (False, True):
            inputs = subject.inputs(case)
            try:
                got = subject.attend(case, inputs, causal).values
            except (NotApplicable, Refused, TargetError, Violation):
                continue
            want, bound = subject.truth(case, inputs, causal)
            if got.shape == want.shape and excess(got, want, bound).max(initial=0.0) <= 1:
                return True
    return False
