"""attention_core.kernels.invariant: the function of the loop in attention_loop.py, and an exponential without a library."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.invariant import BINARY, exponential, invariant_attention, ordered_product, ordered_sum
from tests.properties.attention_loop import draw_call, rows_of

FORMATS = tuple(BINARY)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_output_agrees_with_the_loop(data: st.DataObject) -> None:
    """The order of the terms is that of the loop, but for the exponential and one division, two roundings a key more."""
    call = draw_call(data)
    out = invariant_attention(**call)
    dtype = call["query"].dtype
    n, d = call["key"].shape[-2:]
    u, last = torch.finfo(torch.promote_types(dtype, torch.float32)).eps / 2, torch.finfo(dtype).eps
    for index, row in rows_of(call):
        error = np.abs(out[index].double().numpy() - row.out)
        limit = 2 * row.bound(u, d, 3 * n + 8) + last * np.abs(row.out) + torch.finfo(dtype).tiny
        assert (error <= limit).all()


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(FORMATS), st.floats(-800.0, 0.0))
def test_the_exponential_is_good_to_two_units_in_the_last_place(dtype: torch.dtype, x: float) -> None:
    """Reduction, nine or fifteen terms of the series at |r| < .35 and two exact scalings: under two units."""
    given_number = torch.tensor(x, dtype=dtype)
    truth, (unit, tiny) = math.exp(given_number.item()), (torch.finfo(dtype).eps, torch.finfo(dtype).smallest_normal)
    assert abs(exponential(given_number).item() - truth) <= 2 * unit * max(truth, tiny)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_the_exponential_at_its_ends(dtype: torch.dtype) -> None:
    ends = torch.tensor([0.0, -0.0, -torch.inf, torch.nan], dtype=dtype)
    found = exponential(ends).tolist()
    assert found[:3] == [1.0, 1.0, 0.0] and math.isnan(found[3])
    smallest = torch.finfo(dtype).smallest_normal
    assert 0 < exponential(torch.tensor(math.log(smallest) - 2.0, dtype=dtype)).item() < smallest  # a subnormal number


def test_sums_are_in_the_order_of_their_terms() -> None:
    terms = torch.tensor([2.0**24, 1.0, 1.0, -(2.0**24)])
    assert ordered_sum(terms).item() == 0.0  # each 1 is lost in its turn
    assert ordered_sum(terms.flip(0)).item() == 2.0  # near -2^24 each is kept
    assert ordered_product(terms[None], torch.ones(4, 1)).item() == 0.0


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)])
def test_gradients_agree_with_the_definition(heads: tuple[int, int]) -> None:
    """In float64, where both are good to about 1e-14 of their terms."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, h, n, 5, dtype=torch.float64, generator=generator).requires_grad_()
               for h, n in zip((heads[0], heads[1], heads[1]), (6, 7, 7), strict=True))  # fmt: skip
    mask = torch.rand(2, 1, 6, 7, generator=generator) > 0.3
    mask[0, 0, 2] = False  # a row without any key
    down = torch.randn(2, heads[0], 6, 5, dtype=torch.float64, generator=generator)
    found, wanted = (
        torch.autograd.grad(
            f(q, k, v, attn_mask=mask, is_causal=True, enable_gqa=heads[0] != heads[1]), (q, k, v), down
        )
        for f in (invariant_attention, dot_product_attention)
    )
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


def test_second_gradients_are_refused() -> None:
    x = torch.randn(1, 3, 2, requires_grad=True)
    (first,) = torch.autograd.grad((invariant_attention(x, x, x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_heads_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="not divisible"):
        invariant_attention(torch.ones(3, 2, 4), torch.ones(2, 2, 4), torch.ones(2, 2, 4), enable_gqa=True)
