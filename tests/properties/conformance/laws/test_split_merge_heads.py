"""Power and false alarms of the laws of splitting and merging heads.

Laws of splitting and merging heads: each refutes the fault it names, every fault is refuted, ours conform.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from judging import refuted
from judging_contracts import conforming, refuting

from attention_core.conformance.laws import split_merge_heads
from attention_core.conformance.laws.split_merge_heads import CONTRACT
from attention_core.faults import split_merge_heads as faults
from attention_core.kernels import heads

# What else a fault breaks is its own affair; these laws must see it.
SEEN_BY = {
    "split_by_view": "split_takes_contiguous_features",
    "view_both_ways": "split_is_local",
    "merge_without_permute": "merge_joins_heads_token_by_token",
    "merge_mixes_batch_and_heads": "merge_inverts_split",
    "split_mixes_batch_and_heads": "split_is_local",
    "merge_to_sequence_first": "merge_joins_heads_token_by_token",
    "uneven_split_truncated": "uneven_splits_are_refused",
    "heads_in_reverse": "merge_inverts_split",
    "features_interleaved": "split_takes_contiguous_features",
    "heads_behind_tokens": "split_takes_contiguous_features",
    "split_in_half_precision": "split_takes_contiguous_features",
    "gradients_of_split_by_view": "gradients_move_back",
    "split_of_packed_rows": "views_are_moved_alike",
    "slices_merged_as_they_lie": "views_are_moved_alike",
    "fewer_features_than_heads": "uneven_splits_are_refused",
    "merged_into_one_buffer": "moved_numbers_outlive_the_next_call",
    "axes_exchanged_in_place": "merge_joins_heads_token_by_token",
}


@pytest.mark.parametrize("law", split_merge_heads.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: split_merge_heads.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", contract=CONTRACT)


@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[[], faults.Pair]) -> None:
    refuted(SEEN_BY[fault.__name__], fault(), "quick", contract=CONTRACT)


def test_a_fault_of_splitting_that_merging_undoes_needs_another_law() -> None:
    assert "merge_inverts_split" not in refuting(faults.view_both_ways(), CONTRACT)


@pytest.mark.parametrize("target", [faults.correct(), heads, (heads.split_heads, heads.merge_heads)],
                         ids=["correct", "module", "pair"])  # fmt: skip
def test_correct_heads_conform(target: object) -> None:
    results = conforming(target, CONTRACT)
    assert {r.status for r in results.values()} == {"held"}
