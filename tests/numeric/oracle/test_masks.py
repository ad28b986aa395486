"""The oracle's masks against their sets, pair by pair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from attention_core import oracle


@pytest.mark.parametrize(("n_q", "n_kv"), [(3, 5), (5, 3), (4, 4), (1, 4), (0, 2), (2, 0)])
def test_masks_are_the_sets_they_say(n_q: int, n_kv: int) -> None:
    pairs = list(itertools.product(range(n_q), range(n_kv)))

    def listed(mask: np.ndarray) -> list[tuple[int, int]]:
        assert mask.shape == (n_q, n_kv) and mask.dtype == bool
        return [(i, j) for i, j in pairs if mask[i, j]]

    for alignment, o in (("top_left", 0), ("bottom_right", n_kv - n_q)):
        assert listed(oracle.causal_mask(n_q, n_kv, alignment)) == [(i, j) for i, j in pairs if j <= i + o]
        for W in (0, 1, 2, 9):
            window = [(i, j) for i, j in pairs if i + o - W < j <= i + o]
            assert listed(oracle.sliding_window(n_q, n_kv, W, alignment)) == window
        for P in (0, 2, 9):
            wanted = [(i, j) for i, j in pairs if j < P or j <= i + o]
            assert listed(oracle.prefix(n_q, n_kv, P, alignment)) == wanted
        causal = oracle.allowed(n_q, n_kv, None, True, alignment)
        np.testing.assert_array_equal(causal, oracle.causal_mask(n_q, n_kv, alignment))
    lengths = [0, 2, n_kv]
    real = oracle.padding(n_q, n_kv, lengths)
    assert real.shape == (3, 1, n_q, n_kv)
    for b, length in enumerate(lengths):
        assert listed(real[b, 0]) == [(i, j) for i, j in pairs if j < length]
    ids = np.array([[0, 0, 1, 1, 2], [3, 4, 4, 4, 4]])
    same = oracle.segments(n_q, n_kv, ids)
    assert same.shape == (2, 1, n_q, n_kv)
    for b in range(2):
        assert listed(same[b, 0]) == [(i, j) for i, j in pairs if ids[b, i] == ids[b, j]]
    with pytest.raises(ValueError, match="alignment must be"):
        oracle.causal_mask(n_q, n_kv, "middle")


@pytest.mark.parametrize(("n_q", "n_kv"), [(2, 5), (5, 2)])
def test_the_first_query_faces_the_first_key_unless_told_otherwise(n_q: int, n_kv: int) -> None:
    first = "top_left"
    np.testing.assert_array_equal(oracle.causal_mask(n_q, n_kv), oracle.causal_mask(n_q, n_kv, first))
    np.testing.assert_array_equal(oracle.sliding_window(n_q, n_kv, 2), oracle.sliding_window(n_q, n_kv, 2, first))
    np.testing.assert_array_equal(oracle.prefix(n_q, n_kv, 1), oracle.prefix(n_q, n_kv, 1, first))
    np.testing.assert_array_equal(
        oracle.allowed(n_q, n_kv, is_causal=True), oracle.allowed(n_q, n_kv, None, True, first)
    )


@pytest.mark.parametrize("alignment", ["top_left", "bottom_right"])
def test_the_allowed_pairs_are_those_of_mask_and_causality_together(alignment: str) -> None:
    n_q, n_kv, o = 2, 4, 2 if alignment == "bottom_right" else 0
    pairs = list(itertools.product(range(n_q), range(n_kv)))
    keep = np.array([[True, False, True, True], [False, True, True, False]])
    bias = np.where(keep, [[0.0, 0.0, -1e9, 3.0], [0.0, -1.0, 0.0, 0.0]], -np.inf)
    for mask, forbids in ((None, np.zeros_like(keep)), (keep, ~keep), (bias, ~keep), (keep.tolist(), ~keep)):
        for is_causal in (False, True):
            got = oracle.allowed(n_q, n_kv, mask, is_causal, alignment)
            assert got.dtype == bool and got.shape == (n_q, n_kv)
            assert all(got[i, j] == (not forbids[i, j] and (not is_causal or j <= i + o)) for i, j in pairs)
    assert oracle.allowed(2, 3).shape == (2, 3) and oracle.allowed(2, 3).all()  # all of them, causal only if asked
    # A mask that forbids nothing is no mask at all to the sums, which spares them a pass.
    assert oracle.masks.allowed_or_none(2, 4, np.ones((2, 4), dtype=bool), False, alignment) is None


def test_segments_take_the_query_at_its_position() -> None:
    ids = np.array([[0, 0, 1, 1, 2]])
    last = oracle.segments(2, 5, ids, "bottom_right")[0, 0]
    assert last.tolist() == [[False, False, True, True, False], [False, False, False, False, True]]
    assert oracle.segments(2, 4, ids)[0, 0].tolist() == [[True, True, False, False]] * 2
