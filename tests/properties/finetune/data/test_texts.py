"""Texts into ids.

finetune.data.texts: pairs as pairs, truncation that is counted, tokenizers of folders, and those of other models.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenizers

from finetune.data.examples import Examples
from finetune.data.texts import TextTokenizer, encode, load_tokenizer
from finetune.errors import BadInput
from tests.tiny_encoders import VOCABULARY, write_tokenizer

CLS, SEP, PAD, MASK, UNK = (VOCABULARY.index(f"[{name}]") for name in ("CLS", "SEP", "PAD", "MASK", "UNK"))


def ids(text: str) -> list[int]:
    return [VOCABULARY.index(word) for word in text.split()]


def texts(*first: str, second: list[str] | None = None) -> Examples:
    return Examples(
        list(first), second, [0] * len(first), ("a", "b"), [f"f, line {n}" for n in range(1, len(first) + 1)]
    )


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    return load_tokenizer(write_tokenizer(tmp_path))


def test_one_text_and_a_pair(tokenizer: TextTokenizer) -> None:
    found = encode(tokenizer, texts("Good film", "bad"), 9)
    assert found.ids == [[CLS, *ids("good film"), SEP], [CLS, *ids("bad"), SEP]] and found.cut == 0
    found = encode(tokenizer, texts("is it good", second=["the film was"]), 9)
    assert found.ids == [[CLS, *ids("is it good"), SEP, *ids("the film was"), SEP]]
    assert found.types == [[0, 0, 0, 0, 0, 1, 1, 1, 1]]


def test_truncation_is_counted_and_takes_from_the_longer_text(tokenizer: TextTokenizer) -> None:
    found = encode(tokenizer, texts("good film", "the plot was not dull", "bad"), 5)
    assert [len(row) for row in found.ids] == [4, 5, 3] and found.cut == 1
    assert found.ids[1] == [CLS, *ids("the plot was"), SEP]
    found = encode(tokenizer, texts("is it", second=["the plot was not dull"]), 8)
    assert found.ids == [[CLS, *ids("is it"), SEP, *ids("the plot was"), SEP]] and found.cut == 1


def test_more_texts_than_are_handed_over_at_once(tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    many = texts(*["good film", "bad", "the plot was not dull"] * 3)
    whole = encode(tokenizer, many, 6)
    monkeypatch.setattr("finetune.data.texts.PIECE", 2)
    assert encode(tokenizer, many, 6) == whole and whole.cut == 3


def test_a_maximum_without_room_and_a_text_without_tokens(tokenizer: TextTokenizer) -> None:
    with pytest.raises(BadInput, match="at least 3 are needed"):
        encode(tokenizer, texts("good"), 2)
    with pytest.raises(BadInput, match="at least 5 are needed"):
        encode(tokenizer, texts("is", second=["it"]), 4)
    with pytest.raises(BadInput, match=r"f, line 2: the tokenizer finds nothing in '\\u200b'"):
        encode(tokenizer, texts("good", "\u200b"), 9)


def test_a_file_that_asks_for_padding_and_truncation_is_not_obeyed(tmp_path: Path) -> None:
    inner = load_tokenizer(write_tokenizer(tmp_path / "a")).inner
    inner.enable_padding(length=20, pad_id=PAD)
    inner.enable_truncation(4)
    (tmp_path / "b").mkdir()
    inner.save(str(tmp_path / "b" / "tokenizer.json"))
    found = load_tokenizer(tmp_path / "b")
    assert encode(found, texts("the plot was not dull"), 20).ids == [[CLS, *ids("the plot was not dull"), SEP]]
    assert found.pad_id == PAD and found.mask_id == MASK and set(found.special) >= {PAD, CLS, SEP, MASK}


def test_the_digests_see_every_change(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    before = tokenizer.digest()
    encode(tokenizer, texts("good"), 5)
    assert tokenizer.digest() == before, "encoding leaves nothing behind"
    other = write_tokenizer(tmp_path / "other")
    (other / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert load_tokenizer(other).digest() != before
    assert encode(load_tokenizer(other), texts("Good"), 5).ids[0] != encode(tokenizer, texts("Good"), 5).ids[0]
    known = encode(tokenizer, texts("is it", "bad"), 9).digest()
    assert known != encode(tokenizer, texts("is it bad"), 9).digest()
    assert known != encode(tokenizer, texts("bad", "is it"), 9).digest()


def test_the_tokenizer_of_another_model_is_refused(tokenizer: TextTokenizer) -> None:
    size = len(VOCABULARY)
    tokenizer.check_fits(size, PAD)
    tokenizer.check_fits(size + 127)
    for rows in (size - 1, size + 128):
        with pytest.raises(BadInput, match="the tokenizer of another model"):
            tokenizer.check_fits(rows)
    with pytest.raises(BadInput, match="padding is 0 for the tokenizer and 1 for the model"):
        tokenizer.check_fits(size, 1)


def roberta(folder: Path) -> Path:
    """A byte-pair tokenizer without merges."""
    folder.mkdir()
    letters = [chr(c) for c in range(33, 127)] + ["Ġ"]
    names = ["<s>", "<pad>", "</s>", "<unk>", *letters, "<mask>"]
    (folder / "vocab.json").write_text(json.dumps({name: n for n, name in enumerate(names)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return folder


def test_byte_pairs_of_two_files_are_robertas(tmp_path: Path) -> None:
    found = load_tokenizer(roberta(tmp_path / "r"))
    assert (found.pad_id, found.mask_id) == (1, 99)
    letter = {c: 4 + ord(c) - 33 for c in "abc"}
    pair = encode(found, texts("ab", second=["c"]), 9)
    space = 98
    # RoBERTa has two separators in the middle, and one kind of segment; the library begins a text with a blank.
    assert [n for n in pair.ids[0] if n != space] == [0, letter["a"], letter["b"], 2, 2, letter["c"], 2]
    assert set(pair.types[0]) == {0}
    assert encode(found, texts("<mask>a"), 9).ids[0][1] == 99, "a special token in a text is one token"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "has no tokenizer"),
        ({"tokenizer.json": "{}"}, "cannot be read"),
        ({"tokenizer.json": "\0"}, "cannot be read"),
        ({"vocab.txt": "a\nb\n"}, "has no token for padding|cannot be read"),
        ({"vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "tokenizer_config.json": "[]"}, "should hold a JSON object"),
        ({"vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "tokenizer_config.json": "{"}, "is not valid JSON"),
        ({"vocab.json": "{}", "merges.txt": ""}, "has no <s> or </s>|cannot be read"),
        ({"vocab.json": "{", "merges.txt": ""}, "cannot be read"),
    ],
)  # fmt: skip
def test_a_folder_without_a_usable_tokenizer(tmp_path: Path, files: dict[str, str], words: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=words):
        load_tokenizer(tmp_path)


def test_the_names_of_special_tokens_are_those_of_the_folder(tmp_path: Path) -> None:
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<nil>": 0, "a": 1}, unk_token="a"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    inner.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(BadInput, match=r"no token for padding \('\[PAD\]'\)"):
        load_tokenizer(tmp_path)
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"pad_token": {"content": "<nil>"}}))
    assert load_tokenizer(tmp_path).pad_id == 0 and load_tokenizer(tmp_path).mask_id is None
