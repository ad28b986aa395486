"""Faults of character vocabularies, one each, and a correct one in plain Python."""

from __future__ import annotations

import unicodedata

import torch
from torch import Tensor

PAD, MASK = "□", "⁇"


def correct(corpus: str, text: str) -> Tensor:
    """PAD, MASK, then the sorted characters."""
    if PAD in corpus or MASK in corpus:
        raise ValueError("a reserved character stands in the corpus")
    ids = {c: n for n, c in enumerate([PAD, MASK, *sorted(set(corpus))])}
    try:
        return torch.tensor([ids[c] for c in text], dtype=torch.int64)
    except KeyError as error:
        raise ValueError(f"unknown character {error}") from None


def correct_with_a_dict(corpus: str, text: str) -> Tensor:
    """What has no id is refused by the dictionary's own KeyError, as in the assignment."""
    assert PAD not in corpus and MASK not in corpus
    ids = {c: n for n, c in enumerate([PAD, MASK, *sorted(set(corpus))])}
    return torch.tensor([ids[c] for c in text], dtype=torch.int64)


def numbered_from_zero(corpus: str, text: str) -> Tensor:
    """PAD and MASK at the end."""
    size = len(set(corpus))
    ids = correct(corpus, text) - 2
    return torch.where(ids < 0, ids + size + 2, ids)


def pad_and_mask_swapped(corpus: str, text: str) -> Tensor:
    """MASK is 0 and PAD is 1."""
    ids = correct(corpus, text)
    return torch.where(ids < 2, 1 - ids, ids)


def numbered_as_they_come(corpus: str, text: str) -> Tensor:
    """Characters in the order in which they first stand in the corpus."""
    correct(corpus, text)
    ids = {c: n for n, c in enumerate([PAD, MASK, *dict.fromkeys(corpus)])}
    return torch.tensor([ids[c] for c in text], dtype=torch.int64)


def counts_bytes(corpus: str, text: str) -> Tensor:
    """One id a byte of UTF-8: the right one, repeated."""
    ids = correct(corpus, text)
    return ids.repeat_interleave(torch.tensor([len(c.encode()) for c in text], dtype=torch.int64))


def unknown_becomes_mask(corpus: str, text: str) -> Tensor:
    """What has no id gets that of MASK."""
    known = set(corpus) | {PAD, MASK}
    return correct(corpus, "".join(c if c in known else MASK for c in text))


def reserved_characters_kept(corpus: str, text: str) -> Tensor:
    """A corpus with PAD or MASK is taken; they are what they are."""
    return correct(corpus.replace(PAD, "").replace(MASK, ""), text)


def letters_outside_ascii_dropped(corpus: str, text: str) -> Tensor:
    """The text is encoded as ASCII, what does not fit is left out (the assignment's NameDataset)."""
    correct(corpus, text)
    return correct(corpus, "".join(c for c in text if ord(c) < 128 or c in (PAD, MASK)))


def white_space_stripped(corpus: str, text: str) -> Tensor:
    """The corpus is read without the white space around it; a text that needs it is refused."""
    return correct(corpus.strip(), text)


_READ: dict[int, str] = {}


def first_corpus_kept(corpus: str, text: str) -> Tensor:
    """The vocabulary is kept by the corpus's length: another corpus of that length gets the first one's."""
    return correct(_READ.setdefault(len(corpus), corpus), text)


def normal_forms(corpus: str, text: str) -> Tensor:
    """Corpus and text are put into Unicode's normal form C, where a letter and its accent are one character."""
    return correct(unicodedata.normalize("NFC", corpus), unicodedata.normalize("NFC", text))


def universal_newlines(corpus: str, text: str) -> Tensor:
    """Line ends are all read as a line feed, as by open() without newline=""."""
    corpus, text = (t.replace("\r\n", "\n").replace("\r", "\n") for t in (corpus, text))
    return correct(corpus, text)


def first_ten_thousand_characters(corpus: str, text: str) -> Tensor:
    """The vocabulary is made from the beginning of the corpus, so as not to read all of it."""
    return correct(corpus[:10_000], text)


def first_thousand_lines(corpus: str, text: str) -> Tensor:
    """The vocabulary is made from the first thousand lines."""
    return correct("\n".join(corpus.split("\n")[:1000]), text)


def a_list_of_ids(corpus: str, text: str) -> list[int]:
    """Not one result, but one for every character."""
    found: list[int] = correct(corpus, text).tolist()
    return found


FAULTY = (
    numbered_from_zero, pad_and_mask_swapped, numbered_as_they_come, counts_bytes, unknown_becomes_mask,
    reserved_characters_kept, letters_outside_ascii_dropped, white_space_stripped, first_corpus_kept, normal_forms,
    universal_newlines, first_ten_thousand_characters, first_thousand_lines, a_list_of_ids,
)  # fmt: skip
