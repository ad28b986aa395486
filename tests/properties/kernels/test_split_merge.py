"""attention_core.kernels.split_merge: parts of any size merge to the loop's result in attention_loop.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.split_merge import merge, split_merge_attention
from tests.properties.attention_loop import INF, draw_call, rows_of

NAN = float("nan")


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_output_agrees_with_the_loop_at_every_cut(data: st.DataObject) -> None:
    """A merge weighs with exp(lse - shift), where each lse is off by (d + n + 16) u (score size + log n + 1).

    That is a further error of the exponent, so the loop's D is taken for scores larger by that count; a
    merge itself adds six roundings.
    """
    call = draw_call(data)
    n, d = call["key"].shape[-2:]
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
    out = split_merge_attention(**call, sizes=data.draw(st.sampled_from([sizes, None])))
    dtype = call["query"].dtype
    assert out.dtype == dtype
    merges = max(len(sizes), 3)
    u, last = torch.finfo(torch.promote_types(dtype, torch.float32)).eps / 2, torch.finfo(dtype).eps
    for index, row in rows_of(call):
        row.score_size += math.log(n)
        error = np.abs(out[index].double().numpy() - row.out)
        bound = row.bound(u, d + merges * (d + n + 16), n + 6 * merges)
        assert (error <= 2 * bound + last * np.abs(row.out) + torch.finfo(dtype).tiny).all()


def test_merge_by_hand_at_unequal_parts() -> None:
    """One key of value 8 and three keys of value 4, equal scores: 5, not the 6 of an unweighted mean.

    log 3 is rounded: the weights 1/4 and 3/4 are off by a few u, and so is the sum of terms up to 8.
    """
    one = torch.tensor([[8.0]], dtype=torch.float64), torch.tensor([0.0], dtype=torch.float64)
    three = torch.tensor([[4.0]], dtype=torch.float64), torch.tensor([math.log(3)], dtype=torch.float64)
    for parts in ((*one, *three), (*three, *one)):
        out, lse = merge(*parts)
        u = torch.finfo(torch.float64).eps
        assert abs(out.item() - 5) <= 8 * 8 * u
        assert abs(lse.item() - math.log(4)) <= 8 * u * math.log(4)


def test_nothing_is_the_neutral_element_and_nothing_merges_with_nothing() -> None:
    out = torch.tensor([[3.0, -5.0]], requires_grad=True)
    lse = torch.tensor([700.0], requires_grad=True)  # exp(700) is infinite in float32
    empty = torch.zeros(1, 2), torch.tensor([-INF])
    for parts in ((out, lse, *empty), (*empty, out, lse)):
        merged, total = merge(*parts)
        assert (merged.tolist(), total.tolist()) == ([[3, -5]], [700])
        gradients = torch.autograd.grad(merged.sum() + total.sum(), (out, lse))
        assert [g.tolist() for g in gradients] == [[[1, 1]], [1]]
    dead = torch.tensor([-INF], requires_grad=True)
    merged, total = merge(empty[0], dead, *empty)
    assert (merged.tolist(), total.tolist()) == ([[0, 0]], [-INF])
    (gradient,) = torch.autograd.grad(merged.sum() + total.exp().sum(), dead)
    assert gradient.tolist() == [0]


@pytest.mark.parametrize("sizes", [[7], [1, 6], [0, 2, 5], [3, 0, 3, 1], None])
def test_masked_garbage_and_dead_rows_leave_output_and_gradients_clean(sizes: list[int] | None) -> None:
    """Scores 0 and one or two attended keys per part keep every number exact but the merge's weights.

    Those are exp(log 2 - log 2) at worst: rounded, so finite and zero are judged here, values by the loop.
    """
    rng = np.random.default_rng(5)
    q, k, v = (torch.from_numpy(rng.normal(size=s)) for s in ((3, 4), (7, 4), (7, 5)))
    k[6], v[6], k[1], v[1] = NAN, INF, -INF, NAN
    inputs = [x.requires_grad_() for x in (q, k, v)]
    mask = torch.tensor([[1, 0, 1, 1, 0, 1, 0], [0, 0, 1, 1, 1, 1, 0], [0] * 7]).bool()
    out = split_merge_attention(*inputs, mask, sizes=sizes)
    dq, dk, dv = torch.autograd.grad(out.sum(), inputs)
    assert out.isfinite().all()
    assert all(g.isfinite().all() for g in (dq, dk, dv))
    assert (out[2] == 0).all()
    assert (dq[2] == 0).all()
    assert (dk[[1, 6]] == 0).all()
    assert (dv[[1, 6]] == 0).all()
    assert (dv[2:4] != 0).all()


def test_without_keys_the_output_is_zero_and_on_the_graph() -> None:
    q, k, v = (torch.ones(s, requires_grad=True) for s in ((3, 7), (0, 7), (0, 11)))
    out = split_merge_attention(q, k, v)
    assert torch.equal(out, torch.zeros(3, 11))
    assert torch.equal(torch.autograd.grad(out.sum(), q)[0], torch.zeros(3, 7))


def test_one_part_is_the_plain_function() -> None:
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(split_merge_attention(x, x, x, sizes=[5]), dot_product_attention(x, x, x))


X = torch.zeros(5, 2)
BAD_CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (split_merge_attention, (X, X, X), {"sizes": [2, 2]}, "sum to n_kv = 5"),
    (split_merge_attention, (X, X, X), {"sizes": [6, -1]}, "must be >= 0"),
    (split_merge_attention, (X, X, X), {"sizes": []}, "sum to n_kv = 5"),
    (split_merge_attention, (X, X, X[:3]), {}, "lengths of key and value differ"),
    (split_merge_attention, (X, X, X), {"dropout_p": 2.0}, "probability"),
    (merge, (X, X[:, 0], X[:3], X[:3, 0]), {}, "do not belong to the same queries"),
    (merge, (X, X, X, X), {}, "do not belong to the same queries"),
]


@pytest.mark.parametrize(("function", "args", "kwargs", "words"), BAD_CALLS)
def test_bad_calls_are_refused(function: Any, args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        function(*args, **kwargs)
