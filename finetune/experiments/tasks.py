"""Made-up sequences as sources of batches: what can be predicted in them is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from finetune.data import draws
from finetune.data.running_text import RunningText
from finetune.data.vocabulary import MASK_ID, PAD_ID, Ids

FIRST = 2
"""The first id of a token: 0 is PAD, 1 is MASK."""


def tokens(seed: int, epoch: int, indices: Ids, count: int, kinds: int, stream: int = 0) -> Tensor:
    """Return uniform tokens FIRST ... FIRST + kinds - 1, (len(indices), count); a function of its arguments."""
    keys = draws.keys(seed, epoch, indices)
    columns = [draws.integer(keys, stream + number, 0, kinds - 1) for number in range(count)]
    return FIRST + torch.stack([torch.from_numpy(column) for column in columns], dim=1)


@dataclass(frozen=True)
class RandomTokens:
    """Independent uniform tokens: none follows from those before it, and ln(kinds) is the best loss.

    Args:
        kinds: of tokens.
        block: length of a stretch.
        seed: of the draws.

    >>> RandomTokens(4, 8).batch(0, torch.arange(2).numpy())["x"].shape
    torch.Size([2, 8])
    """

    kinds: int
    block: int
    seed: int = 0

    def __len__(self) -> int:
        return 2**20

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """Return stretches with the token behind each place as its target."""
        text = tokens(self.seed, epoch, indices, self.block + 1, self.kinds)
        return {"x": text[:, :-1], "y": text[:, 1:]}


@dataclass(frozen=True)
class Lookup:
    """Pairs of a key and a letter in random order, then a key: the answer is the letter of its pair.

    A pair is one token, FIRST + key * letters + letter, so one look at the right token suffices. The question is the
    token FIRST + keys * letters + key, and the answer, the target of the last place alone, FIRST + letter.

    Args:
        keys, letters: how many there are; a sequence has a pair for each key.
        seed: of the draws.
    """

    keys: int
    letters: int
    seed: int = 0

    def __len__(self) -> int:
        return 2**20

    @property
    def kinds(self) -> int:
        """How many ids there are, PAD and MASK included."""
        return FIRST + self.keys * self.letters + self.keys

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """Return sequences with one target each."""
        drawn = tokens(self.seed, epoch, indices, self.keys, self.letters) - FIRST
        place = draws.uniform(draws.keys(self.seed, epoch, indices)[:, None], self.keys + np.arange(self.keys))
        order = torch.from_numpy(place.argsort(axis=1))
        asked = tokens(self.seed, epoch, indices, 1, self.keys, 2 * self.keys) - FIRST
        pairs = (FIRST + torch.arange(self.keys) * self.letters + drawn).gather(1, order)
        x = torch.cat([pairs, FIRST + self.keys * self.letters + asked], dim=1)
        y = torch.zeros_like(x)
        y[:, -1] = FIRST + drawn.gather(1, asked)[:, 0]
        return {"x": x, "y": y}


@dataclass(frozen=True)
class Reversal:
    """A sequence to sequence task: the source backwards, each letter exchanged for another by a fixed rule.

    x is source, separator, target without its last letter; y has the letters of the target, PAD before. The letter that
    stands for a is (a + 1) mod letters.

    Args:
        letters: kinds of letters.
        length: of source and target.
        seed: of the draws.
    """

    letters: int
    length: int
    seed: int = 0

    def __len__(self) -> int:
        return 2**20

    @property
    def kinds(self) -> int:
        """How many ids there are: PAD, MASK, the letters, the separator."""
        return FIRST + self.letters + 1

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """Return sequences; the first `length` places are the source."""
        source = tokens(self.seed, epoch, indices, self.length, self.letters)
        target = FIRST + (source.flip(1) - FIRST + 1) % self.letters
        separator = torch.full((len(source), 1), FIRST + self.letters)
        x = torch.cat([source, separator, target[:, :-1]], dim=1)
        return {"x": x, "y": torch.cat([torch.zeros_like(source), target], dim=1)}


class MaskedText:
    """Stretches of a text with a share of the tokens replaced by MASK; the targets are what stood there.

    Args:
        source: of stretches, such as `RunningText`.
        share: the probability that a token is masked.
        seed: of the masks.
    """

    def __init__(self, source: RunningText, share: float, seed: int) -> None:
        self.source, self.share, self.seed = source, share, seed

    def __len__(self) -> int:
        return len(self.source)

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """Return masked stretches."""
        return self.mask(self.source.batch(epoch, indices)["x"], epoch, indices)

    def mask(self, x: Tensor, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """Return stretches with masks that epoch and number decide; at least one place of each is masked."""
        drawn = draws.uniform(draws.keys(self.seed, epoch, indices)[:, None], np.arange(x.shape[1]))
        chosen = torch.from_numpy((drawn < self.share) | (drawn == drawn.min(axis=1, keepdims=True)))
        return {"x": x.masked_fill(chosen, MASK_ID), "y": x.masked_fill(~chosen, PAD_ID)}
