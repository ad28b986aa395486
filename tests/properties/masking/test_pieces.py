"""attention_core.masking.pieces: the rectangles of a plan hold every attended pair once, and are what they are called."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from attention_core.masking import Mask, causal, padding, segments, sliding_window
from attention_core.masking.pieces import Piece, keep, plan
from tests.properties.mask_trees import SIZES, B, masks


@settings(deadline=None, max_examples=examples(400))
@given(st.data(), SIZES, st.integers(1, 12))
def test_pieces_hold_every_attended_pair_once(data: st.DataObject, sizes: tuple[int, int], block: int) -> None:
    mask = data.draw(masks(*sizes))
    pairs = mask.dense(*sizes).reshape(-1, *sizes).expand(B, *sizes)
    cut = plan(mask, *sizes, block)
    covered = torch.zeros(B, *sizes, dtype=torch.int64)
    for piece in cut.pieces:
        here = slice(None) if piece.sequence is None else slice(piece.sequence, piece.sequence + 1)
        covered[here, piece.rows, piece.keys] += 1
        inside = pairs[here, piece.rows, piece.keys]
        if piece.kind == "open":
            assert inside.all()
        elif piece.kind == "causal":
            assert (inside == torch.ones(inside.shape[-2:], dtype=torch.bool).tril()).all()
            assert inside.shape[-1] == inside.shape[-2]
    assert covered.max() <= 1 and not (pairs & (covered == 0)).any()


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), SIZES, st.integers(1, 12))
def test_no_query_is_in_two_pieces(data: st.DataObject, sizes: tuple[int, int], block: int) -> None:
    """A softmax cannot be cut along its keys without being merged again."""
    mask = data.draw(masks(*sizes))
    seen: set[tuple[int, int]] = set()
    for piece in plan(mask, *sizes, block).pieces:
        sequences = range(B) if piece.sequence is None else [piece.sequence]
        rows = {(b, i) for b in sequences for i in range(piece.rows.start, piece.rows.stop)}
        assert rows and not rows & seen
        seen |= rows


DOCUMENTS = torch.repeat_interleave(torch.arange(4), torch.tensor([300, 200, 400, 124])).reshape(1, -1)
N = DOCUMENTS.shape[1]


def test_packed_documents_are_computed_apart_and_without_a_mask() -> None:
    open_, causal_ = (plan(mask, N, N).pieces for mask in (segments(DOCUMENTS), segments(DOCUMENTS) & causal()))
    squares = [slice(0, 300), slice(300, 500), slice(500, 900), slice(900, 1024)]
    assert open_ == tuple(Piece(None, s, s, "open") for s in squares)
    assert causal_ == tuple(Piece(None, s, s, "causal") for s in squares)


def test_padding_needs_no_mask_and_causality_no_pieces() -> None:
    cut = plan(padding([3, 0, 7]), 10, 10)
    assert cut.pieces == tuple(Piece(b, slice(0, 10), slice(0, n), "open") for b, n in ((0, 3), (2, 7)))
    assert plan(causal(), 512, 512).pieces == (Piece(None, slice(0, 512), slice(0, 512), "causal"),)


@pytest.mark.parametrize(("mask", "most"), [(sliding_window(256), 256 + 128), (causal("bottom_right"), N / 2 + 128)])
def test_little_more_than_the_attended_pairs_is_computed(mask: Mask, most: float) -> None:
    """A block of b queries under a window of W needs W + b - 1 keys; under causality half of all and half a block."""
    assert plan(mask, N, N, 128).pairs <= most * N


def test_many_short_documents_share_their_pieces() -> None:
    """A rectangle for each would cost more in calls than it saves in pairs."""
    ids = torch.arange(256).repeat_interleave(4).reshape(1, -1)
    assert len(plan(segments(ids), N, N, 128).pieces) <= 2 * N / (128 // 4)


def test_documents_of_less_than_a_block_are_not_computed_against_each_other() -> None:
    """Forty tokens each: apart, 40 keys a query; in blocks of 128 queries it would be 160."""
    ids = torch.arange(N) // 40
    assert plan(segments(ids.reshape(1, -1)), N, N, 128).pairs <= 41 * N


def test_a_plan_is_made_once() -> None:
    mask = sliding_window(3)
    assert plan(mask, 9, 9, 2) is plan(mask, 9, 9, 2) and plan(mask, 9, 9, 3) is not plan(mask, 9, 9, 2)


def test_the_oldest_is_forgotten_first() -> None:
    known: dict[int, int] = {}
    for number in range(5):
        keep(known, number, -number, 3)
    assert known == {2: -2, 3: -3, 4: -4}
