"""Faults of what a cache leaves behind, one each: to its next text, to other caches, to its caller.

Among them are resets that forget too little, steps that are declined and stay, stores that several caches share, and
arrays that belong to the caller. They count among those of `kv_cache`, whose name their results are published under.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from attention_core.faults.bases.cache import Cache
from attention_core.faults.row import rows


class position_not_reset(Cache):  # noqa: N801
    """reset() forgets the tokens, not the position (tenstorrent/tt-inference-server PR4557)."""

    def reset(self) -> None:
        self.place = getattr(self, "seen", 0)
        super().reset()

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own + self.place, places)


class tokens_not_reset(Cache):  # noqa: N801
    """reset() sets the position back and leaves the tokens (as above)."""

    def reset(self) -> None:
        if not hasattr(self, "kept"):
            super().reset()


class long_texts_not_reset(Cache):  # noqa: N801
    """reset() leaves what more than 40 tokens have filled: only the first page is cleared."""

    def reset(self) -> None:
        if getattr(self, "seen", 0) <= 40:
            super().reset()


class smaller_batch_after_reset(Cache):  # noqa: N801
    """Buffers stay after reset(); a smaller batch finds the old tokens beyond its eighth step in them."""

    def reset(self) -> None:
        self.old = list(getattr(self, "kept", []))
        super().reset()

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        key, value = super().append(key, value)
        if self.old and self.old[0].shape[0] > key.shape[0] and self.old[0].shape[1:2] == key.shape[1:2]:
            n = min(key.shape[-2], self.old[0].shape[-2])
            if n > 8 and self.old[0].shape[-1] == key.shape[-1]:
                key = key.clone()
                key[..., 8:n, :] = self.old[0][: key.shape[0], :, 8:n].to(key.dtype)
        return key, value


class dtype_of_the_first_text(Cache):  # noqa: N801
    """reset() forgets the tokens, not the dtype of the store: a later text is rounded to that of the first."""

    dtype: torch.dtype | None = None

    def own(self, kept: Tensor) -> Tensor:
        self.dtype = self.dtype or kept.dtype
        return kept.to(self.dtype).to(kept.dtype, copy=True)


class declined_keys_are_kept(Cache):  # noqa: N801
    """The keys of a step are appended before its values are looked at: a step that is declined for them stays."""

    def reset(self) -> None:
        super().reset()
        self.keys: Tensor | None = None

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.keys = key.clone() if self.keys is None else torch.cat([self.keys, key], -2)
        if value.shape[-2] != key.shape[-2]:
            raise ValueError(f"{key.shape[-2]} keys and {value.shape[-2]} values")
        value = torch.cat([self.kept[1], value], -2) if self.kept else value
        return self.keys[..., : value.shape[-2], :], value


class declined_keys_stop_the_next_step(declined_keys_are_kept):  # noqa: N801
    """The same without the cut: the next step that fits fails, for it has more keys than values."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        _, value = super().append(key, value)
        assert self.keys is not None
        return self.keys, value


class first_page_of_a_declined_step(Cache):  # noqa: N801
    """There is room for 600 tokens, in pages of 64: a step that does not fit is declined behind its first page."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if self.seen + key.shape[-2] > 600:
            super().__call__(*(x[..., :64, :] for x in (query, key, value)))
            raise ValueError("the cache is full")
        return super().__call__(query, key, value)


class cache_shared_by_instances(Cache):  # noqa: N801
    """What is kept lies in the class, not in the instance (compare tenstorrent/tt-inference-server PR4557)."""

    shared: list[Tensor] = []  # noqa: RUF012
    count = [0]  # noqa: RUF012

    def reset(self) -> None:
        self.places = torch.arange(0)
        self.seen = 0
        self.kept = []

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        fits = self.shared and self.shared[0].shape[:-2] == key.shape[:-2] and self.shared[0].dtype == key.dtype
        fits = fits and self.shared[0].shape[-1] == key.shape[-1]
        if fits:
            self.kept = list(self.shared)
            missing = self.shared[0].shape[-2] - len(self.places)
            self.places = torch.cat([torch.zeros(missing, dtype=torch.int64), self.places])
        return super().append(key, value)

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key, value)
        self.shared[:] = self.kept


class buffers_belong_to_the_class(Cache):  # noqa: N801
    """One buffer a shape for all caches, and a position for each: caches used one after the other are right."""

    buffers: dict[tuple[object, ...], Tensor] = {}  # noqa: RUF012

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return self.stored("key", key), self.stored("value", value)

    def stored(self, name: str, new: Tensor) -> Tensor:
        """All tokens so far, in the buffer of their shape."""
        *outer, n, d = new.shape
        buffer = self.buffers.setdefault((name, *outer, d, new.dtype), new.new_zeros(*outer, 1024, d))
        buffer[..., self.seen : self.seen + n, :] = new
        return buffer[..., : self.seen + n, :]


class newest_cache_takes_the_slot(Cache):  # noqa: N801
    """A pool has one slot: a cache that begins takes it, and the one that had it begins anew."""

    owner: list[object] = []  # noqa: RUF012

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if not self.seen:
            self.owner[:] = [self]
        elif self.owner[0] is not self:
            self.kept, self.places, self.seen = [], self.places[:0], 0
        return super().__call__(query, key, value)


class callers_arrays_are_kept(Cache):  # noqa: N801
    """The first keys and values are kept where the caller has them: who writes the next step there changes them."""

    def own(self, kept: Tensor) -> Tensor:
        return kept


class output_of_the_last_step(Cache):  # noqa: N801
    """The output of a step lies in one buffer, as in a captured graph: the next step of its length overwrites it."""

    def reset(self) -> None:
        super().reset()
        self.buffers: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = super().__call__(query, key, value)
        return self.buffers.setdefault(tuple(out.shape), out).copy_(out)


class first_output_is_the_store(Cache):  # noqa: N801
    """The only token there is gets its value as the output: the very array that the cache keeps."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = super().__call__(query, key, value)
        return self.kept[1] if self.kept[1].shape[-2] == 1 else out


class second_page_survives_a_reset(Cache):  # noqa: N801
    """reset() frees the first page of 8 tokens; later pages still hold the keys of the sequence before."""

    def reset(self) -> None:
        self.old = list(getattr(self, "kept", [])) or getattr(self, "old", [])
        super().reset()

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().append(key, value)
        if self.old and self.old[0].shape[:-2] == k.shape[:-2] and self.old[0].shape[-1] == k.shape[-1]:
            n = min(k.shape[-2] - key.shape[-2], self.old[0].shape[-2])  # new tokens are written before they are read
            k = torch.cat([k[..., :8, :], self.old[0][..., 8:n, :].to(k.dtype), k[..., max(8, n) :, :]], -2)
        return k, v


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


FAULTY = (
    first_output_is_the_store, position_not_reset, tokens_not_reset, cache_shared_by_instances,
    smaller_batch_after_reset, output_of_the_last_step, buffers_belong_to_the_class, newest_cache_takes_the_slot,
    callers_arrays_are_kept, long_texts_not_reset, dtype_of_the_first_text, declined_keys_are_kept,
    declined_keys_stop_the_next_step, first_page_of_a_declined_step,
)  # fmt: skip
ROWS = (
    *rows("hard_contracts", second_page_survives_a_reset, direct=True, accumulate="float32", contract="kv-cache"),
    *rows("fourth_sight_caches", list_of_the_class, contract="kv-cache"),
    *rows("fifth_sight_caches", one_store_for_all_caches, contract="kv-cache"),
)
