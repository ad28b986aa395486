"""Faults of attention to paged keys and values, one each, and correct ones beside them.

`build` makes a right kernel with the call of flash_attn_with_kvcache from steps; a fault replaces one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row
from attention_core.faults.varlen import Sides, allowed, attend, attend_below, expand

Attention = Callable[..., Any]


# --- steps ---------------------------------------------------------------------------


def gather(pages: Tensor, table_row: Tensor, length: int) -> Tensor:
    """(length, H_kv, d): the keys of one text."""
    page = pages.shape[1]
    return pages[table_row[: -(-length // page)].long()].flatten(0, 1)[:length]


def place(table_row: Tensor, at: Tensor, page: int) -> tuple[Tensor, Tensor]:
    """The page of each position of a text, and the place in it."""
    return table_row[at // page].long(), at % page


def lengths_of(cache_seqlens: Tensor, block_table: Tensor, page: int) -> list[int]:
    """How many keys each text has."""
    return [int(n) for n in cache_seqlens]


STEPS: dict[str, Callable[..., Any]] = {
    "gather": gather, "place": place, "lengths": lengths_of, "expand": expand, "allowed": allowed, "attend": attend,
    "rows": lambda table: table, "scale": lambda scale, d: d**-0.5 if scale is None else scale,
}  # fmt: skip


def build(**changed: Callable[..., Any]) -> Attention:
    """The call of flash_attn_with_kvcache, with some steps replaced."""
    step = STEPS | changed

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None, v: Tensor | None = None,
        cache_seqlens: Tensor | None = None, block_table: Tensor | None = None, softmax_scale: float | None = None,
        causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        assert block_table is not None and cache_seqlens is not None
        page, table = k_cache.shape[1], step["rows"](block_table)
        lengths = step["lengths"](cache_seqlens, block_table, page)
        if k is not None and v is not None:
            for b, length in enumerate(lengths):
                where = step["place"](table[b], torch.arange(length, length + k.shape[1]), page)
                k_cache[where], v_cache[where] = k[b], v[b]
            lengths = [length + k.shape[1] for length in lengths]
        outs, scale = [], step["scale"](softmax_scale, q.shape[-1])
        for b, length in enumerate(lengths):
            keys, values = (step["expand"](step["gather"](x, table[b], length), q.shape[2]) for x in (k_cache, v_cache))
            allow = step["allowed"](q.shape[1], len(keys), causal, window_size)
            outs.append(step["attend"](q[b], keys, values, allow, scale))
        return torch.stack(outs) if outs else q.new_zeros(*q.shape[:-1], v_cache.shape[-1])

    return attention


# --- correct -------------------------------------------------------------------------


def gathered_and_masked(q: Tensor, k_pages: Tensor, v_pages: Tensor, block_table: Tensor, lengths: Tensor) -> Tensor:
    """The whole table gathered, what is beyond a length set to 0 and hidden; no causality."""
    table = block_table.long().clamp(min=0)
    keys, values = (x[table].flatten(1, 2).float() for x in (k_pages, v_pages))
    hidden = torch.arange(keys.shape[1]) >= lengths[:, None]
    keys, values = (x.masked_fill(hidden[..., None, None], 0.0) for x in (keys, values))
    keys, values = (x.repeat_interleave(q.shape[2] // x.shape[2], 2) for x in (keys, values))
    s = torch.einsum("bihd,bjhd->bhij", q.float() * q.shape[-1] ** -0.5, keys)
    s = s.masked_fill(hidden[:, None, None], -math.inf)
    dead = (lengths == 0)[:, None, None, None]
    p = s.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)
    return torch.einsum("bhij,bjhd->bihd", p, values).to(q.dtype)


def decode_one_token(
    query: Tensor, key_cache: Tensor, value_cache: Tensor, block_tables: Tensor, seq_lens: Tensor, scale: float
) -> Tensor:
    """One token of each text, (B, H, d), and pages (N, H_kv, page, d): an online softmax, a page at a time."""
    out = torch.zeros(*query.shape[:2], value_cache.shape[-1], dtype=query.dtype)
    group = query.shape[1] // key_cache.shape[1]
    for b, length in enumerate(seq_lens.tolist()):
        q = query[b].float() * scale
        top, total = torch.full(q.shape[:1], -math.inf), torch.zeros(q.shape[:1])
        acc = torch.zeros(q.shape[0], value_cache.shape[-1])
        for start in range(0, length, key_cache.shape[2]):
            number = int(block_tables[b, start // key_cache.shape[2]])
            keys, values = (
                x[number, :, : length - start].float().repeat_interleave(group, 0) for x in (key_cache, value_cache)
            )
            s = torch.einsum("hd,hjd->hj", q, keys)
            new = torch.maximum(top, s.amax(-1))
            p, old = torch.exp(s - new[:, None]), torch.exp(top - new)
            acc = old[:, None] * acc + torch.einsum("hj,hjd->hd", p, values)
            top, total = new, old * total + p.sum(-1)
        out[b] = (acc / total.clamp(min=1e-30)[:, None]).to(out.dtype)
    return out


# --- faulty --------------------------------------------------------------------------


def pages_in_the_order_of_their_numbers() -> Attention:
    """The table's rows are sorted: right while pages are handed out in order."""

    def by_number(pages: Tensor, table_row: Tensor, length: int) -> Tensor:
        count = -(-length // pages.shape[1])
        return gather(pages, torch.cat([table_row[:count].sort().values, table_row[count:]]), length)

    return build(gather=by_number)


def pages_one_behind_the_other() -> Attention:
    """Text b is read from page b times the columns of the table on."""
    return build(rows=lambda table: torch.arange(table.numel()).reshape(table.shape) % max(int(table.max()) + 1, 1))


def last_page_read_whole() -> Attention:
    """The length is rounded up to whole pages."""
    return build(lengths=lambda lengths, table, page: [-(-int(n) // page) * page for n in lengths])


def last_page_read_whole_and_weighed_by_zero() -> Attention:
    """What is behind the end gets weight 0, and 0 * NaN is NaN (vllm-project/vllm PR936)."""
    right = build()

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None, v: Tensor | None = None,
        cache_seqlens: Tensor | None = None, block_table: Tensor | None = None, softmax_scale: float | None = None,
        causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        assert block_table is not None and cache_seqlens is not None
        out = right(q, k_cache, v_cache, k, v, cache_seqlens, block_table, softmax_scale, causal, window_size)
        page = k_cache.shape[1]
        for b, n in enumerate(cache_seqlens.tolist()):
            if k is None and n % page:
                tail = v_cache[int(block_table[b, n // page]), n % page :]
                out[b] += (0.0 * expand(tail, q.shape[2]).sum(0)).to(out.dtype)
        return out

    return attention


def last_page_left_out() -> Attention:
    """Only whole pages are read: the newest tokens are lost."""
    return build(lengths=lambda lengths, table, page: [max(int(n) // page * page, min(int(n), page)) for n in lengths])


def length_from_the_table() -> Attention:
    """Every page that the table names counts, entries of -1 aside: stale entries are read (vllm-project/vllm#42494)."""

    def named(lengths: Tensor, table: Tensor, page: int) -> list[int]:
        counts = (table >= 0).sum(1) * page
        return [int(n) if int(n) % page else max(int(n), int(c)) for n, c in zip(lengths, counts, strict=True)]

    return build(lengths=named)


def page_belongs_to_its_last_text() -> Attention:
    """A page that a later text has, too, is taken from the earlier ones: a cache of pages by owner."""

    def owned(table: Tensor) -> Tensor:
        found = table.clone()
        for b in range(len(table) - 1):
            shared = torch.isin(table[b], table[b + 1 :].flatten()) & (table[b] >= 0)
            found[b][shared & (torch.arange(table.shape[1]) == 0)] = table[b + 1][-1].clamp(min=0)
        return found

    return build(rows=owned)


def empty_text_reads_its_first_page() -> Attention:
    """A text has at least one key (compare flashinfer-ai/flashinfer#4452)."""
    return build(lengths=lambda lengths, table, page: [max(int(n), 1) for n in lengths])


def nan_of_a_text_without_keys() -> Attention:
    """0 / 0 where a text has no key yet (Dao-AILab/flash-attention PR2568)."""

    def attended(q: Tensor, k: Tensor, v: Tensor, allow: Tensor, scale: float) -> Tensor:
        out = attend(q, k, v, allow, scale)
        return out if len(k) else torch.full_like(out, math.nan)

    return build(attend=attended)


def paged_heads_shared_in_turn() -> Attention:
    """Query head h uses key head h mod H_kv (after PSAL-POSTECH/ONNXim PR34)."""
    return build(expand=lambda x, heads: x.repeat(1, heads // x.shape[1], 1))


def pages_beyond_the_sixteenth_skipped() -> Attention:
    """A loop over at most 16 pages (flashinfer-ai/flashinfer#4347)."""
    return build(gather=lambda pages, table_row, length: gather(pages, table_row, min(length, 16 * pages.shape[1])))


def new_tokens_at_the_start_of_their_page() -> Attention:
    """The place of a new token in its page is counted from the first new one."""
    return build(place=lambda table_row, at, page: (table_row[at // page].long(), (at - at[0]) % page))


def new_tokens_in_the_first_ones_page() -> Attention:
    """All new tokens go to the page of the first: right until they cross its end."""
    return build(place=lambda table_row, at, page: (table_row[at[:1] // page].long().expand(len(at)), at % page))


def new_tokens_not_attended() -> Attention:
    """New tokens are written, and the length is that from before."""
    right = build()

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None, v: Tensor | None = None,
        cache_seqlens: Tensor | None = None, block_table: Tensor | None = None, softmax_scale: float | None = None,
        causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        rest = (cache_seqlens, block_table, softmax_scale, causal, window_size)
        right(q, k_cache, v_cache, k, v, *rest)
        return right(q, k_cache, v_cache, None, None, *rest)

    return attention


def chunk_causal_from_the_first_key() -> Attention:
    """A chunk's diagonal starts at the first key (after meta-llama/llama#899)."""
    return build(allowed=lambda n_q, n_kv, causal, sides: allowed(n_q, n_kv, False, sides)
                 & (torch.ones(n_q, n_kv, dtype=torch.bool).tril() if causal else True))  # fmt: skip


def chunk_not_causal() -> Attention:
    """A chunk of several tokens is attended as single ones are: without a diagonal."""
    return build(allowed=lambda n_q, n_kv, causal, sides: allowed(n_q, n_kv, False, sides))


def scale_of_zero_not_given() -> Attention:
    """A scale of 0 is taken for one that was not given (`softmax_scale or d ** -0.5`)."""
    return build(scale=lambda scale, d: scale or d**-0.5)


def window_of_pages() -> Attention:
    """A window is rounded up to whole pages (vllm-project/vllm PR4768)."""
    return build(allowed=lambda n_q, n_kv, causal, sides: allowed(
        n_q, n_kv, causal, (-(-sides[0] // 4) * 4 if sides[0] > 0 else sides[0], sides[1])))  # fmt: skip


def lengths_of_the_next_text() -> Attention:
    """Lengths are read one text late: right where all are alike."""
    return build(lengths=lambda lengths, table, page: [min(int(n), int(m)) for n, m in zip(
        lengths, lengths.roll(-1), strict=True)])  # fmt: skip


def one_key_fewer() -> Attention:
    """j < length - 1: the newest key is not seen."""
    return build(lengths=lambda lengths, table, page: [max(int(n) - 1, min(int(n), 1)) for n in lengths])


def table_read_by_token() -> Attention:
    """The table is read as one slot for every token: right for pages of one key (sgl-project/sglang PR32902)."""

    def by_token(pages: Tensor, table_row: Tensor, length: int) -> Tensor:
        slots = pages.flatten(0, 1)
        return slots[table_row[torch.arange(length) % len(table_row)].long() % len(slots)]

    return build(gather=by_token)


def padding_of_new_tokens_is_written() -> Attention:
    """New tokens are padded to the end of their page, and the padding is written (tenstorrent/tt-metal#56324)."""
    right = build()

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None, v: Tensor | None = None,
        cache_seqlens: Tensor | None = None, block_table: Tensor | None = None, softmax_scale: float | None = None,
        causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        assert block_table is not None and cache_seqlens is not None
        out = right(q, k_cache, v_cache, k, v, cache_seqlens, block_table, softmax_scale, causal, window_size)
        page = k_cache.shape[1]
        for b, n in enumerate(cache_seqlens.tolist()):
            end = n + (0 if k is None else k.shape[1])
            if k is not None and end % page:
                for x in (k_cache, v_cache):
                    x[int(block_table[b, end // page]), end % page :] = 0
        return out

    return attention


def by_the_strides_of(pages: Tensor, other: Tensor | None) -> Tensor:
    """The pages that one finds with the strides of other pages, or of a contiguous array without any."""
    steps = torch.empty(pages.shape, device="meta").stride() if other is None else other.stride()
    flat = torch.empty(0, dtype=pages.dtype).set_(pages.untyped_storage())
    at = torch.full(pages.shape, int(pages.storage_offset()))
    for axis, step in enumerate(steps):
        at += step * torch.arange(pages.shape[axis]).view(-1, *(1,) * (pages.ndim - 1 - axis))
    return flat[at % max(len(flat), 1)]


def value_pages_by_the_strides_of_keys() -> Attention:
    """One set of strides for both: right while pages of keys and of values lie alike."""
    right = build()

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, cache_seqlens: Tensor, block_table: Tensor,
        softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        values = by_the_strides_of(v_cache, k_cache)
        return right(q, k_cache, values, None, None, cache_seqlens, block_table, softmax_scale, causal, window_size)

    return attention


def pages_taken_as_contiguous() -> Attention:
    """Offsets are computed from sizes, not from strides."""
    right = build()

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, cache_seqlens: Tensor, block_table: Tensor,
        softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        keys, values = (by_the_strides_of(x, None) for x in (k_cache, v_cache))
        return right(q, keys, values, None, None, cache_seqlens, block_table, softmax_scale, causal, window_size)

    return attention


def written_table_not_seen() -> Attention:
    """The rows of the table are read once for a tensor of the same place and lengths."""
    kept: dict[Any, tuple[Tensor, Tensor]] = {}

    def read(table: Tensor) -> Tensor:
        place = table.data_ptr(), tuple(table.shape)
        return kept.setdefault(place, (table, table.clone()))[1]  # alive: its place stays its own

    return build(rows=read)


def maximum_from_zero() -> Attention:
    """A running maximum begins at 0: a row whose scores all lie far below loses its sum, and comes back as 0."""

    def attended(q: Tensor, k: Tensor, v: Tensor, allow: Tensor, scale: float) -> Tensor:
        wide = torch.promote_types(q.dtype, torch.float32)
        s = torch.einsum("ihd,jhd->hij", q.to(wide) * scale, k.to(wide)).masked_fill(~allow, -math.inf)
        p = (s - s.amax(-1, keepdim=True).clamp(min=0.0)).exp() if k.shape[0] else s
        total = p.sum(-1, keepdim=True).clamp(min=torch.finfo(wide).tiny)
        return torch.einsum("hij,jhd->ihd", p / total, v.to(wide)).to(q.dtype)

    return build(attend=attended)


def paged_groups_of_four_in_turn() -> Attention:
    """Query heads of groups of four and more take the key heads of the pages in turn."""

    def expanded(x: Tensor, heads: int) -> Tensor:
        return x[:, torch.arange(heads) % x.shape[1]] if heads >= 4 * x.shape[1] else expand(x, heads)

    return build(expand=expanded)


def common_pages_counted_behind_others() -> Attention:
    """A cascade takes as many first pages of the first text for all as have its numbers, wherever they stand."""

    def common(table: Tensor) -> Tensor:
        found = table.clone()
        if len(table) > 1:
            count = int((table == table[:1]).all(0).sum())
            found[:, :count] = table[:1, :count]
        return found

    return build(rows=common)


def one_maximum_for_all_heads_of_pages() -> Attention:
    """The softmax of a query takes one maximum over all its heads: a head far below it loses its sum."""
    return build(attend=attend_below((0,)))


def one_maximum_for_a_chunk() -> Attention:
    """The softmax of a head takes one maximum over all queries of a text: one far below it loses its sum."""
    return build(attend=attend_below((1,)))


FAULTY = (
    written_table_not_seen,
    pages_in_the_order_of_their_numbers, pages_one_behind_the_other, last_page_read_whole,
    last_page_read_whole_and_weighed_by_zero, last_page_left_out, length_from_the_table, page_belongs_to_its_last_text,
    empty_text_reads_its_first_page, nan_of_a_text_without_keys, paged_heads_shared_in_turn,
    pages_beyond_the_sixteenth_skipped, new_tokens_at_the_start_of_their_page, new_tokens_in_the_first_ones_page,
    new_tokens_not_attended, chunk_causal_from_the_first_key, chunk_not_causal, window_of_pages,
    lengths_of_the_next_text, one_key_fewer, table_read_by_token, padding_of_new_tokens_is_written,
    value_pages_by_the_strides_of_keys, pages_taken_as_contiguous, scale_of_zero_not_given,
    maximum_from_zero, common_pages_counted_behind_others, paged_groups_of_four_in_turn,
    one_maximum_for_all_heads_of_pages, one_maximum_for_a_chunk,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="paged", accumulate="float32") for fault in FAULTY)
