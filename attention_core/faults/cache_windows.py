"""Faults of windows in key-value caches: what leaves the window, and when."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.cache import Cache
from attention_core.faults.row import rows


class eviction_in_pages(Cache):  # noqa: N801
    """A window is kept by throwing away pages of 8, and the mask trusts that: up to 7 tokens too many are seen."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        first = (own[:, None] - self.window + 1).clamp(min=0) // 8 * 8  # type: ignore[operator]
        return (places <= own[:, None]) & (places >= first)

    def keep(self, key: Tensor, value: Tensor) -> None:
        self.kept = [key, value]


class first_token_never_evicted(Cache):  # noqa: N801
    """The window keeps the first token as a sink, though none is declared."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own, places) | (places == 0)

    def keep(self, key: Tensor, value: Tensor) -> None:
        self.kept = [key, value]


class window_of_the_last_row(Cache):  # noqa: N801
    """All rows of a chunk start where the window of its last row starts."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return (places <= own[:, None]) & (places > own[-1] - self.window)  # type: ignore[operator]


class prefill_longer_than_the_window(Cache):  # noqa: N801
    """A chunk wraps round the ring before it is read, and is masked by slots: early rows see later tokens
    (Lightning-AI/litgpt#2182).
    """

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        W = self.window or len(own)
        if len(own) <= W:
            return super().allowed(own, places)
        return (places > own[-1] - W) & (places % W <= own[:, None])


class chunk_rows_see_the_whole_ring(Cache):  # noqa: N801
    """The mask of the cached part is one row, that of the chunk's first token (pytorch/executorch PR21857).

    A window, and a chunk of two tokens or more behind others: its later rows see keys that have left their window.
    """

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        allow = super().allowed(own, places)
        return allow if self.window is None else allow | ((places < own[0]) & (places > own[0] - self.window))


class ring_joined_as_it_lies(Cache):  # noqa: N801
    """A chunk is put behind the ring's slots, which since the wrap are not in the tokens' order any more
    (ollama/ollama PR14912).

    A window, more single tokens than it holds, then a chunk: the mask and the next eviction take slots for places.
    """

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if self.window and key.shape[-2] > 1 and self.seen > self.window:
            order = (self.places % self.window).argsort()
            self.kept = [x[..., order, :] for x in self.kept]
        return super().append(key, value)


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


class Evicting(Cache):
    """A cache that forgets all but the last tokens when asked."""

    def forget_all_but(self, count: int) -> None:
        start = max(len(self.places) - max(count, 0), 0)
        self.kept, self.places = [x[..., start:, :] for x in self.kept], self.places[start:]


class evicted_before_the_step_attends(Evicting):  # noqa: N801
    """Keys leave the window before the step attends: the first tokens of a short chunk miss some of theirs."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        n = key.shape[-2]
        if self.window is not None and n < self.window:
            self.forget_all_but(self.window - n)
        return super().append(key, value)


class long_chunks_keep_two_windows(Cache):  # noqa: N801
    """Of a chunk longer than two windows, the last two windows are kept before it attends."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        allow = super().allowed(own, places)
        if self.window is not None and len(own) > 2 * self.window:
            allow = allow & (torch.arange(len(places)) >= len(places) - 2 * self.window)
        return allow


class forgets_after_256(Evicting):  # noqa: N801
    """The last 256 tokens are kept though no window was declared."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.forget_all_but(256 - key.shape[-2])
        return super().append(key, value)


COMMON: dict[str, Any] = {"direct": True, "contract": "kv-cache"}
"""What each of them declares."""
ROWS = (
    *rows("hard_contracts", eviction_in_pages, accumulate="float32", parameters={"window": 4}, **COMMON),
    *rows(
        "first_sight_others", first_token_never_evicted, window_of_the_last_row, accumulate="float32",
        parameters={"window": 4}, **COMMON,
    ),
    *rows(
        "second_sight_others", prefill_longer_than_the_window, accumulate="float32", parameters={"window": 4},
        **COMMON,
    ),
    *rows(
        "third_sight_others", chunk_rows_see_the_whole_ring, ring_joined_as_it_lies, accumulate="float32",
        parameters={"window": 4}, **COMMON,
    ),
    *rows(
        "fourth_sight_caches", rolled_one_step_early, evicted_before_a_chunk_attends, parameters={"window": 4},
        **COMMON,
    ),
    *rows(
        "fifth_sight_caches", evicted_before_the_step_attends, long_chunks_keep_two_windows,
        parameters={"window": 4}, **COMMON,
    ),
    *rows("fifth_sight_caches", forgets_after_256, **COMMON),
)  # fmt: skip
