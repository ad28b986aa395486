"""How objects that keep a text are called: what is found by the names of methods and parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.cross_subject import Protocol
from attention_core.conformance.subjects.evidence import Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import decode
from attention_core.declaration.implementation import Implementation, TargetError

CASE = ParameterCase({"B": 2, "H_kv": 3, "group": 1, "n_q": 2, "n_kv": 5, "d": 4, "d_v": 6}, seed=1)


class Plain:
    def __call__(self, query: Any, key: Any = None, value: Any = None, encoder_lens: Any = None) -> Any:
        return query

    def reset(self) -> None: ...

    def reorder_cache(self, beam_idx: Any) -> None: ...


class Started:
    def begin(self, key: Any, value: Any, key_padding_mask: Any = None) -> None: ...

    def attend(self, query: Any) -> Any:
        return query

    def rollback(self, n: Any) -> None:
        raise KeyError("no tokens")


class Always:
    def forward(self, query: Any, key: Any, value: Any) -> Any:
        return query


class Mute:
    def attend(self, query: Any) -> Any:
        return query


class Silent:
    """It keeps a text and attends to nothing."""

    def start(self, key: Any, value: Any) -> None: ...


def subject_of(target: Any, **record: Any) -> Any:
    session = Session(Implementation(target, contract="cross-cache", **record))
    session.__enter__()
    return session.subject


@pytest.mark.parametrize(
    ("target", "protocol"),
    [
        (Plain, Protocol("", "", False, "encoder_lens", "reorder_cache", "", "reset")),
        (Started, Protocol("begin", "attend", False, "key_padding_mask", "", "rollback", "")),
        (Always, Protocol("", "forward", True, "", "", "", "")),
    ],
)
def test_what_methods_and_parameters_are(target: Any, protocol: Protocol) -> None:
    assert subject_of(target).protocol == protocol


@pytest.mark.parametrize(
    ("target", "words"),
    [(Silent, r"cannot be called, and have no method step"), (Mute, "nothing is given keys and values")],
)
def test_what_cannot_be_called_is_refused(target: Any, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        _ = subject_of(target).protocol


def test_a_text_is_given_once() -> None:
    subject = subject_of(Plain, layout="bnhd")
    call = subject.draw(CASE)
    first, second = (subject.request_of(CASE, call, number=7, begins=begins) for begins in (True, False))
    assert [x.shape for x in first.args] == [(2, 2, 3, 4), (2, 5, 3, 4), (2, 5, 3, 6)] and len(second.args) == 1
    lens = first.kwargs["encoder_lens"]
    assert decode(lens.base, "int32").tolist() == call.counts.tolist() and not second.kwargs
    assert first.instance == second.instance == (7, ()) and first.method is None


@pytest.mark.parametrize("seed", [1, 2])  # odd: all texts have the padding of one row, which lies there once
def test_a_text_that_is_started_comes_before_the_step(seed: int) -> None:
    subject = subject_of(Started)
    call = subject.draw(replace(CASE, seed=seed))
    hidden = subject._padding(call)["key_padding_mask"]
    assert hidden.strides == ((0, 1) if seed % 2 else (5, 1))
    found = np.lib.stride_tricks.as_strided(decode(hidden.base, "bool"), hidden.shape, hidden.strides)
    assert found.sum(-1).tolist() == (5 - call.counts).tolist() and not found[:, 0].any()
    with pytest.raises(Violation, match="a valid call raised KeyError"):
        subject.act(subject.fresh_instance(), "rollback", 1)


def test_keys_that_have_no_default_come_every_time() -> None:
    subject = subject_of(Always)
    assert len(subject.request_of(CASE, subject.draw(CASE), begins=False).args) == 3


def test_rows_of_a_text_are_moved_together() -> None:
    call = subject_of(Plain).draw(CASE.with_(B=3))
    moved = call.rows(np.array([2, 0, 2, 1]))
    np.testing.assert_array_equal(moved.key[0], call.key[2])
    np.testing.assert_array_equal(moved.value[3], call.value[1])
    assert moved.counts.tolist() == call.counts[[2, 0, 2, 1]].tolist()
