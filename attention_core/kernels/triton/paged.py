"""Decoding over pages in Triton: the keys of a text are cut into parts for several programs, and the parts merged."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_core.kernels.triton.flash import check_block, check_dtype, check_grid, load_programs

BLOCK = 64
"""Keys that a program reads at once."""


def paged_decode(
    query: Float[Tensor, "B n H d"],
    key_pages: Float[Tensor, "pages page H_kv d"],
    value_pages: Float[Tensor, "pages page H_kv d_v"],
    block_table: Int[Tensor, "B columns"],
    cache_seqlens: Int[Tensor, " B"],
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    block: int = BLOCK,
    splits: int = 8,
) -> Float[Tensor, "B n H d_v"]:
    """Attention of the last n tokens of every text, few of them, to the keys that a block table names.

    Key j of text b is row j % page of page block_table[b, j // page], for j < cache_seqlens[b]. Nothing else is read.

    Args: as `paged_attention`, without windows; block, a power of two of at least 16, and splits, at least 1: keys that
        a program reads at once, and programs among which the keys of a text are divided.
    Returns: (B, n, H, d_v) in the query's dtype; rows without a key are 0.
    Raises: ValueError where shapes or lengths contradict each other, for float64 and for a block that is not such a
        power; RuntimeError for tensors on a processor where triton was imported without TRITON_INTERPRET=1.
    Source: Kwon et al., "PagedAttention" (2023); Dao et al., "Flash-Decoding for long-context inference" (2023).
    """
    (B, n, H, d), (_, page, H_kv, _) = query.shape, key_pages.shape
    check_block(block)
    check_dtype(query)
    check_pages(query, key_pages, value_pages, block_table, cache_seqlens)
    check_splits(splits)
    d_v, group = value_pages.shape[-1], H // max(H_kv, 1)
    out = query.new_zeros(B, n, H, d_v)
    if not out.numel():
        return out
    check_grid(B * H_kv)
    import triton

    programs = load_programs("paged_programs", query)
    query, key_pages, value_pages = (
        x if x.stride(-1) == 1 else x.contiguous() for x in (query, key_pages, value_pages)
    )
    parts = query.new_empty((splits, B, n, H, d_v), dtype=torch.float32)
    lses = query.new_empty((splits, B, n, H), dtype=torch.float32)
    table, lengths = (x.to(torch.int32).contiguous() for x in (block_table, cache_seqlens))
    scale = softmax_scale if softmax_scale is not None else 1.0 / math.sqrt(d) if d else 1.0
    sizes = {name: max(16, triton.next_power_of_2(x)) for name, x in (("ROWS", n * group), ("D_V", d_v))}
    steps = [step for x in (query, key_pages, value_pages) for step in x.stride()[:3]]
    programs.decode_part[splits, B * H_kv](
        query, key_pages, value_pages, table, lengths, parts, lses, *steps, table.shape[1], n, H, H_kv, group, d, d_v,
        page, scale, splits, IS_CAUSAL=causal, BLOCK=block, D=max(16, triton.next_power_of_2(d)), **sizes,
    )  # fmt: skip
    programs.merge_parts[(B * H_kv,)](parts, lses, out, B, n, H, H_kv, group, d_v, splits, **sizes)
    return out


def check_splits(splits: int) -> None:
    """Raise ValueError unless the keys of a text are divided among one program at least."""
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")


def check_pages(query: Tensor, key_pages: Tensor, value_pages: Tensor, table: Tensor, lengths: Tensor) -> None:
    """Raise ValueError unless queries, pages, table and lengths fit; the pages that the table names are not read."""
    H, H_kv, page = query.shape[2], key_pages.shape[2], key_pages.shape[1]
    if key_pages.shape[:3] != value_pages.shape[:3] or query.shape[-1] != key_pages.shape[-1]:
        shapes = f"query {tuple(query.shape)}, keys {tuple(key_pages.shape)}, values {tuple(value_pages.shape)}"
        raise ValueError(f"queries and pages do not fit together: {shapes}")
    if H_kv == 0 or H % H_kv:
        raise ValueError(f"H = {H} query heads are not divisible by H_kv = {H_kv} key heads")
    if len(table) != len(query) or len(lengths) != len(query):
        raise ValueError(f"{len(query)} texts have {len(table)} rows of the table and {len(lengths)} lengths")
    most = table.shape[1] * page
    if len(lengths) and (int(lengths.min()) < 0 or int(lengths.max()) > most):
        raise ValueError(f"lengths {lengths.tolist()} do not fit tables of at most {most} keys")
