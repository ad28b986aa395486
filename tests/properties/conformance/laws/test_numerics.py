"""The laws of floating point on faults, on correct references and on this package's kernels.

Each law of floating point refutes a fault that breaks it, and lets correct implementations pass.
The faults stand in attention_core/faults/numerics.py, one per function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from judging import held, judged, refuted

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws import numerics
from attention_core.conformance.laws.numerics import LARGE, beyond_half, enlarging
from attention_core.faults import numerics as faults
from attention_core.faults.bases.reference import build, correct
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

LAWS = numerics.LAWS
WIDE = {"accumulate": "float32"}
BEYOND = "products_beyond_float16_are_numbers"

REFUTED: list[tuple[str, str, dict[str, Any]]] = [
    ("stays_finite", "no_max_subtraction", {}),
    ("stays_finite", "logits_clipped", {}),
    ("stays_finite", "maximum_of_the_whole_tensor", {}),
    ("stays_finite", "epsilon_in_the_normaliser", {}),
    ("products_beyond_float16_are_numbers", "product_overflows_in_float16", WIDE),
    ("long_sums_keep_their_precision", "sums_in_low_precision", {}),
    ("long_sums_keep_their_precision", "output_summed_in_low_precision", {}),
    ("low_precision_rounds_as_declared", "scores_rounded_to_input", WIDE),
    ("a_common_offset_cancels", "logits_clipped", {}),
    ("a_common_offset_cancels", "no_max_subtraction", {}),
    ("a_bias_constant_in_a_row_cancels", "bias_as_factor", {}),
    ("a_bias_constant_in_a_row_cancels", "logits_clipped", {}),
    ("zeros_and_subnormals_are_numbers", "rows_normalised", {}),
    ("zeros_and_subnormals_are_numbers", "values_divided_by_norm", {}),
    ("zeros_and_subnormals_are_numbers", "small_values_flushed", {"dtypes": ("float16",)}),
    ("garbage_is_not_turned_into_a_number", "nan_to_num", {}),
    ("garbage_is_not_turned_into_a_number", "nan_scores_masked", {}),
    ("garbage_is_not_turned_into_a_number", "values_cleaned", {}),
    ("agrees_with_truth", "float32_inside_float64", {}),
    ("agrees_with_truth", "scores_rounded_to_input", WIDE),
]  # fmt: skip


@pytest.mark.parametrize(("law", "fault", "record"), REFUTED)
def test_law_refutes_the_fault(law: str, fault: str, record: dict[str, Any]) -> None:
    refuted(law, faults.FAULTS[fault](), **record)


def test_every_law_and_every_fault_is_used() -> None:
    assert {(law.name, law.fault) for law in LAWS} <= {(law, fault) for law, fault, _ in REFUTED}
    assert {fault for _, fault, _ in REFUTED} == faults.FAULTS.keys()


@pytest.mark.parametrize("law", [law.name for law in LAWS])
@pytest.mark.parametrize("function", [correct, dot_product_attention, tiled_attention])
def test_law_holds_for_correct_implementations(law: str, function: Any) -> None:
    held(law, function, **WIDE)


@pytest.mark.parametrize("law", [law.name for law in LAWS if law.name != BEYOND])
def test_law_holds_for_arithmetic_in_the_input_dtype(law: str) -> None:
    held(law, build(wide=False))


def test_products_that_the_declared_dtype_does_not_hold_are_not_asked_for() -> None:
    assert judged(BEYOND, build(wide=False)).status == "not_applicable"
    assert judged(BEYOND, build(wide=False), **WIDE).status == "refuted"


# torch's fused kernel for processors gives zeros where all scores of a short row are NaN (torch 2.13):
# the law of garbage refutes it, rightly, whenever such a row is drawn.
@pytest.mark.parametrize("law", [law.name for law in LAWS if law.name != "garbage_is_not_turned_into_a_number"])
def test_law_holds_for_fused_attention(law: str) -> None:
    held(law, torch_attention, **(WIDE if law == BEYOND else {}))


def torch_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> torch.Tensor:  # fmt: skip
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def test_laws_of_low_precision_do_not_apply_without_it() -> None:
    result = judged("long_sums_keep_their_precision", correct, dtypes=("float32", "float64"))
    assert result.status == "not_applicable"


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_enlarged_products_are_large_and_representable(dtype: str) -> None:
    rng = np.random.default_rng(0)
    # Whole numbers times powers of two: every product and every sum here is exact.
    size = np.exp2([[[[0.0]]], [[[5.0]]], [[[-6.0]]], [[[-40.0]]]])
    query = size * rng.integers(1, 4, (4, 1, 4, 4))
    case = Case(dtype, query, rng.integers(-3, 4, (4, 1, 5, 4)) + 0.0, np.ones((4, 1, 5, 1)))
    factor = enlarging(case)
    assert np.array_equal(np.exp2(np.rint(np.log2(factor))), factor)
    assert np.array_equal(round_to(query * factor, dtype), query * factor)
    largest = 0.5 * (query * factor @ np.abs(case.key).swapaxes(-1, -2)).max(axis=(-2, -1))
    assert (largest <= LARGE).all()
    assert (largest > LARGE / 2).all()


@pytest.mark.parametrize("scale", [None, 2.0**-6, 4.0])
def test_products_beyond_float16_are_made_of_numbers_that_it_holds(scale: float | None) -> None:
    rng = np.random.default_rng(0)
    size = np.exp2([[[[0.0]]], [[[7.0]]], [[[-6.0]]], [[[-14.0]]]])
    query, key = size * rng.integers(1, 4, (4, 2, 4, 4)), rng.integers(-3, 4, (4, 1, 5, 4)) / size
    case = Case("float16", round_to(query, "float16"), round_to(key, "float16"), np.ones((4, 1, 5, 1)), scale=scale)
    big, beyond = beyond_half(case)
    for x in (big.query, big.key, big.query * max(1.0, scale or 0.5)):
        assert np.abs(x).max() < 65504 and np.array_equal(round_to(x, "float16"), x)
    products = np.abs(big.query @ big.key.swapaxes(-1, -2))
    assert np.array_equal((products > 65504).any(-1), beyond) and beyond.any(-1).all()
    assert products.max() <= 2**17
    zeros = np.zeros((1, 1, 2, 2))
    assert not beyond_half(Case("float16", zeros, zeros + 1.0, zeros))[1].any()
    assert not beyond_half(Case("float16", zeros + 1.0, zeros, zeros))[1].any()


def test_zero_queries_are_not_enlarged() -> None:
    zeros, one = np.zeros((1, 1, 2, 2)), np.ones((1, 1, 1, 1))
    assert np.array_equal(enlarging(Case("float32", zeros, zeros, zeros)), one)
    assert np.array_equal(enlarging(Case("float32", zeros + 1.0, zeros, zeros)), one)  # nor is what meets zero keys


def test_enlarged_queries_can_be_scaled_first() -> None:
    query, key = np.ones((1, 1, 2, 2)), np.full((1, 1, 2, 2), 2.0**-149)
    case = Case("float32", query, key, key, scale=4.0)
    assert np.isfinite(round_to(4.0 * query * enlarging(case), "float32")).all()


def test_enlarging_never_overflows_the_suite_itself() -> None:
    """Just below a power of two log2 rounds up: the largest number over 2, times 2 once more, is none."""
    query, key = np.full((1, 1, 1, 1), 2.0), np.full((1, 1, 1, 1), 1.5 * 2.0**-1012)
    case = Case("float64", query, key, key)
    assert np.isfinite(query * enlarging(case)).all()  # a RuntimeWarning, an error here, before it was halved
