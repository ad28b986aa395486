"""Snippets of faulty targets given by name, run in a fresh process, then turned on correct targets alike in form.

Counterexamples of the contracts beside attention are programs that fail on the fault and pass on what is correct.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_contracts import counterexample, outcomes

from attention_core.conformance.contracts import built_in
from attention_core.conformance.snippets.snippet import verdict
from attention_core.conformance.subjects.evidence import Evidence, Result, Violation, require_close
from attention_core.conformance.worker.exchange import Request

M = "snippet_targets"
CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    # contract, law, faulty, correct, record
    ("mask-builder", "rows_count_what_they_may_see", "attention_core.faults.mask_builder:window_one_wider",
     f"{M}:correct_window", {"parameters": {"kind": "sliding_window"}}),
    ("mask-builder", "mask_is_the_exact_set", "attention_core.faults.mask_builder:batch_axis_on_heads",
     f"{M}:correct_padding", {"parameters": {"kind": "padding"}}),
    ("mask-builder", "sizes_may_change_between_calls", "attention_core.faults.mask_builder:mask_built_once",
     "attention_core.faults.mask_builder:mask_of_each_call", {"factory": True, "parameters": {"kind": "causal"}}),
    ("mask-builder", "batch_order_is_kept", "attention_core.faults.mask_builder:lengths_shared_by_the_batch",
     f"{M}:correct_padding", {"parameters": {"kind": "padding"}}),
    ("heads", "merge_joins_heads_token_by_token", f"{M}:split,faulty_merge", f"{M}:split,correct_merge", {}),
    ("heads", "uneven_splits_are_refused", f"{M}:faulty_split,merge", f"{M}:correct_split,merge", {}),
    ("multi-head", "heads_attend_as_the_formula_says", f"{M}:modules.scaled_by_model_size",
     f"{M}:modules.MultiHead", {}),
    ("multi-head", "training_without_dropout_is_evaluation", f"{M}:modules.evaluation_leaves_a_trace",
     f"{M}:modules.MultiHead", {}),
    ("multi-head", "gradients_of_parameters_are_true", "attention_core.faults.module_backward:weight_gradient_of_one_text",
     f"{M}:modules.MultiHead", {}),
    ("multi-head", "gradients_of_inputs_are_true", "attention_core.faults.module_backward:context_without_gradient",
     f"{M}:modules.Crossing", {}),
    ("rotary", "norms_are_kept", "attention_core.faults.rotary:mixed_pairings", "attention_core.faults.rotary:correct", {}),
    ("rotary", "scores_depend_on_the_distance_alone", "attention_core.faults.rotary:mixed_pairings", "attention_core.faults.rotary:correct", {}),
    ("rotary", "calls_leave_no_state", "attention_core.faults.rotary:table_cached_without_offset",
     "attention_core.faults.rotary:table_of_each_call", {"factory": True}),
    ("rotary", "rotation_is_true", "attention_core.faults.rotary:offset_counted_in_place", "attention_core.faults.rotary:correct", {}),
    ("bias", "weight_falls_with_distance", "attention_core.faults.bias:sign_flipped", "attention_core.faults.bias:correct", {}),
    ("bias", "last_row_serves_decoding", "attention_core.faults.bias:bias_built_over_query_length", "attention_core.faults.bias:correct", {}),
    ("position-table", "inner_products_depend_on_the_distance", "attention_core.faults.position_table:exponent_by_column",
     "attention_core.faults.position_table:correct", {}),
    ("position-table", "positions_are_told_apart", "attention_core.faults.position_table:constant_table",
     "attention_core.faults.position_table:correct", {}),
    ("position-table", "every_size_is_served", "attention_core.faults.position_table:even_sizes_only",
     "attention_core.faults.position_table:correct", {}),
    ("kv-cache", "chunks_equal_the_full_pass", f"{M}:caches.square_mask_with_cache", f"{M}:cache.Cache", {}),
    ("kv-cache", "a_reset_cache_is_empty", f"{M}:leftovers.position_not_reset", f"{M}:cache.Cache", {}),
    ("kv-cache", "a_declined_step_leaves_the_cache_as_it_was", "attention_core.faults.cache_state:declined_keys_are_kept",
     "attention_core.modules.cache:KeyValueCache", {}),
    ("paged", "arguments_changed_in_place_are_read_anew", "attention_core.faults.paged:written_table_not_seen",
     "attention_core.faults.paged:build", {"factory": True}),
    ("kv-cache", "two_caches_do_not_mix", f"{M}:leftovers.buffers_belong_to_the_class", f"{M}:cache.Cache", {}),
    ("kv-cache", "tokens_outlive_the_callers_arrays", f"{M}:leftovers.callers_arrays_are_kept", f"{M}:cache.Cache", {}),
    ("kv-cache", "rows_go_on_with_the_tokens_of_their_beams", "attention_core.faults.cache_changes:keys_reordered_alone",
     "attention_core.faults.cache_changes:Changing", {}),
    ("kv-cache", "tokens_taken_back_are_forgotten", "attention_core.faults.cache_changes:crop_keeps_one_more",
     "attention_core.faults.cache_changes:Changing", {}),
    ("kv-cache", "copies_of_a_row_lie_beside_it", "attention_core.faults.cache_changes:rows_repeated_in_turn",
     "attention_core.faults.cache_changes:Changing", {}),
    ("kv-cache", "single_steps_equal_the_full_pass", f"{M}:caches.window_one_wider", f"{M}:cache.Cache",
     {"parameters": {"window": 4}}),
    ("self-attention", "causal_self_attention_masks_before_its_softmax", "attention_core.faults.seed_attention:masked_after_softmax",
     "attention_core.faults.seed_attention:self_attention", {}),
    ("self-attention", "gradients_of_every_head_are_true", "attention_core.faults.seed_attention:scores_detached",
     "attention_core.faults.seed_attention:self_attention", {}),
    ("self-attention", "later_inputs_change_no_earlier_output", "attention_core.faults.seed_attention:causal_ignored",
     "attention_core.faults.seed_attention:self_attention", {}),
    ("self-attention-steps", "a_causal_mask_is_of_bools", "attention_core.faults.seed_steps:mask_of_ones",
     f"{M}:make_causal_mask", {"parameters": {"kind": "make_causal_mask"}}),
    ("self-attention-steps", "a_step_is_as_the_exercise_defines_it", "attention_core.faults.seed_steps:scaled_by_n_embd",
     f"{M}:attn_scaled", {"parameters": {"kind": "attn_scaled"}}),
    ("merge", "merge_agrees_with_the_truth", "attention_core.faults.merge:averaged", "attention_core.faults.merge:pair",
     {"factory": True}),
    ("varlen", "packed_texts_agree_with_the_truth", "attention_core.faults.varlen:one_text_of_all",
     "attention_core.faults.varlen:build", {"factory": True}),
    ("varlen", "packed_sinks_take_their_weight", "attention_core.faults.packed_features:sinks_of_key_heads",
     "attention_core.faults.packed_features:build", {"factory": True}),
    ("paged", "paged_keys_agree_with_the_truth", "attention_core.faults.paged:one_key_fewer",
     "attention_core.faults.paged:build", {"factory": True}),
    ("linear-attention", "parts_that_carry_the_state_equal_the_whole",
     "attention_core.faults.linear_attention:initial_state_ignored", "attention_core.faults.linear_attention:gated",
     {"factory": True, "accumulate": "float32"}),
    ("linear-attention", "packed_texts_begin_with_states_of_their_own",
     "attention_core.faults.linear_texts:border_one_token_late", "attention_core.faults.linear_texts:packed",
     {"factory": True, "accumulate": "float32"}),
    ("linear-attention", "gradients_of_linear_attention_are_true",
     "attention_core.faults.linear_gradients:last_states_decays_get_no_gradient",
     "attention_core.faults.linear_attention:gated", {"factory": True, "accumulate": "float32"}),
    ("quantised", "quantised_attention_agrees_with_the_truth", "attention_core.faults.quantised:scale_of_values_ignored",
     "attention_core.faults.quantised:plain",
     {"factory": True, "accumulate": "float32", "parameters": {"stored": "float8_e4m3fn"}}),
    ("block-mask", "another_map_of_the_same_shape_is_read_anew", "attention_core.faults.block_mask:first_map_kept",
     "attention_core.faults.block_mask:build", {"factory": True, "accumulate": "float32"}),
    ("block-mask", "a_mask_mod_holds_within_blocks", "attention_core.faults.block_mask:whole_blocks_of_a_mask_mod",
     "attention_core.faults.block_mask:flexible", {"factory": True, "accumulate": "float32"}),
    ("block-mask", "a_score_mod_is_added_to_scaled_scores", "attention_core.faults.block_mask:score_mod_before_the_scale",
     "attention_core.faults.block_mask:flexible", {"factory": True, "accumulate": "float32"}),
    ("mla", "latent_attention_agrees_with_the_truth", "attention_core.faults.latent_attention:scale_of_the_latent",
     "attention_core.faults.latent_attention:absorbed", {"factory": True, "accumulate": "float32"}),
    ("tree-mask", "draft_tokens_attend_to_context_and_ancestors", "attention_core.faults.tree_mask:siblings_seen",
     "attention_core.faults.tree_mask:build", {"factory": True, "accumulate": "float32"}),
    ("topk-index", "padding_names_no_key", "attention_core.faults.topk_index:rows_end_at_their_first_padding",
     "attention_core.faults.topk_index:build", {"factory": True, "accumulate": "float32"}),
    ("indexer", "the_highest_scores_are_chosen", "attention_core.faults.indexer:heads_not_weighed",
     "attention_core.faults.indexer:build", {"factory": True, "accumulate": "float32"}),
    ("variant-attention", "the_bias_is_added_to_every_score", "attention_core.faults.variant_attention:bias_left_out",
     "attention_core.faults.variant_attention:sigmoid", {"factory": True, "accumulate": "float32"}),
    ("cross-cache", "beams_are_reordered_with_their_texts", "attention_core.faults.cross_cache:values_not_reordered",
     "attention_core.faults.cross_cache:Cross", {"accumulate": "float32"}),
    ("batch-invariant", "another_number_of_threads_changes_no_bit",
     "attention_core.faults.batch_invariance:keys_split_by_threads",
     "attention_core.faults.batch_invariance:keys_one_by_one", {"factory": True, "accumulate": "float32"}),
]  # fmt: skip


def turned_on(snippet: str, faulty: str, correct: str) -> str:
    """The same program for another target."""
    (_, wrong), (module, right) = faulty.split(":"), correct.split(":")
    program = []
    for line in snippet.splitlines():
        if line.startswith(f"from {faulty.split(':')[0]} import"):
            line = f"from {module} import {', '.join(part.split('.')[0] for part in right.split(','))}"
        if line.startswith("attention = "):
            line = line.replace(wrong, right)
        program.append(line)
    return "\n".join(program)


@pytest.fixture(scope="module")
def cases(request: pytest.FixtureRequest) -> list[tuple[str, str, str, str, dict[str, Any]]]:
    """The cases whose tests this run takes."""
    asked = {(params["contract"], params["law"]) for params in rows_of(request)}
    return [case for case in CASES if case[:2] in asked]


def rows_of(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """The parameters of the tests of this file that are run."""
    here = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return [item.callspec.params for item in here if "law" in item.callspec.params]


@pytest.fixture(scope="module")
def snippets(cases: list[tuple[str, str, str, str, dict[str, Any]]]) -> dict[str, str]:
    return {f"{c}-{law}": counterexample(law, faulty, c, **record) for c, law, faulty, _, record in cases}


@pytest.fixture(scope="module")
def messages(snippets: dict[str, str], cases: list[tuple[str, str, str, str, dict[str, Any]]]) -> dict[str, str]:
    """What each snippet raised on its fault, and (with "correct" before its name) on the correct target."""
    programs = dict(snippets)
    for contract, law, faulty, correct, _ in cases:
        programs[f"correct {contract}-{law}"] = turned_on(snippets[f"{contract}-{law}"], faulty, correct)
    return outcomes(programs)


@pytest.mark.thorough(one_for="contract")
@pytest.mark.parametrize(("contract", "law"), [case[:2] for case in CASES])
def test_snippets_fail_on_the_fault_and_pass_on_what_is_correct(
    contract: str, law: str, snippets: dict[str, str], messages: dict[str, str]
) -> None:
    name = f"{contract}-{law}"
    beside_the_target = re.sub(r"^from attention_core\.faults[.\w]* import .*$", "", snippets[name], flags=re.MULTILINE)
    assert "attention_core" not in beside_the_target
    expected = "RuntimeError" if name.endswith("every_size_is_served") else "AssertionError"
    assert messages[name].startswith(expected), f"{snippets[name]}\n{messages[name]}"
    assert messages[f"correct {name}"] == "", f"{snippets[name]}\n{messages[f'correct {name}']}"


def test_every_contract_has_such_a_snippet() -> None:
    assert {case[0] for case in CASES} == set(built_in()) - {"attention", "attention-lse"}


@pytest.mark.parametrize(
    ("message", "passes"), [("should be NaN (or infinite): garbage", True), ("should be nan", False)]
)
def test_a_result_that_may_be_infinite_need_not_be_nan(message: str, passes: bool) -> None:
    *_, line = verdict(Evidence((), 1.0, float("nan"), 0.0), message)
    exec(line, {"got": float("nan")})
    with pytest.raises(AssertionError):
        exec(line, {"got": 1.0})
    with nullcontext() if passes else pytest.raises(AssertionError):
        exec(line, {"got": float("-inf")})


@given(st.floats(1e-30, 1e3), st.one_of(st.floats(1.001, 1e6), st.just(float("nan"))))
def test_a_program_has_one_tolerance(bound: float, excess: float) -> None:
    """What the assertion allows is what its message says, and the failure stays one."""
    got = bound * excess
    with pytest.raises(Violation) as caught:
        require_close(Result(np.array([got]), Request()), np.array([0.0]), bound, "out")
    *lines, line = verdict(caught.value.evidence, caught.value.message)
    tolerance, stated = re.search(r"<= (\S+),", line), re.search(r"\(allowed error (\S+)\)", line)
    assert tolerance is not None and stated is not None and tolerance[1] == stated[1]
    assert bound <= float(tolerance[1]) and not got <= float(tolerance[1])
    assert len(tolerance[1]) <= 9 or excess < 1.03, "three digits where the failure is clear"
    with pytest.raises(AssertionError):
        exec("\n".join([*lines, line]), {"got": got})
