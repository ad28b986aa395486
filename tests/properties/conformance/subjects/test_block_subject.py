"""How functions of block maps are called: what says which blocks are attended, how large they are, how sequences lie."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from attention_core import oracle
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.block_subject import read_roles
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import FlexArgument, decode
from attention_core.declaration.implementation import Implementation, TargetError

CASE = ParameterCase(
    {"B": 2, "H_kv": 3, "group": 1, "q_block": 2, "k_block": 3, "n_q": 5, "n_kv": 7, "d": 4, "d_v": 6}, seed=3
)


def parameters(text: str) -> list[dict[str, Any]]:
    """Parameters by name; those with a "=" have a default."""
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


def request(target: Callable[..., Any], case: ParameterCase = CASE, **record: Any) -> tuple[Any, Any]:
    """The request of a case and its call."""
    with Session(Implementation(target, contract="block-mask", **record)) as session:
        subject: Any = session.subject
        case = subject.adapt_case(case)
        call = subject.draw(case)
        return subject.request_of(case, call), call


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("q k v block_mask", {"map": "block_mask"}),
        ("q k v M BLOCK_M= BLOCK_N=", {"map": "M", "q_block": "BLOCK_M", "k_block": "BLOCK_N"}),
        ("q k v block_size_M block_sparse_mask", {"q_block": "block_size_M", "map": "block_sparse_mask"}),
        ("q k v indptr indices block_size", {"row_ends": "indptr", "columns": "indices", "block": "block_size"}),
        ("q k v score_mod= block_mask= scale=", {"score_mod": "score_mod", "map": "block_mask", "scale": "scale"}),
    ],
)
def test_what_parameters_are(text: str, roles: dict[str, str]) -> None:
    assert read_roles(parameters(text), ()) == roles


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q k v", "no parameter says which blocks are attended"),
        ("q k v scale", "no parameter says which blocks are attended"),
        ("q k v block_mask mystery", "what the parameter mystery is given is not known"),
    ],
)
def test_what_cannot_be_called_is_refused(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_roles(parameters(text), ())


def test_blocks_of_no_known_size_are_refused() -> None:
    with pytest.raises(TargetError, match=r"no parameter for the size of its blocks .* declare --parameter block=64"):
        request(lambda q, k, v, block_mask: q)


def test_declared_blocks_keep_their_number_and_their_short_ends() -> None:
    made, call = request(lambda q, k, v, M: q, parameters={"q_block": 64, "k_block": 16})
    assert call.block == (64, 16) and call.blocks.shape == (2, 3, 3, 3)
    n_q, n_kv = call.lengths
    assert 128 < n_q < 192 and 32 < n_kv < 48
    assert made.kwargs["M"].shape == (2, 3, 3, 3) and list(made.kwargs) == ["M"]


def test_one_parameter_is_the_size_of_both_sides() -> None:
    made, call = request(lambda q, k, v, block_mask, block_size: q)
    assert call.block == (2, 2) and made.kwargs["block_size"] == 2 and made.kwargs["block_mask"].shape == (2, 3, 3, 4)


def test_rows_of_a_sparse_matrix_are_those_of_the_map() -> None:
    made, call = request(lambda q, k, v, indptr, indices, block_q, block_k: q)
    ends, columns = (decode(made.kwargs[name].base, "int32") for name in ("indptr", "indices"))
    assert call.blocks.shape == (1, 1, 3, 3) and made.kwargs["indptr"].dtype == "int32"
    rows = [columns[a:b].tolist() for a, b in pairwise(ends)]
    assert rows == [np.flatnonzero(row).tolist() for row in call.blocks[0, 0]]


def test_the_call_of_flex_attention() -> None:
    def flex_attention(query: Any, key: Any, value: Any, score_mod: Any = None, block_mask: Any = None) -> Any:
        raise NotImplementedError

    made, call = request(flex_attention)
    found = made.kwargs["block_mask"]
    assert isinstance(found, FlexArgument) and (found.kind, found.block) == ("block_mask", (2, 3))
    pairs = oracle.block_pairs(call.blocks, *call.lengths, call.block)
    assert decode(found.table.base, "bool").reshape(found.table.shape).tolist() == pairs.tolist()


def test_the_call_of_block_sparse_attention() -> None:
    def block_sparse_attn_func(
        q_unpad: Any, k_unpad: Any, v_unpad: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, head_mask_type: Any,
        streaming_info: Any, base_blockmask: Any, max_seqlen_q_: Any, max_seqlen_k_: Any, p_dropout: Any,
        deterministic: bool = False, softmax_scale: Any = None, is_causal: bool = False,
    ) -> Any:  # fmt: skip
        raise NotImplementedError

    made, call = request(block_sparse_attn_func)
    (n_q, n_kv), given = call.lengths, made.kwargs
    assert call.block == (128, 128) and [x.shape for x in made.args] == [
        (2 * n_q, 2, 4),
        (2 * n_kv, 2, 4),
        (2 * n_kv, 2, 6),
    ]
    assert decode(given["cu_seqlens_k"].base, "int32").tolist() == [0, n_kv, 2 * n_kv]
    assert decode(given["head_mask_type"].base, "int32").tolist() == [1, 2]  # long sequences have fewer heads
    assert (given["streaming_info"], given["p_dropout"], given["max_seqlen_q_"]) == (None, 0.0, n_q)
    assert given["base_blockmask"].shape == call.blocks.shape and "is_causal" not in given


@pytest.mark.parametrize(
    ("declared", "shape"), [("bhqk", (2, 3, 3, 3)), ("hqk", (3, 3, 3)), ("bqk", (2, 3, 3)), ("qk", (3, 3))]
)
def test_maps_of_fewer_axes(declared: str, shape: tuple[int, ...]) -> None:
    made, _ = request(lambda q, k, v, M, block_q, block_k: q, parameters={"map": declared}, masks="binary")
    assert made.kwargs["M"].shape == shape and made.kwargs["M"].dtype == "int64"


def test_a_call_that_is_causal_by_default_is_told_that_it_is_not() -> None:
    made, call = request(lambda q, k, v, M, block_q, block_k, causal=True, scale=1.0: q)
    assert made.kwargs["causal"] is call.causal is False and made.kwargs["scale"] == 0.5
