"""attention_core.kernels.triton.paged: judged in Triton's interpreter by all laws of pages."""

from __future__ import annotations

import sys

import pytest
import torch

from attention_core.conformance.engine.verify import verify_target
from attention_core.kernels.triton.paged import paged_decode


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="Triton is installed on Linux alone")
def test_the_kernel_conforms() -> None:
    report = verify_target("core:triton_paged", {}, effort="quick")
    assert report.verdict == "conforms", [(r.law, r.message) for r in report.laws if r.status != "held"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cache_seqlens": torch.tensor([7])}, r"lengths \[7\] do not fit tables of at most 6 keys"),
        ({"cache_seqlens": torch.tensor([1, 1])}, "1 texts have 1 rows of the table and 2 lengths"),
        ({"key_pages": torch.ones(2, 3, 2, 8)}, "queries and pages do not fit together"),
        ({"query": torch.ones(1, 1, 3, 4)}, "H = 3 query heads are not divisible by H_kv = 2 key heads"),
        ({"splits": 0}, "splits must be at least 1, got 0"),
        ({"block": 20}, "a power of two of at least 16, got 20"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, object], message: str) -> None:
    pages = torch.ones(2, 3, 2, 4)
    call = {
        "query": torch.ones(1, 1, 4, 4),
        "key_pages": pages,
        "value_pages": pages,
        "block_table": torch.tensor([[1, 0]]),
        "cache_seqlens": torch.tensor([5]),
    }
    with pytest.raises(ValueError, match=message):
        paged_decode(**{**call, **changes})  # type: ignore[arg-type]
