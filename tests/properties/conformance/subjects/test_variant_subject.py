"""How functions of sigmoid and of differential attention are called, by the names of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import decode
from attention_core.declaration.implementation import Implementation, TargetError

CASE = ParameterCase(
    {"B": 2, "H_kv": 3, "group": 1, "n_q": 4, "n_kv": 5, "d": 6, "d_v": 7}, options={"causal": True}, seed=3
)


def request(target: Callable[..., Any], case: ParameterCase = CASE, **record: Any) -> tuple[Any, Any, Any]:
    """The subject, the request of a case, and its call."""
    with Session(Implementation(target, contract="variant-attention", **record)) as session:
        subject: Any = session.subject
        call = subject.draw(case)
        return subject, subject.request_of(case, call), call


def sent(value: Any) -> np.ndarray[Any, Any]:
    """The numbers of an argument."""
    return decode(value.base, value.dtype).reshape(value.shape)


def test_sigmoid_attention_is_called_by_names_in_any_order() -> None:
    def attend(v: Any, q: Any, k: Any, causal: bool = False, bias: float | None = None) -> Any: ...

    subject, asked, call = request(attend)
    assert (subject.kind, asked.args, sorted(asked.kwargs)) == ("sigmoid", (), ["causal", "k", "q", "v"])
    np.testing.assert_array_equal(sent(asked.kwargs["q"]), np.float32(call.query))
    assert subject.bias(call) == -np.log(5)
    assert subject.bias(call.with_(shift=0.0)) == 0.0
    assert request(attend, parameters={"bias": -3})[0].bias(call) == -3.0


def test_two_maps_come_apart_or_as_neighbouring_heads() -> None:
    def apart(q1: Any, q2: Any, k1: Any, k2: Any, v: Any, lam: float) -> Any: ...

    def joined(q: Any, k: Any, v: Any, lambda_full: float) -> Any: ...

    subject, asked, call = request(apart, layout="bnhd")
    assert subject.kind == "differential"
    np.testing.assert_array_equal(sent(asked.kwargs["k2"]), np.float32(call.key2.swapaxes(1, 2)))
    subject, asked, call = request(joined)
    heads = sent(asked.kwargs["q"])
    np.testing.assert_array_equal(heads[:, 2:4], np.float32(np.stack([call.query[:, 1], call.query2[:, 1]], 1)))
    assert (asked.kwargs["lambda_full"], asked.kwargs["v"].shape) == (0.8, (2, 3, 5, 7))


@pytest.mark.parametrize(
    ("target", "record", "words"),
    [
        (lambda q, k, mystery: None, {}, "what the parameter mystery is given is not known: name it as papers do"),
        (lambda q, k: None, {}, "the target has no parameter for its value: name it value"),
        (lambda q1, k1, q2, v, lam: None, {}, "the target has no parameter for its key2: name it key2"),
        (lambda q1, k1, q2, k2, v: None, {}, "no parameter says how the second map is weighed: name it lam"),
        (lambda q, k, v: None, {"parameters": {"kind": "differential"}}, "no parameter says how the second map is"),
        (lambda q, k, v: None, {"parameters": {"kind": "cosine"}}, "--kind cosine: choose from sigmoid, differential"),
    ],
)
def test_what_cannot_be_called_is_one_line(target: Any, record: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError) as caught:
        request(target, **record)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
