"""Power and false alarms of the laws of what calls and arguments share.

Laws of sharing: each refutes the faults it names; kernels whose results and gradients are their own are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted

from attention_core.conformance.laws import sharing
from attention_core.declaration.implementation import CLAIMS
from attention_core.faults import backward, lse, mask_forms, online_softmax, state
from attention_core.faults import sharing as faults
from attention_core.faults.bases.reference import correct
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

LAWS = [law.name for law in sharing.LAWS]
KERNELS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (correct, {}),
    (torch.nn.functional.scaled_dot_product_attention, {"claims": CLAIMS}),
    (dot_product_attention, {}),
    (tiled_attention, {}),
]
CAUGHT = [
    ("results_outlive_the_next_call", faults.ring_of_outputs),
    ("results_outlive_the_next_call", faults.one_buffer_for_all_results),
    ("results_outlive_the_next_call", state.results_share_one_buffer),
    ("results_share_no_memory_with_inputs", faults.value_itself_for_one_key),
    ("arrays_written_into_are_read_anew", faults.keys_kept_by_identity),
    ("one_tensor_may_be_several_inputs", faults.gradients_shared_by_storage),
    ("one_tensor_may_be_several_inputs", backward.shared_key_and_value_counted_twice),
]


@pytest.mark.parametrize(("law", "fault"), CAUGHT)
def test_refutes(law: str, fault: Callable[[], Any]) -> None:
    refuted(law, fault(), effort="quick")


@pytest.mark.parametrize(
    ("law", "fault", "contract"),
    [
        ("one_tensor_may_be_several_inputs", lse.lse_by_rows_where_keys_are_values, "attention-lse"),
        ("two_batch_axes_are_a_batch", mask_forms.masks_of_two_batch_axes_tiled, "attention"),
        ("large_scales_pick_the_best_key", online_softmax.maximum_before_a_negative_scale, "attention"),
    ],
)
def test_refutes_what_was_missed_at_first_sight(law: str, fault: Callable[[], Any], contract: str) -> None:
    refuted(law, fault(), effort="quick", contract=contract)


def test_every_law_names_a_fault_that_it_refutes() -> None:
    assert {(law.name, law.fault) for law in sharing.LAWS} <= {(law, fault.__name__) for law, fault in CAUGHT}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("function", "record"), KERNELS, ids=["correct", "torch", "dot_product", "tiled"])
def test_holds_for_correct(law: str, function: Callable[..., Any], record: dict[str, Any]) -> None:
    held(law, function, **record)


@pytest.mark.parametrize(("law", "fault"), [CAUGHT[0], CAUGHT[1], CAUGHT[3], CAUGHT[4], CAUGHT[5]])
def test_snippets_show_what_is_shared(law: str, fault: Callable[[], Any]) -> None:
    result = judged(law, fault(), shrink=True)
    assert result.counterexample is not None
    program = result.counterexample.snippet
    for line in program.splitlines():
        assert line.count("import") == 0 or "attention" not in line or "# put" in line or "faults" in line
    faulty: dict[str, Any] = {"attention": fault()}
    right: dict[str, Any] = {"attention": correct}
    kept = "\n".join(line for line in program.splitlines() if "faults" not in line and not line.startswith("attention"))
    exec(compile(kept, law, "exec"), right)
    with pytest.raises(AssertionError):
        exec(compile(kept, law, "exec"), faulty)
