"""Stretches of running text as a source of batches: each place's target is the character after it.

What a character model is trained on, and the part of a text that is held out to judge it by.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from finetune.data import draws
from finetune.data.vocabulary import Ids
from finetune.errors import BadInput


class RunningText:
    """Stretches of `block` characters; an epoch has as many as fit beside one another, at places drawn anew.

    Args: ids (n,) of a text, n > block; block; seed. `batch(epoch, indices)` gives {"x", "y"}, tensors (B, block),
        the same for every caller. Raises: BadInput where the text is too short.
    Example:
        >>> len(RunningText(np.arange(100), 32))
        3
    """

    def __init__(self, ids: Ids, block: int, seed: int = 0) -> None:
        if len(ids) <= block:
            raise BadInput(
                f"a text of {len(ids)} characters has no stretch of {block} and one more; take --block_size down"
            )
        self.ids, self.block, self.seed = torch.from_numpy(np.ascontiguousarray(ids, np.int64)), block, seed

    def __len__(self) -> int:
        return (len(self.ids) - 1) // self.block

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """The stretches of these numbers in an epoch."""
        start = draws.integer(draws.keys(self.seed, epoch, indices), 0, 0, len(self.ids) - 1 - self.block)
        return self._at(torch.from_numpy(start))

    def beside(self) -> list[dict[str, Tensor]]:
        """Stretches beside one another, 64 together: each character of the text but a rest is a target once."""
        count, block = len(self), self.block
        return [self._at(torch.arange(n, min(n + 64, count)) * block) for n in range(0, count, 64)]

    def _at(self, start: Tensor) -> dict[str, Tensor]:
        places = start[:, None] + torch.arange(self.block + 1)
        text = self.ids[places]
        return {"x": text[:, :-1], "y": text[:, 1:]}


def split(ids: Ids, held_out: float) -> tuple[Ids, Ids]:
    """The first part of a text and its end, of which the share `held_out` is kept from training."""
    cut = round(len(ids) * (1 - held_out))
    return ids[:cut], ids[cut:]
