"""attention_core.masking.extent: the interval of each query holds all that it attends, and is the set where it says so."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from attention_core.masking import causal, padding, prefix, segments, sliding_window
from attention_core.masking.extent import Extent, extent_of_pairs
from tests.properties.mask_trees import SIZES, B, masks


def written(extent: Extent, n_kv: int) -> torch.Tensor:
    """The pairs within the intervals, (B, n_q, n_kv)."""
    j = torch.arange(n_kv)
    inside = (extent.first[..., None] <= j) & (j < extent.end[..., None])
    return inside.expand(B, *inside.shape[-2:])


@settings(deadline=None, max_examples=examples(300))
@given(st.data(), SIZES)
def test_an_extent_holds_every_pair_and_only_those_where_it_is_exact(
    data: st.DataObject, sizes: tuple[int, int]
) -> None:
    mask = data.draw(masks(*sizes))
    extent, dense = mask.extent(*sizes), mask.dense(*sizes)
    pairs = dense.reshape(-1, *sizes).expand(B, *sizes)
    inside = written(extent, sizes[1])
    assert not (pairs & ~inside).any()
    if extent.exact:
        assert torch.equal(pairs, inside)


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), SIZES)
def test_a_part_is_a_part_of_the_dense_form(data: st.DataObject, sizes: tuple[int, int]) -> None:
    mask = data.draw(masks(*sizes))
    rows, keys = (
        data.draw(st.tuples(st.integers(0, n), st.integers(0, n)).map(lambda p: slice(min(p), max(p)))) for n in sizes
    )
    assert torch.equal(mask.part(*sizes, rows, keys), mask.dense(*sizes)[..., rows, keys])


@pytest.mark.parametrize(
    ("mask", "exact"),
    [
        (causal(), True),
        (sliding_window(2) & causal("bottom_right"), True),
        (prefix(2) | sliding_window(1), True),
        (segments([[0, 0, 1, 1], [0, 1, 1, 2]]), True),
        (segments([[0, 1, 0, 1], [0, 1, 1, 2]]), False),
        (sliding_window(1) | padding([1, 2]), False),
    ],
)
def test_whether_intervals_are_the_set_is_known(mask: object, exact: bool) -> None:
    """Otherwise every piece would be masked, or a hole be attended."""
    assert mask.extent(4, 4).exact is exact  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), SIZES, st.integers(1, 3))
def test_the_extent_of_written_pairs_is_tight(data: st.DataObject, sizes: tuple[int, int], H: int) -> None:
    bits = data.draw(st.lists(st.booleans(), min_size=H * sizes[0] * sizes[1], max_size=H * sizes[0] * sizes[1]))
    pairs = torch.tensor(bits).reshape(1, H, *sizes)
    extent = extent_of_pairs(pairs)
    any_head = pairs[0].any(0)
    for i in range(sizes[0]):
        attended = any_head[i].nonzero().flatten().tolist()
        first, end = int(extent.first[0, i]), int(extent.end[0, i])
        assert (first, end) == (attended[0], attended[-1] + 1) if attended else first >= end
    inside = written(extent, sizes[1])[:1]
    assert extent.exact == bool((pairs == inside[:, None]).all())


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 1, 3, 0), (2, 3, 0, 2)])
def test_extents_of_nothing(shape: tuple[int, ...]) -> None:
    extent = extent_of_pairs(torch.ones(shape, dtype=torch.bool))
    assert extent.first.shape == extent.end.shape == (*shape[:-3], shape[-2]) and (extent.first >= extent.end).all()
