"""What a process hands over: plain tensors of the right shape, and words for anything else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attention_core.declaration.implementation import TargetError
from attention_core.grading.child import Server, answer, plain


class Lazy(torch.Tensor):
    pass


@pytest.fixture
def server() -> Server:
    made: Server = object.__new__(Server)
    made.outputs = {"out": torch.zeros(2, 3)}
    return made


@pytest.mark.parametrize(
    ("results", "rule", "words"),
    [
        ([("out", torch.ones(2, 3).as_subclass(Lazy))], "not_a_tensor", "Lazy"),
        ([("out", [1.0])], "not_a_tensor", "list"),
        ([("out", None)], "not_a_tensor", "NoneType"),
        ([("out", torch.ones(1, 1))], "wrong_shape", r"got \(1, 1\) torch.float32, but should be \(2, 3\)"),
        ([("out", torch.ones(2, 3, dtype=torch.bfloat16))], "wrong_shape", "torch.bfloat16"),
        ([("other", torch.ones(2, 3))], "wrong_shape", "no such result"),
        ([], "wrong_shape", "out is missing"),
    ],
)
def test_what_is_not_handed_over(server: Server, results: Any, rule: str, words: str) -> None:
    import re

    found = server.hand_over(results)
    assert list(found) == [rule] and re.search(words, found[rule])
    assert not server.outputs["out"].any()


def test_what_is_handed_over(server: Server) -> None:
    assert server.hand_over([("out", torch.ones(3, 2).T.requires_grad_())]) == {}
    assert (server.outputs["out"] == 1).all()


def test_what_a_call_raises_becomes_words(server: Server) -> None:
    server.problem = None
    found = answer(server, {"do": "call"})
    assert found["event"] == "done" and "AttributeError" in found["raised"]


def test_what_a_module_is_built_with_is_plain() -> None:
    assert plain([1, (2.0, "x"), {"a": None}]) == [1, [2.0, "x"], {"a": None}]
    with pytest.raises(TargetError, match="Tensor"):
        plain([torch.zeros(1)])
