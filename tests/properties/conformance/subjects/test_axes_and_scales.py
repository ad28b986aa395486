"""Conventions of the record: what follows one conforms under it, and a fault beside it is still refuted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from judging import refuted
from torch import Tensor

from attention_core.conformance import Implementation, TargetError, check_implementation
from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.axes import LAYOUTS, Axes
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.declaration.scales import check_scale, scale_of
from attention_core.faults import conventions
from attention_core.faults.bases.reference import correct

Mask = Tensor | None

pytestmark = pytest.mark.usefixtures("unshrunk")


def three_axes(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Tensor:
    batch, _, d = query.shape
    assert key.shape[0] == batch and key.shape[1] == value.shape[1]
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(d)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return torch.bmm(torch.softmax(scores, -1), value)


def two_axes(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    _, d = query.shape
    return torch.softmax(query @ key.T / math.sqrt(d), -1) @ value


def unscaled(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    out: Tensor = correct(query, key, value, scale=1.0)
    return out


def always_causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    out: Tensor = correct(query, key, value, is_causal=True)
    return out


def additive(query: Tensor, key: Tensor, value: Tensor, attn_mask: Mask = None) -> Tensor:
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(scores if attn_mask is None else scores + attn_mask, -1) @ value


def only_bool(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Tensor:
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(scores if mask is None else scores.masked_fill(mask == 0, -math.inf), -1) @ value


def binary(query: Tensor, key: Tensor, value: Tensor, mask: Mask = None) -> Tensor:
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(scores if mask is None else scores.masked_fill((1 - mask).bool(), -math.inf), -1) @ value


def declining(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    if query.shape[-1] > 64:
        raise KeyError("head size")
    out: Tensor = correct(query, key, value)
    return out


RIGHT: list[tuple[Any, dict[str, Any]]] = [
    (three_axes, {"axes": 3, "dead_rows": "nan"}),
    (two_axes, {"axes": 2}),
    (unscaled, {"scale": 1}),
    (always_causal, {"always_causal": True}),
    (additive, {"masks": "additive", "dead_rows": "nan"}),
    (only_bool, {"masks": "bool", "dead_rows": "nan"}),
    (binary, {"masks": "binary", "dead_rows": "nan"}),
    (declining, {"declines": ("KeyError",)}),
]


def verdict(function: Any, **record: Any) -> tuple[str, list[str]]:
    report = check_implementation(Implementation(function, name="f", dtypes=("float32",), **record), "quick")
    return report.verdict, [r.law for r in report.with_status("refuted")]


@pytest.mark.thorough(leave_out=("three_axes-*", "only_bool-*", "always_causal-*", "unscaled-*", "binary-*"))
@pytest.mark.usefixtures("fewest_cases")
@pytest.mark.parametrize(("function", "record"), RIGHT, ids=lambda x: getattr(x, "__name__", ""))
def test_what_follows_a_convention_conforms_under_it(function: Any, record: dict[str, Any]) -> None:
    assert verdict(function, **record) == ("conforms", [])


def with_a_fault(function: Any) -> Any:
    def faulty(*inputs: Tensor, **options: Any) -> Tensor:
        out = function(*inputs, **options)
        moved: Tensor = out if out.shape[-2] < 2 else out.roll(1, -2)
        return moved

    faulty.__signature__ = __import__("inspect").signature(function)  # type: ignore[attr-defined]
    return faulty


@pytest.mark.thorough(keep=("two_axes-*", "additive-*"))
@pytest.mark.parametrize(("function", "record"), RIGHT, ids=lambda x: getattr(x, "__name__", ""))
def test_a_fault_is_refuted_under_every_convention(function: Any, record: dict[str, Any]) -> None:
    report = check_implementation(
        Implementation(with_a_fault(function), name="f", dtypes=("float32",), **record), "quick",
        laws=["agrees_with_truth"],
    )  # fmt: skip
    assert report.verdict == "refuted"


@pytest.mark.parametrize(
    ("function", "record"),
    [
        (always_causal, {}),
        (unscaled, {}),
        (unscaled, {"scale": "1/d"}),
        (correct, {"always_causal": True, "claims": ()}),
        (binary, {"masks": "binary", "mask_true": "ignore"}),
        (lambda query, key, value, mask=None: correct(query, key, value), {"masks": "additive"}),
    ],
)
def test_a_convention_that_is_not_followed_is_refuted(function: Any, record: dict[str, Any]) -> None:
    record = {"name": "f", "dtypes": ("float32",), **record}
    report = check_implementation(Implementation(function, **record), "quick", laws=["agrees_with_truth"])
    assert report.verdict == "refuted"


@pytest.mark.parametrize("name", conventions.DECLARED)
def test_the_catalogues_faults_under_conventions_are_refuted_at_quick(name: str) -> None:
    record = conventions.DECLARED[name]
    refuted(conventions.SEEN_BY[name], getattr(conventions, name)(), "quick", **record)


def test_an_exception_that_is_not_declared_is_no_way_to_decline() -> None:
    record = Implementation(declining, name="f", dtypes=("float32",))
    assert check_implementation(record, "quick", laws=["agrees_with_truth"]).verdict == "refuted"


@pytest.mark.parametrize(("rule", "kept"), [("1", "1"), (1.0, "1"), (" 1 / sqrt(d)", "1/sqrt(d)"), ("0.125", "0.125")])
def test_a_scale_is_kept_in_one_spelling(rule: Any, kept: str) -> None:
    assert check_scale(rule) == kept


@pytest.mark.parametrize("rule", ["0", "-1", "nan", "inf", "1/n", ""])
def test_a_scale_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(TargetError, match="write a positive number"):
        Implementation(len, scale=rule)


def test_scales_of_a_head_size() -> None:
    assert [scale_of(rule, 16) for rule in ("1/sqrt(d)", "1/d", "sqrt(d)", "d", "2")] == [0.25, 1 / 16, 4, 16, 2]


def test_a_case_keeps_its_default_scale_in_json() -> None:
    one = np.ones((1, 1, 1, 4))
    case = Case("float32", one, one, one, default_scale="1/d")
    assert Case.from_json(case.to_json()).factor == 0.25
    old = {k: v for k, v in case.to_json().items() if k != "default_scale"}
    assert Case.from_json(old).factor == 0.5


FEWER = ((3, "bhnd"), (3, "nbhd"), (3, "bhdn"), (2, "bhnd"), (2, "bhdn"))


@pytest.mark.parametrize("axes", [Axes(4, layout) for layout in LAYOUTS] + [Axes(n, layout) for n, layout in FEWER])
def test_places_lead_there_and_back(axes: Axes) -> None:
    shape = (2, 3, 5, 7) if axes.count > 2 else (1, 1, 5, 7)
    values = np.arange(np.prod(shape)).reshape(shape)
    sent = axes.to_target(values)
    assert np.array_equal(axes.from_target(sent, shape), values)
    for index in ((0, 0, 4, 6), tuple(n - 1 for n in shape)):
        place = axes.place(index, shape)
        assert sent[place] == values[index] and axes.canonical(place, shape) == index


def test_two_axes_hold_one_problem() -> None:
    with pytest.raises(NotApplicable, match="one problem at a time"):
        Axes(2).to_target(np.zeros((2, 1, 3, 3)))


def test_tokens_come_first_where_that_is_declared() -> None:
    values = np.zeros((2, 3, 5, 7))
    assert [Axes(4, layout).to_target(values).shape for layout in ("nbhd", "nbe")] == [(5, 2, 3, 7), (5, 2, 21)]
    assert Axes(3, "nbhd").to_target(values).shape == (5, 6, 7)
    for layout in ("nbhd", "nbe"):
        with pytest.raises(NotApplicable, match="one batch axis"):
            Axes(4, layout).to_target(values[None])


def test_features_come_before_tokens_where_that_is_declared() -> None:
    values = np.zeros((2, 3, 5, 7))
    assert Axes(4, "bhdn").to_target(values).shape == (2, 3, 7, 5)
    assert Axes(4, "bhdn").to_target(values[0, 0]).shape == (7, 5)
    assert Axes(3, "bhdn").to_target(values).shape == (6, 7, 5)
    assert Axes(2, "bhdn").to_target(values[:1, :1]).shape == (7, 5)
    with pytest.raises(TargetError, match="which lie alike"):
        Implementation(len, key_layout="bhdn", qkv_axis=-3)


def test_axes_without_heads_have_no_layout() -> None:
    with pytest.raises(TargetError, match="no axis of heads"):
        Implementation(len, axes=3, layout="bnhd")
    with pytest.raises(TargetError, match="no axis of heads, so it has no layout nbhd"):
        Implementation(len, axes=2, layout="nbhd")
    with pytest.raises(TargetError, match="not known of rotary"):
        Implementation(len, contract="rotary", layout="nbhd")
