"""Laws of the path of a multi-head module that returns weights: which weights, and the same output as without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.laws.multi_head import ROW, TOKENS
from attention_core.conformance.modules.filled_module import Filled, ways
from attention_core.conformance.modules.look import MultiHead
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close, require_same
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation


def the_weights_path_equals_the_fast_path(subject: MultiHead, case: ParameterCase) -> None:
    """Asking for the weights changes no output, causal, masked or neither.

    Formula: f(x, need_weights=True)[0] = f(x)
    Source: pytorch/pytorch#99282 (causality lost on the weights path), keras-team/keras#23038
    Fault: causal_lost_on_the_weights_path
    """
    asked_by = weights_flag(subject)
    found, x = subject.prepare(case), subject.input(case)
    for flags, allowed, causal in ways(subject, case):
        plain = subject.module(case, found, x, **flags)
        with_weights = subject.module(case, found, x, **{**flags, asked_by: True})
        bound = subject.rounding(case, found, x, mask=allowed, causal=causal)
        require_same(with_weights, plain, bound, "output with weights asked for")


def returned_weights_are_those_of_the_heads(subject: MultiHead, case: ParameterCase) -> None:
    """Returned weights are those of every head, or their mean over the heads, causal, masked or neither.

    Formula: f(x, need_weights=True)[1] = p with p_h = softmax(q_h k_h^T / sqrt(E/H)), or (1/H) sum_h p_h
    Source: derivations/error_budget.md (output), with unit vectors as values; torch's average_attn_weights
    Fault: returned_weights_scaled_by_model_size
    """
    found, x = subject.recognise(case), subject.input(case)
    assert found.parts is not None
    for flags, allowed, causal in ways(subject, case):
        got = weights_asked_for(subject, case, found, x, flags)
        p, bound = subject.inside(case, found.parts, x, allowed, causal, unit=True)
        live: NDArray = np.any(p > 0, axis=-1, keepdims=True)  # rows that attend to something
        if got.values.ndim == 3:  # the mean of H numbers, after H roundings
            (p, bound), live = subject.average_heads(p, bound), np.all(live, axis=1)
        require_close(got, p, bound, "returned weights", where=live)


def weights_asked_for(
    subject: MultiHead, case: ParameterCase, found: Filled, x: NDArray, flags: dict[str, Any]
) -> Result:  # fmt: skip
    """What comes back beside the output, (B, H, n, n) or (B, n, n).

    Raises: NotApplicable where nothing does, or something of another form.
    """
    asked_by = weights_flag(subject)
    output = subject.module(case, found, x, **{**flags, asked_by: True})
    others = output.extra["response"].outputs[1:]
    if len(others) != 1:
        raise NotApplicable(f"{len(others)} results come back beside the output where {asked_by} asks for weights")
    value, n = others[0], case["n"]
    if value.shape not in ((case["B"], case["H"], n, n), (case["B"], n, n)):
        raise NotApplicable(f"what {asked_by} brings has the shape {value.shape}, which is not known as one of weights")
    return Result(value.values.astype(np.float64), output.request, "out1")


def dead_rows_are_the_same_on_both_paths(subject: MultiHead, case: ParameterCase) -> None:
    """A token that may attend to nothing gives NaN with and without the weights asked for, or numbers with both.

    Formula: m_ij = 0 for all j implies isnan f(x, need_weights=True)[0]_i = isnan f(x)_i
    Source: pytorch/pytorch#160064, #152028 (one path gives zeros, the other NaN)
    Fault: dead_rows_on_the_weights_path
    """
    asked_by = str(subject.parameters["weights_flag"])
    found, x = subject.prepare(case), subject.input(case)
    mask = subject.mask(case, "shared")
    pairs = np.ones((case["n"], case["n"]), dtype=bool)
    pairs[int(case.rng("dead").integers(case["n"]))] = False
    if mask.shape != "shared":
        raise NotApplicable("the module takes no mask (n, n)")
    mask = replace(mask, pairs=pairs)
    plain = subject.module(case, found, x, mask=mask)
    flags: dict[str, Any] = {"mask": mask, asked_by: True}
    with_weights = subject.module(case, found, x, **flags)
    require_same(
        is_nan(with_weights), is_nan(plain), 0.0, "whether the output of a dead row is NaN, with weights asked for"
    )


def is_nan(result: Result) -> Result:
    """1.0 where a result is NaN, else 0.0."""
    flags = Result(np.isnan(result.values).astype(float), result.request)

    def format_nan_test(*index: int) -> str:
        element = f"{{out}}[{', '.join(map(str, index))}]"
        return f"float({element} != {element})"

    flags.expression = format_nan_test
    return flags


def weights_flag(subject: MultiHead) -> str:
    """The flag that asks for the weights: the declared one, or the one that the first look found.

    Raises: NotApplicable where there is none.
    """
    flag = str(subject.parameters.get("weights_flag", subject.form.weights))
    if not flag:
        raise NotApplicable(f"{NO_FLAG}, and no flag was found to give the weights of a plain call")
    return flag


NO_FLAG = "the flag that asks for weights is not declared (--parameter weights_flag=need_weights)"


def has_weights_flag(implementation: Implementation) -> bool:
    """Whether the flag that asks for weights is named."""
    return "weights_flag" in implementation.parameters


LAWS = (
    Law(the_weights_path_equals_the_fast_path, space=TOKENS, **ROW),
    Law(returned_weights_are_those_of_the_heads, space=TOKENS, **ROW),
    Law(
        dead_rows_are_the_same_on_both_paths, space=TOKENS, **ROW, declares=has_weights_flag, because=NO_FLAG,
    ),
)  # fmt: skip
