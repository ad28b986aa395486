"""Faults of pages that hold numbers of one byte, and of packed queries over pages: right ones with one step replaced.

`build()` gives f(q, k_pages, v_pages, block_table, cache_seqlens, k_scale, v_scale, causal), `build_unified()` the call
of vLLM's unified attention, whose queries are packed. What is declared of a fault stands in the lists at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import row
from attention_core.faults.varlen import allowed, attend, expand

Attention = Callable[..., Any]


# --- steps ---------------------------------------------------------------------------


def pages_of(table_row: Tensor, length: int, page: int) -> Tensor:
    """The numbers of a text's pages."""
    return table_row[: -(-length // page)].long()


def scale_of(scale: Tensor, b: int, used: Tensor, page: int) -> Tensor:
    """The scales of a text's pages as factors (pages, page, H_kv, 1)."""
    if scale.dim() == 3:  # of tokens, where they lie in the pages
        return scale[used][..., None]
    own = scale[b] if scale.dim() == 2 else scale
    return own[:, None] if own.dim() else own


def scale_of_page(scale: Tensor, b: int, used: Tensor, page: int) -> Tensor:
    """The scales of pages (N, H_kv) as factors."""
    return scale[used][:, None, :, None]


def read(pages: Tensor, used: Tensor, factor: Tensor, wide: torch.dtype) -> Tensor:
    """What the numbers of some pages stand for, (keys, H_kv, d)."""
    return (pages[used].to(wide) * factor.to(wide)).flatten(0, 1)


STEPS: dict[str, Callable[..., Any]] = {
    "pages": pages_of, "scale": scale_of, "value_scale": scale_of, "read": read, "read_value": read, "attend": attend,
    "given": lambda k_scale, v_scale: (k_scale, v_scale),
}  # fmt: skip


def build(**changed: Callable[..., Any]) -> Attention:
    """Attention to stored pages, with some steps replaced; as it is, a right one."""
    if "scale" in changed:
        changed.setdefault("value_scale", changed["scale"])
    step = STEPS | changed

    def attention(
        q: Tensor, k_pages: Tensor, v_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor, k_scale: Tensor,
        v_scale: Tensor, causal: bool = False,
    ) -> Tensor:  # fmt: skip
        wide, page = torch.promote_types(q.dtype, torch.float32), k_pages.shape[1]
        k_scale, v_scale = step["given"](k_scale, v_scale)
        out = q.new_zeros(*q.shape[:-1], v_pages.shape[-1])
        for b, length in enumerate(cache_seqlens.tolist()):
            used = step["pages"](block_table[b], length, page)
            keys = step["read"](k_pages, used, step["scale"](k_scale, b, used, page), wide)[:length]
            values = step["read_value"](v_pages, used, step["value_scale"](v_scale, b, used, page), wide)[:length]
            keys, values = (expand(x, q.shape[2]) for x in (keys, values))
            allow = allowed(q.shape[1], length, causal, (-1, -1))
            out[b] = step["attend"](q[b].to(wide), keys, values, allow, q.shape[-1] ** -0.5).to(q.dtype)
        return out

    return attention


def build_of_pages(**changed: Callable[..., Any]) -> Attention:
    """The same with a scale for each page of a head."""
    return build(**{"scale": scale_of_page, **changed})


# --- scales that are left out, or are another's ---------------------------------------------


def page_scale_of_keys_ignored() -> Attention:
    """Scores of stored numbers."""
    return build(scale=lambda scale, *_: torch.ones(()), value_scale=scale_of)


def page_scale_of_values_ignored() -> Attention:
    """Stored values are averaged."""
    return build(value_scale=lambda scale, *_: torch.ones(()))


def page_scales_exchanged() -> Attention:
    """Keys get the scales of values, and values those of keys."""
    return build(given=lambda k_scale, v_scale: (v_scale, k_scale))


def page_scale_applied_twice() -> Attention:
    """Keys are dequantised, and their scores multiplied by the scale once more (vllm-project/vllm PR48016)."""
    return build(scale=lambda *given: scale_of(*given) ** 2, value_scale=scale_of)


def small_page_scales_raised() -> Attention:
    """Scales are at least 1e-3 (lablup/mlxcel PR717)."""
    return build(scale=lambda *given: scale_of(*given).clamp(min=1e-3))


def page_scales_in_bfloat16() -> Attention:
    """Scales are rounded to bfloat16 on their way to the kernel."""
    return build(given=lambda *scales: tuple(x.bfloat16().float() for x in scales))


def page_scale_of_the_first_text() -> Attention:
    """Every text has the scales of the first."""
    return build(scale=lambda scale, b, used, page: scale_of(scale, 0, used, page))


def page_scale_of_the_query_head() -> Attention:
    """Scales of heads are multiplied in after key heads were repeated, in turn: head h has that of h mod H_kv."""

    def attention(
        q: Tensor, k_pages: Tensor, v_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor, k_scale: Tensor,
        v_scale: Tensor, causal: bool = False,
    ) -> Tensor:  # fmt: skip
        wide, page = torch.promote_types(q.dtype, torch.float32), k_pages.shape[1]
        out = q.new_zeros(*q.shape[:-1], v_pages.shape[-1])
        for b, length in enumerate(cache_seqlens.tolist()):
            used = pages_of(block_table[b], length, page)
            turn = torch.arange(q.shape[2]) % k_pages.shape[2]
            keys, values = (
                expand(pages[used].flatten(0, 1)[:length].to(wide), q.shape[2]) * scale[turn][:, None].to(wide)
                for pages, scale in ((k_pages, k_scale), (v_pages, v_scale))
            )
            allow = allowed(q.shape[1], length, causal, (-1, -1))
            out[b] = attend(q[b].to(wide), keys, values, allow, q.shape[-1] ** -0.5).to(q.dtype)
        return out

    return attention


def page_scales_not_found_by_the_table() -> Attention:
    """Scales of pages are read in the order of a text's pages, not by the table."""
    return build_of_pages(scale=lambda scale, b, used, page: scale_of_page(scale, b, torch.arange(len(used)), page))


def token_scales_not_found_by_the_table() -> Attention:
    """Scales of tokens are read as if the pages of a text lay one behind the other from the first on."""
    return build(scale=lambda scale, b, used, page: scale[torch.arange(len(used))][..., None])


def page_scale_of_the_page_before() -> Attention:
    """Keys at a page's start are read with the scale of the page before: the offset is that of the last write."""

    def late(scale: Tensor, b: int, used: Tensor, page: int) -> Tensor:
        factor = scale_of_page(scale, b, used, page).repeat(1, page, 1, 1)
        if len(used) > 1:
            factor[1:, 0] = scale_of_page(scale, b, used, page)[:-1, 0]
        return factor

    return build_of_pages(scale=late)


def last_page_with_the_scale_before() -> Attention:
    """The last page, which is being filled, is read with the scale of the one before (vllm-project/vllm#50749)."""

    def before(scale: Tensor, b: int, used: Tensor, page: int) -> Tensor:
        found = scale_of_page(scale, b, used, page)
        return torch.cat([found[:-1], found[-2:-1]]) if len(used) > 1 else found

    return build_of_pages(scale=before)


def token_scales_one_late() -> Attention:
    """Every token has the scale of the one before it in its page."""
    return build(scale=lambda scale, b, used, page: scale[used].roll(1, 1)[..., None])


def page_scales_of_the_first_call() -> Attention:
    """Scales are kept from the first call of a shape (vllm-project/vllm PR51091)."""
    kept: dict[Any, tuple[Tensor, Tensor]] = {}

    def first(k_scale: Tensor, v_scale: Tensor) -> tuple[Tensor, Tensor]:
        return kept.setdefault(tuple(k_scale.shape), (k_scale.clone(), v_scale.clone()))

    return build(given=first)


# --- numbers --------------------------------------------------------------------------------


def page_numbers_read_unsigned() -> Attention:
    """Bytes are read without their sign."""

    def unsigned(pages: Tensor, used: Tensor, factor: Tensor, wide: torch.dtype) -> Tensor:
        return read(pages.view(torch.uint8), used, factor, wide)

    return build(read=unsigned)


def least_page_number_raised() -> Attention:
    """-128 is taken for -127, as in symmetric formats."""

    def raised(pages: Tensor, used: Tensor, factor: Tensor, wide: torch.dtype) -> Tensor:
        return read(pages.clamp(min=-127), used, factor, wide)

    return build(read=raised)


def scaled_tails_weighed_by_zero() -> Attention:
    """What lies behind a text's end in its last page gets weight 0, and its scale may be NaN."""

    def attention(
        q: Tensor, k_pages: Tensor, v_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor, k_scale: Tensor,
        v_scale: Tensor, causal: bool = False,
    ) -> Tensor:  # fmt: skip
        wide, page = torch.promote_types(q.dtype, torch.float32), k_pages.shape[1]
        out = q.new_zeros(*q.shape[:-1], v_pages.shape[-1])
        for b, length in enumerate(cache_seqlens.tolist()):
            used = pages_of(block_table[b], length, page)
            keys = read(k_pages, used, scale_of(k_scale, b, used, page), wide)
            values = read(v_pages, used, scale_of(v_scale, b, used, page), wide)
            keys, values = (expand(x, q.shape[2]) for x in (keys, values))
            allow = allowed(q.shape[1], length, causal, (-1, -1))
            allow = torch.cat([allow, allow.new_zeros(q.shape[1], len(keys) - length)], -1)
            out[b] = attend(q[b].to(wide), keys, values, allow, q.shape[-1] ** -0.5).to(q.dtype)
        return out

    return attention


# --- packed queries over pages --------------------------------------------------------------


def build_unified(
    rows: Callable[..., Any] = lambda ends, b: slice(int(ends[b]), int(ends[b + 1])), placed: Any = None,
    offset: Callable[[int, int, int], int] = lambda n_kv, n_q, longest: n_kv - n_q,
    length: Callable[..., int] = lambda used, b, n_q: int(used[b]),
) -> Attention:  # fmt: skip
    """The call of vLLM's unified attention: packed queries, their ends, keys in pages, an output to write into."""

    def unified_attention(
        q: Tensor, k: Tensor, v: Tensor, out: Tensor, cu_seqlens_q: Tensor, max_seqlen_q: int, seqused_k: Tensor,
        max_seqlen_k: int, softmax_scale: float, causal: bool, block_table: Tensor,
    ) -> None:  # fmt: skip
        for b in range(len(seqused_k)):
            own = rows(cu_seqlens_q, b)
            n_q = own.stop - own.start
            n_kv = length(seqused_k, b, n_q)
            used = pages_of(block_table[b], n_kv, k.shape[1])
            keys, values = (expand(x[used].flatten(0, 1)[:n_kv], q.shape[1]) for x in (k, v))
            at = torch.arange(n_q)[:, None] + offset(n_kv, n_q, max_seqlen_q)
            allow = torch.arange(n_kv) <= at if causal else torch.ones(n_q, n_kv, dtype=torch.bool)
            (placed or torch.Tensor.copy_)(out[own], attend(q[own], keys, values, allow, softmax_scale))

    return unified_attention


def every_text_as_long_as_the_longest() -> Attention:
    """A text's first position is counted back from its keys by the most queries of any text."""
    return build_unified(offset=lambda n_kv, n_q, longest: n_kv - longest)


def chunks_causal_from_the_first_key() -> Attention:
    """Chunks of a prefill begin at their text's first key."""
    return build_unified(offset=lambda n_kv, n_q, longest: 0)


def new_queries_not_counted_among_keys() -> Attention:
    """A text's keys are those of its context alone: its own new tokens are left out."""
    return build_unified(length=lambda used, b, n_q: max(int(used[b]) - n_q, 0))


def output_added_to() -> Attention:
    """The output is added to what stands in the array that is given for it."""
    return build_unified(placed=lambda target, found: target.add_(found))


def texts_of_as_many_queries() -> Attention:
    """Text b has the rows from b times the mean number of queries on, as in a batch of decoding."""

    def rows(ends: Tensor, b: int) -> slice:
        each = int(ends[-1]) // max(len(ends) - 1, 1)
        return slice(b * each, (b + 1) * each)

    return build_unified(rows=rows)


def first_row_of_each_text() -> Attention:
    """Of every text one row is computed, as in decoding; the others keep what stood there."""
    return build_unified(rows=lambda ends, b: slice(int(ends[b]), min(int(ends[b]) + 1, int(ends[b + 1]))))


STORED: tuple[tuple[dict[str, Any], tuple[Callable[[], Attention], ...]], ...] = (
    ({"stored": "int8"}, (
        page_scale_of_keys_ignored, page_scale_of_values_ignored, page_scales_exchanged, page_scale_applied_twice,
        small_page_scales_raised, page_scales_in_bfloat16, page_scales_of_the_first_call, page_numbers_read_unsigned,
        least_page_number_raised,
    )),
    ({"stored": "int8", "scales": "head"}, (page_scale_of_the_query_head,)),
    ({"stored": "float8_e4m3fn", "scales": "sequence"}, (page_scale_of_the_first_text,)),
    ({"stored": "int8", "scales": "page"}, (
        page_scales_not_found_by_the_table, page_scale_of_the_page_before, last_page_with_the_scale_before,
    )),
    ({"stored": "float8_e4m3fn", "scales": "token"}, (
        token_scales_not_found_by_the_table, token_scales_one_late, scaled_tails_weighed_by_zero,
    )),
)  # fmt: skip
"""What is declared of some faults, and these."""
UNIFIED = (
    every_text_as_long_as_the_longest, chunks_causal_from_the_first_key, new_queries_not_counted_among_keys,
    output_added_to, texts_of_as_many_queries, first_row_of_each_text,
)  # fmt: skip
"""Faults of packed queries."""
FAULTY = {**{fault: declared for declared, faults in STORED for fault in faults}, **{fault: {} for fault in UNIFIED}}
ROWS = tuple(
    row(fault, "law", contract="paged", accumulate="float32", parameters=declared) for fault, declared in FAULTY.items()
)
