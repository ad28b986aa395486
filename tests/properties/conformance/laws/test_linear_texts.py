"""Laws of linear attention to packed texts: each refutes its fault, right ones conform, and what is read of a case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import judged, refuted
from judging_contracts import conforming
from torch import Tensor

from attention_core import oracle
from attention_core.conformance.laws import linear_texts as laws
from attention_core.conformance.laws.linear_attention import CONTRACT
from attention_core.conformance.laws.linear_texts import draw_lengths
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.faults import linear_texts as faults

CENTRAL, PACKED, EMPTY = "linear_attention_agrees_with_the_truth", *(law.name for law in laws.LAWS)
SEEN_BY = {  # one law that must see it; that of packed texts where none is named
    "states_of_full_texts_alone": EMPTY,
    "kimi_decay_of_the_first_feature": CENTRAL,
    "kimi_delta_before_the_decay": CENTRAL,
    "step_left_out_of_the_values": CENTRAL,
    "step_left_out_of_the_decay": CENTRAL,
    "rate_taken_for_its_logarithm": CENTRAL,
    "groups_in_turn": "heads_of_a_group_share_their_projections",
}
WIDE: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), "quick", **WIDE)


@pytest.mark.thorough(one_for="fault")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, PACKED), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.parametrize("made", [faults.packed, faults.channels, faults.state_space])
def test_what_the_faults_are_made_of_conforms(made: Callable[..., Any]) -> None:
    conforming(made(), CONTRACT, "quick", 0, accumulate="float32")


def test_a_function_without_borders_is_not_asked_for_packs() -> None:
    def linear(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ((q @ k.mT).tril() @ v) * q.shape[-1] ** -0.5

    for name in (PACKED, EMPTY):
        assert judged(name, linear, **WIDE).status == "not_applicable"


def test_two_calls_with_a_state_are_one_pack_of_two_texts() -> None:
    """Carried over, the state makes two texts one; the laws ask for both, and this is why both are right."""
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 1, 2, 7, 3))
    g = -rng.random((1, 2, 7, 3))
    whole, last = oracle.linear_attention(q, k, v, g)
    first, state = oracle.linear_attention(*(x[:, :, :4] for x in (q, k, v, g)))
    second, end = oracle.linear_attention(*(x[:, :, 4:] for x in (q, k, v, g)), initial_state=state)
    run = faults.packed()
    texts = [torch.tensor(x.swapaxes(1, 2)) for x in (q, k, v, g)]
    starts = torch.tensor(np.concatenate([0 * state, state]))
    out, states = run(*texts, None, starts, True, torch.tensor([0, 4, 7]))
    found = out[0].transpose(0, 1).numpy()
    assert found[:, :4] == pytest.approx(first[0]) and found[:, :4] == pytest.approx(whole[0, :, :4])
    assert found[:, 4:] == pytest.approx(second[0]) and found[:, 4:] == pytest.approx(whole[0, :, 4:])
    assert states[1].numpy() == pytest.approx(end[0]) and states[1].numpy() == pytest.approx(last[0])


@pytest.mark.parametrize("kind", ["any", "edges"])
def test_lengths_are_those_of_a_case(kind: str) -> None:
    for seed in range(20):
        case = ParameterCase({"B": 3, "n": 40}, options={"lengths": kind}, seed=seed)
        lengths = draw_lengths(case)
        assert len(lengths) == 3 and min(lengths) >= 1 and max(lengths) <= 40
        assert kind == "edges" or 40 in lengths
