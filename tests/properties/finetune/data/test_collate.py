"""Batches of texts.

finetune.data.collate: padding, masks made of lengths, shapes, and orders that are permutations.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.collate import GROUP, LabelledTexts, by_length, collate, in_order, pad_rows
from finetune.data.labelled import read_splits
from finetune.data.texts import Encoded, TextTokenizer, encode, load_tokenizer
from finetune.errors import BadInput
from tests.tiny_encoders import write_sst2, write_tokenizer


def source(lengths: list[int], **options: bool) -> LabelledTexts:
    """Texts of these lengths; every id is the number of its text, 0 among them."""
    encoded = Encoded([[n] * length for n, length in enumerate(lengths)], [[1] * length for length in lengths], 99, 0)
    return LabelledTexts(encoded, [n % 3 for n in range(len(lengths))], 0, **options)


def test_padding_on_either_side() -> None:
    assert pad_rows([[1, 2], [3]], 9).tolist() == [[1, 2], [3, 9]]
    assert pad_rows([[1, 2], [3]], 9, "left").tolist() == [[1, 2], [9, 3]]
    for rows, side in (([], "right"), ([[1]], "middle")):
        with pytest.raises(BadInput, match="cannot be padded"):
            pad_rows(rows, 0, side)


def test_a_batch_has_the_shapes_of_the_assignment() -> None:
    """64 texts, the longest of 45 tokens: [64, 45] twice, and [64]."""
    found = source([45] + [3 + n % 40 for n in range(63)]).batch(0, np.arange(64))
    assert {name: (list(value.shape), value.dtype) for name, value in found.items()} == {
        "input_ids": ([64, 45], torch.int64), "attention_mask": ([64, 45], torch.int64),
        "token_type_ids": ([64, 45], torch.int64), "labels": ([64], torch.int64),
    }  # fmt: skip
    assert "token_type_ids" not in source([3], types=False).batch(0, np.arange(1))


def test_real_sentences_have_that_shape(data_dir: Path) -> None:
    """A batch of 64 of SST-2 whose longest has 45 tokens, by the vocabulary of bert-base-uncased."""
    folder = data_dir / "vocab"
    tokenizer = load_tokenizer_of(folder / "bert-base-uncased-vocab.txt")
    examples = read_splits(data_dir / "sst").dev
    encoded = encode(tokenizer, examples, 512)
    fits = np.array([n for n, row in enumerate(encoded.ids) if len(row) <= 45])
    longest = int(max(fits, key=lambda n: len(encoded.ids[n])))
    chosen = np.array([longest, *[n for n in fits if n != longest][:63]])
    batch = LabelledTexts(encoded, examples.labels, tokenizer.pad_id).batch(0, chosen)
    assert list(batch["input_ids"].shape) == list(batch["attention_mask"].shape) == [64, 45]
    assert list(batch["labels"].shape) == [64] and set(batch["labels"].tolist()) == {0, 1}


def load_tokenizer_of(vocabulary: Path) -> TextTokenizer:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vocab.txt").write_bytes(vocabulary.read_bytes())
        return load_tokenizer(folder)


def test_the_mask_tells_padding_whatever_the_ids() -> None:
    """Text 0 consists of the id of padding, and is real all the same."""
    found = source([3, 5]).batch(0, np.array([0, 1]))
    assert found["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1] * 5]
    assert found["input_ids"].tolist() == [[0] * 5, [1] * 5]
    assert found["token_type_ids"].tolist() == [[1, 1, 1, 0, 0], [1] * 5]


def test_padding_goes_to_the_longest_of_the_batch_alone() -> None:
    found = source([3, 9, 4]).batch(0, np.array([0, 2]))
    assert found["input_ids"].shape == (2, 4) and found["labels"].tolist() == [0, 2]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=80), st.integers(1, 9), st.integers(0, 3))
def test_an_order_by_length_is_a_permutation_with_the_short_batch_last(
    lengths: list[int], size: int, epoch: int
) -> None:
    found = source(lengths).order(7, epoch, size)
    assert sorted(found.tolist()) == list(range(len(lengths)))
    if len(lengths) <= GROUP * size:  # within one stretch every batch is a run of the sorted lengths
        batches = [sorted(lengths[n] for n in found[at : at + size]) for at in range(0, len(found), size)]
        assert sorted(lengths) == [n for batch in sorted(batches, key=lambda b: (b[0], b[-1])) for n in batch]


def test_orders_differ_by_epoch_and_seed_and_repeat() -> None:
    one = source([3] * 50)
    orders = {tuple(one.order(seed, epoch, 4).tolist()) for seed in (0, 1) for epoch in (0, 1)}
    assert len(orders) == 4 and tuple(one.order(1, 1, 4).tolist()) in orders
    plain = source([3, 9] * 20, grouped=False).order(0, 0, 4)
    assert plain.tolist() == np.random.default_rng([0, 0]).permutation(40).tolist()


def test_grouping_leaves_little_padding() -> None:
    """Lengths 1 to 200, by chance in batches of 8: less than a tenth is padding; without grouping nearly half is."""
    lengths = (np.random.default_rng(0).permutation(1600) % 200 + 1).tolist()

    def share(grouped: bool) -> float:
        one = source(lengths, grouped=grouped)
        order = one.order(0, 0, 8)
        total = sum(8 * max(lengths[n] for n in order[at : at + 8]) for at in range(0, 1600, 8))
        return 1 - sum(lengths) / total

    assert share(True) < 0.1 < 0.4 < share(False)


def test_long_data_is_grouped_in_stretches() -> None:
    lengths = np.arange(GROUP * 2 * 3)
    found = by_length(lengths, np.random.default_rng(1).permutation(len(lengths)), 2, np.random.default_rng(2))
    assert sorted(found.tolist()) == lengths.tolist()
    gaps = np.abs(np.diff(found.reshape(-1, 2)))
    assert gaps.max() > 1, "not sorted as a whole: chance decides who meets"


def test_evaluation_reads_everything_once_in_order() -> None:
    one = source([5, 2, 9, 4, 4])
    assert torch.cat([b["labels"] for b in in_order(one, 2)]).tolist() == [0, 1, 2, 0, 1]
    short_first = [b["input_ids"].shape[1] for b in in_order(one, 2, one.lengths)]
    assert short_first == [4, 5, 9]


def test_a_source_needs_a_label_for_each_text(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path))
    train = read_splits(write_sst2(tmp_path / "d")).train
    encoded = encode(tokenizer, train, 20)
    for labels in ([], [0]):
        with pytest.raises(BadInput, match="do not go together"):
            LabelledTexts(encoded, labels, 0)
    assert len(LabelledTexts(encoded, train.labels, 0)) == len(train)
    assert "labels" not in collate([[1]], None, 0)
