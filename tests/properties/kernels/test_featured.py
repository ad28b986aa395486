"""Attention with features, against the oracle of posed problems and in its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from judging import held

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features
from attention_core.conformance.subjects.featured import judge_call
from attention_core.declaration.implementation import Implementation
from attention_core.dispatch.attention import attention
from attention_core.kernels.featured import featured_attention

RECORDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "core:featured": (featured_attention, {"masked_nan": "ignored"}),
    "core:attention": (attention, {"claims": ("attn_mask", "scale", "enable_gqa", "window", "sinks", "softcap")}),
}
LAWS = (
    "a_window_agrees_with_the_truth", "keys_outside_the_window_are_invisible", "gradients_of_a_window_are_true",
    "scores_are_capped", "gradients_through_the_cap_are_true", "a_sink_takes_its_weight", "a_low_sink_takes_nothing",
    "gradients_with_sinks_are_true", "the_sinks_gradient_is_true",
)  # fmt: skip
X = torch.ones(2, 3, 2)


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("law", LAWS)
def test_the_laws_of_features_hold(law: str, name: str) -> None:
    target, record = RECORDS[name]
    held(law, target, window="sides", accumulate="float32", **record)


def test_features_together_are_those_of_the_posed_problem() -> None:
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, H, n, 3)) for H, n in ((4, 5), (2, 6), (2, 6)))
    mask, sinks = rng.random((5, 6)) < 0.7, rng.standard_normal(4)
    features = Features(window=(2, 1), softcap=0.7, sinks=sinks)
    record = Implementation(featured_attention, name="f")
    want = judge_call(record, Case("float64", q, k, v, mask=mask, scale=0.5), features)
    arrays = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    z = torch.tensor(sinks, requires_grad=True)
    out = attention(*arrays, torch.tensor(mask), scale=0.5, window=(2, 1), softcap=0.7, sinks=z)
    assert (np.abs(out.detach().numpy() - want.truth.out) <= want.limit).all()
    down = np.asarray(rng.standard_normal(out.shape))
    out.backward(torch.tensor(down))
    true, bounds, judged = want.gradients(down)
    assert judged
    for name, x in zip(("query", "key", "value", "sinks"), (*arrays, z), strict=True):
        assert x.grad is not None and (np.abs(x.grad.numpy() - true[name]) <= bounds[name]).all(), name


def test_masked_nan_reaches_no_gradient_through_the_cap() -> None:
    key = X.clone()
    key[:, 2] = torch.nan
    query, allow = X.clone().requires_grad_(), torch.tensor([True, True, False])
    out = featured_attention(query, key, X, allow, softcap=1.0, sinks=torch.zeros(2))
    out.sum().backward()
    assert query.grad is not None and query.grad.isfinite().all() and out.isfinite().all()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"softcap": 0.0}, "softcap must be above 0, got 0.0; leave it out"),
    ({"sinks": torch.zeros(3)}, r"one number for each head \(H,\): got \(3,\), and query has 2 heads"),
    ({"window": 3}, r"window must be a pair \(left, right\) of numbers of keys, got 3"),
    ({"window": (2, -2)}, "right must be an integer of at least -1, got -2"),
    ({"softcap": 1.0, "kernel": "torch:default"}, "'torch:default' takes no softcap: use auto or core:featured"),
    ({"sinks": torch.zeros(2), "softcap": 1.0, "kernel": "core:tiled"}, "takes no sinks and softcap"),
]


@pytest.mark.parametrize(("how", "words"), BAD)
def test_calls_that_mean_nothing_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        attention(X, X, X, **how)


@pytest.mark.parametrize("kernel", ["auto", "core:dot_product", "core:block_sparse", "torch:default"])
@pytest.mark.parametrize("mask", [None, torch.tensor([True, True, False]), torch.tensor([0.0, 1.0, 2.0])])
def test_a_window_is_a_mask_of_every_kernel(kernel: str, mask: torch.Tensor | None) -> None:
    value = torch.eye(3).expand(2, 3, 3)
    want = featured_attention(X, X, value, None if mask is None else mask.expand(3, 3), window=(1, 0))
    got = attention(X, X, value, mask, window=(1, 0), kernel=kernel)
    torch.testing.assert_close(got, want)
