"""Faults of key-value caches of the fifth set, by somebody who had read neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are the faults counted then, on
the catalogue's own correct base, and declare what they declared then.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.kv_cache import Cache
from attention_core.faults.row import row


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


class growth_loses_the_values(Cache):  # noqa: N801
    """Buffers of 16 tokens double: old keys are copied then, old values are not."""

    def reset(self) -> None:
        super().reset()
        self.size = 16

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        while self.seen + key.shape[-2] > self.size:
            self.size *= 2
            self.kept = [*self.kept[:1], *(torch.zeros_like(x) for x in self.kept[1:])]
        return super().append(key, value)


class buffers_of_the_default_dtype(Cache):  # noqa: N801
    """Buffers are float32: keys and values in float64 are rounded."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(*(x.float().to(x.dtype) for x in (key, value)))


def one_store_for_all_caches() -> Any:
    """The store belongs to the class: a new cache empties it, and two caches mix."""
    store: list[Tensor] = []

    class Shared(Cache):
        def reset(self) -> None:
            super().reset()
            store.clear()

        def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            if store:
                key, value = torch.cat([store[0], key], -2), torch.cat([store[1], value], -2)
            store[:] = [key, value]
            self.held = key.shape[-2]
            return key, value

        def allowed(self, own: Tensor, places: Tensor) -> Tensor:
            return torch.ones(len(own), self.held, dtype=torch.bool).tril(self.held - len(own))

        def keep(self, key: Tensor, value: Tensor) -> None:
            """The store keeps it."""

    return Shared


class forgets_after_256(Evicting):  # noqa: N801
    """The last 256 tokens are kept though no window was declared."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.forget_all_but(256 - key.shape[-2])
        return super().append(key, value)


TAGS = ("hard", "fifth_sight")
ROWS = (
    *(row(c, *TAGS, direct=True, contract="kv-cache", parameters={"window": 4}) for c in (
        evicted_before_the_step_attends, long_chunks_keep_two_windows,
    )),
    *(row(c, *TAGS, direct=True, contract="kv-cache") for c in (
        growth_loses_the_values, buffers_of_the_default_dtype, forgets_after_256,
    )),
    row(one_store_for_all_caches, *TAGS, contract="kv-cache"),
)  # fmt: skip
