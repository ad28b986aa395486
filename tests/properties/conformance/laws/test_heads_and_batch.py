"""Power and false alarms of the laws of heads and batch, and of their order.

Laws of heads and batch: each refutes the faults it names, and none accuses a correct kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, refuted

from attention_core.conformance.laws import heads_and_batch as slices
from attention_core.conformance.laws import permutations
from attention_core.declaration.implementation import CLAIMS
from attention_core.faults import heads_and_batch as faults
from attention_core.faults.bases.reference import correct
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

LAWS = [law.name for law in (*slices.LAWS, *permutations.LAWS)]
CAUGHT = {
    "a_slice_alone_equals_itself_in_the_batch": (
        "first_mask_for_the_whole_batch", "values_of_the_first_batch_element", "slices_beyond_a_grid",
        "batch_and_heads_mixed", "sequence_first_by_view", "softmax_over_heads", "merged_without_permute",
        "split_by_view", "first_key_head_for_all",
    ),
    "a_slice_alone_has_the_gradients_of_its_batch": ("gradient_of_the_first_batch_element",),
    "coinciding_sizes_are_not_confused": (
        "batch_mask_on_heads", "head_mask_on_batch", "matrix_mask_as_padding", "key_turned_by_its_size",
        "softmax_over_queries", "query_mask_turned",
    ),
    "permuting_the_batch_permutes_the_output": (
        "values_of_the_first_batch_element", "sequence_first_by_view",
    ),
    "permuting_heads_permutes_the_output": (
        "merged_without_permute", "split_by_view", "scores_grow_with_the_head", "first_key_head_for_all",
    ),
    "permuting_queries_permutes_the_output": (
        "scores_grow_with_the_row", "merged_without_permute",
    ),
    "permuting_keys_changes_nothing": ("scores_fall_with_the_key", "split_by_view"),
    "permuting_keys_permutes_their_gradients": ("gradient_of_the_first_key_block",),
    "grouped_query_equals_repeated_keys": (
        "tiled_keys", "repeated_along_the_sequence", "first_key_head_for_all", "keys_repeated_values_tiled",
    ),
    "grouped_gradients_are_summed_over_the_group": ("group_gradient_of_the_last_head", "tiled_keys"),
}  # fmt: skip


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(("law", "fault"), [(law, name) for law, names in CAUGHT.items() for name in names])
def test_refutes(law: str, fault: str) -> None:
    refuted(law, getattr(faults, fault)())


@pytest.mark.parametrize("law", LAWS)
def test_holds_for_correct(law: str) -> None:
    held(law, correct)


@pytest.mark.thorough(keep=("dot_product-*", "tiled-a_slice*"))
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("function", "record"),
    [
        (torch.nn.functional.scaled_dot_product_attention, {"claims": CLAIMS}),
        (dot_product_attention, {}),
        (tiled_attention, {}),
    ],
    ids=["torch", "dot_product", "tiled"],
)
def test_holds_for_kernels(law: str, function: Callable[..., Any], record: dict[str, Any]) -> None:
    held(law, function, "quick", **record)


def test_every_law_has_its_fault() -> None:
    for law in (*slices.LAWS, *permutations.LAWS):
        assert law.fault in CAUGHT[law.name], law.name
