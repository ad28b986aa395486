"""Splits by hash, and the leak check.

finetune.data.splits: sides that text and seed decide, groups that stay whole, leaks reported by row.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.examples import Examples
from finetune.data.labelled import read_splits
from finetune.data.splits import Splits, held_out, keys_of, leaks, position, split, without_leaks
from finetune.errors import BadInput


def texts(names: list[str], groups: list[str] | None = None) -> Examples:
    rows = [f"f, line {n}" for n in range(1, len(names) + 1)]
    return Examples(names, None, [n % 2 for n in range(len(names))], ("a", "b"), rows, groups)


MANY = texts([f"text {n}" for n in range(2000)])


def test_the_position_is_that_of_sha_256() -> None:
    word = int(hashlib.sha256("3\0Zoë".encode()).hexdigest()[:16], 16)
    assert position("Zoë", 3) == (word >> 11) / 2**53
    assert 0 <= position("\ud800", 0) < 1, "a lone surrogate, as JSON may bring one"


def test_a_split_has_its_shares() -> None:
    """Of 2000 hashes a share of 0.7 takes 1400 within 6 standard deviations, sqrt(2000 0.7 0.3) = 20.5."""
    parts = split(MANY, (0.7, 0.1, 0.2), 5)
    assert sum(map(len, parts)) == 2000
    for part, share in zip(parts, (0.7, 0.1, 0.2), strict=True):
        assert abs(len(part) - 2000 * share) < 6 * (2000 * share * (1 - share)) ** 0.5
    rows = [row for part in parts for row in part.rows]
    assert sorted(rows) == sorted(MANY.rows)


def test_seed_and_text_alone_decide_the_side() -> None:
    first = split(MANY, (0.5, 0.5), 1)
    again = split(MANY.take(range(1999, -1, -1)), (0.5, 0.5), 1)
    assert set(first[0].first) == set(again[0].first), "the order does not matter"
    fewer = split(MANY.take(range(500)), (0.5, 0.5), 1)
    assert set(fewer[0].first) <= set(first[0].first), "nor do other examples"
    assert set(split(MANY, (0.5, 0.5), 2)[0].first) != set(first[0].first)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=30), st.integers(0, 5))
def test_groups_are_never_torn_apart(groups: list[str], seed: int) -> None:
    examples = texts([f"text {n}" for n in range(len(groups))], groups)
    side = {g: position(g, seed) < 0.5 for g in groups}
    if all(side.values()) or not any(side.values()):
        return
    left, right = split(examples, (0.5, 0.5), seed)
    assert not set(left.groups or ()) & set(right.groups or ())


def test_without_a_title_the_passage_is_the_group() -> None:
    pairs = Examples(["q", "r"], ["One  Text", "one text"], [0, 1], ("n", "y"), ["f, line 1", "f, line 2"])
    assert list(keys_of(pairs)) == ["one text", "one text"]


def test_held_out_takes_about_so_many_and_whole_groups() -> None:
    rest, out = held_out(MANY, 100, 3)
    assert len(out) == 100 and len(rest) == 1900
    assert max(position(t, 3) for t in out.first) < min(position(t, 3) for t in rest.first)
    grouped = texts(["a", "b", "c", "d"], ["x", "x", "y", "y"])
    assert len(held_out(grouped, 1)[1]) == 2
    for count in (0, 2000):
        with pytest.raises(BadInput, match="cannot be held out"):
            held_out(MANY, count)


@pytest.mark.parametrize("shares", [(0.5, 0.4), (1.5, -0.5)])
def test_shares_that_are_none_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(BadInput, match="at least 0 and sum to 1"):
        split(MANY, shares)


def test_an_empty_part_is_refused() -> None:
    with pytest.raises(BadInput, match="take another seed"):
        split(MANY.take([0]), (0.5, 0.5))


def test_an_example_on_two_sides_is_reported_by_row() -> None:
    sides = {
        "train": texts(["one", "Two  words", "three"]),
        "dev": texts(["four"]),
        "test": texts(["two words", "five", "three"]),
    }
    assert [str(leak) for leak in leaks(sides)] == [
        "train: f, line 2 = test: f, line 1: 'two words'",
        "train: f, line 3 = test: f, line 3: 'three'",
    ]
    assert leaks({"train": texts(["same", "same"])}) == [], "twice on one side is no leak"
    kept = without_leaks(sides)
    assert kept["train"].first == ["one"] and leaks(kept) == [] and kept["test"] is sides["test"]


def test_a_pair_leaks_where_both_texts_agree() -> None:
    def pair(passage: str) -> Examples:
        return Examples(["is it"], [passage], [0], ("n", "y"), ["f, line 1"])

    assert not leaks({"train": pair("a passage"), "test": pair("another")})
    assert leaks({"train": pair("a passage"), "test": pair("A passage")})


def test_the_real_leaks_are_the_known_ones(data_dir: Path) -> None:
    """SST-2 shares two sentences between train and test; the others share none."""
    found = {name: leaks(read_splits(data_dir / name).by_name()) for name in ("boolq", "sst", "yelp")}
    assert {name: len(rows) for name, rows in found.items()} == {"boolq": 0, "sst": 2, "yelp": 0}
    assert {(leak.first.split(":")[0], leak.text) for leak in found["sst"]} == {
        ("train", "no. ."),
        ("train", "what 's next ?"),
    }


def test_sides_have_names() -> None:
    assert list(Splits(MANY, MANY).by_name()) == ["train", "dev"]
    assert list(Splits(MANY, MANY, MANY).by_name()) == ["train", "dev", "test"]
