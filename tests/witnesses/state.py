"""Witnesses of faults of state: what an earlier call leaves behind.

`WITNESS` has, by the name of a fault, how far a target is off on the call that shows it, and a correct target in its place.
"""

from __future__ import annotations

from typing import Any

import torch
from witnesses.measures import CALLS, Witness, excess_with_gradients, forward, open_but_one, same_bits, some, three

from attention_core.faults.bases.reference import build


def dead_after_alive(target: Any) -> float:
    """A call, then one of the same sizes whose first sequence sees nothing."""
    excess_with_gradients(target, *three())
    return excess_with_gradients(target, *three(), (torch.arange(2) > 0)[:, None, None, None].expand(2, 1, 5, 7))


def causal_after_masked(target: Any) -> float:
    """A causal call with a mask, then one without."""
    excess_with_gradients(target, *three(), torch.eye(5, 7, dtype=torch.bool), causal=True)
    return excess_with_gradients(target, *three(), causal=True)


def result_of_before(target: Any) -> float:
    """The output of a call, looked at after the next one."""
    given = three()
    out = target(*given)
    target(*(x + 1 for x in given))
    return excess_with_gradients(target, *given, out=out)


def cross_after_causal(target: Any) -> float:
    """A causal call, then one with more keys than queries."""
    forward(target, *three(5, 5), causal=True)
    return forward(target, *three())


def default_scale_after_one(target: Any) -> float:
    """A call with scale 1, then one without."""
    forward(target, *three(), scale=1.0)
    return forward(target, *three())


def first_of(target: Any, calls: int) -> float:
    """The first of some outputs, looked at after the last."""
    first = target(*three())
    before = first.clone()
    for i in range(1, calls):
        target(*(x + i for x in three()))
    return same_bits(first, before)


def mask_changed_in_place(target: Any) -> float:
    """A mask, used again after it was changed in place."""
    mask = some.clone()
    forward(target, *three(), mask)
    mask.copy_(open_but_one)
    return forward(target, *three(), mask)


def more_keys_than_before(target: Any) -> float:
    """A causal call of five keys, then one of seven."""
    forward(target, *three(5, 5), causal=True)
    return forward(target, *three(), causal=True)


def same_bits_again(target: Any) -> float:
    """inf where one of ten calls gives other bits than the first."""
    given = three(5, 90)
    first = target(*given)
    return max(same_bits(target(*given), first) for _ in range(10))


def many_calls(target: Any) -> float:
    """inf where one of 2000 calls gives another result than the first."""
    given = three()
    first = target(*given)
    return max(same_bits(target(*given), first) for _ in range(CALLS))


WITNESS: dict[str, Witness] = {
    "dead_sequences_are_not_written": (dead_after_alive, build),
    "cached_triangle_takes_up_masks": (causal_after_masked, build),
    "results_share_one_buffer": (result_of_before, build),
    "window_of_self_attention_stays": (cross_after_causal, build),
    "scale_of_one_compiled_in": (default_scale_after_one, build),
    "output_buffer_of_the_last_shape": (lambda t: first_of(t, 2), build),
    "ring_of_four_outputs": (lambda t: first_of(t, 5), build),
    "masks_kept_by_their_identity": (mask_changed_in_place, build),
    "causal_mask_kept_by_queries": (more_keys_than_before, build),
    "keys_added_in_random_order": (same_bits_again, build),
    "last_row_lost_by_a_race": (many_calls, build),
}
