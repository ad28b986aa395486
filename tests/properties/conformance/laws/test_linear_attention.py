"""Power and false alarms of the laws of linear attention: each refutes the fault it names, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from judging_contracts import conforming, named_faults
from torch import Tensor

from attention_core.conformance.laws import linear_attention
from attention_core.conformance.laws.linear_attention import CONTRACT
from attention_core.faults import linear_attention as faults
from attention_core.faults import linear_texts
from attention_core.kernels.linear_attention import (
    chunked_linear_attention,
    recurrent_linear_attention,
    state_space_dual,
)

CENTRAL = "linear_attention_agrees_with_the_truth"
SEEN_BY = {  # one law that must see it; the central one where none is named
    "given_scale_times_the_usual_one": "a_given_scale_is_the_scale",
    "state_before_the_last_token": "the_final_state_is_true",
    "initial_state_ignored": "an_initial_state_counts",
    "initial_state_does_not_fade": "an_initial_state_counts",
    "initial_state_updated_in_place": "an_initial_state_counts",
    "tail_missing_from_the_state": "parts_that_carry_the_state_equal_the_whole",
    "tail_fades_as_a_whole_block": "parts_that_carry_the_state_equal_the_whole",
    "state_kept_between_calls": "an_earlier_call_leaves_no_state",
    "one_state_for_all_heads": "batch_and_heads_do_not_mix",
    "whole_block_is_seen": "later_tokens_change_no_earlier_output",
    "last_token_of_a_block_lost": "lengths_around_blocks_agree",
    "features_beyond_64_dropped": "many_heads_and_features_agree",
    "decays_divided_by_their_product": "strong_decays_neither_overflow_nor_leak",
    "state_path_unscaled": "asking_for_the_state_changes_no_output",
    "tokens_read_in_order": "strides_of_tokens_are_followed",
    "state_in_a_kept_buffer": "results_outlive_another_call",
}
KINDS = ("linear", "retention", "gla", "gated-delta", "kda")
SPACES = ("groups_in_turn",)
"""Faults of state spaces, which stand in another file."""
WIDE: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}


@pytest.mark.parametrize("law", linear_attention.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: linear_attention.Law) -> None:
    made = getattr(linear_texts if law.fault in SPACES else faults, law.fault)
    refuted(law.name, made(), "quick", **WIDE)


@pytest.mark.thorough(leave_out=named_faults(linear_attention.LAWS, faults.FAULTY))
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    refuted(SEEN_BY.get(fault.__name__, CENTRAL), fault(), "quick", **WIDE)


@pytest.mark.thorough(table=True, keep=("0-chunked*", "0-recurrent*-gated-delta"))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [recurrent_linear_attention, chunked_linear_attention])
@pytest.mark.parametrize("seed", range(4))
def test_right_kernels_conform(kind: str, kernel: Callable[..., Any], seed: int) -> None:
    results = conforming(
        kernel, CONTRACT, "quick", seed, compared=True, accumulate="float32",
        parameters={"kind": kind, "tokens": "bhnd"},
    )  # fmt: skip
    silent = {name for name, r in results.items() if r.status == "not_applicable"}
    assert silent - {"strong_decays_neither_overflow_nor_leak"} == {"heads_of_a_group_share_their_projections"}
    assert len(silent) == (2 if kind == "linear" else 1)


@pytest.mark.thorough(keep=("0",))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_state_space_conforms(seed: int) -> None:
    results = conforming(state_space_dual, CONTRACT, "quick", seed, compared=True, accumulate="float32")
    silent = {name for name, r in results.items() if r.status == "not_applicable"}
    assert silent == {"a_given_scale_is_the_scale", "empty_texts_keep_their_state"}


@pytest.mark.parametrize("made", [*(faults.build(kind) for kind in faults.SIGNATURES), faults.in_blocks("retention")])
def test_what_the_faults_are_made_of_conforms(made: Callable[..., Any]) -> None:
    conforming(made, CONTRACT, "quick", 0, accumulate="float32")


def test_states_may_have_values_first_and_tokens_before_heads() -> None:
    inner = faults.build("gla")

    def turned(
        q: Tensor, k: Tensor, v: Tensor, g: Tensor, initial_state: Tensor | None = None, output_final_state: bool = False
    ) -> Any:  # fmt: skip
        start = None if initial_state is None else initial_state.mT
        done = inner(*(x.transpose(1, 2) for x in (q, k, v, g)), None, start, output_final_state)
        return (done[0].transpose(1, 2), done[1].mT) if output_final_state else done.transpose(1, 2)

    conforming(turned, CONTRACT, accumulate="float32", layout="bnhd", parameters={"state": "vk"})
    refuted("the_final_state_is_true", turned, "quick", layout="bnhd", **WIDE)


def test_a_retention_without_a_parameter_has_the_decays_of_the_paper() -> None:
    inner = faults.build("retention")

    def retention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out: Tensor = inner(
            q, k, v, (1 - 2.0 ** (-5 - torch.arange(q.shape[1]))).to(torch.promote_types(q.dtype, torch.float32))
        )
        return out

    held(CENTRAL, retention, parameters={"kind": "retention"}, **WIDE)
    refuted(CENTRAL, retention, "quick", parameters={"kind": "linear"}, **WIDE)


def test_a_function_without_a_state_is_judged_by_its_outputs() -> None:
    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out: Tensor = faults.build("linear")(q, k, v)
        return out

    conforming(plain, CONTRACT, accumulate="float32")
    assert judged("the_final_state_is_true", plain, **WIDE).status == "not_applicable"


def test_a_state_that_is_asked_for_and_not_returned_is_refused_in_so_many_words() -> None:
    def forgetful(q: Tensor, k: Tensor, v: Tensor, output_final_state: bool = False) -> Any:
        return faults.build("linear")(q, k, v)

    result = refuted("the_final_state_is_true", forgetful, "quick", **WIDE)
    assert "with output_final_state=True the call returns one value, but should return (out, state)" in result.message
