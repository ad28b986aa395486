"""Laws of the gradients of multi-head modules: those of every input and of every parameter, against the truth.

Inputs, weights and cotangents are whole numbers over powers of two, so that the projections round nothing before the
attention, and the cotangent of the heads is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.linear_backward import Judged
from attention_core.conformance.laws.chance import DROPOUT, SEEDS
from attention_core.conformance.laws.gradients import NOT_DECLARED, differentiable
from attention_core.conformance.laws.multi_head import CONTRACT, CROSSED, MASKED, MODELS
from attention_core.conformance.modules.filled_module import Filled, ways
from attention_core.conformance.modules.gradients import (
    Call,
    input_gradients,
    module_gradients,
    parameter_gradients,
)
from attention_core.conformance.modules.look import MultiHead
from attention_core.conformance.subjects.evidence import NotApplicable, Result, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, as_in_models
from attention_core.conformance.worker.exchange import PARAMETER, NDArray


def gradients_of_parameters_are_true(subject: MultiHead, case: ParameterCase) -> None:
    """The gradient of every weight and bias agrees with the float64 closed form, plain, masked or causal.

    Parameters that are frozen are left out. A module that is random in training (its own dropout is on) is judged in
    evaluation mode; one that drops half of its weights is taken for one without dropout with a probability below 2^-24.

    Formula: dW = C^T x and db = sum_i C_i for each projection y = x W^T + b, C its cotangent
    Source: derivations/projected_heads.md (d-weight)
    Fault: weight_gradient_of_one_text
    """
    found, call = _draw_call(subject, case, "")
    want = parameter_gradients(subject, case, found, call)
    wanted = {
        f"{PARAMETER}{place}": (f"gradient of the parameter {name}", want[name]) for place, name in enumerate(want)
    }
    if not _judge(subject, case, found, call, wanted):
        raise NotApplicable("every parameter of the module is frozen")


def gradients_of_inputs_are_true(subject: MultiHead, case: ParameterCase) -> None:
    """The gradient of the input, and that of a context, is what all projections that read it pass to it.

    Formula: dx = sum_p C_p W_p over the projections p that read x, C_p their cotangents
    Source: derivations/projected_heads.md (d-input)
    Fault: input_gradient_without_keys
    """
    found, call = _draw_call(subject, case, "context")
    want = input_gradients(subject, case, found, call)
    which = "gradient of the input" if len(want) == 1 else "gradient of input {}"
    _judge(subject, case, found, call, {name: (which.format(name), true) for name, true in want.items()})


def _draw_call(subject: MultiHead, case: ParameterCase, purpose: str) -> tuple[Filled, Call]:
    """A module and one of its ways to be called, drawn; with a context half of the time, if one is wished and taken."""
    found, x = subject.recognise(case), subject.input(case)
    rng = case.rng("way")
    cotangent = _draw_cotangent(case)
    if purpose and subject.form.crosses and not subject.always_causal and rng.random() < 0.5:
        context = subject.input(case, purpose, case["m"])
        apart = {"key", "value"} <= subject.form.inputs.keys()
        values = subject.input(case, "value", case["m"]) if apart else None
        return found, Call(x, cotangent, context=context, values=values)
    options = ways(subject, case)
    flags, mask, causal = options[int(rng.integers(len(options)))]
    return found, Call(x, cotangent, mask, causal, flags=flags)


def _draw_cotangent(case: ParameterCase) -> NDArray:
    """A cotangent (B, n, E) of whole numbers of 11 bits at most: more than bfloat16 holds, and exact after W.

    A sum of E products with weights of at most 2 units is below 2^24 units, which float32 holds.
    """
    width = case["H"] * case["d"]
    largest = 2 ** min(11, 22 - (width - 1).bit_length()) - 1
    drawn = case.values("cotangent", case["B"], case["n"], width)
    return np.clip(np.rint(drawn if case.plain else 512 * drawn), -largest, largest)


def _judge(
    subject: MultiHead, case: ParameterCase, found: Filled, call: Call, wanted: Mapping[str, tuple[str, Judged]]
) -> int:  # fmt: skip
    """Compare gradients with the truth in training mode, or in evaluation mode where training is random; how many."""
    for mode in ("train", "eval"):
        got = module_gradients(subject, case, found, call, tuple(wanted), mode)
        try:
            for name, result in got.items():
                what, true = wanted[name]
                require_close(result, true.want, true.bound, what)
        except Violation:
            if mode == "eval" or not _is_random(subject, case, found, call, got):
                raise
        else:
            return len(got)
    return 0


def _is_random(
    subject: MultiHead, case: ParameterCase, found: Filled, call: Call, seen: Mapping[str, Result]
) -> bool:  # fmt: skip
    """Whether the same training call has other gradients for another seed: tried until it has, 24 times at most."""
    again = (module_gradients(subject, case, found, call, tuple(seen), "train", seed=seed) for seed in range(SEEDS))
    if all(np.array_equal(one[name].values, seen[name].values) for one in again for name in seen):
        return False
    subject.unjudged = DROPOUT
    return True


ROW: dict[str, Any] = {
    "contract": CONTRACT, "family": "module_gradients", "large": 16, "small": 0, "declares": differentiable,
    "because": NOT_DECLARED, "compares": True,
}  # fmt: skip
WITH_MASKS = replace(MASKED, adjust=as_in_models(MODELS, MASKED.adjust))
LAWS = (
    Law(gradients_of_parameters_are_true, space=WITH_MASKS, **ROW),
    Law(gradients_of_inputs_are_true, space=replace(CROSSED, ranges={**CROSSED.ranges, "n": (2, 6)}), **ROW),
)
