"""Power and false alarms of the laws of rotary positions.

Laws of rotary positions: each refutes the fault it names, every fault is refuted; float32 angles are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import refuted
from judging_contracts import conforming, named_faults, refuting
from torch import Tensor

from attention_core.conformance.laws import rotary
from attention_core.conformance.laws.rotary import CONTRACT
from attention_core.faults import rotary as faults
from attention_core.modules import positions

BATCHED = {"positions": "batched"}


SEEN_BY = {  # one law that must see it
    "mixed_pairings": "scores_depend_on_the_distance_alone",
    "other_pairing": "rotation_is_true",
    "consecutive_positions_assumed": "rotation_is_true",
    "negative_positions_are_zero": "rotation_is_true",
    "negative_positions_count_from_the_end": "rotation_is_true",
    "positions_from_zero_are_consecutive": "rotation_is_true",
    "positions_in_sixteen_bits": "large_positions_stay_precise",
    "positions_from_one": "position_zero_changes_nothing",
    "phases_in_half_precision": "large_positions_stay_precise",
    "positions_in_half_precision": "large_positions_stay_precise",
    "offset_counted_in_place": "rotation_is_true",
    "offset_moved_before_use": "rotation_is_true",
    "positions_along_heads": "rotation_is_true",
    "frequencies_by_column": "norms_are_kept",
    "other_base": "rotation_is_true",
    "rotated_twice": "rotation_is_true",
    "table_cached_without_offset": "calls_leave_no_state",
    "table_of_the_first_call": "calls_leave_no_state",
    "angles_kept_by_identity": "positions_written_into_are_read_anew",
    "backward_turns_on": "gradients_turn_back",
    "gradient_passes_straight": "gradients_turn_back",
    "single_token_in_place": "views_are_rotated_alike",
    "rows_counted_in_memory": "views_are_rotated_alike",
    "rotations_share_one_buffer": "rotations_outlive_the_next_call",
    "table_of_the_first_dtype": "an_earlier_call_of_another_kind_leaves_no_trace",
    "table_of_the_first_wide_dtype": "a_less_precise_call_before_costs_no_precision",
}


def record(fault: Callable[..., Any]) -> dict[str, Any]:
    return {"factory": fault in faults.STATEFUL}


@pytest.mark.parametrize("law", rotary.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: rotary.Law) -> None:
    fault = getattr(faults, law.fault)
    refuted(law.name, fault, effort="quick", contract=CONTRACT, parameters=BATCHED, **record(fault))


@pytest.mark.thorough(leave_out=named_faults(rotary.LAWS, [*faults.FAULTY, *faults.STATEFUL]))
@pytest.mark.parametrize("fault", [*faults.FAULTY, *faults.STATEFUL])
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    refuted(SEEN_BY[fault.__name__], fault, "quick", contract=CONTRACT, **record(fault))


def test_a_stateless_shift_keeps_scores_and_lengths() -> None:
    refuted_by = refuting(faults.positions_from_one, CONTRACT)
    assert not {"norms_are_kept", "scores_depend_on_the_distance_alone"} & refuted_by


@pytest.mark.parametrize("target", faults.CORRECT)
def test_angles_in_single_precision_conform(target: Callable[..., Any]) -> None:
    conforming(target, CONTRACT, parameters=BATCHED)


def wider_than_its_input(x: Tensor, positions: Tensor) -> Tensor:
    """Its table is float32, and so is what it makes of two bytes."""
    return faults.correct(x if x.dtype == torch.float64 else x.float(), positions)


def test_gradients_of_a_wider_output_are_judged() -> None:
    results = conforming(wider_than_its_input, CONTRACT)
    assert results["gradients_turn_back"].status == "held"


@pytest.mark.parametrize("pairing", ["half", "interleaved"])
@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_ours_conform(pairing: str, base: float) -> None:
    parameters = {**BATCHED, "pairing": pairing, "base": base}
    results = conforming(
        positions.rotary, CONTRACT, arguments={"pairing": pairing, "base": base}, parameters=parameters
    )
    assert {r.status for r in results.values()} == {"held"}


def test_positions_below_zero_may_be_ruled_out() -> None:
    conforming(faults.negative_positions_are_zero, CONTRACT, parameters={**BATCHED, "min_position": 0})


def test_pairing_is_verified() -> None:
    parameters = {"pairing": "interleaved"}
    assert refuting(positions.rotary, CONTRACT, parameters=parameters) >= {"rotation_is_true"}
