"""How functions that choose keys are called: what makes the scores, how they lie, and which keys a row may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.indexer_subject import choose, read_form, read_roles, true_scores
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import decode
from attention_core.declaration.implementation import Implementation, TargetError

CASE = ParameterCase({"B": 2, "H": 3, "n_q": 4, "n_kv": 6, "topk": 2, "d": 5}, options={"ends": True}, seed=3)


def parameters(text: str) -> list[dict[str, Any]]:
    """Parameters by name; those with a "=" have a default."""
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


def request(target: Callable[..., Any], case: ParameterCase = CASE, **record: Any) -> tuple[Any, Any, Any]:
    """The subject, the request of a case, and its call."""
    with Session(Implementation(target, contract="indexer", **record)) as session:
        subject: Any = session.subject
        case = subject.adapt_case(case)
        call = subject.draw(case)
        return subject, subject.request_of(case, call), call


def sent(value: Any) -> np.ndarray[Any, Any]:
    """The numbers of an argument."""
    return decode(value.base, value.dtype).reshape(value.shape)


@pytest.mark.parametrize(
    ("text", "form", "roles"),
    [
        ("scores topk", "scores", {"topk": "topk"}),
        ("input k", "scores", {"topk": "k"}),
        ("logits ks ke topk=", "scores", {"starts": "ks", "ends": "ke", "topk": "topk"}),
        ("q k weights topk causal=", "heads", {"weights": "weights", "topk": "topk", "causal": "causal"}),
        ("index_q index_k w index_topk sm_scale", "heads", {"weights": "w", "topk": "index_topk", "scale": "sm_scale"}),
    ],
)
def test_what_parameters_are(text: str, form: str, roles: dict[str, str]) -> None:
    assert read_form(parameters(text), None) == form
    assert read_roles(parameters(text), (), form) == roles
    assert read_form(parameters(text), "made") == "heads"
    assert read_form(parameters(text), "given") == "scores"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (lambda scores, mystery, topk: None, "what the parameter mystery is given is not known: name it as"),
        (lambda scores: None, "nothing says how many keys are chosen: name a parameter topk, or --parameter topk=N"),
        (lambda q, k, topk: None, "no parameter says how heads are weighed: name it weights"),
    ],
)
def test_what_cannot_be_called_is_one_line(target: Any, words: str) -> None:
    with pytest.raises(TargetError) as caught:
        request(target)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_queries_keys_and_weights_lie_as_declared() -> None:
    def made(q: Any, k: Any, weights: Any, topk: int, causal: bool = False) -> Any: ...

    _, asked, call = request(made)
    assert [x.shape for x in asked.args] == [(2, 4, 3, 5), (2, 6, 5)]
    assert asked.kwargs["topk"] == 2 and "causal" not in asked.kwargs
    np.testing.assert_array_equal(sent(asked.kwargs["weights"]), np.float32(call.weights))
    _, asked, call = request(made, parameters={"tokens": "bhnd"})
    np.testing.assert_array_equal(sent(asked.args[0]), np.float32(call.query.swapaxes(1, 2)))
    _, asked, _ = request(made, parameters={"tokens": "nhd"})
    assert [x.shape for x in asked.args] == [(4, 3, 5), (6, 5)]


def test_bounds_of_rows_are_passed_and_judged() -> None:
    def rows(scores: Any, ks: Any, ke: Any, topk: int) -> Any: ...

    subject, asked, call = request(rows, parameters={"score_axes": "qk"})
    assert asked.args[0].shape == (4, 6)
    np.testing.assert_array_equal(sent(asked.kwargs["ks"]), call.starts[0])
    np.testing.assert_array_equal(sent(asked.kwargs["ke"]), call.ends[0])
    allowed = subject.allow(call)[0, 0]
    assert [row.nonzero()[0].tolist() for row in allowed] == [
        list(range(a, e)) for a, e in zip(call.starts[0], call.ends[0], strict=True)
    ]


def test_a_number_of_keys_may_be_declared() -> None:
    def fixed(scores: Any) -> Any: ...

    subject, asked, call = request(fixed, parameters={"topk": 4})
    assert call.topk == 4
    assert not asked.kwargs
    judged = subject.judge(CASE, call)
    assert (judged.count == 4).all()
    chosen = choose(judged, 4)
    assert (chosen.sum(-1) == 4).all()
    assert (np.where(chosen, judged.scores, np.inf).min(-1) >= np.where(chosen, -np.inf, judged.scores).max(-1)).all()


def test_the_rectifier_comes_before_the_weights() -> None:
    q, k, w = np.array([[[[1.0], [1.0]]]]), np.array([[[2.0], [-3.0]]]), np.array([[[-1.0, 3.0]]])
    assert true_scores(q, k, w).tolist() == [[[4.0, 0.0]]]
