"""attention_core.masking: every mask as its set of pairs, enumerated pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import masking
from attention_core.masking import And, Causal, Mask, Or, causal, padding, prefix, segments, sliding_window

SETTINGS = settings(deadline=None, max_examples=60)
SIZE = st.integers(0, 7)
ALIGN = st.sampled_from(["top_left", "bottom_right"])


def offset(n_q: int, n_kv: int, align: str) -> int:
    return {"top_left": 0, "bottom_right": n_kv - n_q}[align]


def table(n_q: int, n_kv: int, allows: Callable[[int, int], bool]) -> list[list[bool]]:
    return [[allows(i, j) for j in range(n_kv)] for i in range(n_q)]


@SETTINGS
@given(SIZE, SIZE, ALIGN, st.integers(1, 8), st.integers(0, 8))
def test_causal_window_and_prefix_are_their_sets(n_q: int, n_kv: int, align: Any, W: int, P: int) -> None:
    o = offset(n_q, n_kv, align)
    cases = [
        (causal(align), masking.causal_mask(n_q, n_kv, align), lambda i, j: j <= i + o),
        (
            sliding_window(W, align),
            masking.sliding_window_mask(n_q, n_kv, W, align),
            lambda i, j: i + o - W < j <= i + o,
        ),
        (prefix(P, align), masking.prefix_mask(n_q, n_kv, P, align), lambda i, j: j < P or j <= i + o),
    ]
    for mask, built, allows in cases:
        dense = mask.dense(n_q, n_kv)
        assert (dense.dtype, dense.shape) == (torch.bool, (n_q, n_kv))
        assert dense.tolist() == table(n_q, n_kv, allows), mask
        assert torch.equal(dense, built)


@SETTINGS
@given(SIZE, SIZE, ALIGN, st.integers(-1, 8), st.integers(-1, 8))
def test_a_window_of_two_sides_is_its_set(n_q: int, n_kv: int, align: Any, left: int, right: int) -> None:
    o, mask = offset(n_q, n_kv, align), masking.window(left, right, align)
    low, high = (99 if side < 0 else side for side in (left, right))
    assert mask.dense(n_q, n_kv).tolist() == table(n_q, n_kv, lambda i, j: i + o - low <= j <= i + o + high)
    extent, keys = mask.extent(n_q, n_kv), torch.arange(n_kv)
    inside = (extent.first[:, None] <= keys) & (keys < extent.end[:, None])
    assert extent.exact and torch.equal(inside, mask.dense(n_q, n_kv))


@pytest.mark.parametrize("W", [1, 2, 3, 5])
def test_a_window_holds_exactly_w_keys_in_the_interior(W: int) -> None:
    counts = sliding_window(W).dense(11, 11).sum(-1).tolist()
    assert counts == [min(i + 1, W) for i in range(11)]


@SETTINGS
@given(st.data())
def test_padding_and_segments_are_their_sets_per_sequence(data: st.DataObject) -> None:
    n_q, n_kv, B = data.draw(SIZE), data.draw(SIZE), data.draw(st.integers(1, 3))
    lengths = data.draw(st.lists(st.integers(0, n_kv), min_size=B, max_size=B))
    dense = padding(torch.tensor(lengths)).dense(n_q, n_kv)
    assert dense.shape == (B, 1, n_q, n_kv)
    for b in range(B):
        assert dense[b, 0].tolist() == table(n_q, n_kv, lambda i, j, b=b: j < lengths[b])
    assert torch.equal(dense, masking.padding_mask(n_q, n_kv, lengths))
    # bottom_right places the queries at the last keys, so there are at least as many keys.
    align: Any = data.draw(ALIGN) if n_kv >= n_q else "top_left"
    n, o = max(n_q, n_kv) + data.draw(st.integers(0, 2)), offset(n_q, n_kv, align)
    ids = data.draw(st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=B, max_size=B))
    dense = segments(torch.tensor(ids, dtype=torch.int64).reshape(B, n), align).dense(n_q, n_kv)
    assert dense.shape == (B, 1, n_q, n_kv)
    for b in range(B):
        assert dense[b, 0].tolist() == table(n_q, n_kv, lambda i, j, b=b: ids[b][i + o] == ids[b][j])
    assert torch.equal(
        dense, masking.segments_mask(n_q, n_kv, torch.tensor(ids, dtype=torch.int64).reshape(B, n), align)
    )


def leaves(n: int) -> st.SearchStrategy[Mask]:
    ids = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    return st.one_of(
        st.builds(causal, ALIGN),
        st.builds(sliding_window, st.integers(1, 3), ALIGN),
        st.builds(prefix, st.integers(0, 3), ALIGN),
        st.builds(padding, st.lists(st.integers(0, n), min_size=2, max_size=2)),
        st.builds(segments, st.lists(ids, min_size=2, max_size=2)),
    )


def evaluate(mask: Mask, b: int, i: int, j: int, n: int) -> bool:
    """One pair of a tree, node by node; n_q = n_kv = n, so the leaves' own dense forms are trusted above."""
    if isinstance(mask, And):
        return evaluate(mask.left, b, i, j, n) and evaluate(mask.right, b, i, j, n)
    if isinstance(mask, Or):
        return evaluate(mask.left, b, i, j, n) or evaluate(mask.right, b, i, j, n)
    dense = mask.dense(n, n)
    return bool(dense[i, j] if dense.ndim == 2 else dense[b, 0, i, j])


@settings(deadline=None, max_examples=25)
@given(st.recursive(leaves(3), lambda x: st.one_of(st.builds(Mask.__and__, x, x), st.builds(Mask.__or__, x, x))))
def test_trees_of_and_and_or_mean_what_they_say(mask: Mask) -> None:
    dense = mask.dense(3, 3)
    assert dense.shape in ((3, 3), (2, 1, 3, 3))
    dense = dense.expand(2, 1, 3, 3)
    for b in range(2):
        assert dense[b, 0].tolist() == table(3, 3, lambda i, j, b=b: evaluate(mask, b, i, j, 3))


def test_a_mask_keeps_its_structure_and_its_numbers() -> None:
    lengths = torch.tensor([1, 2])
    mask = causal() & (padding(lengths) | prefix(2))
    assert isinstance(mask, And)
    assert mask.left == Causal("top_left")
    assert isinstance(mask.right, Or)
    real = padding(lengths)
    lengths += 1
    assert real.dense(1, 3)[:, 0, 0].tolist() == [[True, False, False], [True, True, False]]
    assert causal().dense(2, 3).shape == (2, 3)
    assert causal().dense(3, 2).shape == (3, 2)  # no state between calls of other sizes


@SETTINGS
@given(st.lists(st.booleans(), max_size=9), st.sampled_from([torch.float64, torch.float32, torch.bfloat16]))
def test_bool_and_additive_are_inverse(bits: list[bool], dtype: torch.dtype) -> None:
    mask = torch.tensor(bits, dtype=torch.bool)
    additive = masking.to_additive(mask, dtype)
    assert additive.dtype == dtype
    assert additive.tolist() == [0.0 if bit else -float("inf") for bit in bits]
    assert torch.equal(masking.to_bool(additive), mask)


BAD_CALLS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: causal("left"), ValueError, "align must be one of top_left, bottom_right, got 'left'"),  # type: ignore[arg-type]
    (lambda: sliding_window(0), ValueError, "W must be an integer of at least 1, got 0"),
    (lambda: sliding_window(2.0), ValueError, "W must be an integer"),  # type: ignore[arg-type]
    (lambda: sliding_window(True), ValueError, "W must be an integer"),
    (lambda: prefix(-1), ValueError, "P must be an integer of at least 0, got -1"),
    (lambda: padding([-1]), ValueError, "lengths must not be negative"),
    (lambda: padding([[1]]), ValueError, "lengths must have 1 axes"),
    (lambda: padding(torch.tensor([1.0])), ValueError, "lengths must be integers"),
    (lambda: padding(torch.tensor([True])), ValueError, "lengths must be integers"),
    (lambda: padding([4]).dense(2, 3), ValueError, "a length of 4 exceeds n_kv = 3"),
    (lambda: segments([1, 2]), ValueError, r"ids must have 2 axes, got shape \(2,\); for one sequence, ids\[None\]"),
    (lambda: segments([[1, 2]]).dense(2, 3), ValueError, "ids of 2 tokens do not cover"),
    (lambda: segments([[1, 2, 3]], "bottom_right").dense(3, 2), ValueError, "do not cover"),
    (lambda: causal().dense(-1, 2), ValueError, "must not be negative"),
    (lambda: (padding([1]) & padding([1, 1])).dense(2, 2), ValueError, "masks of 1 and 2 sequences"),
    (lambda: causal() & torch.ones(2, 2), TypeError, "combines with structured masks, got Tensor"),  # type: ignore[operator]
    (lambda: masking.to_additive(torch.zeros(2)), ValueError, "expected a bool mask"),
    (lambda: masking.to_bool(torch.tensor([0.0, -1e9])), ValueError, "only biases of 0 and -inf"),
    (lambda: masking.to_bool(torch.tensor([0.0, float("nan")])), ValueError, "only biases of 0 and -inf"),
    (lambda: masking.to_bool(torch.tensor([True])), ValueError, "expected a floating bias"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD_CALLS)
def test_bad_calls_are_refused(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
