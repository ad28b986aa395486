"""Text for masked-LM training.

finetune.data.masked_lm: lines and blocks, and that what is hidden depends on seed, epoch and block alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from finetune.data.masked_lm import MaskedTexts, read_unlabelled_texts
from finetune.data.texts import TextTokenizer, load_tokenizer
from finetune.errors import BadInput
from finetune.models.classifier import IGNORED
from tests.tiny_encoders import NEUTRAL, VOCABULARY, write_tokenizer

CLS, SEP, MASK = (VOCABULARY.index(f"[{name}]") for name in ("CLS", "SEP", "MASK"))


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    return load_tokenizer(write_tokenizer(tmp_path / "t"))


def test_line_by_line(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    (tmp_path / "u").write_text("the film\n\n the plot was not good\n")
    found = read_unlabelled_texts(tmp_path / "u", tokenizer, 5, line_by_line=True)
    assert [len(row) for row in found.ids] == [4, 5] and found.cut == 1
    assert all(row[0] == CLS and row[-1] == SEP for row in found.ids)


def test_blocks_hold_every_token_once(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    words = [NEUTRAL[n % len(NEUTRAL)] for n in range(23)]
    (tmp_path / "u").write_text("\n".join(words))
    found = read_unlabelled_texts(tmp_path / "u", tokenizer, 7, line_by_line=False)
    assert [len(row) for row in found.ids] == [7, 7, 7, 7, 5]
    assert [VOCABULARY[n] for row in found.ids for n in row[1:-1]] == words
    assert all(row[0] == CLS and row[-1] == SEP for row in found.ids)


def test_files_without_text_and_blocks_without_room(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    (tmp_path / "u").write_text(" \n\n")
    (tmp_path / "v").write_text("the film")
    with pytest.raises(BadInput, match="u holds no text"):
        read_unlabelled_texts(tmp_path / "u", tokenizer, 9, line_by_line=True)
    for line_by_line in (True, False):
        with pytest.raises(BadInput, match="at least 3 are needed"):
            read_unlabelled_texts(tmp_path / "v", tokenizer, 2, line_by_line=line_by_line)


def many(tmp_path: Path, tokenizer: TextTokenizer, **options: object) -> MaskedTexts:
    (tmp_path / "u").write_text("\n".join("the film plot was [PAD] not of and it" for _ in range(400)))
    encoded = read_unlabelled_texts(tmp_path / "u", tokenizer, 20, line_by_line=True)
    return MaskedTexts(encoded, tokenizer, 3, **options)  # type: ignore[arg-type]


def test_what_is_hidden(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    """Never a special token, in about 15 of 100 of the others; labels are the old ids."""
    source = many(tmp_path, tokenizer)
    batch = source.batch(0, np.arange(400))
    old = torch.tensor(source.encoded.ids)
    hidden = batch["labels"] != IGNORED
    special = torch.isin(old, torch.tensor(source.tokenizer.special))
    assert not (hidden & special).any() and torch.equal(batch["labels"][hidden], old[hidden])
    assert torch.equal(batch["input_ids"][~hidden], old[~hidden])
    n = int((~special).sum())
    assert abs(int(hidden.sum()) - 0.15 * n) < 6 * (n * 0.15 * 0.85) ** 0.5
    assert (batch["input_ids"][hidden] == MASK).sum() > 0.7 * hidden.sum()
    assert int(batch["input_ids"].max()) < len(tokenizer)


def test_seed_epoch_and_block_decide(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    source = many(tmp_path, tokenizer)
    alone, among = source.batch(2, np.array([7])), source.batch(2, np.array([3, 7]))
    assert torch.equal(alone["input_ids"][0], among["input_ids"][1])
    assert torch.equal(alone["labels"][0], among["labels"][1])
    assert not torch.equal(source.batch(1, np.arange(50))["labels"], source.batch(2, np.arange(50))["labels"])
    assert source.encoded.ids[7][1] == VOCABULARY.index("the"), "the text is as it was"
    assert "token_type_ids" in alone and "token_type_ids" not in many(tmp_path, tokenizer, types=False).batch(
        0, np.array([0])
    )


def test_without_a_mask_token_or_text(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    encoded = many(tmp_path, tokenizer).encoded
    with pytest.raises(BadInput, match="no text to hide"):
        MaskedTexts(type(encoded)([], [], 9, 0), tokenizer)
    tokenizer.mask_id = None
    with pytest.raises(BadInput, match="no mask token"):
        MaskedTexts(encoded, tokenizer)
