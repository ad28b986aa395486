"""The law of the gradients of linear attention refutes what has a wrong one, and leaves right ones alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor

from attention_core.conformance.laws import linear_gradients as laws
from attention_core.conformance.laws.linear_attention import CONTRACT
from attention_core.faults import linear_attention, linear_texts
from attention_core.faults import linear_gradients as faults

(LAW,) = laws.LAWS
WIDE: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}


def test_the_law_refutes_the_fault_it_names() -> None:
    refuted(LAW.name, getattr(faults, LAW.fault)(), "quick", **WIDE)


@pytest.mark.thorough(one_for="fault")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    result = refuted(LAW.name, fault(), "quick", seed=seed, **WIDE)
    assert result.message.startswith("gradient of ")


@pytest.mark.parametrize(
    "law",
    [
        "linear_attention_agrees_with_the_truth", "the_final_state_is_true", "an_initial_state_counts",
        "packed_texts_begin_with_states_of_their_own",
    ],
)  # fmt: skip
def test_outputs_and_states_of_the_faults_are_right(law: str) -> None:
    for fault in faults.FAULTY:
        assert judged(law, fault(), "quick", brief=True, **WIDE).status in ("held", "not_applicable"), fault.__name__


@pytest.mark.parametrize("made", [linear_texts.packed, linear_texts.channels, linear_texts.state_space])
def test_what_the_faults_are_made_of_has_true_gradients(made: Callable[..., Any]) -> None:
    held(LAW.name, made(), **WIDE)


def test_a_kernel_without_a_graph_is_left_out() -> None:
    inner = linear_attention.gated()

    def forward_only(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Tensor:
        with torch.no_grad():
            out: Tensor = inner(q, k, v, g)
        return out

    assert judged(LAW.name, forward_only, **WIDE).status == "not_applicable"
    assert judged(LAW.name, linear_attention.gated(), gradients=False, **WIDE).status == "not_applicable"


def test_a_retention_may_keep_its_decays_fixed() -> None:
    inner = linear_attention.build("retention")

    def retention(q: Tensor, k: Tensor, v: Tensor, decay: Tensor) -> Tensor:
        out: Tensor = inner(q, k, v, decay.detach())
        return out

    held(LAW.name, retention, **WIDE)
