"""FlashInfer's wrappers, objects that plan and run, are called as their library's users call them: right and wrong ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from judging_contracts import counterexample, outcomes
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.worker.planned import call_planned, kind_of_plan
from attention_core.declaration.implementation import OtherForm, TargetError

LAWS = ("paged_keys_agree_with_the_truth", "paged_windows_are_the_texts_own", "paged_scores_are_capped")


def attend(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float | None, left: int, cap: float | None
) -> Tensor:
    """Attention of one text, (n, H, d), its queries the last tokens."""
    n, m, group = len(q), len(k), q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1).transpose(0, 1) for x in (k, v))
    scores = q.transpose(0, 1) @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = cap * torch.tanh(scores / cap) if cap else scores
    at, j = torch.arange(n)[:, None] + m - n, torch.arange(m)
    seen = (j <= at) if causal else torch.ones(n, m, dtype=torch.bool)
    seen = seen & (j >= at - left) if left >= 0 else seen
    dead = ~seen.any(-1, keepdim=True)
    weights = scores.masked_fill(~seen, -torch.inf).masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)
    return (weights @ v).transpose(0, 1)


class BatchDecodeWithPagedKVCacheWrapper:
    """One query of each text."""

    def __init__(self, float_workspace_buffer: Tensor, kv_layout: str = "NHD") -> None:
        assert kv_layout == "NHD" and float_workspace_buffer.dtype == torch.uint8

    def plan(
        self, indptr: Tensor, indices: Tensor, last_page_len: Tensor, num_qo_heads: int, num_kv_heads: int,
        head_dim: int, page_size: int, pos_encoding_mode: str = "NONE", window_left: int = -1,
        logits_soft_cap: float | None = None, q_data_type: Any = "float16", sm_scale: float | None = None,
    ) -> None:  # fmt: skip
        self.bounds, self.indices, self.last = indptr.tolist(), indices.long(), last_page_len.tolist()
        self.page, self.how = page_size, {"scale": sm_scale, "left": window_left, "cap": logits_soft_cap}

    def keys(self, cache: Tensor, b: int) -> Tensor:
        pages = self.indices[self.bounds[b] : self.bounds[b + 1]]
        length = max(len(pages) - 1, 0) * self.page + (self.last[b] if len(pages) else 0)
        return cache[pages].flatten(0, 1)[:length]

    def run(self, q: Tensor, paged_kv_cache: tuple[Tensor, Tensor]) -> Tensor:
        out = q.new_zeros(*q.shape[:2], paged_kv_cache[1].shape[-1])
        for b in range(len(q)):
            k, v = (self.keys(x, b) for x in paged_kv_cache)
            out[b : b + 1] = attend(q[b : b + 1], k, v, causal=False, **self.how)
        return out


class LastPageIsFull(BatchDecodeWithPagedKVCacheWrapper):
    """What lies behind the last key of a text counts."""

    def keys(self, cache: Tensor, b: int) -> Tensor:
        return cache[self.indices[self.bounds[b] : self.bounds[b + 1]]].flatten(0, 1)


class BatchPrefillWithPagedKVCacheWrapper:
    """Packed queries."""

    def __init__(self, float_workspace_buffer: Tensor, kv_layout: str = "NHD") -> None:
        self.decode = BatchDecodeWithPagedKVCacheWrapper(float_workspace_buffer, kv_layout)

    def plan(
        self, qo_indptr: Tensor, paged_kv_indptr: Tensor, paged_kv_indices: Tensor, paged_kv_last_page_len: Tensor,
        num_qo_heads: int, num_kv_heads: int, head_dim_qk: int, page_size: int, causal: bool = False,
        sm_scale: float | None = None, window_left: int = -1, logits_soft_cap: float | None = None,
    ) -> None:  # fmt: skip
        self.causal, self.rows = causal, qo_indptr.tolist()
        self.decode.plan(
            paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len, num_qo_heads, num_kv_heads, head_dim_qk,
            page_size, window_left=window_left, logits_soft_cap=logits_soft_cap, sm_scale=sm_scale,
        )  # fmt: skip

    def run(self, q: Tensor, paged_kv_cache: tuple[Tensor, Tensor]) -> Tensor:
        out = q.new_zeros(*q.shape[:2], paged_kv_cache[1].shape[-1])
        for b, (start, stop) in enumerate(zip(self.rows, self.rows[1:], strict=False)):
            k, v = (self.decode.keys(x, b) for x in paged_kv_cache)
            out[start:stop] = attend(q[start:stop], k, v, causal=self.causal, **self.decode.how)
        return out


class WindowIsOneKeyNarrower(BatchPrefillWithPagedKVCacheWrapper):
    """A window of W keys before the query's own has W - 1 of them."""

    def plan(self, *args: Any, window_left: int = -1, **how: Any) -> None:
        super().plan(*args, window_left=window_left - (window_left > 0), **how)

    plan.__signature__ = __import__("inspect").signature(BatchPrefillWithPagedKVCacheWrapper.plan)  # type: ignore


def statuses(target: Any, **record: Any) -> dict[str, str]:
    with Session(Implementation(target, contract="paged", dtypes=("float32",), **record), effort="quick") as session:
        return {law.name: session.run(law).status for law in session.laws if law.name in LAWS}


@pytest.mark.parametrize("target", [BatchDecodeWithPagedKVCacheWrapper, BatchPrefillWithPagedKVCacheWrapper])
def test_right_wrappers_hold_without_an_option(target: Any) -> None:
    assert set(statuses(target).values()) == {"held"}
    made = target(torch.empty(4, dtype=torch.uint8))
    assert kind_of_plan(made) == kind_of_plan(target) != ""
    assert set(statuses(made).values()) == {"held"}


def test_wrong_wrappers_are_refuted() -> None:
    assert statuses(LastPageIsFull)["paged_keys_agree_with_the_truth"] == "refuted"
    assert statuses(WindowIsOneKeyNarrower)["paged_windows_are_the_texts_own"] == "refuted"


def test_a_window_that_is_declared_is_held_to_and_no_law_fails_on_a_pack_of_no_texts() -> None:
    """Later keys are in the window of a call that is not causal; a smallest case without a text broke a law's nulls."""
    found = statuses(BatchPrefillWithPagedKVCacheWrapper, window="before")
    assert found.pop("paged_windows_are_the_texts_own") == "refuted"
    assert set(found.values()) <= {"held", "refuted"}


@pytest.mark.thorough
def test_the_snippet_of_a_wrapper_runs_alone() -> None:
    snippet = counterexample(
        "paged_keys_agree_with_the_truth", f"{__file__}:LastPageIsFull", "paged", dtypes=("float32",)
    )
    assert "attention = call_planned(attention)" in snippet
    assert outcomes({"wrong": snippet})["wrong"].startswith("AssertionError")


def test_what_is_not_known_is_one_line() -> None:
    class Odd(BatchDecodeWithPagedKVCacheWrapper):
        def plan(self, indptr: Any, indices: Any, last_page_len: Any, page_size: int, mystery: Any) -> None: ...  # type: ignore[override]

    class Made(BatchDecodeWithPagedKVCacheWrapper):
        def __init__(self, mystery: Any) -> None: ...

    with pytest.raises(TargetError, match="what plan is given for mystery is not known"):
        call_planned(Odd)
    with pytest.raises(TargetError, match="the constructor of Made is given for mystery is not known"):
        call_planned(Made)
    with pytest.raises(OtherForm) as caught, Session(Implementation(BatchDecodeWithPagedKVCacheWrapper)):
        pass
    assert caught.value.changes == {"contract": "paged"}


class Logged(BatchDecodeWithPagedKVCacheWrapper):
    """Passes on what it is given."""

    def plan(self, *args: Any, **kwargs: Any) -> None:
        super().plan(*args, **kwargs)


class LoggedTwice(Logged):
    """Passes on all but one of its own."""

    def plan(self, *args: Any, window_left: int = -1, **kwargs: Any) -> None:
        super().plan(*args, window_left=window_left, **kwargs)


class InOrder(BatchPrefillWithPagedKVCacheWrapper):
    """Passes on what it is given in order, as the library's users write it."""

    def plan(self, *args: Any) -> None:  # type: ignore[override]
        super().plan(*args)


class LoggedWrong(Logged, LastPageIsFull):
    """Passes on, and reads what lies behind the last key of a text."""


@pytest.mark.parametrize("target", [Logged, LoggedTwice, Logged(torch.empty(4, dtype=torch.uint8))])
def test_a_plan_that_passes_on_has_the_parameters_of_the_class_that_it_extends(target: Any) -> None:
    assert kind_of_plan(target) == "decode"
    assert set(statuses(target).values()) == {"held"}


def test_a_plan_without_names_is_called_in_order() -> None:
    assert set(statuses(InOrder).values()) == {"held"}


def test_a_wrong_one_is_refuted() -> None:
    assert statuses(LoggedWrong)["paged_keys_agree_with_the_truth"] == "refuted"


def test_a_plan_without_names_is_told_what_to_write() -> None:
    class Hidden:
        def plan(self, *args: Any) -> None: ...
        def run(self, q: Any, paged_kv_cache: Any) -> Any: ...

    for contract in ("paged", "attention"):
        with (
            pytest.raises(TargetError, match="is called where its plan names indptr"),
            Session(Implementation(Hidden, contract=contract)),
        ):
            pass
