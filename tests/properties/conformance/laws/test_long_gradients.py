"""The law of gradients that are long sums: no false alarm, and running sums in two bytes are refuted, each of them.

The numbers that it plants have the signs it says, so that a sum in the format loses half of itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF, round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws import long_gradients
from attention_core.conformance.laws.long_gradients import PARTS, many_keys, many_rows
from attention_core.faults import gradients as faults
from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.reference import build, correct
from attention_core.oracle import attention as truth
from attention_core.oracle import gradients as true_gradients

LAW = "gradients_of_long_sums_keep_their_precision"
WIDE: dict[str, Any] = {"accumulate": "float32"}


def torch_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """torch's function with a signature that can be read."""
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@pytest.mark.parametrize("masks", [False, True])
def test_correct_functions_hold(masks: bool) -> None:
    for seed in range(3):
        held(LAW, correct, seed=seed, mask_gradient=masks, **WIDE)
        held(LAW, build_backward(), seed=seed, mask_gradient=masks, **WIDE)
        held(LAW, build(wide=False), seed=seed, mask_gradient=masks)
        held(LAW, torch_attention, seed=seed, mask_gradient=masks)


def by_hand(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Softmax as it is written by hand: the largest score is subtracted, and differentiated as well."""
    scores = query @ key.mT * query.shape[-1] ** -0.5
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights / weights.sum(-1, keepdim=True)) @ value


def test_a_gradient_may_run_through_the_largest_score() -> None:
    for seed in range(6):
        held(LAW, by_hand, seed=seed, dtypes=("bfloat16",))


def test_a_weight_over_the_normaliser_may_underflow_in_float16() -> None:
    """Of 4096 equal weights that is the smallest number of the format, and D loses its digits."""
    for seed in (12, 35, 38):
        held(LAW, by_hand, seed=seed, dtypes=("float16",))


@pytest.mark.parametrize("name", ["value", "key", "query", "mask"])
def test_sums_in_the_dtype_of_the_input_are_refuted(name: str) -> None:
    fault = getattr(faults, f"{name}_gradient_added_in_its_dtype")
    refuted(LAW, fault(), mask_gradient=name == "mask", **WIDE)


def test_the_law_names_a_fault_that_it_refutes() -> None:
    assert [law.fault for law in long_gradients.LAWS] == ["value_gradient_added_in_its_dtype"]


def test_it_does_not_apply_without_two_bytes() -> None:
    assert judged(LAW, correct, dtypes=("float32",)).status == "not_applicable"


def running_sum(parts: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    total = np.zeros(parts.shape[1:])
    for part in round_to(parts, dtype):
        total = round_to(total + part, dtype)
    return total


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_running_sums_lose_more_than_the_budget_gives(dtype: str) -> None:
    """More than 32 units of roundoff of the sum: each part is allowed a few of its own."""
    rng = np.random.default_rng(0)
    case = Case(dtype, *(np.zeros((1, 1, 2, 8)) for _ in range(3)))
    long, down = many_rows(case, (1, 1, 1), PARTS[dtype], rng)
    exact = truth(long.query, long.key, long.value)
    parts = exact.weights[0, 0, :, :, None] * down[0, 0, :, None, :]
    assert (parts > 0).all()
    assert (running_sum(parts, dtype) < (1 - 32 * UNIT_ROUNDOFF[dtype]) * parts.sum(0)).all()
    keys, down = many_keys(case, PARTS[dtype], rng)
    found = true_gradients(keys.query, keys.key, keys.value, down, truth=truth(keys.query, keys.key, keys.value))
    assert abs(found.query[..., 0]) > 0.5 * np.abs(down).sum() / np.sqrt(8)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_sum_is_shown_in_a_few_lines(seed: int) -> None:
    fault = faults.value_gradient_added_in_its_dtype()
    found = judged(LAW, fault, seed=seed, shrink=True, accumulate="float32").counterexample
    assert found is not None and len(found.snippet) < 4000 and "zlib" not in found.snippet
