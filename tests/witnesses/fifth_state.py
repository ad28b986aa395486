"""The witnesses of the fifth set for memory and state; see `fifth_witnesses.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from witnesses.fourth import open_but_one
from witnesses.second import normal, three
from witnesses.third import forward

from attention_core.faults.bases.reference import build

CALLS = 2000
"""Of a fault that shows once in fifty: none of them shows it once in 10^17 runs."""


some = (torch.arange(35).reshape(5, 7) % 3 > 0) | (torch.arange(7) == 0)


def same_bits(got: Tensor, want: Tensor) -> float:
    """0 for equal tensors, inf for others."""
    return 0.0 if torch.equal(got, want) and got.dtype == want.dtype else math.inf


# --- memory and state -----------------------------------------------------------------------------


def transposed(x: Tensor) -> Tensor:
    """The same values, features outside tokens."""
    return x.mT.contiguous().mT


def mask_afterwards(target: Any) -> float:
    """A float mask of a causal call, looked at afterwards."""
    mask = torch.zeros(5, 7)
    target(*three(), attn_mask=mask, is_causal=True)
    return same_bits(mask, torch.zeros(5, 7))


def query_afterwards(target: Any) -> float:
    """A query of 20 rows, looked at afterwards."""
    q, k, v = three(20)
    before = q.clone()
    target(q, k, v)
    return same_bits(q, before)


def value_afterwards(target: Any) -> float:
    """A value, looked at after its output was written into."""
    q, k, v = three(1, 1)
    before = v.clone()
    target(q, k, v).add_(1.0)
    return same_bits(v, before)


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


def without_gradients(target: Any) -> float:
    """A causal call under torch.no_grad."""
    with torch.no_grad():
        return forward(target, *three(), causal=True)


Witness = tuple[Callable[[Any], float], Callable[[], Any]]
WITNESS: dict[str, Witness] = {
    "keys_read_as_contiguous": (lambda t: forward(t, three()[0], transposed(three()[1]), three()[2]), build),
    "values_read_by_the_strides_of_keys": (lambda t: forward(t, *three()[:2], transposed(three()[2])), build),
    "values_from_the_start_of_their_storage": (lambda t: forward(t, *three()[:2], normal(5, 2, 7, 8)[2:4]), build),
    "causal_edge_written_into_the_mask": (mask_afterwards, build),
    "query_multiplied_in_place": (query_afterwards, build),
    "single_value_returned_itself": (value_afterwards, build),
    "output_buffer_of_the_last_shape": (lambda t: first_of(t, 2), build),
    "ring_of_four_outputs": (lambda t: first_of(t, 5), build),
    "masks_kept_by_their_identity": (mask_changed_in_place, build),
    "causal_mask_kept_by_queries": (more_keys_than_before, build),
    "keys_added_in_random_order": (same_bits_again, build),
    "last_row_lost_by_a_race": (many_calls, build),
    "causality_lost_without_gradients": (without_gradients, build),
}  # fmt: skip
