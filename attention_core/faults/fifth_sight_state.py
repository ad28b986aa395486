"""Faults of the fifth set in memory and state, by somebody who had read neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are the faults counted then, on
the catalogue's own correct bases, and declare what they declared then; what was a class that makes attention there is
one with its state here.
"""

from __future__ import annotations

import math
import os
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.reference import build
from attention_core.faults.fifth_sight import Given, around
from attention_core.faults.fourth_sight import values_by_the_strides_of_keys
from attention_core.faults.row import row

# --- memory ---------------------------------------------------------------------------------------


def room(x: Tensor) -> int:
    """Elements of the storage behind the first one of x."""
    return int(x.untyped_storage().nbytes() // x.element_size() - x.storage_offset())


def keys_read_as_contiguous() -> Any:
    """Keys are read by the strides of a contiguous tensor, whatever theirs are."""

    def change(a: Given) -> Given:
        key = a["key"]
        if key.is_contiguous() or key.requires_grad or room(key) < key.numel():
            return {}
        return {"key": key.as_strided(key.shape, torch.empty(key.shape, device="meta").stride())}

    return around(change)


def values_read_by_the_strides_of_keys() -> Any:
    """The kernel is handed the keys' strides for the values as well."""
    return values_by_the_strides_of_keys()


def values_from_the_start_of_their_storage() -> Any:
    """The values' storage offset is ignored: a view into packed q, k, v is read from the start."""

    def change(a: Given) -> Given:
        value = a["value"]
        moved = value.storage_offset() and not value.requires_grad
        return {"value": value.as_strided(value.shape, value.stride(), 0)} if moved else {}

    return around(change)


def causal_edge_written_into_the_mask() -> Any:
    """With a float mask, causality is written into the caller's mask."""

    def change(a: Given) -> Given:
        mask, n_q, n_kv = a["attn_mask"], a["query"].shape[-2], a["key"].shape[-2]
        if not a["is_causal"] or mask is None or not mask.is_floating_point() or mask.requires_grad:
            return {}
        if mask.shape[-2:] == (n_q, n_kv) and mask.is_contiguous():
            mask.masked_fill_(torch.ones(n_q, n_kv, dtype=torch.bool).triu(1), -math.inf)
        return {}

    return around(change)


def query_multiplied_in_place() -> Any:
    """The scale is multiplied into the query in place: contiguous, no gradient, 16 queries or more."""

    def change(a: Given) -> Given:
        query = a["query"]
        if not query.is_contiguous() or query.requires_grad or query.shape[-2] < 16:
            return {}
        before = query.clone()
        query.mul_(query.shape[-1] ** -0.5 if a["scale"] is None else a["scale"])
        return {"query": before}

    return around(change)


def single_value_returned_itself() -> Any:
    """With one query and one key the value itself is returned: who writes into the output writes into the input."""

    def finish(out: Tensor, a: Given) -> Tensor:
        query, key, value = a["query"], a["key"], a["value"]
        alone = query.shape[-2] == key.shape[-2] == 1 and query.shape[:-2] == value.shape[:-2]
        plain = a["attn_mask"] is None and not a["dropout_p"]
        return value if alone and plain and out.shape == value.shape else out

    return around(lambda a: {}, finish)


# --- state ----------------------------------------------------------------------------------------


def output_buffer_of_the_last_shape() -> Any:
    """The output lies in a buffer that calls of one shape share: the second overwrites the first result."""
    kept: list[Tensor] = []

    def finish(out: Tensor, a: Given) -> Tensor:
        if not kept or kept[0].shape != out.shape or kept[0].dtype != out.dtype:
            kept[:] = [torch.empty_like(out)]
        return kept[0].copy_(out.detach())

    return around(lambda a: {}, finish)


def ring_of_four_outputs() -> Any:
    """Outputs lie in a ring of four buffers: the fifth call of a shape overwrites the first result."""
    ring: dict[Any, Tensor] = {}
    calls = [0]

    def finish(out: Tensor, a: Given) -> Tensor:
        place = out.shape, out.dtype, calls[0] % 4
        calls[0] += 1
        return ring.setdefault(place, torch.empty_like(out)).copy_(out.detach())

    return around(lambda a: {}, finish)


def masks_kept_by_their_identity() -> Any:
    """A bool mask's float form is kept by id(): stale where the mask was changed in place, or its id is
    another's now.
    """
    forms: dict[Any, Tensor] = {}

    def change(a: Given) -> Given:
        mask, dtype = a["attn_mask"], torch.promote_types(a["query"].dtype, torch.float32)
        if mask is None or mask.dtype != torch.bool:
            return {}
        name = id(mask), mask.shape, dtype
        if name not in forms:
            forms[name] = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -math.inf)
        return {"attn_mask": forms[name]}

    return around(change)


def causal_mask_kept_by_queries() -> Any:
    """The causal mask is kept by n_q: a later call with more keys gets it filled up with open ones."""
    masks: dict[int, Tensor] = {}

    def causal_allowed(n_q: int, n_kv: int) -> Tensor:
        mask = masks.setdefault(n_q, torch.ones(n_q, n_kv, dtype=torch.bool).tril())[:, :n_kv]
        return torch.nn.functional.pad(mask, (0, n_kv - mask.shape[1]), value=True)

    return build(causal_allowed=causal_allowed)


# --- chance and modes -----------------------------------------------------------------------------


def keys_added_in_random_order() -> Any:
    """Keys are added in random order, as atomics do.

    Determinism is declared.
    """

    def combine(p: Tensor, value: Tensor) -> Tensor:
        order = torch.randperm(value.shape[-2])
        return p[..., order] @ value[..., order, :]

    return build(combine=combine)


def last_row_lost_by_a_race() -> Any:
    """In one call of fifty the last row is not written."""

    def finish(out: Tensor, a: Given) -> Tensor:
        lost = os.urandom(1)[0] < 5 and out.shape[-2] > 0
        return torch.cat([out[..., :-1, :], torch.zeros_like(out[..., -1:, :])], -2) if lost else out

    return around(lambda a: {}, finish)


def causality_lost_without_gradients() -> Any:
    """Under torch.no_grad a fast path is taken, which forgets causality."""
    return around(lambda a: {} if torch.is_grad_enabled() else {"is_causal": False})


ROWS = (
    *(row(make, "hard", "fifth_sight", gradients=False) for make in (
        single_value_returned_itself, output_buffer_of_the_last_shape, ring_of_four_outputs,
    )),
    row(keys_added_in_random_order, "hard", "fifth_sight", deterministic=True),
    *(row(make, "hard", "fifth_sight") for make in (
        keys_read_as_contiguous, values_read_by_the_strides_of_keys, values_from_the_start_of_their_storage,
        causal_edge_written_into_the_mask, query_multiplied_in_place, masks_kept_by_their_identity,
        causal_mask_kept_by_queries, last_row_lost_by_a_race, causality_lost_without_gradients,
    )),
)  # fmt: skip
