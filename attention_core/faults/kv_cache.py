"""Faults of key-value caches, one each: factories of `step(query, key, value)`, with a window where they take one.

`Cache` is correct, counts positions explicitly as servers do, and is cut into steps; a fault replaces one.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from attention_core.faults.row import rows


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


class square_mask_with_cache(Cache):  # noqa: N801
    """The mask of a chunk is (n, n), and the cached prefix gets it too (meta-llama/llama#899, candle PR3743)."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        n = len(own)
        return torch.ones(n, len(places), dtype=torch.bool).tril() if n > 1 else super().allowed(own, places)


class no_mask_with_cache(Cache):  # noqa: N801
    """With a prefix cached, a chunk is not causal inside (huggingface/candle PR3743)."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        allow = super().allowed(own, places)
        return allow if len(own) == len(places) else torch.ones_like(allow)


class offset_grows_by_the_prompt_twice(Cache):  # noqa: N801
    """The offset grows by what was counted before as well (skyzh/tiny-llm PR46)."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own + self.seen, places)


class offset_from_the_head_axis(Cache):  # noqa: N801
    """offset = q.shape[-3]; H = n hides it (fla-org/flash-linear-attention#126)."""

    def advance(self, query: Tensor) -> None:
        self.seen += query.shape[-3]


class offset_is_what_is_kept(Cache):  # noqa: N801
    """After eviction positions go on from the number of kept rows (rajveer43/VeloxQuant-MLX#389)."""

    def first(self, query: Tensor) -> int:
        return len(self.places)


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


class newest_token_overwritten_after_twenty_steps(Cache):  # noqa: N801
    """From the 21st step on a token takes the place of the one before it: the store grows no more."""

    def reset(self) -> None:
        super().reset()
        self.steps = 0

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.steps += 1
        if self.steps > 20:
            n = key.shape[-2]
            self.kept = [part[..., :-n, :] for part in self.kept]
            self.places = self.places[:-n]
        return super().append(key, value)


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


class mask_not_cropped_to_what_is_kept(Cache):  # noqa: N801
    """A mask for all tokens meets the last ones: its first columns are used (fla-org/flash-linear-attention#431)."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own, torch.arange(len(places)))


class window_one_wider(Cache):  # noqa: N801
    """W + 1 tokens are seen (huggingface/transformers#39408)."""

    def __init__(self, window: int) -> None:
        super().__init__(window + 1)


class window_one_shorter(Cache):  # noqa: N801
    """The buffer holds W tokens with the new one, and one more is dropped before it is used."""

    def __init__(self, window: int) -> None:
        super().__init__(window - 1)


class window_ignored(Cache):  # noqa: N801
    """Nothing is ever out of sight (proger/hippogriff#7)."""

    def __init__(self, window: int) -> None:
        super().__init__(None)


class window_evicts_before_the_chunk(Cache):  # noqa: N801
    """A chunk is cut to the buffer before its first queries have seen their tokens."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        key, value = super().append(key, value)
        assert self.window is not None
        self.late = max(0, key.shape[-2] - self.window)
        return key, value

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own, places) & (torch.arange(len(places)) >= self.late)


class pages_beyond_a_size_skipped(Cache):  # noqa: N801
    """A table of 128 entries is indexed modulo its size (flashinfer-ai/flashinfer#4347)."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        key, value = super().append(key, value)
        rows = torch.arange(key.shape[-2]) % 128
        return key[..., rows, :], value[..., rows, :]

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key, value)


class last_step_attends_to_itself_alone(Cache):  # noqa: N801
    """A single token takes a decoding path that forgets the cache."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return super().allowed(own, places) if len(own) > 1 else places == own[:, None]


class values_one_step_late(Cache):  # noqa: N801
    """New values are written after the attention, new keys before."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = super().append(key, value)
        return keys, torch.cat([values[..., :1, :], values[..., :-1, :]], -2)

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key, torch.cat([value[..., 1:, :], value[..., -1:, :]], -2))


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


class decoding_reads_the_first_sequence(Cache):  # noqa: N801
    """With more than 64 keys a step of up to 8 tokens is split, and the last part is that of the first sequence."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        n = key.shape[-2]
        key, value = super().append(key, value)
        if n <= 8 and key.shape[-2] > 64:
            part = key.shape[-2] // 64 * 64
            key = torch.cat([key[..., :part, :], key[:1, :, part:].expand_as(key[..., part:, :])], -2)
        return key, value

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key, value)


class batch_of_the_first_sequence(Cache):  # noqa: N801
    """The first sequence's keys serve the whole batch; B = 1 hides it (compare jax-ml/jax#23349)."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(key[:1].expand_as(key), value)


class last_256_tokens_kept(Cache):  # noqa: N801
    """The last 256 tokens are kept, although no window is declared: a store made for short texts."""

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key[..., -256:, :], value[..., -256:, :])
        self.places = self.places[-256:]


class output_of_the_last_step(Cache):  # noqa: N801
    """The output of a step lies in one buffer, as in a captured graph: the next step of its length overwrites it."""

    def reset(self) -> None:
        super().reset()
        self.buffers: dict[tuple[int, ...], Tensor] = {}

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = super().__call__(query, key, value)
        return self.buffers.setdefault(tuple(out.shape), out).copy_(out)


class new_tokens_partly_detached(Cache):  # noqa: N801
    """The keys of a step are read from the store, where they lie detached, save for the last one."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(torch.cat([key[..., :-1, :].detach(), key[..., -1:, :]], -2), value)


class single_value_detached(Cache):  # noqa: N801
    """A step of one token takes its value from the store, where it lies detached; longer steps pass everything."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(key, value.detach() if value.shape[-2] == 1 else value)


class later_tokens_lowered_by_ten_thousand(Cache):  # noqa: N801
    """Masked scores are lowered by 10,000, as in float16 (google-research/bert)."""

    def masked(self, s: Tensor, allow: Tensor) -> Tensor:
        return s - 1e4 * ~allow


class last_1024_tokens_kept(Cache):  # noqa: N801
    """The last 1,024 tokens are kept, although no window is declared."""

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key[..., -1024:, :], value[..., -1024:, :])
        self.places = self.places[-1024:]


class first_output_is_the_store(Cache):  # noqa: N801
    """The only token there is gets its value as the output: the very array that the cache keeps."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = super().__call__(query, key, value)
        return self.kept[1] if self.kept[1].shape[-2] == 1 else out


class cached_heads_shared_in_turn(Cache):  # noqa: N801
    """Key heads are repeated one behind the other, `repeat` in place of `repeat_interleave`: h mod H_kv."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        group = query.shape[1] // key.shape[1]
        return super().__call__(query, *(x.repeat(1, group, 1, 1) for x in (key, value)))


class shared_heads_in_turn_when_decoding(Cache):  # noqa: N801
    """A single token finds its key heads by h mod H_kv; longer steps find them as they should."""

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        heads, shared = torch.arange(query.shape[1]), query.shape[1] // key.shape[1]
        if query.shape[2] > 1 or not self.kept or shared == 1:
            return super().__call__(query, *(x.repeat_interleave(shared, 1) for x in (key, value)))
        own, turned = heads // shared, heads % key.shape[1]
        kept = [x.clone() for x in self.kept]
        self.kept = [x[:, ::shared][:, turned] for x in kept]
        out = super().__call__(query, key[:, turned], value[:, turned])
        pairs = zip(kept, (key, value), strict=True)
        self.kept = [torch.cat([x, new[:, own]], -2) for x, new in pairs]
        return out


class values_beyond_32_heads_by_the_last(Cache):  # noqa: N801
    """Heads from the 33rd on use the values of the 32nd."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return super().append(key, value[:, torch.arange(value.shape[1]).clamp(max=31)])


FAULTY = (
    cached_heads_shared_in_turn, shared_heads_in_turn_when_decoding,
    last_1024_tokens_kept, first_output_is_the_store,
    square_mask_with_cache, no_mask_with_cache, offset_grows_by_the_prompt_twice, offset_from_the_head_axis,
    position_not_reset, tokens_not_reset, pages_beyond_a_size_skipped, last_step_attends_to_itself_alone,
    values_one_step_late, cache_shared_by_instances, batch_of_the_first_sequence, smaller_batch_after_reset,
    output_of_the_last_step, last_256_tokens_kept, buffers_belong_to_the_class, newest_cache_takes_the_slot,
    callers_arrays_are_kept, decoding_reads_the_first_sequence, long_texts_not_reset,
    newest_token_overwritten_after_twenty_steps, new_tokens_partly_detached, later_tokens_lowered_by_ten_thousand,
    dtype_of_the_first_text, single_value_detached, declined_keys_are_kept,
    declined_keys_stop_the_next_step, first_page_of_a_declined_step,
    values_beyond_32_heads_by_the_last,
)  # fmt: skip
WINDOWED = (
    offset_is_what_is_kept, mask_not_cropped_to_what_is_kept, window_one_wider, window_one_shorter, window_ignored,
    window_evicts_before_the_chunk,
)  # fmt: skip


class chunk_wraps_at_the_end_of_a_page(Cache):  # noqa: N801
    """Pages hold 16 tokens; a chunk that crosses the end of one is written from that page's start on."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        old, n = len(self.places), key.shape[-2]
        k, v = super().append(key, value)
        place = torch.arange(old + n)
        crossing = old % 16 + n > 16 and old % 16 > 0 and n <= 16
        if crossing:
            first = old // 16 * 16
            for t in range(16 - old % 16, n):
                place[first + (old % 16 + t) % 16] = old + t
        return k[..., place, :], v[..., place, :]


class short_chunks_are_not_causal(Cache):  # noqa: N801
    """Chunks of two to four tokens take the decoding kernel, which lets them see one another."""

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        allow = super().allowed(own, places)
        return allow | (places >= own[0]) if 2 <= len(own) <= 4 and len(places) > len(own) else allow


class cached_keys_in_bfloat16(Cache):  # noqa: N801
    """Keys are cached in bfloat16, for float32 inputs too: 4e-3 relative, the newest tokens are exact."""

    def keep(self, key: Tensor, value: Tensor) -> None:
        super().keep(key, value)
        self.kept[0] = self.kept[0].bfloat16().to(key.dtype)


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


class growing_loses_a_token(Cache):  # noqa: N801
    """When a buffer of 32 tokens is copied into one of 64, the last one stays behind."""

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        k, v = super().append(key, value)
        if len(self.places) <= 32 < k.shape[-2] and len(self.places) == 32:
            k = k.clone()
            k[..., 31, :] = 0
        return k, v


class keys_smoothed_by_each_chunk(Cache):  # noqa: N801
    """Chunks of eight tokens and more take out their mean key, which one softmax does not see; beside other
    chunks it does.
    """

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if key.shape[-2] >= 8:
            key = key.to(torch.promote_types(key.dtype, torch.float32))
            key = key - key.mean(-2, keepdim=True)
        return super().append(key, value)


class page_of_zeros_at_its_end(Cache):  # noqa: N801
    """The next page is allotted when one of 8 is full, and counted as if it were full as well
    (pegainfer-project/pegainfer#291).

    A single token that makes the length a multiple of 8 sees eight keys of zero, with values of zero.
    """

    blank = 0

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        single, (key, value) = key.shape[-2] == 1, super().append(key, value)
        self.blank = 8 if single and key.shape[-2] % 8 == 0 and self.window is None else 0
        key, value = (torch.nn.functional.pad(x, (0, 0, 0, self.blank)) for x in (key, value))
        return key, value

    def allowed(self, own: Tensor, places: Tensor) -> Tensor:
        return torch.nn.functional.pad(super().allowed(own, places), (0, self.blank), value=True)

    def keep(self, key: Tensor, value: Tensor) -> None:
        end = key.shape[-2] - self.blank
        super().keep(key[..., :end, :], value[..., :end, :])


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


COMMON: dict[str, Any] = {"contract": "kv-cache"}
"""What each of them declares."""
ROWS = (
    *rows(
        "hard_contracts", chunk_wraps_at_the_end_of_a_page, short_chunks_are_not_causal, cached_keys_in_bfloat16,
        second_page_survives_a_reset, direct=True, accumulate="float32", **COMMON,
    ),
    *rows("first_sight_others", growing_loses_a_token, direct=True, accumulate="float32", **COMMON),
    *rows("second_sight_others", keys_smoothed_by_each_chunk, direct=True, accumulate="float32", **COMMON),
    *rows("third_sight_others", page_of_zeros_at_its_end, direct=True, accumulate="float32", **COMMON),
    *rows("fourth_sight_caches", chunk_clamped_to_the_end, direct=True, **COMMON),
    *rows("fourth_sight_caches", list_of_the_class, **COMMON),
    *rows("fifth_sight_caches", growth_loses_the_values, buffers_of_the_default_dtype, direct=True, **COMMON),
    *rows("fifth_sight_caches", one_store_for_all_caches, **COMMON),
)  # fmt: skip
