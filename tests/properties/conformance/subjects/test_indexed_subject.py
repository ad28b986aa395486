"""How functions of indices are called: which keys are named, how indices lie, and keys that hold values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.indexed_subject import IndexedCall, find_pairs, read_roles
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import decode
from attention_core.declaration.implementation import Implementation, TargetError

SIZES = {"B": 2, "H_kv": 3, "group": 2, "n_q": 5, "n_kv": 7, "topk": 3, "block": 1, "d": 4, "d_v": 6}
CASE = ParameterCase(SIZES, seed=3)


def parameters(text: str) -> list[dict[str, Any]]:
    """Parameters by name; those with a "=" have a default."""
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


def request(target: Callable[..., Any], case: ParameterCase = CASE, **record: Any) -> tuple[Any, Any]:
    """The request of a case and its call."""
    with Session(Implementation(target, contract="topk-index", **record)) as session:
        subject: Any = session.subject
        case = subject.adapt_case(case)
        call = subject.draw(case)
        return subject.request_of(case, call), call


def sent(value: Any) -> np.ndarray[Any, Any]:
    """The numbers of an argument."""
    return decode(value.base, value.dtype).reshape(value.shape)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("q k v topk_indices", {"indices": "topk_indices"}),
        ("q k v I causal=", {"indices": "I", "causal": "causal"}),
        ("q kv indices sm_scale d_v=", {"indices": "indices", "scale": "sm_scale", "width": "d_v"}),
        ("q k v block_indices block_counts block_size", {
            "indices": "block_indices", "counts": "block_counts", "block": "block_size"}),
    ],
)  # fmt: skip
def test_what_parameters_are(text: str, roles: dict[str, str]) -> None:
    assert read_roles(parameters(text), ()) == roles


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q k v", "no parameter says which keys are attended"),
        ("q kv", "no parameter says which keys are attended"),
        ("q k v indices mystery", "what the parameter mystery is given is not known"),
    ],
)
def test_what_cannot_be_called_is_refused(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_roles(parameters(text), ())


def test_blocks_of_no_known_size_are_refused() -> None:
    with pytest.raises(TargetError, match="no parameter says how many keys a block has"):
        request(lambda q, k, v, block_indices: q)


def test_pairs_are_those_of_blocks_and_counts() -> None:
    x = np.zeros((1, 1, 5, 1))
    call = IndexedCall(x[:, :, :2], x, x, np.array([[[[2, 0], [-1, 1]]]]), 2, counts=np.array([[[1, 2]]]))
    assert find_pairs(call)[0, 0].astype(int).tolist() == [[0, 0, 0, 0, 1], [0, 0, 1, 1, 0]]


def test_rows_name_a_key_once_in_ascending_order() -> None:
    made, call = request(lambda q, k, v, indices: q)
    rows = sent(made.kwargs["indices"])
    np.testing.assert_array_equal(rows, call.indices)
    assert made.kwargs["indices"].dtype == "int64" and rows.shape == (2, 3, 5, 3)
    assert (np.diff(rows, axis=-1) > 0).all() and 0 <= rows.min() <= rows.max() < 7


def test_rows_of_a_causal_call_are_padded_where_there_are_fewer_keys() -> None:
    _, call = request(lambda q, k, v, indices: q, CASE.with_(n_q=7), always_causal=True)
    assert (call.indices <= np.arange(7)[:, None]).all() and call.causal
    assert call.indices[0, 0, 0].tolist() == [0, -1, -1]


def test_orders_and_places_of_padding_are_drawn() -> None:
    case = CASE.with_(options={"order": "any", "padding": "anywhere"}, topk=5)
    _, call = request(lambda q, k, v, indices: q, case)
    valid = call.indices >= 0
    assert valid.any(-1).all() and not valid.all(-1).any()
    assert (valid[..., 1:] & ~valid[..., :-1]).any() and (np.diff(call.indices, axis=-1) < 0).any()


def test_declared_blocks_keep_their_number() -> None:
    made, call = request(lambda q, k, v, block_indices: q, parameters={"block": 16})
    assert call.block == 16 and call.key.shape[2] == 16 * 7 and sent(made.kwargs["block_indices"]).max() < 7
    made, call = request(lambda q, k, v, block_indices, block_size: q, CASE.with_(block=3))
    assert call.block == made.kwargs["block_size"] == 3 and call.key.shape[2] == 7


def test_the_call_of_tilelang() -> None:
    made, call = request(lambda q, kv, indices, d_v=512: q)
    assert [x.shape for x in made.args] == [(2, 5, 6, 6), (2, 7, 3, 6)] and made.kwargs["d_v"] == 6
    assert made.kwargs["indices"].shape == (2, 5, 3, 3) and made.kwargs["indices"].dtype == "int32"
    np.testing.assert_array_equal(call.value, call.key[..., :6])


def test_the_call_of_flashmla() -> None:
    def flash_mla_sparse_fwd(q: Any, kv: Any, indices: Any, sm_scale: Any, topk_length: Any = None) -> Any:
        return q

    made, call = request(flash_mla_sparse_fwd)
    assert [x.shape for x in made.args] == [(5, 6, 6), (7, 3, 6)] and made.kwargs["sm_scale"] == pytest.approx(6**-0.5)
    assert made.kwargs["indices"].shape == (5, 3, 3) and "topk_length" not in made.kwargs
    with Session(Implementation(flash_mla_sparse_fwd, contract="topk-index")) as session:
        subject: Any = session.subject
        counted = call.with_(counts=np.full((1, 3, 5), 2))
        given = subject.request_of(subject.adapt_case(CASE), counted).kwargs["topk_length"]
    assert sent(given).tolist() == [2] * 5


@pytest.mark.parametrize(("axes", "shape"), [("bqk", (2, 5, 3)), ("hqk", (3, 5, 3)), ("bqhk", (2, 5, 3, 3))])
def test_axes_of_indices(axes: str, shape: tuple[int, ...]) -> None:
    made, _ = request(lambda q, k, v, indices: q, parameters={"index_axes": axes})
    assert made.kwargs["indices"].shape == shape
    made, _ = request(lambda q, k, v, indices: q, parameters={"index_heads": "query", "index_dtype": "int32"})
    assert made.kwargs["indices"].shape == (2, 6, 5, 3) and made.kwargs["indices"].dtype == "int32"
