"""Power and false alarms of the laws of quantised keys and values: each refutes the fault it names, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import refuted
from judging_contracts import conforming, named_faults
from torch import Tensor

from attention_core.conformance.laws import quantised
from attention_core.conformance.laws.quantised import CONTRACT, null_models
from attention_core.conformance.subjects.quantised_subject import Operands
from attention_core.faults import quantised as faults
from attention_core.kernels.quantised import quantised_attention

SEEN_BY = {  # one law that must see it; the central one where none is named
    "given_scale_for_that_of_keys": "a_given_scale_leaves_those_of_numbers",
    "small_scales_raised": "every_scale_is_that_of_its_own_numbers",
    "one_maximum_for_a_group": "query_heads_share_heads_and_their_scales",
    "exponents_clamped_at_eighty": "all_numbers_of_the_format_are_read",
    "least_number_raised": "all_numbers_of_the_format_are_read",
    "features_beyond_64_unscaled": "many_keys_heads_and_features_are_read",
    "keys_beyond_128_with_the_first_scale": "many_keys_heads_and_features_are_read",
    "scales_of_the_first_call": "an_earlier_call_leaves_no_scale",
    "scales_read_in_order": "strides_of_numbers_and_scales_are_followed",
    "numbers_read_in_order": "strides_of_numbers_and_scales_are_followed",
    "scale_of_queries_ignored": "a_scale_of_queries_counts",
    "scale_of_the_query_head": "query_heads_share_heads_and_their_scales",
    "last_block_with_the_scale_before": "lengths_around_blocks_have_their_scales",
    "blocks_one_key_late": "lengths_around_blocks_have_their_scales",
    "key_heads_of_groups_of_four_in_turn": "query_heads_share_heads_and_their_scales",
}
WIDE: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}
SILENT = {"a_scale_of_queries_counts", "a_given_scale_leaves_those_of_numbers"}
"""Laws of parameters that a target may lack."""


def declared(fault: Callable[..., Any]) -> dict[str, Any]:
    """The record of a fault."""
    return {**WIDE, "parameters": faults.FAULTY[fault]}


@pytest.mark.parametrize("law", quantised.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: quantised.Law) -> None:
    fault = getattr(faults, law.fault)
    refuted(law.name, fault(), "quick", **declared(fault))


@pytest.mark.thorough(leave_out=named_faults(quantised.LAWS, faults.FAULTY))
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    law = SEEN_BY.get(fault.__name__, "quantised_attention_agrees_with_the_truth")
    refuted(law, fault(), "quick", **declared(fault))


@pytest.mark.parametrize("stored", ["int8", "float8_e4m3fn", "float8_e5m2"])
def test_our_kernel_conforms_with_scales_of_blocks(stored: str) -> None:
    results = conforming(
        quantised_attention, CONTRACT, accumulate="float32", arguments={"block": 16},
        parameters={"stored": stored, "scales": "block"},
    )  # fmt: skip
    assert {name for name, r in results.items() if r.status == "not_applicable"} == {"a_scale_of_queries_counts"}


@pytest.mark.parametrize("scales", ["tensor", "head", "sequence", "token"])
def test_our_kernel_conforms_with_scales_of(scales: str) -> None:
    conforming(quantised_attention, CONTRACT, accumulate="float32", parameters={"scales": scales})


@pytest.mark.parametrize("made", [faults.plain, faults.build_affine, faults.zero_folded])
def test_what_the_faults_are_made_of_conforms(made: Callable[..., Any]) -> None:
    results = conforming(made(), CONTRACT, accumulate="float32", parameters={"scales": "head"})
    assert {name for name, r in results.items() if r.status == "not_applicable"} <= SILENT


def test_a_kernel_that_dequantises_to_the_dtype_of_the_query_needs_no_declaration() -> None:
    def quantised(q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor) -> Tensor:
        keys, values = (x.to(q.dtype) * s.to(q.dtype) for x, s in ((k, k_scale), (v, v_scale)))
        return faults.attend(q, keys, values, False, q.shape[-1] ** -0.5)

    conforming(quantised, CONTRACT, dtypes=("float32", "bfloat16", "float16"))
    two_bytes = {"contract": CONTRACT, "dtypes": ("bfloat16",), "accumulate": "float32"}
    refuted("all_numbers_of_the_format_are_read", quantised, "quick", **two_bytes)


def test_the_call_of_flash_attention_3_is_known() -> None:
    """Queries stored in float8 with scales of (B, H_kv), tokens before heads, the output in bfloat16."""

    def flash_attn_func(
        q: Tensor, k: Tensor, v: Tensor, softmax_scale: float | None = None, causal: bool = False,
        q_descale: Any = None, k_descale: Any = None, v_descale: Any = None,
    ) -> Tensor:  # fmt: skip
        group = q.shape[2] // k.shape[2]
        query = faults.read(q.transpose(1, 2), q_descale.repeat_interleave(group, 1), torch.float32)
        keys, values = (faults.read(x.transpose(1, 2), s, torch.float32) for x, s in ((k, k_descale), (v, v_descale)))
        scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
        return faults.attend(query, keys, values, causal, scale).bfloat16().transpose(1, 2)

    record = {"dtypes": ("bfloat16",), "parameters": {"stored": "float8_e4m3fn"}}
    results = conforming(flash_attn_func, CONTRACT, accumulate="float32", **record)
    assert not [name for name, r in results.items() if r.status == "not_applicable"]


def test_the_call_of_flashinfer_is_known() -> None:
    """One query (H, d), keys (n, H_kv, d), numbers for scales, and a scale of queries that are not stored."""

    def single_decode_with_kv_cache(
        q: Tensor, k: Tensor, v: Tensor, kv_layout: str = "NHD", q_scale: Any = None, k_scale: Any = None,
        v_scale: Any = None, sm_scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        assert kv_layout == "NHD"
        factor = q.shape[-1] ** -0.5 if sm_scale is None else sm_scale
        for scale in (q_scale, k_scale):
            factor = factor if scale is None else factor * float(scale)
        keys, values = (x.float().transpose(0, 1)[None] for x in (k, v))
        out = faults.attend(q.float()[None, :, None], keys, values, False, factor)[0, :, 0]
        return (out * (1.0 if v_scale is None else v_scale)).to(q.dtype)

    record = {"dtypes": ("float32", "bfloat16"), "parameters": {"stored": "float8_e5m2"}}
    conforming(single_decode_with_kv_cache, CONTRACT, accumulate="float32", **record)


def test_a_function_without_a_scale_of_values_gets_them_as_they_are() -> None:
    def quantised(q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, causal: bool = False) -> Tensor:
        assert k.dtype == torch.int8 and v.dtype == q.dtype
        return faults.build()(q, k, v, k_scale, torch.tensor(1.0), causal)

    conforming(quantised, CONTRACT, accumulate="float32")


@pytest.mark.parametrize(
    ("scales", "shape", "seen"), [("head", (2,), False), ("token", (1, 2, 3), True), ("block", (1, 2, 1), False)]
)
def test_a_zero_point_that_all_keys_share_is_not_expected_to_show(
    scales: str, shape: tuple[int, ...], seen: bool
) -> None:
    """It adds one number to all scores of a row."""
    numbers, own = np.zeros((1, 2, 3, 4)), np.ones(shape)
    operands = Operands({"key": numbers, "value": numbers}, {}, *({"key": own, "value": own} for _ in range(2)), scales)
    names = [name for name, _ in null_models(operands)]
    assert ("zero point of keys ignored" in names) is seen and "zero point of values ignored" in names
