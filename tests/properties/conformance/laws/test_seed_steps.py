"""The laws of single steps of the assignment's attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judging import held, refuted
from judging_contracts import conforming, first_refuting
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import seed_steps
from attention_core.declaration.implementation import TargetError
from attention_core.faults import seed_steps as steps
from attention_core.modules import self_attention as ours


@pytest.mark.parametrize("law", seed_steps.LAWS, ids=lambda law: law.name)
def test_every_law_of_the_steps_refutes_the_fault_it_names(law: Any) -> None:
    kind = next(kind for kind, made in steps.FAULTY.items() if law.fault in [f.__name__ for f in made])
    record: dict[str, Any] = {"contract": seed_steps.CONTRACT, "parameters": {"kind": kind}}
    refuted(law.name, getattr(steps, law.fault), effort="quick", **record)


@pytest.mark.parametrize(("kind", "fault"), [(kind, f) for kind, all_of in steps.FAULTY.items() for f in all_of])
def test_every_fault_of_a_step_is_refuted(kind: str, fault: Callable[..., Tensor]) -> None:
    assert first_refuting(fault, seed_steps.CONTRACT, parameters={"kind": kind})


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("kind", seed_steps.STEPS)
def test_our_steps_conform(kind: str) -> None:
    conforming(getattr(ours, kind), seed_steps.CONTRACT, effort="standard", parameters={"kind": kind})


def test_the_scale_of_a_step_can_be_declared() -> None:
    law, kind = "a_step_is_as_the_exercise_defines_it", {"kind": "attn_scaled"}

    def by_head_size(A: Tensor, n_embd: int, n_heads: int) -> Tensor:
        return A / (n_embd // n_heads)

    contract = "self-attention-steps"
    held(law, by_head_size, contract=contract, parameters=kind, scale="1/d")
    refuted(law, by_head_size, "quick", contract=contract, parameters=kind)
    with pytest.raises(TargetError, match="--scale says nothing about merge_heads"):
        held(law, by_head_size, contract=contract, parameters={"kind": "merge_heads"}, scale="1/d")


def test_a_step_that_is_not_named_is_asked_for() -> None:
    with pytest.raises(TargetError, match="say which step it is: --kind split_heads, "):
        Session(Implementation(ours.attn_softmax, "f", seed_steps.CONTRACT))
