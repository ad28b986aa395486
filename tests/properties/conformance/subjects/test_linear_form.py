"""What a function of linear attention computes follows from the names of its parameters."""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.conformance.subjects.linear_form import read_form
from attention_core.declaration.implementation import TargetError


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
        ("q k v g beta", "kda", "kda"),
        ("x dt A B C chunk_size D= initial_states= seq_idx= cu_seqlens= return_final_states=", "", "ssd"),
        ("X A B C block_len initial_states=", "", "ssd"),
    ],
)
def test_the_kind_of_a_target(text: str, kind: str, expected: str) -> None:
    assert read_form(parameters(text), (), kind).kind == expected


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("q k v mystery", "", "the parameter mystery is given is not known"),
        ("q k v", "gla", "needs a parameter for its log decay"),
        ("q k v g", "gated-delta", "needs a parameter for its beta"),
        ("q k v g", "linear", "has no g, which the target needs"),
        ("q k v", "softmax", "say which recurrence it is: --kind linear, retention, gla, gated-delta, kda, ssd"),
        ("q k v beta", "kda", "needs a parameter for its log decay"),
        ("q k v", "ssd", "needs parameters x, dt, A, B, C"),
        ("q k v cu_seqlens", "", "cu_seqlens has no default, but calls of one text a row leave it out"),
    ],
)
def test_what_cannot_be_called_is_refused(text: str, kind: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        read_form(parameters(text), (), kind)


def test_the_name_of_an_operator_tells_decays_of_features() -> None:
    given = parameters("q k v g beta scale= initial_state= output_final_state= cu_seqlens=")
    assert read_form(given, (), name="chunk_kda").kind == "kda"
    assert read_form(given, (), name="chunk_gated_delta_rule").kind == "gated-delta"
    assert read_form(parameters("q k v beta"), (), name="chunk_kda").kind == "gated-delta"


def test_a_state_space_keeps_the_order_of_its_parameters_and_one_word_for_borders() -> None:
    form = read_form(parameters("x dt A B C chunk_size seq_idx= cu_seqlens="), ())
    assert form.inputs == ("value", "step", "decay", "key", "query") and form.has_decay and form.is_state_space
    assert form.roles == {"chunk": "chunk_size", "texts": "seq_idx"} and form.takes_packs


def test_a_chunk_size_with_a_default_is_left_to_the_target() -> None:
    assert "chunk" not in read_form(parameters("q k v chunk_size="), ()).roles
    assert read_form(parameters("q k v chunk_size"), ()).roles == {"chunk": "chunk_size"}
