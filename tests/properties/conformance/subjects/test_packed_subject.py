"""A default that means something of its own is never left to itself: packed texts, pages, and linear attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.subjects.packed_subject import ROLES, is_plain


def varlen(
    q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, softmax_scale: float = 1.0, causal: bool = True
) -> Any:
    out = torch.zeros(*q.shape[:2], v.shape[-1], dtype=q.dtype)
    for b in range(len(cu_seqlens_q) - 1):
        rows, keys = slice(*cu_seqlens_q[b : b + 2].tolist()), slice(*cu_seqlens_k[b : b + 2].tolist())
        own_q, own_k, own_v = (x.double().transpose(0, 1) for x in (q[rows], k[keys], v[keys]))
        group = own_q.shape[0] // max(own_k.shape[0], 1)
        own_k, own_v = (x.repeat_interleave(group, 0) for x in (own_k, own_v))
        scores = own_q @ own_k.transpose(-1, -2) * softmax_scale
        if causal:
            n, n_kv = scores.shape[-2:]
            scores = scores.masked_fill(torch.ones(n, n_kv, dtype=torch.bool).triu(n_kv - n + 1), -torch.inf)
        dead = torch.isneginf(scores).all(-1, keepdim=True)
        weights = scores.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)
        out[rows] = (weights @ own_v).transpose(0, 1).to(q.dtype)
    return out


def retention(q: Any, k: Any, v: Any, decay: Any, scale: float = 1.0) -> Any:
    out, state = [], torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1], dtype=torch.float64)
    for t in range(q.shape[2]):
        state = decay.double()[:, None, None] * state + k[:, :, t, :, None].double() * v[:, :, t, None, :].double()
        out.append(q[:, :, t, None, :].double() * scale @ state)
    return torch.cat([*out, state[:, :, :0]], 2).to(q.dtype)


@pytest.mark.parametrize(
    "target, law",
    [(Implementation(varlen, name="varlen", contract="varlen"), "packed_texts_agree_with_the_truth"),
     (Implementation(retention, name="r", contract="linear-attention", parameters={"kind": "retention"}),
      "linear_attention_agrees_with_the_truth")],
)  # fmt: skip
def test_a_default_of_its_own_is_passed_over(target: Implementation, law: str) -> None:
    (found,) = check_implementation(target, effort="quick", laws=[law]).laws
    assert (found.law, found.status) == (law, "held"), found.message


@pytest.mark.parametrize(
    "name, value, plain",
    [("causal", False, True), ("causal", True, False), ("softmax_scale", None, True), ("softmax_scale", 1.0, False),
     ("softcap", 0, True), ("softcap", 30.0, False), ("window", None, True), ("window_size", 4096, False),
     ("enable_gqa", True, False)],
)  # fmt: skip
def test_which_defaults_are_plain(name: str, value: Any, *, plain: bool) -> None:
    assert name in ROLES
    assert is_plain({"name": name, "default": True, "value": value}) == plain
    assert not is_plain({"name": name, "default": False, "value": None})
