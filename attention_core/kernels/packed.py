"""Attention over texts that lie one after the other, and over keys that lie in pages: the two forms of serving.

Both gather what a text has and attend to it, text by text: the plainest thing that is right.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_core.kernels.arguments import prepare
from attention_core.kernels.featured import attend_with_features
from attention_core.masking import window


class Features(NamedTuple):
    """What a call asks for beside its arrays, as in `packed_attention`."""

    causal: bool
    softmax_scale: float | None
    window_size: tuple[int, int]
    softcap: float | None
    sinks: Tensor | None
    alibi_slopes: Tensor | None


def packed_attention(
    query: Float[Tensor, "T_q H d"],
    key: Float[Tensor, "T_k H_kv d"],
    value: Float[Tensor, "T_k H_kv d_v"],
    cu_seqlens_q: Int[Tensor, " texts_1"],
    cu_seqlens_k: Int[Tensor, " texts_1"],
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float | None = None,
    sinks: Float[Tensor, " H"] | None = None,
    alibi_slopes: Float[Tensor, " H"] | None = None,
) -> Float[Tensor, "T_q H d_v"]:
    """Attention of every text by itself: rows cu_seqlens_q[b] to cu_seqlens_q[b + 1] of the queries are text b.

    Args: cu_seqlens_q, cu_seqlens_k: 0 and the sums of lengths up to each text; causal: with n_q queries and n_kv keys,
        query i sees the keys j <= i + n_kv - n_q; softmax_scale, None = 1/sqrt(d); window_size, (left, right): at
        most so many keys to either side of j = i + n_kv - n_q, -1 for any number; softcap, c: scaled scores s become
        c tanh(s / c), 0 or None for none; sinks: a score for each head in the normaliser, without a value;
        alibi_slopes: what a score falls by for each key between it and the query. H_kv may divide H.
    Returns: (T_q, H, d_v) in the query's dtype; rows without a key, and rows past the last text, are 0.
    Raises: ValueError where ends do not fit the arrays, or shapes contradict each other.
    Example:
        >>> x, ends = torch.ones(3, 1, 1), torch.tensor([0, 1, 3])
        >>> packed_attention(x, x, torch.tensor([1.0, 2.0, 4.0])[:, None, None], ends, ends).flatten()
        tensor([1., 3., 3.])

    Source: Dao, flash-attention, flash_attn_varlen_func, whose diagonal ends in the last corner, too.
    """
    ends_q, ends_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    if len(ends_q) != len(ends_k):
        raise ValueError(f"{len(ends_q)} ends of queries and {len(ends_k)} of keys are not those of the same texts")
    for ends, rows in ((ends_q, len(query)), (ends_k, len(key))):
        if not ends or ends[0] != 0 or ends[-1] > rows or any(a > b for a, b in pairwise(ends)):
            raise ValueError(f"ends of texts must rise from 0 to at most {rows}, got {ends}")
    features = Features(causal, softmax_scale, window_size, softcap or None, sinks, alibi_slopes)
    outs = [
        attend_to_text(query[a:b], key[c:d], value[c:d], features)
        for (a, b), (c, d) in zip(pairwise(ends_q), pairwise(ends_k), strict=True)
    ]
    unused = query.new_zeros(len(query) - ends_q[-1], query.shape[1], value.shape[-1])
    return torch.cat([*outs, unused])


def paged_attention(
    query: Float[Tensor, "B n H d"],
    key_pages: Float[Tensor, "pages page H_kv d"],
    value_pages: Float[Tensor, "pages page H_kv d_v"],
    block_table: Int[Tensor, "B columns"],
    cache_seqlens: Int[Tensor, " B"],
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float | None = None,
    sinks: Float[Tensor, " H"] | None = None,
    alibi_slopes: Float[Tensor, " H"] | None = None,
) -> Float[Tensor, "B n H d_v"]:
    """Attention of the last n tokens of every text to the keys that a block table names.

    Key j of text b is row j % page of page block_table[b, j // page], for j < cache_seqlens[b]. Nothing else is read:
    what lies past the last key, in other pages, or in the table past the last page does not matter.

    Args: as `packed_attention`.
    Returns: (B, n, H, d_v) in the query's dtype; rows without a key are 0.
    Raises: ValueError where a length does not fit the table.
    Example:
        >>> pages = torch.tensor([4.0, 1.0, 2.0])[:, None, None, None]
        >>> paged_attention(pages[:1], 0 * pages, pages, torch.tensor([[2, 0, 9]]), torch.tensor([2])).flatten()
        tensor([3.])

    Source: Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023).
    """
    page, columns = key_pages.shape[1], block_table.shape[1]
    lengths = cache_seqlens.tolist()
    if len(lengths) != len(query) or any(not 0 <= n <= columns * page for n in lengths):
        raise ValueError(f"lengths {lengths} do not fit {len(query)} texts of at most {columns} pages of {page} keys")
    outs, features = [], Features(causal, softmax_scale, window_size, softcap or None, sinks, alibi_slopes)
    for one, row, length in zip(query, block_table, lengths, strict=True):
        used = row[: -(-length // page)].long()
        keys, values = (pages[used].flatten(0, 1)[:length] for pages in (key_pages, value_pages))
        outs.append(attend_to_text(one, keys, values, features))
    return torch.stack(outs) if outs else query.new_zeros(*query.shape[:-1], value_pages.shape[-1])


def attend_to_text(
    query: Float[Tensor, "n_q H d"],
    key: Float[Tensor, "n_kv H_kv d"],
    value: Float[Tensor, "n_kv H_kv d_v"],
    features: Features,
) -> Float[Tensor, "n_q H d_v"]:
    """Attention of one text, whose queries are its last tokens (see `packed_attention`)."""
    n_q, n_kv = len(query), len(key)
    left, right = features.window_size[0], 0 if features.causal else features.window_size[1]
    seen = window(left, right, "bottom_right").dense(n_q, n_kv, query.device)
    shared = key.shape[1] != query.shape[1]
    q, k, v = (x.transpose(0, 1) for x in (query, key, value))
    problem = prepare(q, k, v, seen, scale=features.softmax_scale, enable_gqa=shared)
    if features.alibi_slopes is not None:
        rows, keys = (torch.arange(n, device=query.device) for n in (n_q, n_kv))
        behind = rows[:, None] + n_kv - n_q - keys
        slopes = features.alibi_slopes.to(problem.query.dtype)[:, None, None]
        problem = problem._replace(bias=-slopes * behind.abs())
    out = attend_with_features(problem, features.softcap, features.sinks)
    return out.transpose(0, 1).to(query.dtype)
