"""Faults of attention over packed texts, one each, and correct ones: loops, padded batches, a dense mask of texts.

`build` makes a right kernel with the call of flash_attn_varlen_func from steps; a fault replaces one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.shared_maximum import weigh_below
from attention_core.faults.row import row

Attention = Callable[..., Any]
Sides = tuple[int, int]


# --- steps ---------------------------------------------------------------------------


def ends(cu: Tensor, most: int) -> list[int]:
    """Where texts end, as numbers."""
    return [int(x) for x in cu]


def part(x: Tensor, start: int, stop: int) -> Tensor:
    """The rows of a text."""
    return x[start:stop]


def expand(key: Tensor, heads: int) -> Tensor:
    """(n, H_kv, d) for all query heads."""
    return key.repeat_interleave(heads // key.shape[1], 1)


def allowed(n_q: int, n_kv: int, causal: bool, sides: Sides) -> Tensor:
    """Which key a query may attend; the queries are the last tokens."""
    i, j = torch.arange(n_q)[:, None] + n_kv - n_q, torch.arange(n_kv)
    left, right = sides
    allow = torch.ones(n_q, n_kv, dtype=torch.bool)
    if causal:
        allow &= j <= i
    if left >= 0:
        allow &= j >= i - left
    if right >= 0:
        allow &= j <= i + right
    return allow


def attend(q: Tensor, k: Tensor, v: Tensor, allow: Tensor, scale: float) -> Tensor:
    """(n_q, H, d_v) of one text; rows without a key are 0."""
    wide = torch.promote_types(q.dtype, torch.float32)
    s = torch.einsum("ihd,jhd->hij", q.to(wide) * scale, k.to(wide)).masked_fill(~allow, -math.inf)
    dead = ~allow.any(-1)[:, None]
    p = s.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0) if k.shape[0] else s
    return torch.einsum("hij,jhd->ihd", p, v.to(wide)).to(q.dtype)


STEPS: dict[str, Callable[..., Any]] = {
    "ends": ends, "part": part, "expand": expand, "allowed": allowed, "attend": attend,
    "scale": lambda scale, d: d**-0.5 if scale is None else scale,
}  # fmt: skip


def build(**changed: Callable[..., Any]) -> Attention:
    """The call of flash_attn_varlen_func, with some steps replaced."""
    step = STEPS | changed

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        ends_q, ends_k = step["ends"](cu_seqlens_q, max_seqlen_q), step["ends"](cu_seqlens_k, max_seqlen_k)
        outs, scale = [q[:0, :, :1].expand(-1, -1, v.shape[-1])], step["scale"](softmax_scale, q.shape[-1])
        for i in range(len(ends_q) - 1):
            one = step["part"](q, ends_q[i], ends_q[i + 1])
            keys, values = (step["expand"](step["part"](x, ends_k[i], ends_k[i + 1]), q.shape[1]) for x in (k, v))
            allow = step["allowed"](len(one), len(keys), causal, window_size)
            outs.append(step["attend"](one, keys, values, allow, scale))
        out = torch.cat(outs)
        unused = q.new_zeros(len(q) - len(out), q.shape[1], v.shape[-1])
        return torch.cat([out, unused])

    return attention


# --- correct -------------------------------------------------------------------------


def a_loop_over_texts(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, causal: bool = False) -> Tensor:
    """torch's own attention, text by text; as many queries as keys."""
    sdpa = torch.nn.functional.scaled_dot_product_attention
    outs = []
    for a, b in pairwise(cu_seqlens.tolist()):
        query, key, value = (x[a:b].transpose(0, 1) for x in (q, k, v))
        outs.append(sdpa(query, key, value, is_causal=causal).transpose(0, 1))
    out = torch.cat([q[:0, :, :1].expand(-1, -1, v.shape[-1]), *outs])
    return torch.cat([out, q.new_zeros(len(q) - len(out), *out.shape[1:])])


def by_a_mask_of_texts(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
    """One dense product under the mask of equal text numbers: NaN of one text reaches the others."""
    T = int(lengths.sum())
    text = torch.repeat_interleave(torch.arange(len(lengths)), lengths.long())
    s = torch.einsum("ihd,jhd->hij", q[:T].float() * q.shape[-1] ** -0.5, k[:T].float())
    p = s.masked_fill(text[:, None] != text, -math.inf).softmax(-1) if T else s
    out = torch.einsum("hij,jhd->ihd", p, v[:T].float()).to(q.dtype)
    return torch.cat([out, q.new_zeros(len(q) - T, *out.shape[1:])])


def with_lse(
    q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, is_causal: bool = False
) -> tuple[Tensor, Tensor]:
    """Returns (out, lse (H, T_q)) as well."""
    out = build()(q, k, v, cu_q, cu_k, 0, 0, causal=is_causal)
    lse = torch.full((q.shape[1], len(q)), -math.inf, dtype=torch.promote_types(q.dtype, torch.float32))
    for a, b, c, d in zip(cu_q[:-1], cu_q[1:], cu_k[:-1], cu_k[1:], strict=True):
        keys = expand(k[c:d], q.shape[1]).to(lse.dtype)
        s = torch.einsum("ihd,jhd->hij", q[a:b].to(lse.dtype) * q.shape[-1] ** -0.5, keys)
        allow = allowed(int(b - a), int(d - c), is_causal, (-1, -1))
        lse[:, a:b] = s.masked_fill(~allow, -math.inf).logsumexp(-1)
    return out, lse


# --- faulty --------------------------------------------------------------------------


def one_text_of_all() -> Attention:
    """The boundaries are ignored, and documents attend to each other (fla-org/flash-linear-attention PR842)."""
    return build(ends=lambda cu, most: [int(cu[0]), int(cu[-1])])


def empty_text_gets_the_next_ones_key() -> Attention:
    """One key at least is read of a text, if need be the next one's (after Dao-AILab/flash-attention PR1155)."""

    def padded(x: Tensor, start: int, stop: int) -> Tensor:
        return x[start : max(stop, start + 1)] if x.shape[0] > start else x[start:stop]

    return _keys(padded)


def _keys(change: Callable[[Tensor, int, int], Tensor]) -> Attention:
    """Right queries, and keys and values of texts read otherwise."""
    right = build()

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        texts = [(int(a), int(b)) for a, b in pairwise(cu_seqlens_k)]
        keys, values = ([change(x, *text) for text in texts] for x in (k, v))
        cu = torch.tensor([0, *(len(x) for x in keys)]).cumsum(0)
        given = (torch.cat([k[:0], *keys]), torch.cat([v[:0], *values]), cu_seqlens_q, cu, max_seqlen_q, max_seqlen_k)
        return right(q, *given, softmax_scale, causal, window_size)

    return attention


def nan_where_a_text_has_no_keys() -> Attention:
    """0 / 0 where a text has queries and no keys (Dao-AILab/flash-attention PR2568)."""

    def attended(q: Tensor, k: Tensor, v: Tensor, allow: Tensor, scale: float) -> Tensor:
        out = attend(q, k, v, allow, scale)
        return out if len(k) else torch.full_like(out, math.nan)

    return build(attend=attended)


def empty_texts_counted_out() -> Attention:
    """Empty texts are dropped from the ends of queries alone."""

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        kept = torch.unique_consecutive(cu_seqlens_q)
        rest = (cu_seqlens_k[: len(kept)], max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)
        return build()(q, k, v, kept, *rest)

    return attention


def block_reads_into_the_next_text() -> Attention:
    """Blocks of 8 keys are read whole, and weighed by 0 behind the end (Dao-AILab/flash-attention#2374)."""

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        rest = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)
        out = build()(q, k, v, *rest).clone()
        for a, b, c, d in zip(cu_seqlens_q[:-1], cu_seqlens_q[1:], cu_seqlens_k[:-1], cu_seqlens_k[1:], strict=True):
            tail = v[d : c + -(-(d - c) // 8) * 8]
            if len(tail) and b > a:
                out[a:b] += (0.0 * expand(tail, q.shape[1]).sum(0)).to(out.dtype)
        return out

    return attention


def last_text_reaches_the_end() -> Attention:
    """The last text has all keys that are left, padding too (after sgl-project/sgl-flash-attn PR47)."""

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        cu_k = cu_seqlens_k.clone()
        cu_k[-1] = len(k)
        return build()(q, k, v, cu_seqlens_q, cu_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)

    return attention


def lengths_from_the_maximum() -> Attention:
    """A larger maximum moves the ends of all texts (after flashinfer-ai/flashinfer#4647)."""

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        longest = int((cu_seqlens_k[1:] - cu_seqlens_k[:-1]).max()) if len(cu_seqlens_k) > 1 else 0
        cu_k = cu_seqlens_k.clone()
        if max_seqlen_k > longest:
            cu_k[1:-1] = torch.minimum(cu_k[1:-1] + max_seqlen_k - longest, cu_k[-1])
        return build()(q, k, v, cu_seqlens_q, cu_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)

    return attention


def queries_cut_at_the_maximum_of_keys() -> Attention:
    """The two maxima are exchanged: queries beyond the longest text of keys are left 0."""

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        rest = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)
        out = build()(q, k, v, *rest).clone()
        for a, b in pairwise(cu_seqlens_q):
            out[a + max_seqlen_k : b] = 0
        return out

    return attention


def heads_shared_in_turn() -> Attention:
    """Query head h uses key head h mod H_kv."""
    return build(expand=lambda x, heads: x.repeat(1, heads // x.shape[1], 1))


def first_key_head_for_few_tokens() -> Attention:
    """With fewer tokens than texts the group is taken for the batch (after Dao-AILab/flash-attention#1619)."""
    return build(expand=lambda x, heads: x[:, :1].expand(-1, heads, -1) if len(x) == 1 else expand(x, heads))


def gradients_of_the_first_shared_head() -> Attention:
    """A key head that query heads share gets the gradient of the first of them alone."""

    def share(key: Tensor, heads: int) -> Tensor:
        first = torch.arange(heads) % (heads // key.shape[1]) == 0
        wide = expand(key, heads)
        return torch.where(first[:, None], wide, wide.detach())

    return build(expand=share)


def later_tokens_lowered() -> Attention:
    """Scores of pairs that are not allowed are lowered by 10,000, as in BERT (google-research/bert, modeling.py)."""

    def attended(q: Tensor, k: Tensor, v: Tensor, allow: Tensor, scale: float) -> Tensor:
        wide = torch.promote_types(q.dtype, torch.float32)
        s = torch.einsum("ihd,jhd->hij", q.to(wide) * scale, k.to(wide)) - 1e4 * ~allow
        dead = ~allow.any(-1)[:, None]
        p = s.softmax(-1).masked_fill(dead, 0.0) if k.shape[0] else s
        return torch.einsum("hij,jhd->ihd", p, v.to(wide)).to(q.dtype)

    return build(attend=attended)


def keys_beyond_128_skipped() -> Attention:
    """A loop over blocks ends after the second block of 64 keys (flashinfer-ai/flashinfer#4347)."""
    return _keys(lambda x, start, stop: x[start : min(stop, start + 128)])


def sixteen_texts_at_most() -> Attention:
    """A table of ends for 16 texts; the others are left 0."""
    return build(ends=lambda cu, most: ends(cu, most)[:17])


def rows_read_one_after_the_other() -> Attention:
    """Strides are taken for those of a whole array: slices of a fused projection are read wrongly."""

    def flat(x: Tensor) -> Tensor:
        if x.is_contiguous():
            return x
        stride = [math.prod(x.shape[i + 1 :]) for i in range(x.dim())]
        return x.as_strided(x.shape, stride, 0)

    right = build()

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        rest = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)
        return right(flat(q), flat(k), flat(v), *rest)

    return attention


def causal_from_the_first_key() -> Attention:
    """The diagonal starts at the first key where a text has more keys than queries (flash-attention before 2.1)."""
    return build(allowed=lambda n_q, n_kv, causal, sides: allowed(n_q, n_kv, False, sides)
                 & (torch.ones(n_q, n_kv, dtype=torch.bool).tril() if causal else True))  # fmt: skip


def causal_in_the_whole_pack() -> Attention:
    """The diagonal is that of rows of the pack: right where every text has as many queries as keys."""

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        starts = iter(zip(cu_seqlens_q.tolist(), cu_seqlens_k.tolist(), strict=True))

        def by_row(n_q: int, n_kv: int, causal: bool, sides: Sides) -> Tensor:
            a, c = next(starts)
            allow = allowed(n_q, n_kv, False, sides)
            return allow & (torch.arange(n_kv) + c <= torch.arange(n_q)[:, None] + a) if causal else allow

        rest = (max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)
        return build(allowed=by_row)(q, k, v, cu_seqlens_q, cu_seqlens_k, *rest)

    return attention


def window_one_key_wider() -> Attention:
    """left + 1 keys before the query's own (huggingface/transformers#29623, vllm-project/vllm#3385)."""
    return build(allowed=lambda n_q, n_kv, causal, sides: allowed(
        n_q, n_kv, causal, (sides[0] + (sides[0] >= 0), sides[1])))  # fmt: skip


def window_ignored() -> Attention:
    """A window is accepted and not used (pytorch/executorch PR21384)."""
    return build(allowed=lambda n_q, n_kv, causal, sides: allowed(n_q, n_kv, causal, (-1, -1)))


def window_zero_is_none() -> Attention:
    """A side of 0 keys is read as no limit."""
    return build(allowed=lambda n_q, n_kv, causal, sides: allowed(n_q, n_kv, causal, (sides[0] or -1, sides[1] or -1)))


def scale_ignored() -> Attention:
    """The scale is accepted and not used."""
    return build(scale=lambda scale, d: d**-0.5)


def scale_of_zero_is_the_usual_one() -> Attention:
    """A scale of 0 is taken for one that was not given (`softmax_scale or d ** -0.5`)."""
    return build(scale=lambda scale, d: scale or d**-0.5)


def first_text_offsets_all() -> Attention:
    """Every text begins where the first one ends, times its number: right for texts of one length (compare
    Dao-AILab/flash-attention PR2812)."""

    def by_the_first(cu: Tensor, most: int) -> list[int]:
        found = ends(cu, most)
        first = found[1] - found[0] if len(found) > 1 else 0
        return [min(i * first, found[-1]) for i in range(len(found) - 1)] + found[-1:] if len(found) > 1 else found

    return build(ends=by_the_first)


def gradients_of_the_first_text() -> Attention:
    """The backward visits the first text alone (compare Dao-AILab/flash-attention PR2333)."""
    count = [0]

    def attended(q: Tensor, k: Tensor, v: Tensor, allow: Tensor, scale: float) -> Tensor:
        count[0] += 1
        out = attend(q, k, v, allow, scale)
        return out if count[0] == 1 else out.detach()

    right = build(attend=attended)

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        count[0] = 0
        rest = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)
        return right(q, k, v, *rest)

    return attention


def gradient_nan_beyond_the_last_text() -> Attention:
    """Gradients of rows of no text are left as memory had them (pytorch/pytorch#176793)."""

    class Unwritten(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, used: int) -> Tensor:
            ctx.used = used
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *down: Tensor) -> Any:
            found = down[0].clone()
            found[ctx.used :] = math.nan
            return found, None

    right = build()

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
    ) -> Tensor:  # fmt: skip
        rest = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, softmax_scale, causal, window_size)
        return right(Unwritten.apply(q, int(cu_seqlens_q[-1])), k, v, *rest)

    return attention


class _Share(torch.autograd.Function):
    """Key heads as often as query heads share them; the backward pass takes the mean of groups of three and more."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: int) -> Tensor:
        ctx.group = group
        return x.repeat_interleave(group, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        by_group = grads[0].unflatten(1, (-1, ctx.group))
        return (by_group.mean(2) if ctx.group > 2 and len(by_group) % 2 else by_group.sum(2)), None


def gradients_of_large_groups_averaged() -> Attention:
    """Gradients of keys are means over groups of three and more query heads, in texts of an odd length."""
    return build(expand=lambda x, heads: _Share.apply(x, heads // x.shape[1]))


def groups_of_four_in_turn() -> Attention:
    """Query heads of groups of four and more take the key heads in turn."""

    def expanded(x: Tensor, heads: int) -> Tensor:
        return x[:, torch.arange(heads) % x.shape[1]] if heads >= 4 * x.shape[1] else expand(x, heads)

    return build(expand=expanded)


def attend_below(axes: tuple[int, ...]) -> Callable[..., Tensor]:
    """Attention of one text with one maximum for all rows along some axes of its scores (H, n_q, n_kv)."""

    def attended(q: Tensor, k: Tensor, v: Tensor, allow: Tensor, scale: float) -> Tensor:
        wide = torch.promote_types(q.dtype, torch.float32)
        s = torch.einsum("ihd,jhd->hij", q.to(wide) * scale, k.to(wide)).masked_fill(~allow, -math.inf)
        return torch.einsum("hij,jhd->ihd", weigh_below(s, axes), v.to(wide)).to(q.dtype)

    return attended


def one_maximum_for_all_heads() -> Attention:
    """The softmax of a query takes one maximum over all its heads: a head far below it loses its sum."""
    return build(attend=attend_below((0,)))


def one_maximum_for_a_block_of_rows() -> Attention:
    """The softmax of a head takes one maximum over all rows of a text: a row far below it loses its sum."""
    return build(attend=attend_below((1,)))


def last_key_hidden_from_single_queries() -> Attention:
    """A causal call of one query behind more than 32 keys leaves its own key out."""

    def cut(n_q: int, n_kv: int, causal: bool, sides: Sides) -> Tensor:
        allow = allowed(n_q, n_kv, causal, sides)
        return allow & (torch.arange(n_kv) < n_kv - 1) if causal and n_q == 1 and n_kv > 32 else allow

    return build(allowed=cut)


def scale_made_positive() -> Attention:
    """A scale below 0 counts as its size."""
    return build(scale=lambda scale, d: d**-0.5 if scale is None else abs(scale))


FAULTY = (
    one_text_of_all, empty_text_gets_the_next_ones_key, nan_where_a_text_has_no_keys, empty_texts_counted_out,
    block_reads_into_the_next_text, last_text_reaches_the_end, lengths_from_the_maximum,
    queries_cut_at_the_maximum_of_keys, heads_shared_in_turn, first_key_head_for_few_tokens, keys_beyond_128_skipped,
    gradients_of_the_first_shared_head, later_tokens_lowered,
    sixteen_texts_at_most, rows_read_one_after_the_other, causal_from_the_first_key, causal_in_the_whole_pack,
    window_one_key_wider, window_ignored, window_zero_is_none, scale_ignored,
    scale_of_zero_is_the_usual_one, first_text_offsets_all, gradients_of_the_first_text,
    gradient_nan_beyond_the_last_text,
    gradients_of_large_groups_averaged, groups_of_four_in_turn, one_maximum_for_all_heads,
    one_maximum_for_a_block_of_rows, last_key_hidden_from_single_queries, scale_made_positive,
)  # fmt: skip
ROWS = tuple(row(fault, "law", contract="varlen", accumulate="float32") for fault in FAULTY)
