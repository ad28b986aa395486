"""Power and false alarms of the laws of the log-sum-exp, and the laws that the contract borrows.

Laws of attention-lse: each refutes the faults it names, and none accuses a correct kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from judging import held, refuted

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.laws import laws_of, lse
from attention_core.faults import lse as faults
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

CONTRACT = lse.CONTRACT
CLAIMS = ("attn_mask", "is_causal", "scale", "enable_gqa")
CAUGHT = {
    "lse_agrees_with_truth": (
        "base_two", "without_the_maximum", "maximum_alone", "mean_for_sum", "lse_of_masked_keys",
        "lse_without_bias", "counts_padding", "lse_in_half_precision",
    ),
    "lse_of_equal_scores_counts_the_keys": ("counts_padding", "base_two", "maximum_alone", "mean_for_sum"),
    "a_bias_shifts_the_lse": ("lse_without_bias", "base_two", "without_the_maximum"),
    "dead_rows_have_no_mass": (
        "dead_rows_have_lse_zero", "dead_rows_have_lse_plus_inf", "dead_rows_have_a_very_low_lse",
    ),
    "few_queries_have_their_lse": ("lse_of_split_keys_in_two_bases", "base_two", "lse_in_half_precision"),
    "merged_parts_are_the_whole": (
        "base_two", "mean_for_sum", "without_the_maximum", "counts_padding", "output_not_normalised",
        "lse_in_half_precision",
    ),
    "lse_gradient_is_true": ("lse_gradient_ignored", "lse_gradient_without_the_softmax"),
    "agrees_with_truth": ("output_not_normalised",),
    "masked_keys_stay_masked_at_low_logits": ("masked_keys_count_far_below",),
}  # fmt: skip
dot_product = functools.partial(dot_product_attention, return_lse=True)
tiled = functools.partial(tiled_attention, return_lse=True, block_size=16)
KERNELS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (faults.build_lse(), {}), (dot_product, {"claims": CLAIMS}), (tiled, {"claims": CLAIMS}),
]  # fmt: skip


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(("law", "fault"), [(law, name) for law, names in CAUGHT.items() for name in names])
def test_refutes(law: str, fault: str) -> None:
    refuted(law, getattr(faults, fault)(), contract=CONTRACT)


@pytest.mark.parametrize("law", [law.name for law in lse.LAWS])
@pytest.mark.parametrize(("function", "record"), KERNELS, ids=["correct", "dot_product", "tiled"])
def test_holds_for_correct(law: str, function: Callable[..., Any], record: dict[str, Any]) -> None:
    held(law, function, contract=CONTRACT, **record)


def test_the_contract_borrows_laws_of_the_output() -> None:
    names = {law.name for law in laws_of(CONTRACT)}
    assert {"agrees_with_truth", "merged_parts_are_the_whole", "permuting_keys_changes_nothing"} <= names
    assert {law.family for law in laws_of(CONTRACT)} == {"lse", "process_state", *lse.BORROWED}
    assert len(names) == len(laws_of(CONTRACT))


@pytest.mark.thorough
@pytest.mark.usefixtures("fewest_cases")
def test_a_function_without_lse_is_an_error_that_says_so() -> None:
    found = check_implementation(
        Implementation(dot_product_attention, contract=CONTRACT), "quick", laws=["lse_agrees_with_truth"]
    )
    assert found.verdict == "error"
    assert "the call returns 1 value" in found.reason()


def test_every_law_has_its_fault() -> None:
    for law in lse.LAWS:
        assert law.fault in CAUGHT[law.name], law.name
