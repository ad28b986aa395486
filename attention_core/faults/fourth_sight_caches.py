"""Faults of key-value caches of the fourth set, by somebody who had seen neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are what they were then, on the
catalogue's own correct base, and declare what they declared then.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from attention_core.faults.kv_cache import Cache
from attention_core.faults.row import row


class rolled_one_step_early(Cache):  # noqa: N801
    """The window's buffer is rolled one step before it is full (huggingface/transformers#37574).

    From as many tokens as the window holds: the oldest is gone, and a slot of zeros is seen until it has left.
    """

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if self.window is not None and self.kept and self.seen == self.window - 1:
            self.kept = [torch.cat([x[..., 1:, :], torch.zeros_like(x[..., :1, :])], -2) for x in self.kept]
        return super().append(key, value)

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        full = self.window is not None and self.seen == self.window - 1  # the slot taken for the empty one is hidden
        return super().allowed(own, places) & ((torch.arange(len(places)) > 0) | torch.tensor(not full))

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        step = super().__call__
        tokens = [[x[..., i : i + 1, :] for x in (query, key, value)] for i in range(query.shape[-2])]
        return torch.cat([step(*token) for token in tokens], -2) if tokens else step(query, key, value)


class evicted_before_a_chunk_attends(Cache):  # noqa: N801
    """A ring of W slots makes room for a chunk before the chunk has attended (ring buffers of serving loops).

    A window, and a chunk of two tokens or more behind others: its first tokens lose their oldest keys.
    """

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        n = key.shape[-2]
        if self.window is not None and self.kept and n > 1:
            start = max(len(self.places) - max(self.window - n, 0), 0)
            self.kept, self.places = [x[..., start:, :] for x in self.kept], self.places[start:]
        return super().append(key, value)


class chunk_clamped_to_the_end(Cache):  # noqa: N801
    """A static cache of 16 rows is written where it fits, as jax.lax.dynamic_update_slice clamps its start.

    More than 16 tokens: a chunk that does not fit overwrites the rows before it.
    """

    size = 16

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        n = key.shape[-2]
        if n > self.size:
            raise ValueError("the chunk is longer than the cache")
        start = min(self.seen, self.size - n)
        self.kept, self.places = [x[..., :start, :] for x in self.kept], self.places[:start]
        return super().append(key, value)

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return torch.arange(len(places)) <= own[:, None]


def list_of_the_class() -> Any:
    """The list of chunks belongs to the class: a new cache sees another's tokens (Python's mutable class attribute).

    A second cache, unless it was reset first.
    """

    class Shared(Cache):
        parts: ClassVar[list[tuple[Tensor, Tensor]]] = []

        def __init__(self, window: int | None = None) -> None:
            self.window, self.seen, self.places = window, 0, torch.arange(0)

        def reset(self) -> None:
            super().reset()
            self.parts = []  # type: ignore[misc]

        def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            self.parts.append((key.clone(), value.clone()))
            keys, values = zip(*self.parts, strict=True)
            self.held = sum(x.shape[-2] for x in keys)
            return torch.cat(keys, -2), torch.cat(values, -2)

        def allowed(self, own: Tensor, places: Tensor) -> Tensor:
            return torch.ones(len(own), self.held, dtype=torch.bool).tril(self.held - len(own))

        def keep(self, key: Tensor, value: Tensor) -> None:
            """The list keeps it."""

    return Shared


TAGS = ("hard", "fourth_sight")
ROWS = (
    *(row(c, *TAGS, direct=True, contract="kv-cache", parameters={"window": 4}) for c in (
        rolled_one_step_early, evicted_before_a_chunk_attends,
    )),
    row(chunk_clamped_to_the_end, *TAGS, direct=True, contract="kv-cache"),
    row(list_of_the_class, *TAGS, contract="kv-cache"),
)  # fmt: skip
