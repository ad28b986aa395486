"""Which sizes are large, one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from judging import held, refuted
from torch import Tensor

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Profile
from attention_core.conformance.laws import large_sizes
from attention_core.faults.bases.reference import correct


@pytest.mark.parametrize("claims", [(), ("enable_gqa", "attn_mask")])
def test_sizes_are_large_one_at_a_time(claims: tuple[str, ...]) -> None:
    numbers = np.zeros((1, 1, 2, 2))
    profile = Profile(("float64", "float32", "bfloat16"), frozenset(claims), "top_left", "zeros")
    given = [Case("bfloat16", numbers, numbers, numbers, seed=seed) for seed in range(4)]
    cases = [one for case in given for one in large_sizes.enlarge(case, profile)]
    seen = {(c.query.shape[0], *c.sizes[:3], c.sizes[4]) for c in cases}
    assert {s[0] * s[4] for s in seen} >= {9, 18, 65, 66, 72} and {s[3] for s in seen} >= {16, 64, 129, 257}
    assert {s[1] for s in seen} >= {64, 257, 523, 1025} and {s[2] for s in seen} >= {64, 257, 523, 1025}
    assert max(c.key.size for c in cases) > 2**16
    assert all(np.array_equal(round_to(c.value, c.dtype), c.value) for c in cases)
    assert {c.dtype for c in cases} == {"float32", "bfloat16"}
    assert any(c.group > 1 for c in cases) is bool(claims) and any(c.mask is not None for c in cases) is bool(claims)
    assert all(c.mask is None or c.mask.any(-1).all() for c in cases), "no dead rows"


def test_declared_sizes_are_kept_to() -> None:
    """A kernel for heads of 64 features at most is not asked for more, and still judged on long sequences."""
    seen: list[int] = []

    def narrow(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        seen.append(query.shape[-1])
        return correct(query, key, value)

    held("round_sizes_and_sizes_beyond_are_right", narrow, sizes=lambda n_q, n_kv, d, d_v, heads, shared: d <= 64)
    assert max(seen) <= 64


def merged(by_maxima: bool) -> Any:
    """Parts of 3,000 keys, merged by their log-sum-exps, or by their largest scores alone."""

    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        outs, sizes = [], []
        for k, v in zip(key.split(3000, -2), value.split(3000, -2), strict=True):
            scores = query @ k.mT * query.shape[-1] ** -0.5
            outs.append(scores.softmax(-1) @ v)
            sizes.append(scores.amax(-1) if by_maxima else scores.logsumexp(-1))
        total = torch.stack(sizes).logsumexp(0)
        return torch.stack([(size - total).exp()[..., None] * out for size, out in zip(sizes, outs, strict=True)]).sum(
            0
        )

    return attention


def test_a_declared_merge_does_not_excuse_parts_merged_by_their_maxima() -> None:
    law, declared = "round_sizes_and_sizes_beyond_are_right", {"merges": "lse", "dtypes": ("float32", "float16")}
    refuted(law, merged(by_maxima=True), "quick", **declared)
    held(law, merged(by_maxima=False), **declared)
