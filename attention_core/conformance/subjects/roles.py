"""Roles of laws: those that detect faults, and those that say what a fault is once another law has detected one.

The roles are a measurement, kept in docs/data/power_laws.csv and power_faults.csv. On every fault of the catalogue a
diagnosing law refuted what others refuted, too: it was never alone, and never the first at quick or at standard. At
effort "quick" such a law judges the fewest cases that a verdict needs, as long as no law refutes anything; where one
does, it judges all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from attention_core.conformance.subjects.law import DIAGNOSE, Law

LEAST_REFUTED = 10
"""Faults that a law must have refuted beside others before it counts as diagnosing: fewer say nothing of its use."""
BESIDE_OTHERS = {
    "turning_queries_and_keys_together_changes_nothing": 40,
    "doubled_keys_change_nothing": 48,
    "scale_may_move_into_the_query": 33,
    "output_is_the_same_with_gradients": 16,
    "zero_cotangent_gives_zero": 14,
    "gradient_is_linear_in_the_cotangent": 16,
    "row_cotangent_moves_its_query_alone": 27,
    "masked_pairs_pass_no_gradient": 89,
    "masked_keys_get_no_gradient": 50,
    "masked_keys_leave_gradients_alone": 58,
    "dead_rows_have_finite_gradients": 48,
    "no_row_sees_a_later_one": 49,
    "later_rows_get_no_gradient": 49,
    "later_rows_leave_gradients_alone": 55,
    "causal_alignment_is_as_declared": 126,
    "prefill_equals_step_by_step": 83,
    "a_slice_alone_equals_itself_in_the_batch": 48,
    "a_slice_alone_has_the_gradients_of_its_batch": 35,
    "coinciding_sizes_are_not_confused": 185,
    "grouped_query_equals_repeated_keys": 24,
    "permuting_the_batch_permutes_the_output": 28,
    "permuting_heads_permutes_the_output": 34,
    "permuting_queries_permutes_the_output": 31,
    "permuting_keys_changes_nothing": 37,
    "permuting_keys_permutes_their_gradients": 59,
    "stays_finite": 137,
    "a_common_offset_cancels": 85,
    "a_bias_constant_in_a_row_cancels": 89,
    "zeros_and_subnormals_are_numbers": 132,
    "head_sizes_may_be_odd_and_differ": 202,
    "inputs_stay_as_they_were": 10,
    "the_same_call_twice_agrees": 15,
    "the_same_gradients_twice_agree": 22,
    "calls_in_between_leave_no_trace": 179,
    "the_order_of_calls_does_not_matter": 125,
    "earlier_masks_are_forgotten": 138,
    "dropout_zero_is_no_dropout": 93,
}
"""Law of attention -> faults that it refuted at quick, each of them refuted by another law before."""


def with_roles(laws: Iterable[Law]) -> tuple[Law, ...]:
    """The laws, those that were measured to diagnose marked as such.

    Example:
        >>> from attention_core.conformance.laws import laws_of
        >>> {law.name: law.role for law in with_roles(laws_of("attention"))}["doubled_keys_change_nothing"]
        'diagnose'
    """
    return tuple(replace(law, role=DIAGNOSE) if law.name in BESIDE_OTHERS else law for law in laws)


def detectors_first(laws: Iterable[Law]) -> list[Law]:
    """The laws in their order, but those that detect before those that diagnose."""
    return sorted(laws, key=lambda law: law.role == DIAGNOSE)
