"""How functions of quantised keys and values are called, and what is refused at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.subjects.quantised_subject import Operands, read_roles
from attention_core.declaration.implementation import TargetError
from attention_core.faults.quantised import build, build_affine

CASE = ParameterCase({"B": 2, "H_kv": 3, "group": 2, "n_q": 2, "n_kv": 5, "d": 4, "d_v": 6})


def parameters(text: str) -> list[dict[str, Any]]:
    """Parameters by name; those with a "=" have a default."""
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


def test_roles_follow_the_names_of_libraries() -> None:
    roles = read_roles(parameters("q k v softmax_scale= causal= q_descale= k_descale= v_descale= window="), ())
    assert roles == {
        "scale": "softmax_scale", "causal": "causal", "query_scale": "q_descale", "key_scale": "k_descale",
        "value_scale": "v_descale",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [("q k v", "no parameter for the scale of keys"), ("q k v k_scale mystery", "the parameter mystery is given is not known")],
)  # fmt: skip
def test_what_is_not_known_is_refused(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_roles(parameters(text), ())


def test_float8_has_no_zero_point() -> None:
    record = Implementation(build_affine(), "f", "quantised", parameters={"stored": "float8_e5m2"})
    with pytest.raises(TargetError, match=r"float8 has no zero point, and the target takes k_zero"), Session(record):
        pass


@pytest.mark.parametrize(
    ("scales", "shape"),
    [("tensor", ()), ("head", (3,)), ("sequence", (2, 3)), ("token", (2, 3, 5)), ("block", (2, 3, 3))],
)
def test_scales_have_the_form_that_is_declared(scales: str, shape: tuple[int, ...]) -> None:
    seen: list[Any] = []

    def quantised(q: Any, k: Any, v: Any, k_scale: Any, v_scale: Any) -> Any:
        seen.append((k.dtype, tuple(k.shape), tuple(k_scale.shape), tuple(v_scale.shape), k_scale.dtype))
        return build()(q, k, v, k_scale, v_scale)

    record = Implementation(quantised, "f", "quantised", parameters={"scales": scales, "block": 2})
    with Session(record) as session:
        subject: Any = session.subject
        subject.send(subject.request_of(CASE, subject.operands(CASE)))
    assert seen[-1] == (torch.int8, (2, 3, 5, 4), shape, shape, torch.float32)


def test_scales_of_tokens_follow_the_layout() -> None:
    seen: list[Any] = []

    def quantised(q: Any, k: Any, v: Any, k_scale: Any, v_scale: Any) -> Any:
        seen.append((tuple(q.shape), tuple(k.shape), tuple(k_scale.shape)))
        return q

    record = Implementation(quantised, "f", "quantised", layout="bnhd", parameters={"scales": "token"})
    with Session(record) as session:
        subject: Any = session.subject
        subject.send(subject.request_of(CASE, subject.operands(CASE)))
    assert seen[-1] == ((2, 2, 6, 4), (2, 5, 3, 4), (2, 5, 3))


def test_half_of_the_cases_have_more_than_one_block() -> None:
    record = Implementation(build(), "f", "quantised", parameters={"scales": "block", "block": 64})
    with Session(record) as session:
        subject: Any = session.subject
        keys = [subject.adapt_case(CASE.with_(seed=seed))["n_kv"] for seed in range(4)]
        again = subject.adapt_case(subject.adapt_case(CASE.with_(seed=1)))["n_kv"]
    assert keys == [5, 69, 5, 69] and again == 69


def test_operands_are_read_by_their_own_scale_and_zero_point() -> None:
    numbers = np.arange(24.0).reshape(2, 1, 3, 4)
    scale, zero = np.array([[[1.0, 2.0]], [[4.0, 8.0]]]), np.array([[[0.0, 1.0]], [[2.0, 3.0]]])
    operands = Operands({"key": numbers}, {}, {"key": scale}, {"key": zero}, "block", block=2)
    expected = numbers.copy()
    for b in range(2):
        for j in range(3):
            expected[b, 0, j] = (numbers[b, 0, j] - zero[b, 0, j // 2]) * scale[b, 0, j // 2]
    np.testing.assert_array_equal(operands.read("key").values, expected)


@pytest.mark.parametrize("stored", ["int8", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("regime", ["normal", "ends"])
def test_what_is_sent_is_what_the_truth_reads(stored: str, regime: str) -> None:
    seen: list[Any] = []

    def quantised(q: Any, k: Any, v: Any, k_scale: Any, v_scale: Any) -> Any:
        seen.append((k.double() * k_scale.double()[..., None], v.double() * v_scale.double()[..., None]))
        return q

    record = Implementation(quantised, "f", "quantised", parameters={"stored": stored, "scales": "token"})
    with Session(record) as session:
        subject: Any = session.subject
        operands = subject.operands(CASE, regime)
        subject.send(subject.request_of(CASE, operands))
    for got, name in zip(seen[-1], ("key", "value"), strict=True):
        np.testing.assert_array_equal(got.numpy(), operands.read(name).values)
