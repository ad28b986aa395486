"""Power and false alarms of the laws of the seed's self_attention and of its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, refuted
from judging_contracts import conforming, first_refuting
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.laws import seed_attention
from attention_core.faults import seed_attention as whole
from attention_core.modules import self_attention as ours


@pytest.mark.parametrize("law", seed_attention.LAWS, ids=lambda law: law.name)
def test_every_law_of_the_whole_refutes_the_fault_it_names(law: Any) -> None:
    refuted(law.name, getattr(whole, law.fault), effort="quick", contract=seed_attention.CONTRACT)


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", whole.FAULTY)
def test_every_fault_of_the_whole_is_refuted(fault: Callable[..., Tensor]) -> None:
    assert first_refuting(fault, seed_attention.CONTRACT)


@pytest.mark.parametrize("right", [whole.self_attention, ours.self_attention])
def test_the_whole_conforms(right: Callable[..., Tensor]) -> None:
    conforming(right, seed_attention.CONTRACT)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_right_gradients_are_left_in_peace(seed: int) -> None:
    for right in (whole.self_attention, ours.self_attention):
        held("gradients_of_every_head_are_true", right, contract=seed_attention.CONTRACT, seed=seed)


def one_sequence(Q: Tensor, K: Tensor, V: Tensor, n_heads: int, causal: bool) -> Tensor:
    """(n, E) alone."""
    assert Q.ndim == 2
    return whole.self_attention(Q[None], K[None], V[None], n_heads, causal)[0]


def test_gradients_of_one_sequence_are_judged() -> None:
    held("gradients_of_every_head_are_true", one_sequence, contract=seed_attention.CONTRACT, axes=2)


def without_a_flag(q: Tensor, k: Tensor, v: Tensor, n_heads: int, dropout: float = 0.0) -> Tensor:
    assert not dropout
    return whole.self_attention(q, k, v, n_heads, False)


def test_a_function_without_a_flag_of_causality_is_judged_without() -> None:
    report = check_implementation(Implementation(without_a_flag, name="f", untested=("dropout",)), "quick")
    under = report.under_found
    assert report.verdict == "error" and "declare --contract self-attention" in report.problem
    assert report.first_look is not None and report.first_look.found == {"contract": "self-attention"}
    assert under is not None and under.verdict == "conforms", under
    status = {r.law: r.status for r in under.laws}
    assert status["causal_self_attention_masks_before_its_softmax"] == "not_applicable"
    assert status["gradients_of_every_head_are_true"] == "held"


@torch.no_grad()
def forward_only(Q: Tensor, K: Tensor, V: Tensor, n_heads: int, causal: bool) -> Tensor:
    return whole.self_attention(Q, K, V, n_heads, causal)


def test_a_function_that_is_forward_only_is_found_to_be_so() -> None:
    report = check_implementation(Implementation(forward_only, "f", seed_attention.CONTRACT), "quick")
    assert report.first_look is not None and dict(report.first_look.found) == {"gradients": False}
    assert report.under_found is not None and report.under_found.verdict == "conforms"
