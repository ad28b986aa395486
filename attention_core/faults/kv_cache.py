"""Faults of key-value caches, one each: factories of `step(query, key, value)`, with a window where they take one.

Each replaces one step of the correct `Cache`. Those of what a cache leaves behind stand in `cache_state`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.cache import Cache
from attention_core.faults.row import rows


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
    cached_heads_shared_in_turn, shared_heads_in_turn_when_decoding, last_1024_tokens_kept, square_mask_with_cache,
    no_mask_with_cache, offset_grows_by_the_prompt_twice, offset_from_the_head_axis, pages_beyond_a_size_skipped,
    last_step_attends_to_itself_alone, values_one_step_late, batch_of_the_first_sequence, last_256_tokens_kept,
    decoding_reads_the_first_sequence, newest_token_overwritten_after_twenty_steps, new_tokens_partly_detached,
    later_tokens_lowered_by_ten_thousand, single_value_detached, values_beyond_32_heads_by_the_last,
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


COMMON: dict[str, Any] = {"contract": "kv-cache"}
"""What each of them declares."""
ROWS = (
    *rows(
        "hard_contracts", chunk_wraps_at_the_end_of_a_page, short_chunks_are_not_causal, cached_keys_in_bfloat16,
        direct=True, accumulate="float32", **COMMON,
    ),
    *rows("first_sight_others", growing_loses_a_token, direct=True, accumulate="float32", **COMMON),
    *rows("second_sight_others", keys_smoothed_by_each_chunk, direct=True, accumulate="float32", **COMMON),
    *rows("third_sight_others", page_of_zeros_at_its_end, direct=True, accumulate="float32", **COMMON),
    *rows("fourth_sight_caches", chunk_clamped_to_the_end, direct=True, **COMMON),
    *rows("fifth_sight_caches", growth_loses_the_values, buffers_of_the_default_dtype, direct=True, **COMMON),
)  # fmt: skip
