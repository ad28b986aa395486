"""Several sources of batches as one: an epoch goes through all of them, in one order.

Fine-tuning that goes through the corpus again beside its own examples forgets less of it, and learns to reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from finetune.data.vocabulary import Ids
from finetune.errors import BadInput
from finetune.training.train import Source


class Measured(Source, Protocol):
    """A source that tells how much of each example is read."""

    def widths(self, epoch: int, indices: Ids) -> Ids:
        """How many places of each example's x are read."""
        ...


class Mixture:
    """The examples of several sources, numbered through; all must have an x of one length.

    With n_1, n_2, ... examples an epoch has n_1 + n_2 + ...; example i of the mixture is the first source's i where
    i < n_1, then the second's i - n_1, and so on. An example is what its source makes of it, whatever it is mixed with.

    Raises: BadInput where there is no source, or where the strings of two are of different lengths.
    Source: Robins, "Catastrophic forgetting, rehearsal and pseudorehearsal" (1995); Allen-Zhu and Li, "Physics of
        language models: part 3.1" (2023), section 3, for questions mixed with the texts that answer them.
    """

    def __init__(self, sources: Sequence[Measured]) -> None:
        if not sources:
            raise BadInput("a mixture needs a source")
        self.sources = list(sources)
        self.ends = np.cumsum([len(s) for s in self.sources])
        longest = {s.batch(0, np.zeros(1, np.int64))["x"].shape[1] for s in self.sources}
        if len(longest) > 1:
            raise BadInput(f"the sources of a mixture have strings of {sorted(longest)} characters: one form is wanted")

    def __len__(self) -> int:
        return int(self.ends[-1])

    def _parts(self, indices: Ids) -> list[tuple[Measured, Ids, Ids]]:
        """Each source that is read, its own numbers, and their places among `indices`."""
        of = np.searchsorted(self.ends, indices, side="right")
        begins = np.concatenate([[0], self.ends[:-1]])
        found = []
        for number, source in enumerate(self.sources):
            places = np.flatnonzero(of == number)
            if places.size:
                found.append((source, indices[places] - begins[number], places))
        return found

    def widths(self, epoch: int, indices: Ids) -> Ids:
        """How many places of each example's x are read, as its source tells."""
        found = np.empty(len(indices), np.int64)
        for source, own, places in self._parts(np.asarray(indices, np.int64)):
            found[places] = source.widths(epoch, own)
        return found

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """The examples `indices` of an epoch, in their order."""
        parts = self._parts(np.asarray(indices, np.int64))
        back = torch.from_numpy(np.argsort(np.concatenate([places for _, _, places in parts])))
        batches = [source.batch(epoch, own) for source, own, _ in parts]
        return {key: torch.cat([b[key] for b in batches])[back] for key in batches[0]}
