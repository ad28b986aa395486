"""ONNX Runtime's GroupQueryAttention as a function of its inputs is judged over pages, right and wrong ones."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch
from judging_contracts import counterexample, outcomes
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.worker.grouped_operator import call_over_pages, is_grouped_operator
from attention_core.declaration.implementation import OtherForm

LAWS = (
    "paged_keys_agree_with_the_truth", "query_heads_share_pages_heads_in_order", "new_tokens_are_appended",
    "paged_windows_are_the_texts_own", "paged_scores_are_capped",
)  # fmt: skip


def attend(q: Tensor, k: Tensor, v: Tensor, scale: float, window: int, cap: float) -> Tensor:
    """Causal attention of one text, (H, n, d), its queries the last tokens."""
    n, m = q.shape[1], k.shape[1]
    scores = q @ k.mT * scale
    scores = cap * torch.tanh(scores / cap) if cap else scores
    at, j = torch.arange(n)[:, None] + m - n, torch.arange(m)
    hidden = (j > at) | (j <= at - window if window > 0 else torch.tensor(False))
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v


class Operator:
    """The operator; what it does wrongly is a method of its own."""

    def heads(self, x: Tensor, group: int) -> Tensor:
        return x.repeat_interleave(group, 0)

    def before(self, last: int, n: int) -> int:
        return last + 1 - n

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, past_key: Tensor, past_value: Tensor, seqlens_k: Tensor,
        total_sequence_length: Tensor, cos_cache: Tensor | None = None, sin_cache: Tensor | None = None, *,
        num_heads: int, kv_num_heads: int, do_rotary: int = 0, local_window_size: int = -1, scale: float | None = None,
        softcap: float = 0.0,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        assert not do_rotary and cos_cache is None and sin_cache is None
        B, n, _ = query.shape
        new = [x.reshape(B, n, kv_num_heads, -1).transpose(1, 2) for x in (key, value)]
        q = query.reshape(B, n, num_heads, -1).transpose(1, 2)
        present = [x.new_zeros(B, kv_num_heads, int(total_sequence_length), x.shape[-1]) for x in new]
        out, group = torch.empty_like(q), num_heads // kv_num_heads
        for b in range(B):
            start = self.before(int(seqlens_k[b]), n)
            for x, past, own in zip(present, (past_key, past_value), new, strict=True):
                x[b, :, :start], x[b, :, start : start + n] = past[b, :, :start], own[b]
            k, v = (self.heads(x[b, :, : start + n], group) for x in present)
            by = q.shape[-1] ** -0.5 if scale is None else scale
            out[b] = attend(q[b], k, v, by, local_window_size, softcap)
        return out.transpose(1, 2).reshape(B, n, -1), *present


def named(operator: Operator) -> Any:
    """A plain function of the operator's parameters."""

    own = inspect.signature(Operator.__call__)
    arrays = [name for name, p in own.parameters.items() if p.kind is not p.KEYWORD_ONLY and name != "self"]

    def GroupQueryAttention(*given: Any, **options: Any) -> Any:  # noqa: N802
        given += tuple(options.pop(name) for name in arrays[len(given) :] if name in options)
        return operator(*given, **options)

    GroupQueryAttention.__signature__ = inspect.signature(Operator())  # type: ignore[attr-defined]
    return GroupQueryAttention


class LengthOneShort(Operator):
    """Reads seqlens_k as the number of keys."""

    def before(self, last: int, n: int) -> int:
        return max(last - n, 0)


class HeadsInTurn(Operator):
    """Query head h reads key head h mod H_kv."""

    def heads(self, x: Tensor, group: int) -> Tensor:
        return x.repeat(group, 1, 1)


class PastForgotten(Operator):
    """Attends to zeros where the past was."""

    def __call__(self, *arrays: Tensor, **options: Any) -> Any:  # type: ignore[override]
        return super().__call__(*arrays[:3], *(torch.zeros_like(x) for x in arrays[3:5]), *arrays[5:], **options)


right, one_short = named(Operator()), named(LengthOneShort())


def statuses(target: Any, **record: Any) -> dict[str, str]:
    with Session(Implementation(target, contract="paged", dtypes=("float32",), **record), effort="quick") as session:
        return {law.name: session.run(law).status for law in session.laws if law.name in LAWS}


def test_a_right_operator_holds_without_an_option() -> None:
    assert is_grouped_operator(right)
    assert statuses(right) == dict.fromkeys(LAWS, "held")


@pytest.mark.parametrize(
    ("operator", "law"),
    [
        (LengthOneShort, "paged_keys_agree_with_the_truth"),
        (PastForgotten, "paged_keys_agree_with_the_truth"),
        (HeadsInTurn, "query_heads_share_pages_heads_in_order"),
    ],
)
def test_wrong_operators_are_refuted(operator: Any, law: str) -> None:
    assert statuses(named(operator()))[law] == "refuted"


def test_the_name_says_the_contract() -> None:
    with pytest.raises(OtherForm, match="give --contract paged") as caught, Session(Implementation(right)):
        pass
    assert caught.value.changes == {"contract": "paged"}


@pytest.mark.thorough
def test_the_snippet_runs_alone_and_the_process_by_name_calls_it_so() -> None:
    law = "paged_keys_agree_with_the_truth"
    snippet = counterexample(law, f"{__file__}:one_short", "paged", dtypes=("float32",))
    assert "attention = call_over_pages(attention)" in snippet
    assert outcomes({"wrong": snippet})["wrong"].startswith("AssertionError")


def test_a_window_counts_the_own_key_and_what_is_no_call_of_the_operator_is_declined() -> None:
    assert statuses(right, window="before")["paged_windows_are_the_texts_own"] == "refuted"
    call = call_over_pages(right)
    x, table, lengths = torch.ones(1, 1, 1, 2), torch.tensor([[0]]), torch.tensor([0])
    with pytest.raises(NotImplementedError, match="no text has fewer"):
        call(x, x, x, table, lengths)
    with pytest.raises(NotImplementedError, match="of one size alone"):
        call(x, x, x[..., :1], table, lengths + 1)
    with pytest.raises(NotImplementedError, match="stands for"):
        call(x, x, x, table, lengths + 1, scale=0.0)


def test_arrays_of_numpy_are_called_alike() -> None:
    """Of what is passed the operator gets arrays of the caller's library: what NumPy gives agrees with torch."""
    seen: list[Any] = []

    def numpy_operator(
        query: Any, key: Any, value: Any, past_key: Any, past_value: Any, seqlens_k: Any, total_sequence_length: Any, *,
        num_heads: int, kv_num_heads: int,
    ) -> Any:  # fmt: skip
        arrays = (query, key, value, past_key, past_value, seqlens_k, total_sequence_length)
        seen.extend(type(x) for x in arrays)
        own = [torch.from_numpy(np.ascontiguousarray(x)) for x in arrays]
        return tuple(x.numpy() for x in right(*own, num_heads=num_heads, kv_num_heads=kv_num_heads))

    found = statuses(numpy_operator, array="numpy")
    assert found["paged_keys_agree_with_the_truth"] == found["new_tokens_are_appended"] == "held"
    assert set(seen) == {np.ndarray}
