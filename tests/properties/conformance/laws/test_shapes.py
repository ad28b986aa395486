"""The laws of shapes and memory: no false alarm on correct functions; each refutes the fault it names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.laws import large_sizes, memory, shapes
from attention_core.conformance.laws.shapes import SWEEP
from attention_core.conformance.search.search import judge_one
from attention_core.faults import memory as memory_faults
from attention_core.faults import shapes as shape_faults
from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.reference import correct

LAWS = (*shapes.LAWS, *large_sizes.LAWS, *memory.LAWS)


NAMES = [law.name for law in LAWS]


def torch_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """torch's function with a signature that can be read."""
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("law", NAMES)
def test_correct_functions_hold(law: str) -> None:
    held(law, correct)
    held(law, build_backward(), seed=1)


@pytest.mark.parametrize("law", NAMES)
def test_torch_holds(law: str) -> None:
    held(law, torch_attention)


REFUTED = [
    ("every_length_around_blocks_is_right", "tail_of_block_dropped"),
    ("every_length_around_blocks_is_right", "full_block_of_rows_repeats_its_first"),
    ("every_length_around_blocks_is_right", "rows_beyond_128_lost"),
    ("every_length_around_blocks_is_right", "one_query_by_the_decode_path"),
    ("every_length_around_blocks_is_right", "last_tile_keeps_its_rows"),
    ("every_length_around_blocks_has_true_gradients", "gradient_tail_of_block_dropped"),
    ("head_sizes_may_be_odd_and_differ", "output_of_head_size"),
    ("head_sizes_may_be_odd_and_differ", "head_size_padded_with_garbage"),
    ("head_sizes_may_be_odd_and_differ", "odd_head_size_loses_its_last"),
    ("round_sizes_and_sizes_beyond_are_right", "keys_beyond_512_lost"),
    ("round_sizes_and_sizes_beyond_are_right", "positions_in_the_input_dtype"),
    ("round_sizes_and_sizes_beyond_are_right", "rows_beyond_1024_repeat_the_last"),
    ("round_sizes_and_sizes_beyond_are_right", "head_size_cut_at_128"),
    ("round_sizes_and_sizes_beyond_are_right", "key_gradient_cut_at_256"),
    ("round_sizes_and_sizes_beyond_are_right", "problems_beyond_64_are_the_first"),
    ("round_sizes_and_sizes_beyond_are_right", "elements_counted_in_two_bytes"),
    ("round_sizes_and_sizes_beyond_are_right", "round_sizes_take_coarser_inputs"),
    ("no_queries_give_an_empty_output", "at_least_one_row"),
    ("an_empty_key_sequence_leaves_dead_rows", "softmax_of_no_keys"),
    ("an_empty_key_sequence_leaves_dead_rows", "no_keys_crash"),
    ("an_empty_batch_gives_an_empty_output", "largest_of_the_batch"),
    ("values_without_channels_give_an_empty_output", "width_divides"),
    ("one_problem_needs_no_batch_axis", "batch_axis_added"),
    ("two_batch_axes_are_a_batch", "second_batch_axis_lost"),
    ("two_batch_axes_are_a_batch", "outer_masks_repeated_in_turn"),
    ("two_batch_axes_are_a_batch", "inner_masks_repeated_in_turn"),
    ("transposed_views_change_nothing", "strides_ignored"),
    ("transposed_views_change_nothing", "strides_ignored_at_full_blocks"),
    ("transposed_views_change_nothing", "mask_strides_ignored"),
    ("surroundings_of_views_are_not_read", "strides_ignored"),
    ("surroundings_of_views_are_not_read", "offset_ignored"),
    ("transposed_views_change_nothing", "values_by_the_strides_of_keys"),
    ("expanded_views_change_nothing", "batch_stride_assumed"),
    ("expanded_views_change_nothing", "expanded_values_lose_their_last_key"),
    ("expanded_views_change_nothing", "expanded_mask_rows_end_at_the_first_block"),
    ("expanded_views_change_nothing", "row_of_a_mask_written_into"),
    ("expanded_views_change_nothing", "rows_behind_the_row_of_a_mask"),
    ("layout_of_the_cotangent_changes_nothing", "cotangent_strides_ignored"),
    ("layout_of_the_cotangent_changes_nothing", "cotangent_of_a_sum_misread"),
    ("inputs_stay_as_they_were", "cotangent_scaled_in_place"),
    ("inputs_stay_as_they_were", "query_scaled_in_place"),
    ("inputs_stay_as_they_were", "value_scaled_and_restored"),
    ("inputs_stay_as_they_were", "mask_inverted_in_place"),
    ("inputs_stay_as_they_were", "key_zeroed_in_backward"),
]


def mask_beyond_512_ignored(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:  # fmt: skip
    """Padding beyond 512 keys is attended."""
    if attn_mask is not None and attn_mask.shape[-1] > 512:
        attn_mask = attn_mask.clone()
        attn_mask[..., 512:] = True if attn_mask.dtype == torch.bool else 0.0
    return torch_attention(query, key, value, attn_mask, is_causal=is_causal, scale=scale)


BEYOND = [fault for law, fault in REFUTED if law == "round_sizes_and_sizes_beyond_are_right"]


@pytest.mark.thorough(keep=("keys_beyond_512_lost", "head_size_cut_at_128", "key_gradient_cut_at_256"))
@pytest.mark.parametrize("fault", [*BEYOND, "mask_beyond_512_ignored"])
def test_a_counterexample_beyond_a_size_is_large_in_that_size_alone_and_can_be_read(fault: str) -> None:
    function = mask_beyond_512_ignored if fault == "mask_beyond_512_ignored" else built(fault)
    law = "round_sizes_and_sizes_beyond_are_right"
    found = judged(law, function, shrink=True).counterexample
    assert found is not None
    assert len(found.snippet) < 1500 and "zlib" not in found.snippet
    case = Case.from_json(json.loads(json.dumps(found.data)))
    assert case.given
    with Session(Implementation(function, name="again")) as session:
        (chosen,) = select_laws(session.laws, [law])
        assert judge_one(chosen, session.subject, case).status == "refuted"


@pytest.mark.parametrize("law", ["agrees_with_truth", "decoding_shapes_are_right"])
def test_padding_among_many_keys_is_made_small(law: str) -> None:
    found = judged(law, mask_beyond_512_ignored, "standard", shrink=True).counterexample
    assert found is not None
    assert len(found.snippet) < 1500 and "zlib" not in found.snippet


def built(fault: str) -> Callable[..., Tensor]:
    found = getattr(shape_faults, fault, None) or getattr(memory_faults, fault)
    function: Callable[..., Tensor] = found()
    return function


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(("law", "fault"), REFUTED)
def test_faults_are_refuted(law: str, fault: str) -> None:
    refuted(law, built(fault), effort="quick")


def test_every_law_names_a_fault_that_it_refutes() -> None:
    assert {(law.name, law.fault) for law in LAWS} <= set(REFUTED)


@pytest.mark.parametrize("fault", ["strides_ignored", "offset_ignored", "batch_stride_assumed"])
def test_faults_of_strides_are_right_on_contiguous_inputs(fault: str) -> None:
    held("agrees_with_truth", built(fault))


@pytest.mark.parametrize("law", [law.name for law in memory.LAWS])
def test_refusing_views_is_no_fault(law: str) -> None:
    def picky(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        for x in (query, key, value):
            if not x.is_contiguous() or x.storage_offset():
                raise ValueError("contiguous inputs only")
        return correct(query, key, value)

    assert judged(law, picky).status in ("held", "refused")


def test_an_output_without_a_graph_is_right_where_it_depends_on_nothing() -> None:
    def early(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.shape[-2] == 0 or key.shape[-2] == 0:
            return query.new_zeros(*query.shape[:-1], value.shape[-1])
        return correct(query, key, value)

    held("an_empty_key_sequence_leaves_dead_rows", early)
    held("no_queries_give_an_empty_output", early)


def test_the_sweep_has_every_block_edge_and_both_neighbours() -> None:
    assert {edge + step for edge in (8, 16, 32, 64, 128) for step in (-1, 0, 1)} <= set(SWEEP)


def test_the_lengths_at_which_gradients_go_wrong_are_made_small_and_told() -> None:
    found = judged("every_length_around_blocks_has_true_gradients", last_rows_lost(), shrink=True).counterexample
    assert found is not None
    assert "B=1 H=1 n_q=1 n_kv=65 " in found.case
    assert "for n_q=1 n_kv=65" in found.message
    assert "zlib" not in found.snippet


def last_rows_lost() -> Callable[..., Tensor]:
    """Its backward forgets the keys behind the last whole block of 64."""

    class Lost(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, key: Tensor) -> Tensor:
            return key.clone()

        @staticmethod
        def backward(ctx: Any, *down: Tensor) -> Tensor:
            n = down[0].shape[-2]
            kept = torch.arange(n) < (n // 64 * 64 if n > 64 else n)
            return down[0] * kept[:, None]

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ Lost.apply(key).transpose(-1, -2) * query.shape[-1] ** -0.5
        return torch.softmax(scores, -1) @ value

    return attention


def test_a_function_of_tokens_by_features_is_declined_and_not_refuted() -> None:
    """(B, n, E) is of rank 3, too, as ONNX Runtime's MultiHeadAttention has it: its middle axis is no head's."""

    def tokens_by_features(query: Any, key: Any, value: Any) -> Any:
        if query.dim() != 3:
            raise ValueError(f"query has the shape [B, n, E], got {tuple(query.shape)}")
        q, k, v = (x.unflatten(-1, (1, -1)).transpose(1, 2) for x in (query, key, 2 * value))
        return correct(q, k, v).transpose(1, 2).flatten(2)

    result = judged("one_problem_needs_no_batch_axis", tokens_by_features)
    assert result.status == "refused", result.message
