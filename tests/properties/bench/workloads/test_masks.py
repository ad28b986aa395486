"""Masks of benchmark cases.

Masks in words: the same pairs as the oracle's and as the structured masks', and bad words.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_core import oracle
from attention_core.bench.json_fields import DIGITS, parse_whole_number
from attention_core.bench.workloads.masks import ROWS, MaskSpec, read_mask, segment_ids
from attention_core.declaration.implementation import TargetError

BOTTOM = "bottom_right"


def whole(text: str, n_q: int, n_kv: int, seed: int = 0) -> np.ndarray:
    return read_mask(text).rows(n_q, n_kv, 0, n_q, seed)


@pytest.mark.parametrize(("n_q", "n_kv"), [(7, 7), (3, 11), (1, 5), (1, 1)])
def test_pairs_are_those_of_the_oracle(n_q: int, n_kv: int) -> None:
    assert (whole("causal", n_q, n_kv) == oracle.causal_mask(n_q, n_kv, BOTTOM)).all()
    assert (whole("window:3", n_q, n_kv) == oracle.sliding_window(n_q, n_kv, 3, BOTTOM)).all()
    assert (whole("prefix:2", n_q, n_kv) == oracle.prefix(n_q, n_kv, 2, BOTTOM)).all()
    ids = segment_ids(n_kv, 3, 5)[None]
    assert (whole("segments:3", n_q, n_kv, 5) == oracle.segments(n_q, n_kv, ids, BOTTOM)[0, 0]).all()
    both = oracle.causal_mask(n_q, n_kv, BOTTOM) & oracle.segments(n_q, n_kv, ids, BOTTOM)[0, 0]
    assert (whole("causal+segments:3", n_q, n_kv, 5) == both).all()


@pytest.mark.parametrize("text", ["causal", "window:3", "prefix:2", "segments:3", "causal+segments:2"])
def test_structure_has_the_same_pairs(text: str) -> None:
    structure = read_mask(text).structure(5, 9, seed=1)
    assert structure is not None
    dense = structure.dense(5, 9)
    assert torch.equal(dense.reshape(5, 9), torch.from_numpy(whole(text, 5, 9, 1)))


@pytest.mark.parametrize("text", ["none", "bool", "bias", "bool+causal"])
def test_tensors_have_no_structure(text: str) -> None:
    assert read_mask(text).structure(5, 9, seed=1) is None


@pytest.mark.parametrize(
    "text", ["none", "causal", "window:3", "prefix:2", "segments:3", "bool", "bias", "bool+window:5", "bias+window:5"]
)
def test_pairs_are_counted_without_the_whole_mask(text: str) -> None:
    n = ROWS + 17  # more than one block of rows
    assert read_mask(text).pairs(n, n, seed=3) == int(whole(text, n, n, 3).sum())


def test_known_counts() -> None:
    assert read_mask("causal").pairs(4, 4, 0) == 10
    assert read_mask("window:2").pairs(4, 4, 0) == 7
    assert read_mask("none").pairs(3, 5, 0) == 15
    assert read_mask("bias").pairs(3, 5, 0) == 15


def test_a_drawn_mask_leaves_half_and_no_dead_row() -> None:
    found = whole("bool", 300, 400)
    assert found.any(axis=1).all()
    assert abs(found.mean() - 0.5) < 5 * 0.5 / np.sqrt(found.size) + 1 / 400
    assert (found[10:20] == read_mask("bool").rows(300, 400, 10, 20, 0)).all()
    assert (found != whole("bool", 300, 400, seed=1)).any()


def test_no_row_of_a_drawn_mask_is_dead_where_there_are_few_keys() -> None:
    """Of 300 rows with two keys a quarter would have none."""
    found = whole("bool", 300, 2)
    assert found[:, 0].all() and not found[:, 1].all()


def test_numbers_have_at_most_so_many_decimal_digits() -> None:
    assert parse_whole_number("9" * DIGITS) == 10**DIGITS - 1
    assert [parse_whole_number(text) for text in ("9" * (DIGITS + 1), "\N{SUPERSCRIPT TWO}", "-1", "")] == [None] * 4


@pytest.mark.parametrize(("n", "count"), [(10, 3), (1, 4), (5, 5), (5, 9), (64, 1)])
def test_segments_fill_the_length(n: int, count: int) -> None:
    ids = segment_ids(n, count, seed=0)
    assert sorted(set(ids.tolist())) == list(range(min(n, count)))
    assert (np.diff(ids) >= 0).all()


@pytest.mark.parametrize("text", ["none", "causal", "window:256", "causal+segments:8", "bool", "bias+causal"])
def test_words_come_back(text: str) -> None:
    assert str(read_mask(text)) == text


@pytest.mark.parametrize(
    ("text", "kind"), [("none", "none"), ("causal", "causal"), ("causal+segments:2", "structured"), ("window:1", "structured"),
                       ("bool+causal", "bool"), ("bias", "bias"), ("bias+bool", "bias")],
)  # fmt: skip
def test_kinds(text: str, kind: str) -> None:
    assert read_mask(text).kind == kind
    assert MaskSpec().kind == "none"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "mask '' is not understood"),
        ("diagonal", "write none, causal, bool, bias, window:W"),
        ("window", "write window:N with N a whole number >= 1"),
        ("window:0", "window:N"),
        ("window:-3", "window:N"),
        ("window:x", "window:N"),
        ("segments:0", "segments:N"),
        ("causal:3", "not understood"),
        ("causal+", "not understood"),
        ("none+causal", "not understood"),
        ("causal+causal", "names causal twice"),
        ("window:2+bool+window:4", "names window twice"),
        ("+".join(["causal"] * 5000), "names causal twice"),
        ("window:٣", "window:N"),
        ("segments:１２", "segments:N"),
    ],
)
def test_bad_words(text: str, words: str) -> None:
    with pytest.raises(TargetError) as found:
        read_mask(text)
    assert words in str(found.value)
