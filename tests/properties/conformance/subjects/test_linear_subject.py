"""How functions of linear attention are called: their kind and their gates follow from the names of their parameters."""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.conformance.contracts import built_in
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.linear_subject import read_roles
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import Implementation, TargetError


def parameters(text: str) -> list[dict[str, Any]]:
    """Parameters by name; those with a "=" have a default."""
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("q k v", "", "linear"),
        ("q k v scale= initial_state= output_final_state= normalize=", "", "linear"),
        ("q k v decay", "", "retention"),
        ("q k v g_gamma", "", "retention"),
        ("q k v g", "retention", "retention"),
        ("q k v gk= gv=", "", "gla"),
        ("q k v g beta", "", "gated-delta"),
        ("q k v beta", "", "gated-delta"),
        ("q k v log_decay= beta=", "linear", "linear"),
    ],
)
def test_the_kind_of_a_target(text: str, kind: str, expected: str) -> None:
    assert read_roles(parameters(text), (), kind)[0] == expected


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("q k v mystery", "", "the parameter mystery is given is not known"),
        ("q k v", "gla", "needs a parameter for its log decay"),
        ("q k v g", "gated-delta", "needs a parameter for its beta"),
        ("q k v g", "linear", "has no g, which the target needs"),
        ("q k v", "softmax", "say which recurrence it is: --kind linear, retention, gla, gated-delta"),
    ],
)
def test_what_cannot_be_called_is_refused(text: str, kind: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_roles(parameters(text), (), kind)


def test_an_operator_of_fla_gets_tokens_before_heads_and_states_in_float32() -> None:
    def chunk_gated_delta_rule(
        q: Any, k: Any, v: Any, g: Any, beta: Any, scale: Any = None, initial_state: Any = None,
        output_final_state: bool = False, cu_seqlens: Any = None,
    ) -> Any:  # fmt: skip
        raise NotImplementedError

    with Session(Implementation(chunk_gated_delta_rule, contract="linear-attention")) as session:
        subject: Any = session.subject
        case = ParameterCase({"B": 2, "H": 3, "n": 5, "d": 4, "d_v": 6}, dtype="bfloat16")
        request = subject.request_of(case, subject.tokens(case), subject.start(case), scale=0.3)
    assert [x.shape for x in request.args] == [(2, 5, 3, 4), (2, 5, 3, 4), (2, 5, 3, 6)]
    assert {n: x.shape for n, x in request.kwargs.items() if hasattr(x, "shape")} == {
        "g": (2, 5, 3), "beta": (2, 5, 3), "initial_state": (2, 3, 4, 6),
    }  # fmt: skip
    assert request.kwargs["initial_state"].dtype == "float32" and request.kwargs["g"].dtype == "bfloat16"
    assert (request.kwargs["scale"], request.kwargs["output_final_state"]) == (0.3, True)


def test_the_contract_says_that_gradients_are_not_judged() -> None:
    contract = built_in()["linear-attention"]
    assert contract.laws[0].central and not contract.gradients
