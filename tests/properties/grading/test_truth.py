"""Answers against the truth: right ones pass, altered ones do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core import oracle
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload
from attention_core.conformance.worker.exchange import decode, encode
from attention_core.grading.fresh_inputs import Draw
from attention_core.grading.truth import AttentionTruth, ReferenceTruth, allowed_error, tells_wrong


def dealt(w: Workload) -> dict[str, Any]:
    shapes = {"query": (w.B, w.H, w.n_q, w.d), "key": (w.B, w.H_kv, w.n_kv, w.d), "value": (w.B, w.H_kv, w.n_kv, w.d_v)}
    if w.direction == "bwd":
        shapes["cotangent"] = (w.B, w.H, w.n_q, w.d_v)
    return Draw(shapes, w.dtype, "0" * 32, "submission").next()


def answered(w: Workload, inputs: dict[str, Any]) -> dict[str, Any]:
    values = {name: decode(value, w.dtype) for name, value in inputs.items()}
    mask = None if w.mask.kind == "none" else w.mask.at(np.arange(w.n_q), w.n_q, w.n_kv, w.seed)
    cotangent = values.pop("cotangent", None)
    found = {"out": oracle.attention(**values, mask=mask).out}
    if cotangent is not None:
        gradients = oracle.gradients(**values, mask=mask, cotangent=cotangent)
        found |= {f"d_{name}": getattr(gradients, name) for name in ("query", "key", "value")}
    return {name: encode(value, w.dtype) for name, value in found.items()}


WORKLOADS = [
    Workload(B=2, H=4, H_kv=2, n_q=7, n_kv=11, d=3, d_v=5, dtype="float32"),
    Workload(B=1, H=3, n_q=13, n_kv=13, d=8, dtype="bfloat16", mask=read_mask("causal")),
    Workload(B=2, H=2, n_q=7, n_kv=7, d=4, dtype="float32", mask=read_mask("window:3"), direction="bwd"),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=Workload.name)
def test_the_truth_is_right_and_each_altered_entry_is_wrong(workload: Workload) -> None:
    judge, rng = AttentionTruth(workload), np.random.default_rng(0)
    inputs = dealt(workload)
    right = answered(workload, inputs)
    found = judge.judge(inputs, right, rng)
    assert not found.is_wrong and found.share == 1.0
    altered = {name: value.copy() for name, value in right.items()}
    spot = decode(right["out"], workload.dtype)
    spot[..., -1, 0] += 0.5
    altered["out"] = encode(spot, workload.dtype)
    found = judge.judge(inputs, altered, rng)
    assert found.is_wrong and found.where.startswith("out[")


def test_altered_gradients_are_wrong() -> None:
    workload, rng = WORKLOADS[2], np.random.default_rng(0)
    judge, inputs = AttentionTruth(workload), dealt(workload)
    for name in ("d_query", "d_key", "d_value"):
        outputs = answered(workload, inputs)
        outputs[name] = outputs[name] * np.float32(1.5)
        found = judge.judge(inputs, outputs, rng)
        assert found.is_wrong and found.where.startswith(name)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_wrong_in_rows_that_are_not_judged_too(
    value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, inputs = WORKLOADS[0], dealt(WORKLOADS[0])
    monkeypatch.setattr("attention_core.grading.truth.PAIRS", 2 * 4 * 11)  # one row of each head
    judge = AttentionTruth(workload)
    outputs = answered(workload, inputs)
    assert 0 < judge.judge(inputs, outputs, np.random.default_rng(0)).share < 1
    for row in range(workload.n_q):
        spoiled = {"out": outputs["out"].copy()}
        spoiled["out"][1, 2, row, 0] = value
        assert judge.judge(inputs, spoiled, np.random.default_rng(0)).is_wrong


def test_rows_are_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    workload, inputs = WORKLOADS[0], dealt(WORKLOADS[0])
    monkeypatch.setattr("attention_core.grading.truth.PAIRS", 2 * 4 * 11)
    judge, rng = AttentionTruth(workload), np.random.default_rng(0)
    outputs = answered(workload, inputs)
    outputs["out"][0, 0, 3, 0] += 1.0
    seen = {judge.judge(inputs, outputs, rng).is_wrong for _ in range(60)}
    assert seen == {True, False}


def test_an_answer_beside_its_reference() -> None:
    exact = {"out": np.array([[1.0, 2.0, 3.0]])}
    moved = {"out": np.full((1, 3), 1e-7)}
    judge = ReferenceTruth({"out": "float32"})
    assert not judge.judge({"out": exact["out"].astype("<f4")}, exact, moved).is_wrong
    for wrong in ([[1.0, 2.0, 3.1]], [[0.0, 0.0, 0.0]], [[1.0, np.nan, 3.0]]):
        assert judge.judge({"out": np.array(wrong, dtype="<f4")}, exact, moved).is_wrong
    assert judge.blind == 0


def test_zeros_are_wrong_however_small_the_answer() -> None:
    exact = np.array([1e-6, 2e-6, 4e-6])
    assert (np.abs(exact) > allowed_error(exact, exact * 1e-7, "float32")).all()
    assert tells_wrong(exact, allowed_error(exact, exact * 1e-7, "float32"))
    assert not tells_wrong(exact, np.full(3, 1e-2))


def test_what_is_not_finite_must_be_so_in_both() -> None:
    exact = {"out": np.array([[-np.inf, 1.0, np.nan]])}
    moved = {"out": np.array([[np.nan, 1e-7, np.nan]])}
    judge = ReferenceTruth({"out": "float32"})
    assert not judge.judge({"out": exact["out"].astype("<f4")}, exact, moved).is_wrong
    for wrong in ([[np.inf, 1.0, np.nan]], [[0.0, 1.0, np.nan]], [[-np.inf, np.nan, np.nan]], [[-np.inf, 1.0, 2.0]]):
        assert judge.judge({"out": np.array(wrong, dtype="<f4")}, exact, moved).is_wrong
