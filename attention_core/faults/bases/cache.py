"""A correct key-value cache, cut into steps that faults replace.

It counts positions explicitly, as servers do, and keeps a window where it is given one.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Cache:
    """Correct: the kept keys with the position of each, and a counter of tokens seen."""

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.seen = 0
        self.kept: list[Tensor] = []
        self.places = torch.arange(0)

    def first(self, query: Tensor) -> int:
        """Position of the first new query."""
        return self.seen

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Everything kept, the new tokens behind it."""
        if not self.kept:
            return key, value
        return torch.cat([self.kept[0], key], -2), torch.cat([self.kept[1], value], -2)

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        """Which key positions the queries' positions may see."""
        allow = places <= own[:, None]
        return allow if self.window is None else allow & (places > own[:, None] - self.window)

    def masked(self, s: Tensor, allow: Tensor) -> Tensor:
        """Scores, those of what is not allowed as low as can be."""
        return s.masked_fill(~allow, -1e30)

    def keep(self, key: Tensor, value: Tensor) -> None:
        """What later steps will need."""
        count = key.shape[-2] if self.window is None else min(key.shape[-2], self.window)
        start = key.shape[-2] - count
        self.kept = [self.own(key[..., start:, :]), self.own(value[..., start:, :])]
        self.places = self.places[start:]

    def own(self, kept: Tensor) -> Tensor:
        """Memory that no caller writes into."""
        return kept.clone()

    def advance(self, query: Tensor) -> None:
        """Count the new tokens."""
        self.seen += query.shape[-2]

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        first, n = self.first(query), query.shape[-2]
        key, value = self.append(key, value)
        self.places = torch.cat([self.places, torch.arange(n) + first])
        allow = self.allowed(torch.arange(n) + first, self.places)
        wide = torch.promote_types(query.dtype, torch.float32)
        s = query.to(wide) @ key.to(wide).transpose(-1, -2) / query.shape[-1] ** 0.5
        out = self.masked(s, allow).softmax(-1) @ value.to(wide)
        self.keep(key, value)
        self.advance(query)
        return out.to(query.dtype)
