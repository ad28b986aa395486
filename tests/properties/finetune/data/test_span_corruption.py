"""Span corruption: form, lengths, ratio, coverage, determinism, reconstruction.

finetune.data.span_corruption: the specification of the assignment, in both public variants, and the inverse.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data import draws
from finetune.data.span_corruption import CorruptedDocuments, Cuts, Form, arrange, corrupt, cuts, restore
from finetune.data.vocabulary import MASK, PAD, Vocabulary
from finetune.errors import BadInput

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = Vocabulary(LETTERS)
VARIANTS: list[Literal["block + 1", "block"]] = ["block + 1", "block"]


def string_of(document: str, start: int, masked: int, form: Form) -> str:
    """The string of the specification, as slices of text."""
    prefix, inside, suffix = document[:start], document[start : start + masked], document[start + masked :]
    s = prefix + MASK + suffix + MASK + inside + (MASK if form.trailing_mask else "")
    return s + PAD * (form.total - len(s))


@given(st.data())
def test_arranging_is_the_specification_in_slices(data: st.DataObject) -> None:
    form = Form(data.draw(st.integers(24, 40)), data.draw(st.sampled_from(VARIANTS)), data.draw(st.booleans()))
    texts = data.draw(st.lists(st.text(LETTERS, min_size=1, max_size=60), min_size=1, max_size=5))
    rows = []
    for text in texts:
        length = data.draw(st.integers(1, min(len(text), form.longest)))
        masked = data.draw(st.integers(1, length))
        rows.append((length, data.draw(st.integers(0, length - masked)), masked))
    cut = Cuts(*(np.array(column) for column in zip(*rows, strict=True)))
    ids, _ = VOCABULARY.encode_batch(texts)
    got = [VOCABULARY.decode(row) for row in arrange(ids, cut, form)]
    assert got == [string_of(t[:n], start, m, form) for t, (n, start, m) in zip(texts, rows, strict=True)]


@given(st.lists(st.text(LETTERS, min_size=1, max_size=60), min_size=1, max_size=6), st.sampled_from(VARIANTS),
       st.booleans(), st.integers(0, 99))  # fmt: skip
def test_restoring_undoes_corrupting(texts: list[str], variant: Literal["block"], mark: bool, seed: int) -> None:
    form = Form(32, variant, mark)
    ids, lengths = VOCABULARY.encode_batch(texts)
    of = draws.keys(seed, 0, np.arange(len(texts)))
    x, y = corrupt(ids, lengths, of, form)
    assert x.shape == y.shape == (len(texts), 32 if variant == "block + 1" else 31)
    assert (x[:, 1:] == y[:, :-1]).all()
    found, sizes, cut = restore(x, y)
    drawn = cuts(lengths, of, form)
    for name in ("length", "start", "masked"):
        assert (getattr(cut, name) == getattr(drawn, name)).all()
    for row, size, text in zip(found, sizes, texts, strict=True):
        assert VOCABULARY.decode(row[:size]) == text[:size] and (row[size:] == 0).all()
        assert min(4, len(text)) <= size <= min(len(text), 28)


MANY = 40_000


@pytest.mark.parametrize("n", [4, 5, 6, 7, 30, 112, 300])
def test_lengths_ratio_and_places_have_the_distribution_stated(n: int, stats: ModuleType) -> None:
    """Every length, every start; E[m | T] = T/4. The seed is fixed, and the p-values are uniform over seeds."""
    form = Form(128)
    cut = cuts(np.full(MANY, n), draws.keys(1, 0, np.arange(MANY)), form)
    top = min(n, 112)
    lengths = np.bincount(cut.length, minlength=top + 1)[4:]
    assert len(lengths) == top - 3 and (len(lengths) == 1 or stats.chisquare(lengths).pvalue > 1e-6)
    # m - T/4 has mean 0 and lies within T/4; Hoeffding: |mean| > t with probability at most 2 exp(-2 N t^2 / (T/2)^2).
    off = (cut.masked - cut.length / 4).mean()
    assert abs(off) <= (top / 2) * math.sqrt(math.log(2e9) / (2 * MANY))
    assert cut.masked.min() == 1 and (cut.start >= 0).all() and (cut.start + cut.masked <= cut.length).all()
    for length in {4, 5, top}:
        chosen = cut.length == length
        if chosen.sum() < 200:
            continue
        assert set(cut.masked[chosen]) == set(range(1, max(math.ceil(length / 2) - 1, 1) + 1))
        # Given m the start is uniform: ranks within each m, pooled.
        ends = cut.start[chosen & (cut.masked == 1)]
        assert stats.chisquare(np.bincount(ends, minlength=length)).pvalue > 1e-6


def test_the_mean_given_each_length_is_a_quarter_of_it() -> None:
    cut = cuts(np.full(400_000, 12), draws.keys(2, 0, np.arange(400_000)), Form(16))
    for length in range(4, 13):
        masked = cut.masked[cut.length == length]
        assert abs(masked.mean() - length / 4) <= (length / 2) * math.sqrt(math.log(2e9) / (2 * len(masked)))


def test_first_and_last_characters_are_masked_too() -> None:
    cut = cuts(np.full(MANY, 50), draws.keys(3, 0, np.arange(MANY)), Form(128))
    assert (cut.start == 0).any() and (cut.start + cut.masked == cut.length).any()


def test_short_documents_keep_their_characters() -> None:
    for text in ("a", "ab", "abc"):
        ids, lengths = VOCABULARY.encode_batch([text] * 20)
        x, y = corrupt(ids, lengths, draws.keys(0, 0, np.arange(20)))
        found, sizes, cut = restore(x, y)
        assert {VOCABULARY.decode(row[:size]) for row, size in zip(found, sizes, strict=True)} == {text}
        assert set(cut.masked) == {1} and set(cut.start) == set(range(len(text)))


def test_an_example_does_not_depend_on_the_batch_around_it() -> None:
    texts = [LETTERS * 3, "abc", LETTERS[:9], LETTERS * 9]
    source = CorruptedDocuments(*VOCABULARY.encode_batch(texts), Form(32), seed=4)
    whole = source.batch(6, np.arange(4))
    for order in ([2], [3, 1], [1, 3, 0, 2]):
        part = source.batch(6, np.array(order))
        assert all((part[k] == whole[k][order]).all() for k in "xy")
    again, other = source.batch(6, np.arange(4)), source.batch(7, np.arange(4))
    assert all((again[k] == whole[k]).all() for k in "xy") and (other["x"] != whole["x"]).any()
    assert len(source) == 4


def test_a_source_keeps_all_that_a_cut_may_reach() -> None:
    """What it leaves out is never used: its examples are those of the whole documents, the longest cut's last letter too."""
    form = Form(24)
    ids, lengths = VOCABULARY.encode_batch([LETTERS[n % 5 :] for n in range(60)])
    chosen = np.arange(60)
    of = draws.keys(4, 1, chosen)
    assert (cuts(lengths, of, form).length == form.longest).any()
    batch = CorruptedDocuments(ids, lengths, form, seed=4).batch(1, chosen)
    assert all(
        (batch[key].numpy() == whole).all() for key, whole in zip("xy", corrupt(ids, lengths, of, form), strict=True)
    )


@pytest.mark.parametrize("mark", [False, True])
def test_the_width_of_an_example_is_the_place_of_its_last_target(mark: bool) -> None:
    texts = [LETTERS[: 1 + n] for n in range(20)]
    source = CorruptedDocuments(*VOCABULARY.encode_batch(texts), Form(32, trailing_mask=mark), seed=4)
    chosen = np.array([3, 19, 0, 11, 12])
    y = source.batch(2, chosen)["y"]
    assert source.widths(2, chosen).tolist() == [int((row != 0).nonzero().max()) + 1 for row in y]


def test_inputs_are_left_as_they_are() -> None:
    ids, lengths = VOCABULARY.encode_batch([LETTERS, LETTERS[:7]])
    before = ids.copy(), lengths.copy()
    corrupt(ids, lengths, draws.keys(0, 0, [0, 1]))
    assert (ids == before[0]).all() and (lengths == before[1]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Form(4), "a block of 4 is too small"),
        (lambda: Form(16, "block", trailing_mask=True), r"needs? 17, the string has 16"),
        (lambda: Form(variant="blocks"), "variant 'blocks'"),  # type: ignore[arg-type]
        (lambda: corrupt(np.zeros((1, 3), np.int64), np.array([0]), draws.keys(0, 0, [0])), "an empty document"),
        (lambda: CorruptedDocuments(np.zeros((0, 3), np.int64), np.zeros(0, np.int64)), "there is no document"),
        (lambda: CorruptedDocuments(np.zeros((1, 3), np.int64), np.zeros(1, np.int64)), "one of them is empty"),
        (lambda: restore(np.array([[2, 1, 3]]), np.array([[1, 3, 4]])), "fewer than two masks"),
        (lambda: restore(np.array([[2, 1, 3]]), np.array([[1, 4, 4]])), "one place ahead"),
    ],
)
def test_bad_calls(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadInput, match=words):
        call()
