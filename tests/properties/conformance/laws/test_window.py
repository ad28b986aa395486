"""Power and false alarms of the laws of windows: faults are refuted, right functions hold, however spelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import window
from attention_core.faults import features as faults
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.masking import sliding_window

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {
    "window_at_most_32": "a_window_beyond_all_keys_is_none",
    "backward_without_the_window": "gradients_of_a_window_are_true",
}
"""One law that must see it, where that is not the comparison with the truth."""


@pytest.mark.parametrize("law", window.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: window.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **WIDE)


@pytest.mark.parametrize("fault", faults.WINDOWS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, "a_window_agrees_with_the_truth"), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_holds(seed: int) -> None:
    for law in window.LAWS:
        held(law.name, faults.build(), seed=seed, **WIDE)


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("make", faults.CORRECT, ids=lambda make: make.__name__)
def test_a_window_is_spelled_as_declared(make: Callable[[], Any]) -> None:
    for law in window.LAWS:
        held(law.name, make(), window=faults.CORRECT[make], **WIDE)


def test_transformers_masks_hold() -> None:
    """The function of transformers that says which keys a sliding window holds, in front of torch's attention."""
    masking_utils = pytest.importorskip("transformers.masking_utils")

    def attention(query: Tensor, key: Tensor, value: Tensor, sliding_window: int | None = None) -> Tensor:
        i, j = torch.arange(query.shape[-2])[:, None], torch.arange(key.shape[-2])
        allow = j <= i
        if sliding_window is not None:
            allow = masking_utils.sliding_window_causal_mask_function(sliding_window)(0, 0, i, j)
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, allow)

    for law in window.LAWS:
        held(law.name, attention, always_causal=True, **WIDE)


def test_our_structured_window_holds() -> None:
    def attention(query: Tensor, key: Tensor, value: Tensor, window: int | None = None) -> Tensor:
        n_q, n_kv = query.shape[-2], key.shape[-2]
        mask = None if window is None else sliding_window(window, "bottom_right").dense(n_q, n_kv)
        return dot_product_attention(query, key, value, mask)

    for law in window.LAWS:
        wanted = "not_applicable" if law.name == "a_window_beyond_all_keys_is_none" else "held"
        assert judged(law.name, attention, causal="bottom_right", **WIDE).status == wanted


def test_a_window_of_another_corner_is_declared() -> None:
    """Without a causal flag the corner of the window is what `--causal` declares, and what the first look finds."""

    def attention(query: Tensor, key: Tensor, value: Tensor, sliding_window: int | None = None) -> Tensor:
        behind = torch.arange(query.shape[-2])[:, None] + key.shape[-2] - query.shape[-2] - torch.arange(key.shape[-2])
        allow = None if sliding_window is None else (behind >= 0) & (behind < sliding_window)
        return dot_product_attention(query, key, value, allow)

    refuted("a_window_agrees_with_the_truth", attention, "quick", **WIDE)
    held("a_window_agrees_with_the_truth", attention, causal="bottom_right", **WIDE)
    with Session(Implementation(attention, name="f", **WIDE), effort="quick") as session:
        assert session.first_look is not None and session.first_look.found == {"causal": "bottom_right"}
