"""How functions of linear attention are called: tokens, gates, states and the borders of packed texts as they take them."""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.conformance.contracts import built_in
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import decode
from attention_core.declaration.implementation import Implementation, TargetError


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


def test_packed_texts_of_an_operator_of_fla_end_at_int64_numbers_and_have_a_state_each() -> None:
    def chunk_kda(
        q: Any, k: Any, v: Any, g: Any, beta: Any, initial_state: Any = None, output_final_state: bool = False,
        use_gate_in_kernel: bool = False, cu_seqlens: Any = None,
    ) -> Any:  # fmt: skip
        raise NotImplementedError

    with Session(Implementation(chunk_kda, contract="linear-attention")) as session:
        subject: Any = session.subject
        case = ParameterCase({"B": 3, "H": 2, "n": 4, "d": 3, "d_v": 5})
        tokens, start = subject.tokens(case.with_(B=1, n=7)), subject.start(case)
        request = subject.request_of(case, tokens, start, lengths=[4, 0, 3])
        truth = subject.truth_of_pack(case, tokens, [4, 0, 3], start)
    assert subject.kind == "kda" and request.kwargs["g"].shape == (1, 7, 2, 3)
    ends = request.kwargs["cu_seqlens"]
    assert (ends.dtype, decode(ends.base, "int64").tolist()) == ("int64", [0, 4, 4, 7])
    assert request.kwargs["initial_state"].shape == truth.state.shape == (3, 2, 3, 5)
    assert (truth.state[1] == start[1]).all() and truth.out.shape == (1, 2, 7, 5)


def test_a_state_space_gets_groups_rates_in_float32_and_the_number_of_each_text() -> None:
    def scan(
        x: Any, dt: Any, A: Any, B: Any, C: Any, chunk_size: Any, initial_states: Any = None, seq_idx: Any = None,
        return_final_states: bool = False,
    ) -> Any:  # fmt: skip
        raise NotImplementedError

    with Session(Implementation(scan, contract="linear-attention")) as session:
        subject: Any = session.subject
        case = next(
            one for one in (ParameterCase({"B": 2, "H": 6, "n": 5, "d": 3, "d_v": 4}, dtype="bfloat16", seed=i) for i in range(99))
            if subject.groups(one) == 2
        )  # fmt: skip
        tokens = subject.tokens(case.with_(B=1, n=9))
        request = subject.request_of(case, tokens, None, lengths=[4, 5])
    shapes = [x.shape for x in request.args]
    assert shapes == [(1, 9, 6, 4), (1, 9, 6), (6,), (1, 9, 2, 3), (1, 9, 2, 3)]
    assert [x.dtype for x in request.args] == ["bfloat16", "bfloat16", "float32", "bfloat16", "bfloat16"]
    assert decode(request.kwargs["seq_idx"].base, "int32").tolist() == [0] * 4 + [1] * 5
    assert request.kwargs["chunk_size"] == 16 and subject.scale(case) == 1.0
    assert (tokens.query[:, 0] == tokens.query[:, 2]).all() and not (tokens.query[:, 2] == tokens.query[:, 3]).all()


def test_tokens_may_be_declared_to_lie_unlike_the_library_s() -> None:
    def kernel(q: Any, k: Any, v: Any, output_final_state: bool = False, cu_seqlens: Any = None) -> Any:
        raise NotImplementedError

    case = ParameterCase({"B": 2, "H": 3, "n": 5, "d": 4, "d_v": 6})
    for tokens, shape in ((None, (2, 5, 3, 4)), ("bhnd", (2, 3, 5, 4))):
        record = Implementation(kernel, contract="linear-attention", parameters={"tokens": tokens} if tokens else {})
        with Session(record) as session:
            subject: Any = session.subject
            assert subject.request_of(case, subject.tokens(case)).args[0].shape == shape
    with pytest.raises(TargetError, match="tokens of linear attention are bnhd or bhnd"):
        Session(Implementation(kernel, contract="linear-attention", parameters={"tokens": "nhd"})).__enter__()


def test_the_contract_tests_gradients() -> None:
    contract = built_in()["linear-attention"]
    assert contract.laws[0].central and contract.gradients
