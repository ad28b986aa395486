"""Whether a target takes fewer key heads than query heads: found by one call, where no parameter says so.

Grouped heads need no flag: Llama-style code repeats the key heads whatever their number. A target that accepts such a
call is judged by the laws of grouped heads like one with a parameter `enable_gqa`; what it returns is judged there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.binding import Binding
from attention_core.conformance.worker.runner import Runner

HEADS, KV_HEADS = 4, 2
LENGTHS = ((3, 5), (1, 5), (5, 5), (8, 8), (16, 16), (64, 64), (128, 128))
"""Lengths of queries and keys. Odd ones first: code that only reshapes its keys cannot cut these into more heads."""
WIDTHS = (8, 16, 32, 64, 128)


def with_grouped_heads(binding: Binding, runner: Runner) -> Binding:
    """The binding, which claims grouped heads if a call with them is accepted and nothing else was declared.

    A refusal, or a result of another shape, is a target that does not take them; the binding says which.
    """
    declared = binding.implementation.claims is not None
    if declared or "enable_gqa" in binding.claims or "enable_gqa" in binding.names:
        return binding
    if binding.implementation.qkv_axis is not None:
        return replace(binding, ungrouped="not applicable: one array holds as many key heads as query heads")
    if binding.implementation.axes < 4:
        return replace(binding, ungrouped="not tested: the target has no axis of heads")
    case = smallest_case(binding)
    if case is None:
        return replace(binding, ungrouped="not tested: no such sizes are declared")
    # A copy answers: a module's first evaluation may spoil what only the laws of training and evaluation see.
    response = runner.run(binding.request(case, apart=True))
    if response.status != "ok":
        return replace(binding, ungrouped="not tested: no such parameter, and fewer key heads are declined")
    batch, heads, n_q, _ = case.query.shape
    wanted = binding.out_axes.to_target(np.empty((batch, heads, n_q, case.value.shape[-1]))).shape
    if not response.outputs or response.outputs[0].shape != wanted:
        return replace(binding, ungrouped="not tested: no such parameter, and fewer key heads give another shape")
    return replace(binding, claims=binding.claims | {"enable_gqa"})


def smallest_case(binding: Binding) -> Case | None:
    """A plain problem of 4 query heads and 2 key heads at declared sizes, the least that is tried; None without any."""
    profile, rng = binding.profile(), np.random.default_rng(0)
    for d in WIDTHS:
        for n_q, n_kv in LENGTHS:
            if profile.allows((n_q, n_kv, d, d, HEADS, KV_HEADS)):
                shapes = ((2, HEADS, n_q, d), (2, KV_HEADS, n_kv, d), (2, KV_HEADS, n_kv, d))
                query, key, value = (np.rint(rng.standard_normal(shape)) for shape in shapes)
                causal = binding.implementation.always_causal
                return Case(binding.implementation.dtypes[0], query, key, value, is_causal=causal)
    return None
