"""attention_core.kernels.packed: what it refuses; the laws of its contract are in the suite."""

from __future__ import annotations

import pytest
import torch

from attention_core.kernels.packed import packed_attention, paged_attention


@pytest.mark.parametrize(
    ("ends_q", "ends_k", "words"),
    [
        ([0, 2], [0, 1, 2], "2 ends of queries and 3 of keys are not those of the same texts"),
        ([0, 3], [0, 2], "ends of texts must rise from 0 to at most 2, got"),
        ([0, 2], [1, 2], "ends of texts must rise from 0 to at most 2, got"),
        ([0, 2, 1], [0, 1, 2], "ends of texts must rise from 0"),
    ],
)
def test_ends_that_do_not_fit_are_refused(ends_q: list[int], ends_k: list[int], words: str) -> None:
    x = torch.ones(2, 1, 1)
    with pytest.raises(ValueError, match=words):
        packed_attention(x, x, x, torch.tensor(ends_q), torch.tensor(ends_k))


@pytest.mark.parametrize("length", [-1, 5])
def test_lengths_that_do_not_fit_a_table_are_refused(length: int) -> None:
    x = torch.ones(1, 1, 1, 1)
    with pytest.raises(ValueError, match=r"do not fit 1 texts of at most 4 pages of 1 keys"):
        paged_attention(x, x, x, torch.zeros(1, 4, dtype=torch.int32), torch.tensor([length]))


def test_nothing_behind_a_length_is_read() -> None:
    pages = torch.tensor([[4.0], [torch.nan]])[..., None, None]
    out = paged_attention(pages[:1], pages, pages, torch.tensor([[0, 1, -1]]), torch.tensor([1]))
    assert out.flatten().tolist() == [4.0]


def test_everything_is_computed_where_the_queries_are() -> None:
    """Another default device stands for a GPU: a tensor made without saying where cannot meet the queries."""
    q, pages = torch.ones(2, 2, 1), torch.ones(2, 1, 2, 1)
    ends, slopes = torch.tensor([0, 2]), torch.ones(2)
    table, lengths = torch.tensor([[0, 1]]), torch.tensor([2])
    with torch.device("meta"):
        out = packed_attention(q, q, q, ends, ends, causal=True, alibi_slopes=slopes)
        paged = paged_attention(q[None], pages, pages, table, lengths, window_size=(1, 0))
    assert out.flatten().tolist() == paged.flatten().tolist() == [1.0] * 4
