"""Made-up sequences as sources of batches: what can be predicted in them is known."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from finetune.data import draws
from finetune.data.vocabulary import Ids

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
