"""How functions of trees are called: what says which tokens are ancestors, where the context lies, how long it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.subjects.tree_subject import TreeCall, find_ancestors, read_roles
from attention_core.conformance.worker.exchange import decode
from attention_core.declaration.implementation import Implementation, TargetError

CASE = ParameterCase({"B": 2, "H_kv": 3, "group": 1, "n": 5, "context": 4, "d": 2, "d_v": 6}, seed=3)


def parameters(text: str) -> list[dict[str, Any]]:
    """Parameters by name; those with a "=" have a default."""
    return [{"name": n.rstrip("="), "kind": "", "default": n.endswith("=")} for n in text.split()]


def request(target: Callable[..., Any], **record: Any) -> tuple[Any, Any]:
    """The request of a case and its call."""
    with Session(Implementation(target, contract="tree-mask", **record)) as session:
        subject: Any = session.subject
        case = subject.adapt_case(CASE)
        call = subject.draw(case)
        return subject.request_of(case, call), call


def sent(value: Any) -> np.ndarray[Any, Any]:
    """The numbers of an argument."""
    return decode(value.base, value.dtype).reshape(value.shape)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("q k v parents context_lens=", {"parents": "parents", "context_lengths": "context_lens"}),
        ("q k v M sm_scale=", {"mask": "M", "scale": "sm_scale"}),
        ("q k v tree_attn_bias seq_lens", {"bias": "tree_attn_bias", "all_lengths": "seq_lens"}),
        ("q k v custom_mask= mystery=", {"full": "custom_mask"}),
        (
            "q k v k_cache v_cache tree_mask",
            {"context_key": "k_cache", "context_value": "v_cache", "mask": "tree_mask"},
        ),
    ],
)
def test_what_parameters_are(text: str, roles: dict[str, str]) -> None:
    assert read_roles(parameters(text), ()) == roles


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q k v", "no parameter says what the tree of draft tokens is"),
        ("q k v parents mystery", "what the parameter mystery is given is not known"),
        ("q k v parents k_cache", "the context's keys and values come together"),
    ],
)
def test_what_cannot_be_called_is_refused(text: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_roles(parameters(text), ())


def test_ancestors_are_found_through_parents() -> None:
    found = find_ancestors(np.array([[-1, 0, 1, 0, -1]]))[0]
    assert [np.flatnonzero(row).tolist() for row in found] == [[0], [0, 1], [0, 1, 2], [0, 3], [4]]


def test_draft_tokens_stand_right_behind_their_context() -> None:
    made, call = request(lambda q, k, v, parents, context_lens: q)
    assert sent(made.kwargs["context_lens"]).tolist() == call.contexts.tolist() and call.contexts.max() == 4
    (short,) = np.flatnonzero(call.contexts < 4)
    end = int(call.contexts[short])
    np.testing.assert_array_equal(sent(made.args[1])[short, :, end : end + 5], call.key[short, :, 4:])
    assert made.kwargs["parents"].dtype == "int64" and made.kwargs["parents"].shape == (2, 5)


def test_a_context_may_come_apart() -> None:
    made, call = request(lambda q, k, v, tree_mask, k_cache, v_cache: q)
    assert made.args[1].shape == (2, 3, 5, 2) and made.kwargs["v_cache"].shape == (2, 3, 4, 6)
    np.testing.assert_array_equal(sent(made.args[1]), call.key[:, :, 4:])
    np.testing.assert_array_equal(sent(made.kwargs["tree_mask"]), call.ancestors)


def test_masks_are_packed_lowest_bit_first() -> None:
    made, call = request(lambda q, k, v, spec_decoding_packed_mask: q)
    words = sent(made.kwargs["spec_decoding_packed_mask"])
    assert words.shape == (2, 5, 1)
    assert words[0, 3, 0] == sum(1 << j for j in np.flatnonzero(call.ancestors[0, 3]))


def test_the_call_of_flashinfer() -> None:
    made, call = request(lambda q, k, v, custom_mask=None, kv_layout="NHD": q)
    assert [x.shape for x in made.args] == [(5, 3, 2), (9, 3, 2), (9, 3, 6)] and len(call.parents) == 1
    np.testing.assert_array_equal(sent(made.kwargs["custom_mask"])[:, 4:], call.ancestors[0])
    made, call = request(lambda q, k, v, packed_custom_mask=None, kv_layout="NHD": q)
    bits = np.unpackbits(sent(made.kwargs["packed_custom_mask"]), bitorder="little")[: 5 * 9]
    np.testing.assert_array_equal(bits.reshape(5, 9)[:, 4:], call.ancestors[0])


@pytest.mark.parametrize(("axes", "shape"), [("bqk", (2, 5, 5)), ("b1qk", (2, 1, 5, 5)), ("qk", (5, 5))])
def test_axes_of_a_tree(axes: str, shape: tuple[int, ...]) -> None:
    made, call = request(lambda q, k, v, tree_bias: q, parameters={"tree_axes": axes})
    found = sent(made.kwargs["tree_bias"])
    assert found.shape == shape and set(np.unique(found)) == {-np.inf, 0.0}
    assert axes != "qk" or (call.parents == call.parents[:1]).all()


def test_a_mask_of_whole_numbers_may_hide() -> None:
    made, call = request(lambda q, k, v, tree_mask: q, masks="binary", mask_true="ignore")
    assert made.kwargs["tree_mask"].dtype == "int64"
    np.testing.assert_array_equal(sent(made.kwargs["tree_mask"]) == 0, call.ancestors)


def test_pairs_of_a_call_are_context_and_ancestors() -> None:
    def attend(q: Any, k: Any, v: Any, parents: Any, context_lens: Any) -> Any:
        return q

    with Session(Implementation(attend, contract="tree-mask")) as session:
        subject: Any = session.subject
        zeros = np.zeros((1, 1, 5, 1))
        call = TreeCall(zeros[:, :, :3], zeros, zeros, np.array([[-1, 0, 0]]), np.array([1]))
        pairs = subject.mask(call)[0, 0].astype(int).tolist()
    assert pairs == [[1, 0, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 1, 0, 1]]
