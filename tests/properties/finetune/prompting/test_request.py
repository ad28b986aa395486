"""Requests: their controls, and the key under which an answer is stored."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.errors import BadInput
from finetune.prompting.request import Answer, Controls, Request

OTHERS = {
    "temperature": 0.5, "top_p": 0.5, "max_tokens": 3, "stop": ("x",), "frequency_penalty": 1.0,
    "presence_penalty": 1.0, "n": 2, "best_of": 3, "seed": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Controls)])
def test_every_control_changes_the_key(name: str) -> None:
    plain = Request("m", "p", Controls())
    assert Request("m", "p", Controls(**{name: OTHERS[name]})).key() != plain.key()


@pytest.mark.parametrize("change", [{"model": "o"}, {"prompt": "q"}, {"mode": "chat"}, {"choices": ("a",)}])
def test_every_field_changes_the_key(change: dict[str, object]) -> None:
    assert dataclasses.replace(Request("m", "p"), **change).key() != Request("m", "p").key()


@given(st.text(), st.text())
def test_model_and_prompt_are_not_run_together(model: str, prompt: str) -> None:
    assert Request(model + "a", prompt).key() != Request(model, "a" + prompt).key()


def test_a_lone_surrogate_has_a_key() -> None:
    assert len(Request("m", "\ud800").key()) == 64


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": 2.1}, {"temperature": math.nan}, {"top_p": 0.0}, {"max_tokens": 0}, {"stop": ("",)},
        {"stop": tuple("abcde")}, {"frequency_penalty": -3.0}, {"presence_penalty": 3.0}, {"n": 0}, {"n": 3, "best_of": 2},
    ],
)  # fmt: skip
def test_a_value_outside_its_range_is_one_line(bad: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=next(reversed(bad))) as caught:
        Controls(**bad)
    assert "\n" not in str(caught.value)


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]))),
    st.lists(st.floats(max_value=0, allow_nan=False)),
)
def test_an_answer_is_read_as_it_was_written(texts: list[str], scores: list[float]) -> None:
    answer = Answer(tuple(texts), ("stop",) * len(texts), 3, 4, tuple(scores))
    assert Answer.from_json(answer.to_json()) == answer


@pytest.mark.parametrize("text", ["[]", "{}", '{"texts": 1}', "nonsense"])
def test_what_is_not_an_answer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Answer.from_json(text)
