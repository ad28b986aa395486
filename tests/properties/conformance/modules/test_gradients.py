"""The true gradients of a module are those of autograd in float64, in the place of every parameter and input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws.multi_head import CONTRACT
from attention_core.conformance.modules.gradients import (
    Call,
    input_gradients,
    inputs_by_part,
    is_forward_only,
    parameter_gradients,
)
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.faults.bases import multi_head as modules

CASE = ParameterCase({"B": 2, "n": 5, "H": 3, "d": 4, "m": 7}, seed=3)


def in_double(make: Callable[..., Any], values: dict[str, Any]) -> torch.nn.Module:
    """A module of float64 with these parameters."""
    module = make(CASE["H"] * CASE["d"], CASE["H"]).double()
    module.load_state_dict({name: torch.tensor(value) for name, value in values.items()})
    return module


@pytest.mark.parametrize("make", modules.NAMINGS)
@pytest.mark.parametrize("causal", [False, True])
def test_true_gradients_are_those_of_autograd(make: Callable[..., Any], causal: bool) -> None:
    with Session(Implementation(make, "f", CONTRACT)) as session:
        subject = session.subject
        found, x = subject.recognise(CASE), subject.input(CASE)
        call = Call(x, subject.input(CASE, "cotangent"), causal=causal)
        parameters = parameter_gradients(subject, CASE, found, call)
        (own,) = input_gradients(subject, CASE, found, call).values()
    module, leaf = in_double(make, dict(found.values)), torch.tensor(x, requires_grad=True)
    module(leaf, is_causal=causal).backward(torch.tensor(call.cotangent))
    assert leaf.grad is not None
    np.testing.assert_allclose(own.want, leaf.grad.numpy(), rtol=0, atol=1e-10)
    largest = max(np.abs(judged.want).max() for judged in parameters.values())
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None
        np.testing.assert_allclose(parameters[name].want, parameter.grad.numpy(), rtol=0, atol=1e-10)
        assert 0 < parameters[name].bound.max() < 1e-3 * largest  # it says something


def test_a_context_gets_what_keys_and_values_pass_to_it() -> None:
    with Session(Implementation(modules.Crossing, "f", CONTRACT)) as session:
        subject = session.subject
        found, x, context = subject.recognise(CASE), subject.input(CASE), subject.input(CASE, "context", CASE["m"])
        call = Call(x, subject.input(CASE, "cotangent"), context=context)
        true = input_gradients(subject, CASE, found, call)
        assert inputs_by_part(subject, True) == {"0": "q", "context": "kv"}
        assert inputs_by_part(subject, False) == {"0": "qkv"}
        assert not is_forward_only(subject, CASE)
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, context)]
    in_double(modules.Crossing, dict(found.values))(*leaves).backward(torch.tensor(call.cotangent))
    for judged, leaf in zip(true.values(), leaves, strict=True):
        assert leaf.grad is not None
        np.testing.assert_allclose(judged.want, leaf.grad.numpy(), rtol=0, atol=1e-10)
