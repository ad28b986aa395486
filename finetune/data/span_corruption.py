"""Span corruption of characters, as one function of a whole batch, and its inverse.

A document is cut to a random length; a random stretch of it is replaced by a mask and predicted at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from finetune.data import draws
from finetune.data.corpus import documents
from finetune.data.vocabulary import MASK_ID, PAD_ID, Ids, Vocabulary
from finetune.errors import BadInput

SHORTEST = 4


@dataclass(frozen=True)
class Form:
    """Which of the public forms of the string `prefix M suffix M masked` + PAD is meant.

    Args:
        block: the model's block size, in characters.
        variant: "block + 1": the string is block + 1 long, so x and y have the model's whole block; "block": it is
            block long, and x and y are one shorter than the model could take.
        trailing_mask: a third M after the masked stretch, so that the model learns where an answer ends.

    Raises: BadInput where the longest string does not fit.
    """

    block: int = 128
    variant: Literal["block + 1", "block"] = "block + 1"
    trailing_mask: bool = False

    def __post_init__(self) -> None:
        if self.variant not in ("block + 1", "block"):
            raise BadInput(f"variant {self.variant!r} is none of 'block + 1', 'block'")
        longest = max(self.longest, SHORTEST)
        needed = longest + 2 + self.trailing_mask
        if self.longest < SHORTEST or needed > self.total:
            raise BadInput(
                f"a block of {self.block} is too small: documents of {longest} characters and their masks need "
                f"{needed}, the string has {self.total}"
            )

    @property
    def longest(self) -> int:
        """The largest length that a document is cut to: int(7/8 block)."""
        return self.block * 7 // 8

    @property
    def total(self) -> int:
        """The length of the string; x and y are one shorter."""
        return self.block + (self.variant == "block + 1")


@dataclass(frozen=True)
class Cuts:
    """What is drawn for each document (arrays (B,)): its length, and the masked stretch [start, start + masked)."""

    length: Ids
    start: Ids
    masked: Ids


def cuts(lengths: Ids, of: draws.Keys, form: Form) -> Cuts:
    """Draw the cuts of a batch.

    length T uniform on {4, ..., min(n, int(7/8 block))}; masked m with mean T/4, m = 1 + uniform{0, ..., W}, where W
    is T/2 - 2, rounded up or down with equal chances; start uniform on {0, ..., T - m}. A document shorter than 4 is
    kept whole, and one character of it is masked, since m is never 0.

    Args: lengths (B,) of the documents, each at least 1; of (B,), one key each. Returns: (B,) each.
    """
    longest = np.minimum(lengths, form.longest)
    length = draws.integer(of, 0, np.minimum(SHORTEST, longest), longest)
    twice = np.maximum(length - SHORTEST, 0)  # 2 W
    width = twice // 2 + ((twice % 2 == 1) & (draws.uniform(of, 1) < 0.5))
    masked = 1 + draws.integer(of, 2, 0, width)
    return Cuts(length, draws.integer(of, 3, 0, length - masked), masked)


def arrange(ids: Ids, cut: Cuts, form: Form) -> Ids:
    """The strings `prefix M suffix M masked` + PAD of a batch. Args: ids (B, L). Returns: (B, total)."""
    rows, place = np.arange(len(ids)), np.arange(form.total, dtype=np.int32)[None]
    length, start, masked = (a[:, None].astype(np.int32) for a in (cut.length, cut.start, cut.masked))
    second = length - masked + 1  # place of the second M
    # Which character stands at each place: the masked stretch left out from `start` on, and taken up after `second`.
    source = place + (place > start) * (masked - 1)
    source += (place > second) * (start - second - masked)
    np.minimum(source, ids.shape[1] - 1, out=source)  # beyond the end, where PAD will be
    string: Ids = ids.reshape(-1).take(source + (rows * ids.shape[1])[:, None])
    marks = [start, second, length + 2] if form.trailing_mask else [start, second]
    for mark in marks:
        string[rows, mark[:, 0]] = MASK_ID
    np.copyto(string, PAD_ID, where=place >= length + len(marks))
    return string


def corrupt(ids: Ids, lengths: Ids, of: draws.Keys, form: Form | None = None) -> tuple[Ids, Ids]:
    """Corrupt a batch of documents: x = s[:-1] and y = s[1:] of each string s.

    Args: ids (B, L), padded; lengths (B,), at least 1; of (B,), the keys of `draws.keys`; form, the variant.
    Returns: x, y (B, total - 1). Nothing depends on the batch around a document, or on who else draws.
    Raises: BadInput where a document is empty.
    For "abcdefgh" one result is x = "abc⁇fgh⁇de□...", y one place ahead.
    Source: CS224n, assignment 5, part (e), and its skeleton's steps 0 to 5; Raffel et al. (2020), section 3.1.4, for
        the objective. Public solutions differ in the string's length and in a third M: see `Form`.
    """
    form = form or Form()
    if lengths.size and lengths.min() < 1:
        raise BadInput("an empty document cannot be corrupted; leave it out")
    string = arrange(ids, cuts(lengths, of, form), form)
    return string[:, :-1], string[:, 1:]


def restore(x: Ids, y: Ids) -> tuple[Ids, Ids, Cuts]:
    """The inverse of `corrupt`: the cut documents (B, T) padded, their lengths (B,), and what was drawn.

    Raises: BadInput where a string has not the form `prefix M suffix M masked`, or y is not x one place ahead.
    """
    if x.shape != y.shape or (x[:, 1:] != y[:, :-1]).any():
        raise BadInput("y should be x one place ahead")
    string = np.concatenate([x, y[:, -1:]], axis=1)
    place = np.arange(string.shape[1])[None]
    marks = string == MASK_ID
    count = marks.cumsum(1)
    if (count[:, -1] < 2).any():
        raise BadInput("a string has fewer than two masks")
    start, second = (count >= 1).argmax(1), (count >= 2).argmax(1)
    third = np.where(count[:, -1] >= 3, (count >= 3).argmax(1), string.shape[1])
    filled = (string != PAD_ID).sum(1)
    masked = np.minimum(third, filled) - second - 1
    cut = Cuts(second - 1 + masked, start, masked)
    before, inside = cut.start[:, None], cut.masked[:, None]
    source = place + np.where(place >= before, second[:, None] + 1 - before, 0)
    source = np.where(place >= before + inside, place + 1 - inside, source)
    ids = np.take_along_axis(string, np.minimum(source, string.shape[1] - 1), axis=1)
    ids = np.where(place < cut.length[:, None], ids, PAD_ID)
    return ids[:, : int(cut.length.max(initial=0))], cut.length, cut


class CharCorruptionDataset:
    """The assignment's data set, item by item: each access corrupts the document anew, from torch's generator.

    Args: data, a text with one document a line; block_size; form, in place of the default one of that block.
    Raises: BadInput for a reserved character, or no document.
    """

    def __init__(self, data: str, block_size: int, form: Form | None = None) -> None:
        self.vocabulary = Vocabulary.from_text(data)
        self.itos = dict(enumerate(self.vocabulary.characters))
        self.stoi = {c: n for n, c in self.itos.items()}
        self.vocab_size, self.block_size = len(self.vocabulary), block_size
        self.form = form or Form(block_size)
        self.data = documents(data)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> tuple[Tensor, Tensor]:
        """One document, corrupted: x and y (total - 1,)."""
        ids, lengths = self.vocabulary.encode_batch([self.data[idx][: self.form.longest]])
        of = draws.keys(int(torch.randint(2**62, ())), 0, [0])
        x, y = corrupt(ids, lengths, of, self.form)
        return torch.from_numpy(x[0].copy()), torch.from_numpy(y[0].copy())


class CorruptedDocuments:
    """A source of batches: documents, corrupted anew in every epoch.

    Args: ids (n, L), lengths (n,), form, seed. `batch(epoch, indices)` gives {"x", "y"}, tensors (B, total - 1).
    Raises: BadInput where there is no document, or an empty one.
    """

    def __init__(self, ids: Ids, lengths: Ids, form: Form | None = None, seed: int = 0) -> None:
        self.form, self.seed = form or Form(), seed
        if not len(lengths) or lengths.min() < 1:
            raise BadInput("there is no document, or one of them is empty")
        # What lies beyond the longest cut is never used.
        self.ids, self.lengths = np.ascontiguousarray(ids[:, : self.form.longest]), lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def widths(self, epoch: int, indices: Ids) -> Ids:
        """How many places of each example's x are read: what a trainer sorts the parts of a step by."""
        of = draws.keys(self.seed, epoch, indices)
        return cuts(self.lengths[indices], of, self.form).length + 1 + self.form.trailing_mask

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """The examples `indices` of an epoch; always the same, in whatever batch."""
        of = draws.keys(self.seed, epoch, indices)
        x, y = corrupt(self.ids[indices], self.lengths[indices], of, self.form)
        return {"x": torch.from_numpy(x.copy()), "y": torch.from_numpy(y.copy())}
