"""attention_core.kernels.block_sparse: what a mask forbids is not computed, and what it leaves is right."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core.kernels.block_sparse import block_sparse_attention, block_sparse_written
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.masking import Mask, causal, padding, segments, sliding_window
from tests.properties.mask_trees import SIZES, B, masks

H, H_KV, D, D_V = 4, 2, 3, 2


def inputs(n_q: int, n_kv: int, seed: int) -> list[torch.Tensor]:
    """Whole numbers up to 4 as float64: scores up to 48/sqrt(3)."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (B, H, n_q, D), (B, H_KV, n_kv, D), (B, H_KV, n_kv, D_V)
    return [torch.randint(-4, 5, s, generator=generator).double().requires_grad_() for s in shapes]


@settings(deadline=None, max_examples=examples(250))
@given(st.data(), SIZES, st.integers(1, 12), st.integers(0, 99))
def test_outputs_and_gradients_are_those_of_the_dense_mask(
    data: st.DataObject, sizes: tuple[int, int], block: int, seed: int
) -> None:
    """Float64; |o| <= 4, a score is below 28, so that 24 terms of gradient are below 4 * 4 * 24 * 16 u = 1e-12."""
    mask = data.draw(masks(*sizes))
    leaves = inputs(*sizes, seed)
    dense = mask.dense(*sizes)
    wanted = dot_product_attention(*leaves, dense, enable_gqa=True)
    cotangent = torch.randint(-2, 3, wanted.shape, generator=torch.Generator().manual_seed(seed)).double()
    for out in (
        block_sparse_attention(*leaves, mask, block=block),
        block_sparse_written(*leaves, dense, enable_gqa=True, block=block),
    ):
        torch.testing.assert_close(out, wanted, rtol=0, atol=1e-10)
        for found, true in zip(
            torch.autograd.grad(out, leaves, cotangent), torch.autograd.grad(wanted, leaves, cotangent, retain_graph=True),
            strict=True,
        ):  # fmt: skip
            torch.testing.assert_close(found, true, rtol=0, atol=1e-10)
    with torch.no_grad():
        torch.testing.assert_close(block_sparse_attention(*leaves, mask, block=block), wanted, rtol=0, atol=1e-10)


class Largest(TorchDispatchMode):
    """The most numbers in one tensor that an operator returned."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(x, torch.Tensor):
                self.numbers = max(self.numbers, x.untyped_storage().nbytes() // x.element_size())
        return result


def documents(n: int) -> Mask:
    return segments((torch.arange(n) // 200).reshape(1, -1)) & causal()


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("make", [lambda n: sliding_window(64), documents, lambda n: padding([n // 2])])
def test_memory_is_linear_in_the_length(make: Any, gradients: bool) -> None:
    """No tensor has more than a constant times n numbers: 128 queries against the keys of a window, or the inputs."""
    sizes = []
    for n in (1024, 2048, 4096):
        q, k, v = (torch.zeros(1, 1, n, 8, requires_grad=gradients) for _ in range(3))
        mask = make(n)
        with Largest() as seen:
            out = block_sparse_attention(q, k, v, mask)
            if gradients:
                torch.autograd.grad(out.sum(), (q, k, v))
        sizes.append(seen.numbers)
        assert seen.numbers <= max(200 * 256, 8 * n) < n * n
    assert sizes[2] <= 4 * sizes[0]


def test_what_is_outside_every_piece_is_never_read() -> None:
    x = torch.ones(1, 1, 512, 4)
    x[:, :, 256:] = torch.nan
    ids = (torch.arange(512) // 256).reshape(1, -1)
    out = block_sparse_attention(x, x, x, segments(ids))
    assert torch.equal(out[:, :, :256], torch.ones(1, 1, 256, 4)) and out[:, :, 256:].isnan().all()


def test_backward_twice_through_one_graph() -> None:
    leaves = inputs(9, 9, 0)
    out = block_sparse_attention(*leaves, sliding_window(3), block=2)
    first, again = (torch.autograd.grad(out.sum(), leaves, retain_graph=True) for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))


def test_gradients_of_some_inputs_alone() -> None:
    query, key, value = inputs(9, 9, 1)
    out = block_sparse_attention(query, key.detach(), value, sliding_window(3), block=4)
    whole = block_sparse_attention(query, key, value, sliding_window(3), block=4)
    found, true = (torch.autograd.grad(x.sum(), (query, value)) for x in (out, whole))
    assert all(torch.equal(x, y) for x, y in zip(found, true, strict=True))


def test_masks_of_numbers_are_added() -> None:
    """Float64 as above."""
    leaves = inputs(5, 9, 3)
    bias = torch.arange(45.0, dtype=torch.float64).reshape(5, 9) / 8
    out = block_sparse_written(*leaves, bias, is_causal=True, enable_gqa=True)
    wanted = dot_product_attention(*leaves, bias, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(out, wanted, rtol=0, atol=1e-10)


def test_second_gradients_are_refused_and_not_wrong() -> None:
    """A gradient that hung on nothing would count as constant in a penalty, and nobody would notice."""
    leaves = inputs(5, 5, 2)
    (found,) = torch.autograd.grad(block_sparse_attention(*leaves, causal()).sum(), leaves[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="no second gradients"):
        torch.autograd.grad(found.sum() + leaves[0].sum(), leaves[0])


def test_bad_calls_are_refused() -> None:
    x = torch.zeros(2, 2, 5, 3)
    with pytest.raises(ValueError, match="block must be at least 1"):
        block_sparse_attention(x, x, x, causal(), block=0)
    with pytest.raises(ValueError, match="a mask of 3 sequences does not broadcast"):
        block_sparse_attention(x, x, x, padding([1, 2, 3]))
    with pytest.raises(ValueError, match="does not broadcast"):
        block_sparse_written(x, x, x, torch.zeros(4, 5))
    with pytest.raises(ValueError, match="a length of 9 exceeds"):
        block_sparse_attention(x, x, x, padding([1, 9]))
