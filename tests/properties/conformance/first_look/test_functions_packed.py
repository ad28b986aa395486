"""Functions of one array that holds query, key and value: found as such, and judged by the laws of attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.subjects.binding import bind
from attention_core.declaration.implementation import OtherForm, TargetError
from attention_core.declaration.sizes import ALIKE

pytestmark = pytest.mark.usefixtures("fewest_cases")

PACKED = "a function of one array that holds query, key and value"


def attend(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None, causal: bool = False) -> Tensor:
    """Attention on (B, H, n, d)."""
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    return scores.softmax(-1) @ value


def as_flash_attention(qkv: Tensor, softmax_scale: float | None = None, causal: bool = False) -> Tensor:
    """(B, n, 3, H, d), as flash_attn_qkvpacked_func has it."""
    query, key, value = qkv.movedim(-2, -4).unbind(-2)
    return attend(query, key, value, softmax_scale, causal).movedim(-3, -2)


def parts_first(qkv: Tensor, scale: float | None = None) -> Tensor:
    """(3, B, H, n, d), as it is permuted in vision transformers."""
    query, key, value = qkv
    return attend(query, key, value, scale)


def parts_before_heads(qkv: Tensor, is_causal: bool = False) -> Tensor:
    """(B, 3, H, n, d)."""
    return attend(*qkv.unbind(-4), causal=is_causal)


def parts_before_features(qkv: Tensor) -> Tensor:
    """(B, n, H, 3, d)."""
    query, key, value = qkv.movedim(-3, -4).unbind(-2)
    return attend(query, key, value).movedim(-3, -2)


RIGHT: list[tuple[Callable[..., Tensor], dict[str, Any]]] = [
    (as_flash_attention, {"qkv_axis": -3, "layout": "bnhd"}), (parts_first, {"qkv_axis": -5}),
    (parts_before_heads, {"qkv_axis": -4}), (parts_before_features, {"qkv_axis": -2, "layout": "bnhd"}),
]  # fmt: skip


@pytest.mark.thorough(keep=("1-as_flash_attention",))
@pytest.mark.parametrize(("function", "found"), RIGHT, ids=[f.__name__ for f, _ in RIGHT])
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_is_found_and_conforms(
    function: Callable[..., Tensor], found: dict[str, Any], seed: int
) -> None:
    report = check_implementation(Implementation(function, "f"), "quick", seed=seed)
    look, under = report.first_look, report.under_found
    assert look is not None and under is not None
    assert look.lines[0].startswith(PACKED)
    assert {name: look.found[name] for name in found} == found
    assert under.verdict == "conforms", under.reason()


@pytest.mark.thorough(keep=("parts_first",))
@pytest.mark.parametrize(("function", "found"), RIGHT, ids=[f.__name__ for f, _ in RIGHT])
def test_what_is_found_can_be_declared(function: Callable[..., Tensor], found: dict[str, Any]) -> None:
    report = check_implementation(Implementation(function, "f", **found), "quick")
    assert report.verdict == "conforms", report.reason()
    assert report.declared["sizes"] is None  # said by the axis
    assert "one array holds as many key heads" in str(report.claims["enable_gqa"])


def later_tokens_seen(qkv: Tensor, causal: bool = False) -> Tensor:
    """The causal diagonal is one too far right."""
    query, key, value = qkv.movedim(-2, -4).unbind(-2)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(2), -math.inf)
    return (scores.softmax(-1) @ value).movedim(-3, -2)


def written_into(qkv: Tensor) -> Tensor:
    """The keys are scaled in place."""
    qkv = qkv if qkv.requires_grad else qkv.mul_(1.0)
    if not qkv.requires_grad:
        qkv.select(-3, 1).mul_(1 / math.sqrt(qkv.shape[-1]))
        return as_flash_attention(qkv, 1.0)
    return as_flash_attention(qkv)


def value_gradient_lost(qkv: Tensor) -> Tensor:
    """The values' part of the gradient is missing."""
    query, key, value = qkv.movedim(-2, -4).unbind(-2)
    return attend(query, key, value.detach()).movedim(-3, -2)


class Kept:
    """The output of an earlier call with the same array is given again."""

    def __init__(self) -> None:
        self.last: tuple[Tensor, Tensor] | None = None

    def __call__(self, qkv: Tensor) -> Tensor:
        if self.last is None or self.last[0] is not qkv or qkv.requires_grad:
            self.last = qkv, as_flash_attention(qkv)
        return self.last[1]


FAULTS = [
    (later_tokens_seen, "agrees_with_truth"), (written_into, "inputs_stay_as_they_were"),
    (value_gradient_lost, "value_gradient_is_true"), (Kept(), "arrays_written_into_are_read_anew"),
]  # fmt: skip


@pytest.mark.thorough(keep=("inputs_stay_as_they_were", "arrays_written_into_are_read_anew"))
@pytest.mark.parametrize(("function", "law"), FAULTS, ids=[law for _, law in FAULTS])
@pytest.mark.usefixtures("unshrunk")
def test_a_fault_is_refuted(function: Callable[..., Tensor], law: str) -> None:
    record = Implementation(function, "f", qkv_axis=-3, layout="bnhd")
    report = check_implementation(record, "quick", laws=(law,))
    assert report.verdict == "refuted"
    assert law in [result.law for result in report.with_status("refuted")]


def test_three_arrays_are_not_taken_for_one() -> None:
    signature = [{"name": name, "kind": "POSITIONAL_OR_KEYWORD", "default": False} for name in ("qkv", "mask", "x")]
    with pytest.raises(OtherForm, match="'qkv', one array that holds query, key and value: give --qkv-axis AXIS"):
        bind(Implementation(as_flash_attention, "f"), {"callable": True, "parameters": signature})


def test_an_axis_that_no_array_has_is_refused() -> None:
    with pytest.raises(TargetError, match="qkv_axis=7: choose from -3, -4, -2, -5"):
        Implementation(as_flash_attention, qkv_axis=7)
    with pytest.raises(TargetError, match="qkv_axis=-3"):
        Implementation(as_flash_attention, qkv_axis=-3, contract="rotary")
    assert Implementation(as_flash_attention, qkv_axis=-3).with_(name="g").sizes.text == ALIKE
