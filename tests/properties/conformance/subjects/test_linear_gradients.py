"""True gradients by what a target is given: summed over what shares a number, and text by text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.linear_gradients import true_gradients
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import Implementation
from attention_core.faults import linear_attention, linear_texts

CASE = ParameterCase({"B": 2, "H": 4, "n": 5, "d": 3, "d_v": 4}, dtype="float64", seed=3)
RETENTION = {"kind": "retention"}


def compare(target: Any, case: ParameterCase, lengths: list[int] | None = None, **record: Any) -> set[str]:
    """Hold true gradients against those of torch; the names of what they are of."""
    with Session(Implementation(target, contract="linear-attention", **record)) as session:
        subject: Any = session.subject
        tokens = subject.tokens(case if lengths is None else case.with_(B=1, n=sum(lengths)))
        start = subject.start(case) if "ends" in subject.roles or lengths is None else None
        down = (case.values("out", *tokens.value.shape), np.zeros((case["B"], case["H"], case["d"], case["d_v"])))
        true = true_gradients(subject, case, tokens, start, down, lengths)
        request = subject.request_of(case, tokens, start, lengths=lengths, ask=False)
        names = [*subject.call_form.inputs, *(role for role in true if role not in subject.call_form.inputs)]
        places = [subject.roles.get(name, "") for name in names]
    args = [as_tensor(x) for x in request.args]
    named = {name: as_tensor(x) if hasattr(x, "base") else x for name, x in request.kwargs.items()}
    out = target(*args, **named)
    (out * torch.tensor(subject.own.to_target(down[0]).copy())).sum().backward()
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        x = args[i] if i < len(args) else named[place]
        got = true[name].axes.from_target(x.grad.numpy())
        assert got == pytest.approx(true[name].values, rel=1e-9, abs=1e-9), name
        assert (np.abs(got - true[name].values) <= true[name].bound).all(), name
    return set(true)


def as_tensor(x: Any) -> torch.Tensor:
    """A contiguous array of a request."""
    tensor = torch.tensor(x.base.reshape(x.shape))
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def test_gates_of_features_tokens_and_heads() -> None:
    assert compare(linear_attention.gated(), CASE) == {"query", "key", "value", "log_decay", "state"}
    delta = linear_attention.build("gated-delta")
    assert compare(delta, CASE) == {"query", "key", "value", "log_decay", "beta", "state"}
    assert compare(linear_texts.channels(), CASE) == {"query", "key", "value", "log_decay", "beta", "state"}
    retention = linear_attention.build("retention")
    assert compare(retention, CASE, parameters=RETENTION) == {"query", "key", "value", "decay", "state"}


def test_packed_texts_and_empty_ones() -> None:
    compare(linear_texts.packed(), CASE.with_(B=3), [2, 0, 5])


def test_a_state_space_whose_heads_share_projections() -> None:
    seeds = [seed for seed in range(40) if groups(CASE.with_(seed=seed)) == 2][:2]
    for seed in seeds:
        found = compare(linear_texts.state_space(), CASE.with_(seed=seed))
        assert found == {"query", "key", "value", "step", "decay", "state"}
    compare(linear_texts.state_space(), CASE.with_(seed=seeds[0]), [3, 2])


def groups(case: ParameterCase) -> int:
    """The groups of a case of a state space."""
    with Session(Implementation(linear_texts.state_space(), contract="linear-attention")) as session:
        subject: Any = session.subject
        return int(subject.groups(case))
