"""Power and false alarms of the laws of indexers: each refutes its fault, every fault is refuted, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from judging_contracts import power_tests
from torch import Tensor

from attention_core.conformance.laws import indexer
from attention_core.faults import indexer as faults

WIDE: dict[str, Any] = {"accumulate": "float32"}
FLOAT: dict[str, Any] = {**WIDE, "dtypes": ("float32",)}
SEEN_BY = {  # what no law but these is sure to see
    "causality_ignored": "later_keys_are_not_chosen",
    "own_key_left_out": "rows_with_fewer_keys_are_padded",
    "causality_from_the_first_key": "rows_with_fewer_keys_are_padded",
    "hidden_scores_are_zero": "negative_scores_are_ordered_too",
    "lengths_ignored": "keys_outside_of_the_bounds_are_not_chosen",
    "one_key_behind_the_length": "keys_outside_of_the_bounds_are_not_chosen",
    "columns_behind_the_keys": "chosen_keys_exist",
    "halves_share_a_key": "no_key_is_chosen_twice",
    "only_scores_above_the_threshold": "equal_scores_fill_the_row",
    "last_of_equal_scores": "equal_scores_are_chosen_as_declared",
    "last_key_left_out": "every_key_is_chosen_where_there_is_room",
    "keys_behind_the_first_block_left_out": "long_rows_are_read_to_their_end",
    "choice_of_the_first_sequence": "every_row_has_its_own_choice",
    "choice_of_the_last_query": "every_row_has_its_own_choice",
    "rows_are_filled_up_with_the_first_key": "rows_with_fewer_keys_are_padded",
    "hidden_keys_fill_up": "rows_with_fewer_keys_are_padded",
    "order_of_the_heap": "the_order_of_a_row_is_as_declared",
    "first_choice_kept": "other_scores_of_the_same_shape_are_read_anew",
    "scores_read_in_order": "strides_of_scores_are_followed",
}


def deepseek_indexer(index_q: Tensor, index_k: Tensor, weights: Tensor, index_topk: int) -> Tensor:
    """DeepSeek's inference code: scores of all heads, a mask of -inf added, torch.topk of min(topk, n)."""
    n_q, n_kv = index_q.shape[1], index_k.shape[1]
    scores = torch.einsum("bshd,btd->bsht", index_q.float(), index_k.float()).relu()
    scores = (scores * weights.float()[..., None]).sum(2)
    scores = scores + torch.full((n_q, n_kv), -torch.inf).triu(n_kv - n_q + 1)
    return scores.topk(min(index_topk, n_kv), dim=-1)[1]


def row_wise(logits: Tensor, ks: Tensor, ke: Tensor, topk: int = 4) -> Tensor:
    """Rows one by one, each between two bounds, as behind DeepGEMM's logits; int32, in the order of keys."""
    out = torch.full((len(logits), topk), -1, dtype=torch.int32)
    for i, (a, b) in enumerate(zip(ks.tolist(), ke.tolist(), strict=True)):
        found = logits[i, a:b].topk(min(topk, b - a)).indices.sort().values + a
        out[i, : len(found)] = found.int()
    return out


def top_k(input: Tensor, k: int) -> Any:
    """FlashInfer's call: values and indices."""
    return torch.topk(input, k)


def stable(scores: Tensor, topk: int, lengths: Tensor | None = None) -> Tensor:
    """The first of equal scores."""
    return faults.of_scores(pick=faults.pick_stable)(scores, topk, False, lengths)


def numpy_indexer(q: Any, k: Any, weights: Any, topk: int, softmax_scale: float = 1.0) -> Any:
    """Heads one by one, partial sums in the dtype of the inputs, a partition in place of a sort."""
    total = np.zeros((*q.shape[:2], k.shape[1]), q.dtype)
    for h in range(q.shape[2]):
        products = np.maximum(q[:, :, h] @ k.swapaxes(1, 2), 0) * q.dtype.type(softmax_scale)
        total += weights[:, :, h, None] * products
    return np.argpartition(-total, topk - 1, axis=-1)[..., :topk]


def heads_first(q: Tensor, k: Tensor, weights: Tensor, topk: int, causal: bool = False) -> Tensor:
    """Heads before tokens."""
    return faults.build()(q.transpose(1, 2), k, weights.transpose(1, 2), topk, causal)


RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "made": (faults.build(), WIDE),
    "given": (faults.of_scores(), {}),
    "deepseek": (deepseek_indexer, {**FLOAT, "always_causal": True, "parameters": {"padding": "any"}}),
    "rows": (row_wise, {"parameters": {"score_axes": "qk", "order": "keys"}}),
    "flashinfer": (top_k, {"parameters": {"score_axes": "qk", "order": "scores"}}),
    "stable": (stable, {"parameters": {"ties": "first", "order": "scores"}}),
    "numpy": (numpy_indexer, {"array": "numpy"}),
    "heads_first": (heads_first, {**FLOAT, "parameters": {"tokens": "bhnd"}}),
}


(
    test_every_law_refutes_the_fault_it_names,
    test_every_fault_is_refuted,
    test_right_functions_conform,
) = power_tests(indexer, faults, RIGHT, SEEN_BY, **WIDE)
