"""attention_core.masking.kept: masks that are kept are those that would be written, and are few."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples
from torch._subclasses.fake_tensor import FakeTensorMode

from attention_core import attention
from attention_core.kernels.block_sparse import DenseMask
from attention_core.masking import Mask, causal, prefix, segments, sliding_window
from attention_core.masking.kept import KEPT, SMALL, dense_mask, kept_masks, numbers, piece_mask
from attention_core.masking.pieces import MOST_PLANS, plan
from tests.properties.mask_trees import SIZES, masks

CPU = torch.device("cpu")


def storages(found: tuple[torch.Tensor | None, ...]) -> set[int]:
    return {x.untyped_storage().data_ptr() for x in found if x is not None}


@settings(deadline=None, max_examples=examples(400))
@given(st.data(), SIZES, st.integers(1, 12))
def test_a_kept_mask_is_that_of_its_piece(data: st.DataObject, sizes: tuple[int, int], block: int) -> None:
    mask = data.draw(masks(*sizes))
    cut = plan(mask, *sizes, block)
    found = kept_masks(mask, cut, torch.float64, CPU)
    assert len(found) == len(cut.pieces)
    for piece, kept in zip(cut.pieces, found, strict=True):
        assert (kept is not None) == (piece.kind == "masked"), "all of so few tokens are kept"
        if kept is not None:
            wanted = piece_mask(mask, cut, piece, torch.float64, CPU)
            torch.testing.assert_close(kept.expand(wanted.shape), wanted, rtol=0, atol=0)
            pairs = mask.part(*sizes, piece.rows, piece.keys)
            here = pairs if piece.sequence is None or pairs.ndim == 2 else pairs[[piece.sequence % len(pairs)]]
            assert torch.equal(wanted.isinf(), ~here.expand(wanted.shape))


@settings(deadline=None, max_examples=examples(400))
@given(st.data(), st.integers(1, 9), st.integers(1, 4))
def test_a_kept_mask_of_intervals_in_any_order_is_that_of_its_piece(data: st.DataObject, n: int, block: int) -> None:
    """Three intervals in any order."""
    few = st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), min_size=3, max_size=3)
    rows = data.draw(st.lists(st.sampled_from(data.draw(few)), min_size=n, max_size=n))
    judge_intervals(rows, n, block)


def test_pieces_that_look_alike_at_their_ends_alone_share_nothing() -> None:
    """Windows of two keys and of three: each query begins and ends one key later, in pieces of other widths."""
    two, three = [(i, i + 2) for i in range(4)], [(i, i + 3) for i in range(6, 10)]
    judge_intervals(two + three, 12, 4)


def judge_intervals(rows: list[tuple[int, int]], n: int, block: int) -> None:
    """Query i attends the keys of rows[i], from the first up to the second."""
    mask = DenseMask(torch.tensor([[a <= j < b for j in range(n)] for a, b in rows]))
    cut = plan(mask, len(rows), n, block)
    for piece, kept in zip(cut.pieces, kept_masks(mask, cut, torch.float64, CPU), strict=True):
        if kept is not None:
            assert torch.equal(kept, piece_mask(mask, cut, piece, torch.float64, CPU))


@pytest.mark.parametrize(
    ("mask", "patterns"),
    [
        (sliding_window(256), 3),  # the rows before the window is full, half of them, and all others
        (sliding_window(256, "bottom_right"), 3),
        (prefix(512), 2),  # the piece after the prefix's own rows ends elsewhere than the later ones
        (causal("bottom_right"), 1),
    ],
)
def test_pieces_that_look_alike_share_one_mask(mask: Mask, patterns: int) -> None:
    cut = plan(mask, 2048, 4096) if mask == causal("bottom_right") else plan(mask, 4096, 4096)
    assert len(cut.pieces) > 12
    assert len(storages(kept_masks(mask, cut, torch.float32, CPU))) <= patterns


@pytest.mark.parametrize("n", [512, 1024, 2048])
def test_what_is_kept_is_linear_in_the_lengths(n: int) -> None:
    """Pairs in no order have no intervals: each piece has a mask of its own, half of all pairs and more together."""
    generator = torch.Generator().manual_seed(0)
    scattered = segments(torch.randint(0, 2, (1, n), generator=generator))
    found = kept_masks(scattered, plan(scattered, n, n, 64), torch.float32, CPU)
    assert sum(x.numel() for x in found if x is not None) <= KEPT * 2 * n
    assert (None in found) == (n * n > KEPT * 2 * n)
    x = torch.randn(1, 1, n, 4, generator=generator, dtype=torch.float64)
    found_out, wanted = (attention(x, x, x, scattered, kernel=f"core:{k}") for k in ("block_sparse", "dot_product"))
    torch.testing.assert_close(found_out, wanted, rtol=0, atol=1e-10)  # as in test_block_sparse.py


def test_each_dtype_has_masks_of_its_own_and_they_are_made_once() -> None:
    mask = sliding_window(3)
    cut = plan(mask, 9, 9, 4)
    single, again = (kept_masks(mask, cut, torch.float32, CPU) for _ in range(2))
    assert single is again
    assert {x.dtype for x in kept_masks(mask, cut, torch.bfloat16, CPU) if x is not None} == {torch.bfloat16}
    x = torch.ones(1, 1, 9, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert attention(x, x, x, mask, kernel="core:block_sparse").dtype == torch.bfloat16


def test_short_masks_are_kept_whole_and_long_ones_are_not() -> None:
    mask = sliding_window(3)
    assert dense_mask(mask, 9, 9, CPU, torch.float32) is dense_mask(mask, 9, 9, CPU, torch.float32)
    assert torch.equal(dense_mask(mask, 9, 9, CPU), mask.dense(9, 9))
    assert dense_mask(mask, 9, 9, CPU, torch.float64).dtype == torch.float64
    assert torch.equal(dense_mask(mask, 4, 9, CPU), mask.dense(4, 9)), "each size has its own"
    assert dense_mask(mask, 2048, 2048, CPU) is not dense_mask(mask, 2048, 2048, CPU)
    for n in range(200, 1100, 50):
        last = dense_mask(mask, n, n, CPU)
        assert (dense_mask(mask, n, n, CPU) is last) == (n * n <= SMALL), "the oldest make room"
        assert sum(x.numel() for x in mask.__dict__["_dense"].values()) <= SMALL


def test_a_decoder_fills_no_memory() -> None:
    """A new length with every token, and the same mask."""
    mask = sliding_window(256, "bottom_right")
    for n in range(1, 200):
        for kernel in ("auto", "core:block_sparse"):
            attention(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, n, 4), torch.zeros(1, 1, n, 4), mask, kernel=kernel)
    assert len(mask.__dict__["_plans"]) <= MOST_PLANS and len(mask.__dict__["_cheapest"]) <= 4 * MOST_PLANS
    assert plan(mask, 1, 199, 128) is plan(mask, 1, 199, 128)


def test_numbers_are_added_to_scores() -> None:
    assert numbers(torch.tensor([True, False]), torch.float16).tolist() == [0.0, -torch.inf]


@pytest.mark.parametrize("kernel", ["auto", "core:block_sparse", "torch:default"])
def test_a_mask_met_in_inference_mode_serves_training(kernel: str) -> None:
    """A tensor made in inference mode cannot be saved for a backward pass."""
    mask, x = sliding_window(3), torch.ones(1, 1, 9, 4)
    with torch.inference_mode():
        attention(x, x, x, mask, kernel=kernel)
    leaf = x.clone().requires_grad_()
    attention(leaf, leaf, leaf, mask, kernel=kernel).sum().backward()
    assert leaf.grad is not None and leaf.grad.isfinite().all()


def test_nothing_is_kept_of_stand_ins() -> None:
    """What an exporter's stand-ins left behind would answer the next real call."""
    mask, x = sliding_window(3), torch.randn(1, 1, 9, 4)
    cut = plan(mask, 9, 9, 4)
    with FakeTensorMode():
        assert type(dense_mask(mask, 9, 9, CPU)) is not torch.Tensor
        assert kinds(kept_masks(mask, cut, torch.float32, CPU)).isdisjoint({torch.Tensor})
    assert type(dense_mask(mask, 9, 9, CPU)) is torch.Tensor
    assert kinds(kept_masks(mask, cut, torch.float32, CPU)) == {torch.Tensor}
    assert type(attention(x, x, x, mask, kernel="core:block_sparse")) is torch.Tensor


@pytest.mark.parametrize("kernel", ["torch:math", "core:dot_product"])
def test_nothing_is_kept_of_a_transformation(kernel: str) -> None:
    """torch.func wraps every tensor that is made within it; a mask that kept one could be neither copied nor pickled."""
    mask, x = sliding_window(3), torch.randn(1, 1, 9, 4)
    found = torch.func.grad(lambda x: attention(x, x, x, mask, kernel=kernel).sum())(x)
    leaf = x.clone().requires_grad_()
    attention(leaf, leaf, leaf, mask, kernel=kernel).sum().backward()
    torch.testing.assert_close(found, leaf.grad)
    assert all(not torch._C._functorch.is_functorch_wrapped_tensor(x) for x in mask.__dict__["_dense"].values())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda mask: pickle.loads(pickle.dumps(mask))])
def test_a_copy_carries_nothing_that_was_kept(copied: Callable[[Mask], Mask]) -> None:
    ids = torch.arange(2048) // 500
    mask = sliding_window(300) & segments(ids[None])
    fresh = len(pickle.dumps(mask))
    x = torch.zeros(1, 1, 2048, 4)
    for n in (1024, 2048):
        attention(x[:, :, :n], x[:, :, :n], x[:, :, :n], mask, kernel="core:block_sparse")
    dense_mask(mask, 9, 9, CPU)
    assert len(pickle.dumps(mask)) == fresh
    twin = copied(mask)
    assert {"_plans", "_dense"} <= mask.__dict__.keys() and {"left", "right"} == twin.__dict__.keys()
    assert torch.equal(twin.dense(600, 600), mask.dense(600, 600))


def test_nothing_is_kept_beyond_a_processor() -> None:
    mask = sliding_window(3)
    cut, meta = plan(mask, 9, 9, 4), torch.device("meta")
    assert dense_mask(mask, 9, 9, meta).device.type == "meta" and not mask.__dict__["_dense"]
    assert set(kept_masks(mask, cut, torch.float32, meta)) == {None} and not cut.kept


def kinds(found: tuple[torch.Tensor | None, ...]) -> set[type]:
    return {type(x) for x in found if x is not None}
