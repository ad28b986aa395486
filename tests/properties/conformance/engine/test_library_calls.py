"""Functions of libraries are called as their libraries call them, by their name and parameters; others as declared."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance.engine.library_calls import KNOWN, find_library_call, follow_library
from attention_core.conformance.engine.session import Session
from attention_core.declaration.implementation import Implementation, OtherForm


def flash_attn_func(
    q: Tensor, k: Tensor, v: Tensor, softmax_scale: float | None = None, causal: bool = False
) -> Tensor:
    """The call of flash-attention: tokens before heads, the last query faces the last key."""
    n, m = q.shape[1], k.shape[1]
    heads = q.shape[2] // k.shape[2]
    query, key, value = q.transpose(1, 2), *(x.transpose(1, 2).repeat_interleave(heads, 1) for x in (k, v))
    scores = query @ key.mT * (q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale)
    seen = torch.ones(n, m, dtype=torch.bool).tril(m - n) if causal else torch.ones(n, m, dtype=torch.bool)
    dead = ~seen.any(-1, keepdim=True)
    weights = scores.masked_fill(~seen, -torch.inf).masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)
    return (weights @ value).transpose(1, 2)


def as_parameters(text: str) -> list[dict[str, Any]]:
    return [{"name": name} for name in text.split()]


def test_a_function_is_known_by_its_name_and_its_parameters() -> None:
    flash = as_parameters("q k v dropout_p softmax_scale causal window_size")
    assert find_library_call("mine.py:flash_attn_func", flash) is KNOWN["flash_attn_func"]
    assert find_library_call("flash_attn.flash_attn_interface:flash_attn_func", flash) is KNOWN["flash_attn_func"]
    assert find_library_call("mine.py:attention", flash) is None
    assert find_library_call("mine.py:flash_attn_func", as_parameters("query key value")) is None
    assert (
        find_library_call("attention_core:dot_product_attention", as_parameters("query key value mask scale")) is None
    )


def test_what_is_declared_stays() -> None:
    flash = as_parameters("q k v softmax_scale causal")
    record = Implementation(flash_attn_func, "flash_attn_func", dtypes=("float32",))
    found, (note,) = follow_library(record, flash)
    assert (found.layout, found.causal, found.dtypes) == ("bnhd", "bottom_right", ("float32",))
    assert note == "it is called as flash-attention calls its function: --layout bnhd --causal bottom_right"
    other, (note,) = follow_library(record.with_(layout="nbhd"), flash)
    assert (other.layout, other.causal) == ("nbhd", "bottom_right")
    assert note.endswith(": --causal bottom_right")
    assert follow_library(found, flash) == (found, [])
    typed, (note,) = follow_library(record.with_(causal="top_left"), flash)  # the default, typed
    assert (typed.layout, typed.causal) == ("bnhd", "top_left")
    assert note.endswith(": --layout bnhd")
    typed, (note,) = follow_library(record.with_(layout="bhnd", gradients=False), flash)
    assert (typed.layout, typed.causal) == ("bhnd", "bottom_right")
    assert follow_library(record.with_(contract="quantised"), flash)[1] == []


def test_a_layout_that_is_declared_is_that_of_the_output_too() -> None:
    """A library may turn its output's axes; a target whose layout is typed is not taken for one that does."""
    eager = as_parameters("module query key value attention_mask scaling dropout")
    record = Implementation(flash_attn_func, "eager_attention_forward")
    assert follow_library(record, eager)[0].out_layout == "bnhd"
    assert follow_library(record.with_(layout="bhnd"), eager)[0].out_layout is None
    assert follow_library(record.with_(layout="bhnd", out_layout="bnhd"), eager)[0].out_layout == "bnhd"


def test_a_function_of_another_contract_is_judged_under_that() -> None:
    pages = as_parameters("q k_cache v_cache k v cache_seqlens block_table")
    with pytest.raises(OtherForm, match="give --contract paged") as caught:
        follow_library(Implementation(flash_attn_func, "mine.py:flash_attn_with_kvcache"), pages)
    assert caught.value.changes == {"contract": "paged"}


def test_a_function_that_only_has_the_name_is_judged_as_declared() -> None:
    def heads_first(
        q: Tensor, k: Tensor, v: Tensor, softmax_scale: float | None = None, causal: bool = False
    ) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=softmax_scale, enable_gqa=True
        )

    record = Implementation(heads_first, "mine.py:flash_attn_func", dtypes=("float32",))
    with Session(record, effort="quick") as session:
        assert (session.implementation.layout, session.implementation.causal) == ("bhnd", "top_left")
        assert session.notes[0] == "flash-attention has a function of this name; this one takes arrays bhnd"
        laws = [law for law in session.laws if law.name in ("agrees_with_truth", "causal_alignment_is_as_declared")]
        assert [result.status for result in session.results(laws)] == ["held", "held"]


def test_a_right_function_of_the_library_holds_without_an_option() -> None:
    with Session(Implementation(flash_attn_func, dtypes=("float32",)), effort="quick") as session:
        laws = [law for law in session.laws if law.name in ("agrees_with_truth", "causal_alignment_is_as_declared")]
        assert [result.status for result in session.results(laws)] == ["held", "held"]
        assert session.notes[0].startswith("it is called as flash-attention calls its function")
