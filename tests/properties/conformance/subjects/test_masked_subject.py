"""Calls that choose keys: what parameters are, which options have to be said, and a truth that is masked attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.masked_subject import MaskedCall, read_roles
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import Implementation, TargetError

NAMES = {"tree": "tree", "causal": "causal"}


def parameters(text: str) -> list[dict[str, Any]]:
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


def test_the_first_unknown_parameter_chooses_where_nothing_else_does() -> None:
    assert read_roles(parameters("q k v M causal="), (), NAMES, ["tree"], "tree", "tree") == {
        "tree": "M",
        "causal": "causal",
    }
    with pytest.raises(TargetError, match=r"what the parameter M is given is not known: .* \(such as tree\)"):
        read_roles(parameters("q k v tree M"), (), NAMES, ["tree"], "tree", "tree")
    assert read_roles(parameters("q k v tree M"), ("M",), NAMES, ["tree"], "tree", "tree") == {"tree": "tree"}


def test_options_are_said_where_the_default_means_something_else() -> None:
    def attend(
        q: Any, k: Any, v: Any, parents: Any, is_causal: Any = True, scale: Any = 1.0, enable_gqa: Any = False
    ) -> Any:
        return q

    with Session(Implementation(attend, contract="tree-mask")) as session:
        subject: Any = session.subject
        assert subject.needed == {"causal", "scale"}
        x = np.zeros((1, 2, 3, 4))
        assert subject.options(MaskedCall(x, x, x)) == {"causal": False, "scale": 0.5}
        assert subject.options(MaskedCall(x, x[:, :1], x, scale=0.0)) == {
            "causal": False,
            "scale": 0.0,
            "grouped": True,
        }


def test_the_truth_is_masked_attention() -> None:
    def attend(q: Any, k: Any, v: Any, parents: Any) -> Any:
        return q

    case = ParameterCase({"B": 1, "H_kv": 2, "group": 1, "n": 3, "context": 2, "d": 2, "d_v": 3})
    with Session(Implementation(attend, contract="tree-mask")) as session:
        subject: Any = session.subject
        call = subject.draw(case)
        judged = subject.judge(case, call)
    want = oracle.attention(call.query, call.key, call.value, subject.mask(call), scale=2**-0.5).out
    np.testing.assert_allclose(judged.truth.out, want, rtol=1e-12)
    assert judged.bound.shape == want.shape and (judged.bound > 0).all() and judged.rows.all()
