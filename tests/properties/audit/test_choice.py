"""The order of faults is fixed, spread over the subjects, and led by the seed."""

from __future__ import annotations

import pytest
import torch

from attention_core.audit.choice import (
    candidates,
    find_fault,
    likely_first,
    right_implementation,
    split_by_parameters,
    subject,
)
from attention_core.declaration.implementation import Implementation, TargetError


def test_the_subjects_take_turns() -> None:
    rows = candidates("attention")
    number = len({subject(row) for row in rows})
    assert number > 20
    assert len({subject(row) for row in rows[:number]}) == number


def test_the_order_is_the_seeds() -> None:
    names = [row.name for row in candidates("attention", 0)]
    assert names == [row.name for row in candidates("attention", 0)]
    other = [row.name for row in candidates("attention", 1)]
    assert names != other and sorted(names) == sorted(other)


def test_another_contract_is_refused_in_one_line() -> None:
    with pytest.raises(TargetError, match=r"cannot judge --contract rotary.*attention-lse"):
        candidates("rotary")
    with pytest.raises(TargetError, match="no fault 'nothing'"):
        find_fault("nothing")


def test_the_right_functions_agree_with_torch() -> None:
    q, k, v = (torch.randn(2, 4, n, 8, generator=torch.Generator().manual_seed(n)) for n in (3, 5, 5))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(right_implementation("attention").function(q, k, v, is_causal=True), want)
    out, lse = right_implementation("attention-lse").function(q, k, v, is_causal=True)
    torch.testing.assert_close(out, want)
    s = (q @ k.mT / 8**0.5).masked_fill(~torch.ones(3, 5, dtype=torch.bool).tril(), -torch.inf)
    torch.testing.assert_close(lse, s.logsumexp(-1))
    torch.testing.assert_close(
        right_implementation("attention").function(q, k, v, window_size=(-1, 0)), want
    )  # a window without later keys is causality


def test_what_the_laws_can_hardly_see_comes_last() -> None:
    rows = candidates("attention")
    plain, claims = Implementation(None), ("attn_mask", "is_causal", "scale", "dropout_p", "enable_gqa")
    found = likely_first(rows, plain, claims)
    assert sorted(row.name for row in found) == sorted(row.name for row in rows)
    assert not any(subject(row) == "features" or row.record.get("returns") for row in found[:300])
    bare = likely_first(rows, plain, ())
    assert not any(subject(row) in ("dropout", "masking", "causality") for row in bare[:100])
    assert any(subject(row) == "dropout" for row in found[:100])


def test_faults_of_parameters_that_the_target_does_not_have_are_left_out_and_said() -> None:
    rows = candidates("attention")
    kept, reasons = split_by_parameters(rows, Implementation(None), ("is_causal",))
    assert {subject(row) for row in rows} - {subject(row) for row in kept} == {
        "dropout", "features", "mask forms", "masking", "random numbers"
    }  # fmt: skip
    assert [reason.partition(":")[0] for reason in reasons] == [
        "left out, as the target has no dropout_p", "left out, as the target has no window, softcap or other feature",
        "left out, as the target has no attn_mask",
    ]  # fmt: skip
    always = split_by_parameters(rows, Implementation(None, always_causal=True), ())[0]
    assert any(subject(row) == "causality" for row in always)
