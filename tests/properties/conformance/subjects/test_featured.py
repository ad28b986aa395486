"""Calls with features: rows that are judged, and the gradient of sinks and its budget."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core.conformance import Implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.featured import judge_call
from attention_core.faults import features as faults


def a_case() -> Case:
    """Two sequences of four query heads on two key heads; row 0 may attend nothing."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, H, n, 4)) for H, n in ((4, 3), (2, 5), (2, 5)))
    mask = np.ones((3, 5), dtype=bool)
    mask[0] = False
    return Case("float64", q, k, v, mask=mask)


@pytest.mark.parametrize(
    ("dead_rows", "sinks", "judged"),
    [("zeros", False, True), ("nan", False, True), ("unspecified", False, False), ("nan", True, False)],
)
def test_rows_without_a_key_are_judged_where_something_is_declared(dead_rows: str, sinks: bool, judged: bool) -> None:
    record = Implementation(faults.build(), name="f", dead_rows=dead_rows)
    with Session(record) as session:
        features = Features(sinks=np.zeros(4)) if sinks else Features(window=(1, 1))
        call = judge_call(session.implementation, a_case(), features)
    assert call.rows_to_judge[:, :, 0].all() == judged and call.rows_to_judge[:, :, 1:].all()


def test_the_gradient_of_sinks_is_that_of_torch() -> None:
    case, sinks = a_case(), np.array([0.5, -1.0, 2.0, 0.0])
    with Session(Implementation(faults.build(), name="f")) as session:
        true, bounds, judged = judge_call(session.implementation, case, Features(sinks=sinks)).gradients()
    q, k, v = (torch.tensor(x) for x in (case.query, case.key, case.value))
    z = torch.tensor(sinks, requires_grad=True)
    out = faults.build()(q, k, v, torch.tensor(case.mask), enable_gqa=True, sinks=z)
    out.backward(torch.tensor(case.cotangent()))
    assert judged and z.grad is not None
    assert (np.abs(true["sinks"] - z.grad.numpy()) <= bounds["sinks"]).all() and bounds["sinks"].max() < 1e-11


@pytest.mark.parametrize("sinks", [False, True])
def test_the_gradient_of_slopes_is_that_of_torch(sinks: bool) -> None:
    case, slopes = a_case(), np.array([0.5, 0.25, 0.125, 1.0])
    features = Features(alibi_slopes=slopes, sinks=np.zeros(4) if sinks else None, key_lengths=np.array([3, 5]))
    with Session(Implementation(faults.build(), name="f")) as session:
        true, bounds, judged = judge_call(session.implementation, case, features).gradients()
    q, k, v = (torch.tensor(x) for x in (case.query, case.key, case.value))
    m = torch.tensor(slopes, requires_grad=True)
    how = {"sinks": torch.zeros(4, dtype=torch.float64) if sinks else None, "key_lengths": torch.tensor([3, 5])}
    out = faults.build()(q, k, v, torch.tensor(case.mask), enable_gqa=True, alibi_slopes=m, **how)
    out.backward(torch.tensor(case.cotangent()))
    assert judged and m.grad is not None
    off = np.abs(true["alibi_slopes"] - m.grad.numpy())
    assert (off <= bounds["alibi_slopes"]).all() and bounds["alibi_slopes"].max() < 1e-11


def test_a_pair_at_no_distance_adds_no_error_to_the_gradient_of_slopes() -> None:
    q = np.array([[[[1.0, 0, -3], [-2, 0, -3]], [[8, 0.5, 3], [4, 0, -3]]]])
    k = np.array([[[[0.0, 2, 0.5], [0, 1, 0]], [[3, 2, 2], [-1, -3, 1]]]])
    v = np.array([[[[1.0, 2, 3], [0.5, 3, 0.5]], [[0, -2, 2], [2, -2, 0.5]]]])
    features = Features(alibi_slopes=np.array([2.0**-6, 0.5]))
    with Session(Implementation(faults.build(), name="f")) as session:
        _, bounds, judged = judge_call(session.implementation, Case("bfloat16", q, k, v), features).gradients()
    assert judged and not np.isnan(bounds["alibi_slopes"]).any()
    assert np.isfinite(bounds["alibi_slopes"][0]) and np.isinf(bounds["alibi_slopes"][1])
