"""Encoded texts into padded batches: (B, n) with n the longest of the batch, and orders that put like lengths together.

A source for the trainer; what a batch holds is a function of the examples chosen, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from finetune.data.texts import Encoded
from finetune.errors import BadInput

GROUP = 50
"""Batches that are sorted by length among each other; within so many, which examples meet is still left to chance."""


def pad_rows(rows: Sequence[Sequence[int]], value: int, side: str = "right") -> npt.NDArray[np.int64]:
    """Rows of different lengths as (B, n), filled up with a value on one side.

    Raises: BadInput where there is no row, or the side is neither right nor left.
    Example:
        >>> pad_rows([[1, 2], [3]], 0).tolist()
        [[1, 2], [3, 0]]
    """
    if not rows or side not in ("right", "left"):
        raise BadInput(f"{len(rows)} rows cannot be padded on the side {side!r}")
    longest = max(len(row) for row in rows)
    found = np.full((len(rows), longest), value, np.int64)
    for number, row in enumerate(rows):
        at = longest - len(row) if side == "left" else 0
        found[number, at : at + len(row)] = row
    return found


def collate(
    ids: Sequence[Sequence[int]], labels: Sequence[int] | None, pad_id: int,
    types: Sequence[Sequence[int]] | None = None, side: str = "right",
) -> dict[str, Tensor]:  # fmt: skip
    """A batch as encoders take it.

    The mask is made of lengths, never of ids: a text may contain the token of padding.

    Args: ids, B rows of different lengths; labels (B,), None for none; pad_id; types, None where the model has no
        segments; side, of padding.
    Returns: input_ids, attention_mask (1 where real) and token_type_ids (B, n), labels (B,), all int64.
    64 sentences of SST-2, the longest of 45 tokens, have input_ids [64, 45] and labels [64].
    """
    found = {
        "input_ids": pad_rows(ids, pad_id, side),
        "attention_mask": pad_rows([[1] * len(row) for row in ids], 0, side),
    }
    if types is not None:
        found["token_type_ids"] = pad_rows(types, 0, side)
    if labels is not None:
        found["labels"] = np.asarray(labels, np.int64)
    return {name: torch.from_numpy(value) for name, value in found.items()}


def by_length(
    lengths: npt.NDArray[np.int64], order: npt.NDArray[np.int64], batch_size: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """An order in which the examples of a batch have nearly the same length, and the batches come by chance.

    Stretches of GROUP batches of `order` are sorted by length and cut into batches, which are then shuffled; the last
    batch of all, if it is not full, stays the last.

    Returns: a permutation of `order`. With batch_size 1 it is a shuffle.
    """
    span = GROUP * batch_size
    parts = [order[start : start + span] for start in range(0, len(order), span)]
    sorted_parts = [part[np.argsort(lengths[part], kind="stable")] for part in parts]
    batches = [part[at : at + batch_size] for part in sorted_parts for at in range(0, len(part), batch_size)]
    last = [batches.pop()] if len(batches[-1]) < batch_size else []
    return np.concatenate([*(batches[n] for n in generator.permutation(len(batches))), *last])


class LabelledTexts:
    """A source of batches of encoded texts with labels.

    Args: encoded; labels, one for each; pad_id; types: whether the model has segments; grouped: put like lengths
        together; side, of padding.
    Raises: BadInput where labels are missing, or there is no example.
    """

    def __init__(
        self, encoded: Encoded, labels: Sequence[int], pad_id: int, *, types: bool = True, grouped: bool = True,
        side: str = "right",
    ) -> None:  # fmt: skip
        if len(labels) != len(encoded) or not len(encoded):
            raise BadInput(f"{len(encoded)} texts do not go together with {len(labels)} labels")
        self.encoded, self.labels, self.pad_id = encoded, list(labels), pad_id
        self.types, self.grouped, self.side = types, grouped, side
        self.lengths = np.array([len(row) for row in encoded.ids])

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, epoch: int, indices: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """The examples `indices`, padded to the longest of them."""
        chosen = [int(n) for n in indices]
        return collate(
            [self.encoded.ids[n] for n in chosen], [self.labels[n] for n in chosen], self.pad_id,
            [self.encoded.types[n] for n in chosen] if self.types else None, self.side,
        )  # fmt: skip

    def order(self, seed: int, epoch: int, batch_size: int) -> npt.NDArray[np.int64]:
        """The order of the examples in an epoch: a permutation that seed and epoch decide."""
        generator = np.random.default_rng([seed, epoch])
        order = generator.permutation(len(self))
        return by_length(self.lengths, order, batch_size, generator) if self.grouped else order


def in_order(
    source: Any, batch_size: int, lengths: npt.NDArray[np.int64] | None = None
) -> Iterator[Mapping[str, Tensor]]:
    """All examples of a source in batches, for evaluation: never shuffled; by length where lengths are given."""
    order = np.arange(len(source)) if lengths is None else np.argsort(lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        yield source.batch(0, order[start : start + batch_size])
