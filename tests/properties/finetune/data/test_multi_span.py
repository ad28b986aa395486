"""T5's span corruption.

finetune.data.multi_span: equal in distribution to the published rule, and undone by its inverse.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, pairwise
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data import draws
from finetune.data.multi_span import corrupt_spans, noise_counts, noise_mask, restore_spans, with_sentinels
from finetune.errors import BadInput

MANY = 30_000


def compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """Every way to write `total` as `parts` positive numbers in order."""
    found = []
    for ends in combinations(range(1, total), parts - 1):
        edges = (0, *ends, total)
        found.append(tuple(b - a for a, b in pairwise(edges)))
    return found


@pytest.mark.parametrize(("length", "density", "mean"), [(9, 0.4, 2.0), (8, 0.5, 1.0), (6, 0.15, 3.0), (10, 0.3, 1.5)])
def test_every_mask_of_the_published_rule_comes_equally_often(
    length: int, density: float, mean: float, stats: ModuleType
) -> None:
    """The rule: uniform over compositions of kept tokens and of noise tokens, independently. Enumerated."""
    noise, spans = noise_counts(length, density, mean)
    masks = set()
    for kept in compositions(length - noise, spans):
        for lost in compositions(noise, spans):
            runs = zip(kept, lost, strict=True)
            masks.add("".join("." * k + "#" * m for k, m in runs))
    assert len(masks) == math.comb(length - noise - 1, spans - 1) * math.comb(noise - 1, spans - 1)
    drawn = noise_mask(draws.keys(0, 0, np.arange(MANY)), length, density, mean)
    counts = Counter("".join(np.where(row, "#", ".")) for row in drawn)
    assert set(counts) == masks
    assert len(masks) == 1 or stats.chisquare(list(counts.values())).pvalue > 1e-6


def test_the_published_rule_leaves_the_first_token_and_a_roll_does_not(stats: ModuleType) -> None:
    of = draws.keys(1, 0, np.arange(MANY))
    plain, rolled = noise_mask(of, 12, 0.25, 1.5), noise_mask(of, 12, 0.25, 1.5, roll=True)
    assert not plain[:, 0].any() and plain[:, -1].all()
    assert (plain.sum(1) == 3).all() and (rolled.sum(1) == 3).all()
    # Each place is noise with probability 3/12: binomial, twelve tests at 1e-7 each.
    for count in rolled.sum(0):
        assert stats.binomtest(int(count), MANY, 0.25).pvalue > 1e-7


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.floats(1, 10))
def test_rows_have_equal_lengths_and_the_inverse_gives_them_back(length: int, density: float, mean: float) -> None:
    """Also where noise is dense: huggingface/transformers PR22938."""
    noise, spans = noise_counts(length, density, mean)
    assert 1 <= spans <= min(noise, length - noise)
    of = draws.keys(7, 0, np.arange(5))
    ids = (draws.uniform(of[:, None], np.arange(length)[None]) * 40).astype(np.int64)
    inputs, targets = corrupt_spans(ids, of, 200, density, mean)
    assert inputs.shape == (5, length - noise + spans) and targets.shape == (5, noise + spans)
    for row in (inputs, targets):
        sentinels = [[int(t) for t in line if t >= 140] for line in row]
        assert sentinels == [list(range(199, 199 - spans, -1))] * 5
    assert (np.array(restore_spans(inputs, targets, 200)) == ids).all()


def test_counts_are_those_of_the_paper() -> None:
    """512 tokens, 15 %, mean 3: 77 noise tokens in 26 spans; 568 tokens give inputs of 512 with an end mark (T5)."""
    assert noise_counts(512) == (77, 26)
    noise, spans = noise_counts(568)
    assert 568 - noise + spans + 1 == 512 and noise + spans + 1 == 114


def test_a_written_example() -> None:
    mask = np.array([[False, True, True, False, True]])
    ids = np.array([[5, 6, 7, 8, 9]])
    assert with_sentinels(ids, mask, 100).tolist() == [[5, 99, 8, 98]]
    assert with_sentinels(ids, ~mask, 100).tolist() == [[99, 6, 7, 98, 9]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: noise_counts(1), "at least 2 tokens"),
        (lambda: noise_counts(9, 1.0), "between 0 and 1"),
        (lambda: noise_counts(9, 0.5, 0.5), "at least 1"),
        (lambda: corrupt_spans(np.full((1, 9), 99), draws.keys(0, 0, [0]), 100), "id 99 is one of the 1 sentinels"),
        (lambda: with_sentinels(np.ones((2, 2), int), np.array([[True, True], [True, False]]), 9), "different numbers"),
        (lambda: restore_spans(np.array([[9]]), np.array([[1, 9]]), 10), "do not begin with a sentinel"),
        (lambda: restore_spans(np.array([[8, 1]]), np.array([[9, 1]]), 10), "the same sentinels"),
    ],
)
def test_bad_calls(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadInput, match=words):
        call()
