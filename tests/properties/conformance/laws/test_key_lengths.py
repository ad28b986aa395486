"""Power and false alarms of the laws of key lengths: every fault is refuted, right functions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, refuted
from torch import Tensor

from attention_core.conformance.laws import key_lengths
from attention_core.faults import features as faults
from attention_core.kernels.dot_product import dot_product_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {
    "backward_without_lengths": "gradients_with_key_lengths_are_true",
}
"""One law that must see it, where that is not the comparison with the truth."""


@pytest.mark.parametrize("law", key_lengths.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: key_lengths.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **WIDE)


@pytest.mark.parametrize("fault", faults.LENGTHS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, "keys_beyond_a_length_do_not_count"), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_holds(seed: int) -> None:
    for law in key_lengths.LAWS:
        held(law.name, faults.build(), seed=seed, **WIDE)


def test_the_last_query_faces_the_last_key_of_its_sequence() -> None:
    """As in a cache: causal from the bottom right, counted from each sequence's own length."""

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, cache_seqlens: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        n_q, n_kv = q.shape[-2], k_cache.shape[-2]
        j = torch.arange(n_kv)
        lengths = torch.full(q.shape[:1], n_kv) if cache_seqlens is None else cache_seqlens
        allow = (j < lengths[:, None, None, None]).expand(-1, 1, n_q, -1)
        if causal:
            allow = allow & (j <= torch.arange(n_q)[:, None] + lengths[:, None, None, None] - n_q)
        return dot_product_attention(q, k_cache, v_cache, allow)

    for law in key_lengths.LAWS:
        held(law.name, attention, causal="bottom_right", masked_nan="ignored", **WIDE)
    refuted("keys_beyond_a_length_do_not_count", attention, "quick", **WIDE)
