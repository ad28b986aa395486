"""attention_core.masking.structured: trees of masks mean what they say, and keep their structure."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.masking import And, Causal, Mask, Or, causal, padding, prefix, segments, sliding_window
from tests.properties.mask_tables import ALIGN, table


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
