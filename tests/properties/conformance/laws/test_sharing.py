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
from attention_core.faults import second_sight, second_sight_others, third_sight, third_sight_others
from attention_core.faults import sharing as mutants
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
    ("results_outlive_the_next_call", mutants.ring_of_outputs),
    ("results_outlive_the_next_call", mutants.one_buffer_for_all_results),
    ("results_outlive_the_next_call", second_sight_others.results_share_one_buffer),
    ("results_share_no_memory_with_inputs", mutants.value_itself_for_one_key),
    ("arrays_written_into_are_read_anew", mutants.keys_kept_by_identity),
    ("one_tensor_may_be_several_inputs", mutants.gradients_shared_by_storage),
    ("one_tensor_may_be_several_inputs", second_sight.shared_key_and_value_counted_twice),
]


@pytest.mark.parametrize(("law", "mutant"), CAUGHT)
def test_refutes(law: str, mutant: Callable[[], Any]) -> None:
    refuted(law, mutant(), effort="quick")


@pytest.mark.parametrize(
    ("law", "mutant", "contract"),
    [
        ("one_tensor_may_be_several_inputs", third_sight_others.lse_by_rows_where_keys_are_values, "attention-lse"),
        ("two_batch_axes_are_a_batch", third_sight.masks_of_two_batch_axes_tiled, "attention"),
        ("large_scales_pick_the_best_key", third_sight.maximum_before_a_negative_scale, "attention"),
    ],
)
def test_refutes_what_was_missed_at_first_sight(law: str, mutant: Callable[[], Any], contract: str) -> None:
    refuted(law, mutant(), effort="quick", contract=contract)


def test_every_law_names_a_mutant_that_it_refutes() -> None:
    assert {(law.name, law.mutant) for law in sharing.LAWS} <= {(law, mutant.__name__) for law, mutant in CAUGHT}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("function", "record"), KERNELS, ids=["correct", "torch", "dot_product", "tiled"])
def test_holds_for_correct(law: str, function: Callable[..., Any], record: dict[str, Any]) -> None:
    held(law, function, **record)


@pytest.mark.parametrize(("law", "mutant"), [CAUGHT[0], CAUGHT[1], CAUGHT[3], CAUGHT[4], CAUGHT[5]])
def test_snippets_show_what_is_shared(law: str, mutant: Callable[[], Any]) -> None:
    result = judged(law, mutant(), shrink=True)
    assert result.counterexample is not None
    program = result.counterexample.snippet
    for line in program.splitlines():
        assert line.count("import") == 0 or "attention" not in line or "# put" in line or "mutants" in line
    faulty: dict[str, Any] = {"attention": mutant()}
    right: dict[str, Any] = {"attention": correct}
    kept = "\n".join(
        line for line in program.splitlines() if "mutants" not in line and not line.startswith("attention")
    )
    exec(compile(kept, law, "exec"), right)
    with pytest.raises(AssertionError):
        exec(compile(kept, law, "exec"), faulty)
