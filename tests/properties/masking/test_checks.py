"""attention_core.masking.checks: arguments of masks are refused by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from attention_core.masking.checks import check_sizes, checked_align, count, integers, offset


def test_the_first_query_stands_where_the_alignment_says() -> None:
    assert [offset(3, 5, "top_left"), offset(3, 5, "bottom_right"), offset(5, 3, "bottom_right")] == [0, 2, -2]


def test_integers_are_the_masks_own() -> None:
    given = torch.tensor([[1, 2]])
    kept = integers("lengths", given, 2)
    given.zero_()
    assert kept.tolist() == [[1, 2]]
    assert integers("lengths", [], 1).dtype == torch.int64


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_sizes(-1, 2), "n_q = -1, n_kv = 2"),
        (lambda: checked_align("left"), "align must be one of top_left, bottom_right, got 'left'"),  # type: ignore[arg-type]
        (lambda: count("W", 2.0, 1), "W must be an integer of at least 1, got 2.0"),
        (lambda: count("W", True, 0), "W must be an integer of at least 0, got True"),
        (lambda: count("W", 0, 1), "got 0"),
        (lambda: integers("lengths", torch.ones(2), 1), "lengths must be integers, got torch.float32"),
        (lambda: integers("segments", [1, 2], 2), r"segments must have 2 axes, got shape \(2,\); for one sequence, segments\[None\]"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
