"""The table of all laws, one file per family. A law belongs to the suite by standing in its family's `LAWS`."""

from __future__ import annotations

from dataclasses import replace

from attention_core.conformance.laws import (
    alibi,
    batch_invariance,
    causality,
    dead_rows,
    decoding,
    dropout,
    dropout_options,
    gradients,
    heads_and_batch,
    key_lengths,
    large_sizes,
    long_gradients,
    lse,
    mask_forms,
    masking,
    masking_gradients,
    memory,
    modes,
    numerics,
    permutations,
    process_state,
    refusal,
    second_gradients,
    shapes,
    sharing,
    sinks,
    softcap,
    state,
    value,
    value_relations,
    window,
)
from attention_core.conformance.subjects.law import Law

FAMILIES = (
    modes,  # first: see there
    value,
    value_relations,
    gradients,
    long_gradients,
    second_gradients,
    masking,
    masking_gradients,
    mask_forms,
    dead_rows,
    causality,
    heads_and_batch,
    permutations,
    numerics,
    shapes,
    large_sizes,
    decoding,
    memory,
    refusal,
    state,
    sharing,
    dropout,
    dropout_options,
    window,
    softcap,
    sinks,
    alibi,
    key_lengths,
    lse,
    batch_invariance,
    process_state,  # last: it has seen every call by then
)
LAWS: tuple[Law, ...] = tuple(law for family in FAMILIES for law in family.LAWS)


def laws_of(contract: str) -> tuple[Law, ...]:
    """The laws of one contract, in the order of the table; relatives of attention borrow some of its."""
    own = tuple(law for law in LAWS if law.contract == contract)
    if contract == batch_invariance.CONTRACT:
        return batch_invariance.borrow(LAWS) + own
    if contract != lse.CONTRACT:
        return own
    borrowed = (law for law in LAWS if law.contract == "attention" and law.family in lse.BORROWED)
    return own + tuple(replace(law, contract=contract) for law in borrowed)
