"""KeyValueCache against one pass over the whole sequence, exactly where arithmetic is exact.

attention_core.modules.cache: any cuts give the rows of one causal pass, windows drop what nobody will see, bad calls raise.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.masking import causal, sliding_window
from attention_core.modules.cache import KeyValueCache


def sequence(n: int, H: int = 2, H_kv: int = 2, d: int = 3, d_v: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    """Equal scores and values that are powers of two: means of at most eight are exact, in any order."""
    rng = torch.Generator().manual_seed(n)
    q = torch.randint(-2, 3, (2, H, n, d), generator=rng).double()
    v = 840.0 * torch.randint(-4, 5, (2, H_kv, n, d_v), generator=rng).double()  # 840 = lcm(1, ..., 8)
    return q, torch.zeros(2, H_kv, n, d).double(), v


@given(st.sets(st.integers(1, 7)), st.none() | st.integers(1, 9), st.sampled_from([(2, 2), (6, 3), (4, 1)]))
def test_any_cuts_give_the_rows_of_one_pass(cuts: set[int], window: int | None, heads: tuple[int, int]) -> None:
    q, k, v = sequence(8, *heads)
    mask = (causal() if window is None else sliding_window(window)).dense(8, 8)
    full = dot_product_attention(q, k, v, mask, enable_gqa=True)
    cache, ends = KeyValueCache(window), [0, *sorted(cuts), 8]
    parts = [cache(q[..., a:b, :], k[..., a:b, :], v[..., a:b, :]) for a, b in pairwise(ends)]
    # weights 1/m are rounded once and sums of m <= 8 equal products by at most m: relative 16 eps is ample
    assert (torch.cat(parts, -2) - full).abs().max() <= 16 * 2.0**-52 * v.abs().max()


def test_a_window_keeps_no_more_than_the_next_query_sees() -> None:
    cache = KeyValueCache(window=3)
    q, k, v = sequence(8)
    cache(q, k, v)
    assert cache.key is not None and torch.equal(cache.key, k[..., 6:, :])
    assert cache.value is not None and torch.equal(cache.value, v[..., 6:, :])


def test_reset_forgets() -> None:
    q, k, v = sequence(4)
    cache = KeyValueCache()
    first = cache(q, k, v)
    cache(q, k, v)
    cache.reset()
    assert torch.equal(cache(q, k, v), first)


@pytest.mark.parametrize("window", [None, 3])
def test_rows_go_on_as_the_beams_that_they_come_from(window: int | None) -> None:
    """A cache that is reordered gives what a new cache of the reordered rows gives."""
    parts, rows = sequence(7), torch.tensor([1, 1, 0])
    cache, other = KeyValueCache(window), KeyValueCache(window)
    cache(*(x[..., :5, :] for x in parts))
    cache.reorder(rows)
    beams = tuple(x[rows] for x in parts)
    other(*(x[..., :5, :] for x in beams))
    assert torch.equal(cache(*(x[..., 5:, :] for x in beams)), other(*(x[..., 5:, :] for x in beams)))


def test_an_empty_cache_may_be_reordered() -> None:
    cache, parts = KeyValueCache(), sequence(4)
    cache.reorder(torch.tensor([1, 0]))
    assert torch.equal(cache(*parts), KeyValueCache()(*parts))


def test_no_tokens_change_nothing() -> None:
    q, k, v = sequence(4)
    cache = KeyValueCache()
    assert cache(q[..., :0, :], k[..., :0, :], v[..., :0, :]).shape == (2, 2, 0, 5)
    assert torch.equal(cache(q, k, v), KeyValueCache()(q, k, v))


def test_bad_windows_are_refused() -> None:
    with pytest.raises(ValueError, match="a window holds at least one token, got 0"):
        KeyValueCache(0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, k, v: (q[..., 1:, :], k, v), "lengths differ: query 3, key 4, value 4"),
        (lambda q, k, v: (q[:1], k[:1], v[:1]), r"the cache holds \(2, 2, 4, 3\).*new tokens are \(1, 2, 4, 3\)"),
        (lambda q, k, v: (q[..., :2], k[..., :2], v), r"new tokens are \(2, 2, 4, 2\)"),
        (lambda q, k, v: (q.float(), k.float(), v.float()), "of torch.float64.*of torch.float32"),
    ],
)
def test_contradictions_are_refused(change: object, words: str) -> None:
    q, k, v = sequence(4)
    cache = KeyValueCache()
    cache(q, k, v)
    with pytest.raises(ValueError, match=words):
        cache(*change(q, k, v))  # type: ignore[operator]


def test_a_cache_declines_to_keep_what_it_does_not_have() -> None:
    x, cache = torch.randn(1, 1, 6, 4), KeyValueCache(3)
    cache(x, x, x)
    with pytest.raises(ValueError, match="has seen 6 tokens, of which 7 cannot stay"):
        cache.crop(7)
    with pytest.raises(ValueError, match="the window has dropped the tokens 2 to 3, which come back at 4"):
        cache.crop(4)
    cache.crop(6)
