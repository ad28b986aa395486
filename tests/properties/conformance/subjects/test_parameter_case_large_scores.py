"""Packed texts, pages, caches and self-attention meet scores beyond what exp can take: a softmax without its maximum."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core.conformance.engine.session import Session
from attention_core.conformance.search.search import Search
from attention_core.conformance.subjects import parameter_case
from attention_core.conformance.subjects.parameter_case import LOUD, ParameterCase
from attention_core.declaration.implementation import Implementation


def attend(query: Tensor, key: Tensor, value: Tensor, causal: bool = False) -> Tensor:
    """Exponentials of scores as they are: wrong from exp(89) on in float32."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if causal:
        n_q, n_kv = scores.shape[-2:]
        scores = scores.masked_fill(~torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q), -math.inf)
    weights = scores.exp()
    return weights / weights.sum(-1, keepdim=True) @ value


def packed(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor) -> Tensor:
    """Packed texts."""
    ends = cu_seqlens.tolist()
    texts = [slice(*pair) for pair in pairwise(ends)]
    out = [attend(*(x[text].transpose(0, 1) for x in (q, k, v))).transpose(0, 1) for text in texts]
    return torch.cat(out) if out else torch.zeros_like(v)


def paged(q: Tensor, k_cache: Tensor, v_cache: Tensor, block_table: Tensor, cache_seqlens: Tensor) -> Tensor:
    """Pages, gathered text by text."""
    out = torch.zeros(*q.shape[:3], v_cache.shape[-1], dtype=q.dtype)
    for b, length in enumerate(cache_seqlens.tolist()):
        pages = block_table[b].clamp(0, len(k_cache) - 1)
        key, value = (x[pages].flatten(0, 1)[:length].transpose(0, 1) for x in (k_cache, v_cache))
        if length:
            out[b] = attend(q[b].transpose(0, 1), key, value).transpose(0, 1)
    return out


class Cache:
    """A cache of all tokens."""

    def __init__(self) -> None:
        self.steps: list[tuple[Tensor, Tensor]] = []

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        self.steps.append((key.clone(), value.clone()))
        key, value = (torch.cat(parts, 2) for parts in zip(*self.steps, strict=True))
        return attend(query, key, value, causal=True)


def self_attention(Q: Tensor, K: Tensor, V: Tensor, n_heads: int) -> Tensor:
    """Heads cut and joined."""
    batch, n, width = Q.shape
    heads = (x.view(batch, n, n_heads, width // n_heads).transpose(1, 2) for x in (Q, K, V))
    return attend(*heads).transpose(1, 2).reshape(batch, n, width)


TARGETS: dict[str, Callable[..., Any]] = {
    "varlen": packed, "paged": paged, "kv-cache": Cache, "self-attention": self_attention,
}  # fmt: skip


def status(contract: str) -> str:
    declared = Implementation(TARGETS[contract], contract=contract, dtypes=("float32",), always_causal=False)
    with Session(declared, effort="quick", shrink=False, looks=False) as session:
        session.subject.written = ()
        (law,) = (law for law in session.laws if law.central)
        return Search(law, session.contract, session.subject).to("quick", shrink=0).status


@pytest.mark.parametrize("contract", TARGETS)
def test_a_softmax_without_its_maximum_is_refuted_by_large_scores_alone(
    contract: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status(contract) == "refuted"
    monkeypatch.setattr(parameter_case, "LOUD", 1.0)
    monkeypatch.setattr(parameter_case, "OFFSETS", {"float32": (0.0,)})
    assert status(contract) == "held"


def test_queries_are_loud_where_a_case_asks_for_it_in_a_dtype_that_shows_it() -> None:
    plain = ParameterCase({"n": 3}, options={"scores": None}, seed=4)
    large = plain.with_(options={"scores": "large"})
    np.testing.assert_array_equal(large.queries("q", 3), LOUD * plain.queries("q", 3))
    np.testing.assert_array_equal(plain.queries("q", 3), plain.values("q", 3))
    low = large.with_(dtype="float16")
    np.testing.assert_array_equal(low.queries("q", 3), low.values("q", 3))
    assert "scores=large" in large.describe() and "scores" not in plain.describe()


def test_scores_apart_lie_near_each_other_in_a_row_and_far_from_those_of_half_of_the_heads() -> None:
    case = ParameterCase({"d": 4}, options={"scores": "apart"}, seed=3)
    query, key = case.queries("q", 1, 8, 3, 4), case.keys("k", 1, 1, 9, 4)
    scores = query @ key.swapaxes(-1, -2) / 2
    near = np.ptp(scores, axis=-1)
    assert near.max() < 20
    middle = scores.mean(-1)
    assert (middle > 200).any() and (middle < -200).any() and (np.abs(middle) > 200).all()
