"""Grouped heads found by a call, and the convention by which heads share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.results import Report
from attention_core.declaration.implementation import TargetError
from attention_core.kernels.dot_product import dot_product_attention

pytestmark = pytest.mark.usefixtures("fewest_cases")

LAWS = [
    "agrees_with_truth", "grouped_query_equals_repeated_keys", "grouped_gradients_are_summed_over_the_group",
    "query_gradient_is_true", "key_gradient_is_true", "mask_gradient_is_true",
    "second_gradients_are_true", "a_slice_alone_equals_itself_in_the_batch",
    "permuting_heads_permutes_the_output", "masked_keys_are_invisible",
]  # fmt: skip
SDPA = torch.nn.functional.scaled_dot_product_attention
Attention = Callable[..., Tensor]


def core(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    if q.shape[:-2] != k.shape[:-2]:
        raise ValueError("as many key heads as query heads, please")
    return dot_product_attention(q, k, v, mask)


def interleaved(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    group = q.shape[1] // k.shape[1]
    return core(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), attn_mask)


def modular(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    group = q.shape[1] // k.shape[1]
    return core(q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1), attn_mask)


def modular_bnhd(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    turned = (x.transpose(1, 2) for x in (q, k, v))
    return modular(*turned, attn_mask).transpose(1, 2)


def modular_lse(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Any:
    group = q.shape[1] // k.shape[1]
    return dot_product_attention(q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1), attn_mask, return_lse=True)


def one_head_each(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    return core(q, k, v, attn_mask)


def short_of_heads(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    return torch.cat([core(q[:, h : h + 1], k[:, h : h + 1], v[:, h : h + 1], None) for h in range(k.shape[1])], 1)


def broadcasting(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
    return weights @ v


def record(function: Attention, **fields: Any) -> Implementation:
    return Implementation(function, mask_gradient=True, second_gradients=True, accumulate="float32", **fields)


def refuted(function: Attention, *laws: str, **fields: Any) -> set[str]:
    report = judged(function, *laws, **fields)
    assert not report.with_status("error")
    return {r.law for r in report.with_status("refuted")}


def judged(function: Attention, *laws: str, **fields: Any) -> Report:
    """All laws under what is declared: a first look would find the grouping and leave the others out."""
    with Session(record(function, **fields), effort="quick", looks=False) as session:
        return session.report(list(session.results(select_laws(session.laws, laws or LAWS))), complete=False)


def claims(function: Attention, **fields: Any) -> str:
    with Session(record(function, **fields), effort="quick") as session:
        return session.claims([])["enable_gqa"]


@pytest.mark.usefixtures("unshrunk")
def test_grouped_heads_are_judged_where_a_call_with_them_is_accepted() -> None:
    assert claims(interleaved) == "tested"
    assert not refuted(interleaved)
    found = refuted(modular)
    assert {"agrees_with_truth", "grouped_query_equals_repeated_keys"} <= found


def test_what_a_target_does_not_take_is_not_asked_of_it() -> None:
    assert "fewer key heads are declined" in claims(one_head_each)
    assert "fewer key heads are declined" in claims(broadcasting)
    assert "another shape" in claims(short_of_heads)
    assert claims(interleaved, claims=("attn_mask",)) == "not tested: no such parameter"
    same = lambda n_q, n_kv, d, d_v, heads, kv_heads: heads == kv_heads  # noqa: E731
    assert claims(interleaved, sizes=same) == "not tested: no such sizes are declared"
    assert "agrees_with_truth" not in refuted(broadcasting, "agrees_with_truth", dtypes=("float64",))


@pytest.mark.parametrize(("function", "fields"), [(modular, {}), (modular_bnhd, {"layout": "bnhd"})])
def test_heads_may_share_by_their_number_modulo_the_key_heads(function: Attention, fields: dict[str, Any]) -> None:
    assert not refuted(function, grouping="modular", **fields)


@pytest.mark.usefixtures("unshrunk")
def test_so_may_a_log_sum_exp() -> None:
    laws = ("lse_agrees_with_truth", "lse_gradient_is_true", "agrees_with_truth")
    names = {law.name for law in Session(record(modular_lse, contract="attention-lse")).laws}
    chosen = [law for law in laws if law in names]
    assert len(chosen) >= 2
    assert not refuted(modular_lse, *chosen, contract="attention-lse", grouping="modular")
    assert refuted(modular_lse, *chosen, contract="attention-lse")


@pytest.mark.thorough
def test_a_declared_grouping_is_verified_and_its_counterexample_stands() -> None:
    report = judged(interleaved, grouping="modular")
    assert {"agrees_with_truth", "grouped_query_equals_repeated_keys"} <= {r.law for r in report.with_status("refuted")}
    assert not any(c.event for c in report.counterexamples)


def test_a_first_look_finds_the_grouping() -> None:
    report = check_implementation(record(modular), "quick", laws=LAWS)
    assert report.first_look is not None and report.first_look.found == {"grouping": "modular"}
    assert report.under_found is not None and report.under_found.passed


def test_another_word_is_refused() -> None:
    with pytest.raises(TargetError, match="grouping='tiled' is not one of interleaved, modular"):
        record(modular, grouping="tiled")
