"""Faults of windows, soft caps, sinks and slopes inside packed texts and over pages, one each, and a right kernel.

`build` makes the call of flash_attn_varlen_func, `build_paged` that of flash_attn_with_kvcache, both with sinks beside,
from steps that work on one text; a fault replaces one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.paged import gather, place
from attention_core.faults.row import row
from attention_core.faults.varlen import Sides, expand

Attention = Callable[..., Any]


@dataclass(frozen=True)
class Text:
    """One text: its number, where its rows begin in the pack, its lengths, and the slots of its keys in the pages."""

    number: int
    start_q: int
    start_k: int
    n_q: int
    n_kv: int
    group: int
    slots: Tensor | None = None
    before: int = 0  # keys before a call that appends
    page: int = 0

    @property
    def behind(self) -> Tensor:
        """How far each key lies behind each query, whose last one is the last token."""
        return torch.arange(self.n_q)[:, None] + self.n_kv - self.n_q - torch.arange(self.n_kv)


# --- steps --------------------------------------------------------------------------------------------------------


def own_position(text: Text) -> Tensor:
    """Distances along the text."""
    return text.behind


def in_window(behind: Tensor, sides: Sides) -> Tensor:
    """Which key lies in the window of a query."""
    left, right = sides
    allow = torch.ones_like(behind, dtype=torch.bool)
    if left >= 0:
        allow &= behind <= left
    if right >= 0:
        allow &= behind >= -right
    return allow


def cap(s: Tensor, c: float) -> Tensor:
    """c tanh(s / c); a cap of 0 is none."""
    return c * torch.tanh(s / c) if c else s


def by_head(values: Tensor, text: Text) -> Tensor:
    """A number for each query head, (H, 1, 1)."""
    return values[:, None, None]


def scores(q: Tensor, k: Tensor, scale: float, capped: Callable[[Tensor], Tensor]) -> Tensor:
    """The capped scaled scores."""
    return capped(torch.einsum("ihd,jhd->hij", q * scale, k))


def order(s: Tensor, capped: Callable[[Tensor], Tensor], bias: Tensor | float, allow: Tensor) -> Tensor:
    """Distances and the mask come behind the cap, which `scores` has applied."""
    return (s + bias).masked_fill(~allow, -math.inf)


def normalise(s: Tensor, sinks: Tensor | None, text: Text) -> Tensor:
    """Softmax over keys and sink, without the sink's weight; rows without either are 0."""
    if sinks is not None:
        s = torch.cat([s, sinks.to(s.dtype).expand(*s.shape[:-1], 1)], -1)
    dead = (s == -math.inf).all(-1, keepdim=True)
    p = s.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0) if s.shape[-1] else s
    return p if sinks is None else p[..., :-1]


STEPS: dict[str, Callable[..., Any]] = {
    "windowed": own_position, "biased": own_position, "sides": lambda sides, text: sides, "cap": cap,
    "slopes": by_head, "sinks": by_head, "scores": scores, "order": order, "normalise": normalise,
}  # fmt: skip


def attend(
    step: dict[str, Callable[..., Any]], q: Tensor, k: Tensor, v: Tensor, text: Text, scale: float, causal: bool,
    sides: Sides, softcap: float, slopes: Tensor | None, sinks: Tensor | None,
) -> Tensor:  # fmt: skip
    """(n_q, H, d_v) of one text."""
    wide = torch.promote_types(q.dtype, torch.float32)
    allow = in_window(step["windowed"](text), step["sides"](sides, text))
    if causal:
        allow = allow & (text.behind >= 0)
    bias: Tensor | float = 0.0
    if slopes is not None:
        bias = -step["slopes"](slopes, text).to(wide) * step["biased"](text).abs()
    capped = lambda s: step["cap"](s, softcap)  # noqa: E731
    s = step["order"](step["scores"](q.to(wide), k.to(wide), scale, capped), capped, bias, allow)
    p = step["normalise"](s, None if sinks is None else step["sinks"](sinks, text), text)
    return torch.einsum("hij,jhd->ihd", p, v.to(wide)).to(q.dtype)


def build(**changed: Callable[..., Any]) -> Attention:
    """The call of flash_attn_varlen_func with sinks, with some steps replaced."""
    assert changed.keys() <= STEPS.keys()
    step = STEPS | changed

    def attention(
        q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, max_seqlen_q: int,
        max_seqlen_k: int, softmax_scale: float | None = None, causal: bool = False, window_size: Sides = (-1, -1),
        softcap: float = 0.0, alibi_slopes: Tensor | None = None, sinks: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        scale, heads = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale, q.shape[1]
        outs = [q.new_zeros(0, heads, v.shape[-1])]
        ends = zip(pairwise(cu_seqlens_q.tolist()), pairwise(cu_seqlens_k.tolist()), strict=True)
        for number, ((a, b), (c, d)) in enumerate(ends):
            text = Text(number, a, c, b - a, d - c, heads // k.shape[1])
            given = (q[a:b], expand(k[c:d], heads), expand(v[c:d], heads), text, scale, causal)
            outs.append(attend(step, *given, window_size, softcap, alibi_slopes, sinks))
        out = torch.cat(outs)
        return torch.cat([out, q.new_zeros(len(q) - len(out), heads, v.shape[-1])])

    return attention


def build_paged(**changed: Callable[..., Any]) -> Attention:
    """The call of flash_attn_with_kvcache with sinks, with some steps replaced."""
    assert changed.keys() <= STEPS.keys()
    step = STEPS | changed

    def attention(
        q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None = None, v: Tensor | None = None,
        cache_seqlens: Tensor | None = None, block_table: Tensor | None = None, softmax_scale: float | None = None,
        causal: bool = False, window_size: Sides = (-1, -1), softcap: float = 0.0, alibi_slopes: Tensor | None = None,
        sinks: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        assert block_table is not None and cache_seqlens is not None
        page, heads, outs = k_cache.shape[1], q.shape[2], []
        scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
        for b, before in enumerate(cache_seqlens.tolist()):
            length = before
            if k is not None and v is not None:
                length = before + k.shape[1]
                where = place(block_table[b], torch.arange(before, length), page)
                k_cache[where], v_cache[where] = k[b], v[b]
            at = torch.arange(length)
            slots = block_table[b, at // page].long() * page + at % page
            group = heads // k_cache.shape[2]
            text = Text(b, 0, 0, q.shape[1], length, group, slots, before, page)
            keys, values = (expand(gather(x, block_table[b], length), heads) for x in (k_cache, v_cache))
            given = (q[b], keys, values, text, scale, causal, window_size, softcap, alibi_slopes, sinks)
            outs.append(attend(step, *given))
        return torch.stack(outs) if outs else q.new_zeros(*q.shape[:-1], v_cache.shape[-1])

    return attention


# --- steps that are wrong -----------------------------------------------------------------------------------------


def along_the_pack(text: Text) -> Tensor:
    """Distances between rows of the pack."""
    return text.start_q + torch.arange(text.n_q)[:, None] - text.start_k - torch.arange(text.n_kv)


def along_the_slots(text: Text) -> Tensor:
    """Distances between slots of the pages."""
    assert text.slots is not None
    return torch.arange(text.n_q)[:, None] + text.n_kv - text.n_q - text.slots


def from_the_first_key(text: Text) -> Tensor:
    """Distances with the first query at the first key."""
    return torch.arange(text.n_q)[:, None] - torch.arange(text.n_kv)


def of_key_heads(values: Tensor, text: Text) -> Tensor:
    """A number for each key head, repeated for its query heads."""
    return values[: len(values) // text.group].repeat_interleave(text.group)[:, None, None]


# --- faulty: packed texts -----------------------------------------------------------------------------------------


def window_along_the_pack() -> Attention:
    """A window is counted between rows of the pack: right where every text has as many queries as keys."""
    return build(windowed=along_the_pack)


def window_from_the_first_key_of_a_text() -> Attention:
    """A window is counted with the first query at the first key (compare huggingface/transformers#39408)."""
    return build(windowed=from_the_first_key)


def window_sides_exchanged() -> Attention:
    """The right side of a window is its left one."""
    return build(sides=lambda sides, text: sides[::-1])


def window_of_the_first_text_alone() -> Attention:
    """Only the first text of a pack is windowed."""
    return build(sides=lambda sides, text: (-1, -1) if text.number else sides)


def window_left_out_in_decoding() -> Attention:
    """A text of one query takes a path of its own, which has no window."""
    return build(sides=lambda sides, text: (-1, -1) if text.n_q == 1 else sides)


def packed_cap_ignored() -> Attention:
    """A soft cap is accepted and not used."""
    return build(cap=lambda s, c: s)


def packed_cap_before_the_scale() -> Attention:
    """The cap is applied to q k^T, and the scale behind it."""
    return build(scores=lambda q, k, scale, capped: scale * capped(torch.einsum("ihd,jhd->hij", q, k)))


def packed_cap_after_the_mask() -> Attention:
    """Masked scores of -inf become -c, and have a weight (after onnx/onnx#7865)."""

    def late(s: Tensor, capped: Callable[[Tensor], Tensor], bias: Tensor | float, allow: Tensor) -> Tensor:
        return capped((s + bias).masked_fill(~allow, -math.inf))

    return build(order=late, scores=lambda q, k, scale, capped: scores(q, k, scale, lambda s: s))


def packed_cap_of_5_at_most() -> Attention:
    """A larger cap counts as 5."""
    return build(cap=lambda s, c: cap(s, min(c, 5.0)))


def cap_of_distances_too() -> Attention:
    """The cap is applied to scores with their distances."""

    def late(s: Tensor, capped: Callable[[Tensor], Tensor], bias: Tensor | float, allow: Tensor) -> Tensor:
        return capped(s + bias).masked_fill(~allow, -math.inf)

    return build(order=late, scores=lambda q, k, scale, capped: scores(q, k, scale, lambda s: s))


def packed_sinks_ignored() -> Attention:
    """Sinks are accepted and not used."""
    return build(normalise=lambda s, sinks, text: normalise(s, None, text))


def sinks_of_the_first_text_alone() -> Attention:
    """Only the first text of a pack has its sinks."""
    return build(normalise=lambda s, sinks, text: normalise(s, None if text.number else sinks, text))


def sinks_of_key_heads() -> Attention:
    """Sinks are read by key head, and shared by its query heads."""
    return build(sinks=of_key_heads)


def sinks_in_turn_by_text() -> Attention:
    """Sinks are read at the number of the text and the head, beyond the end from the start."""
    return build(sinks=lambda values, text: values.roll(-text.number)[:, None, None])


def sink_without_a_value_is_a_key() -> Attention:
    """The sink's weight is given back to the keys: rows are normalised again."""

    def again(s: Tensor, sinks: Tensor | None, text: Text) -> Tensor:
        p = normalise(s, sinks, text)
        total = p.sum(-1, keepdim=True)
        return p / total.masked_fill(total == 0, 1.0)

    return build(normalise=again)


def slopes_along_the_pack() -> Attention:
    """Distances are those of rows of the pack: right where every text has as many queries as keys."""
    return build(biased=along_the_pack)


def slopes_from_the_first_key_of_a_text() -> Attention:
    """Distances are counted with the first query at the first key."""
    return build(biased=from_the_first_key)


def packed_slopes_with_the_other_sign() -> Attention:
    """Scores grow with the distance."""
    return build(slopes=lambda values, text: -values[:, None, None])


def slopes_of_key_heads() -> Attention:
    """Slopes are read by key head, and shared by its query heads."""
    return build(slopes=of_key_heads)


def sink_gradient_of_the_first_text() -> Attention:
    """Sinks get the gradient of the first text alone (after Dao-AILab/flash-attention#1973)."""
    return build(sinks=lambda values, text: by_head(values.detach() if text.number else values, text))


def packed_sinks_without_a_gradient() -> Attention:
    """Sinks get no gradient (Dao-AILab/flash-attention#1973)."""
    return build(sinks=lambda values, text: by_head(values.detach(), text))


def packed_backward_without_the_cap() -> Attention:
    """The backward pass lacks the slope of the cap, 1 - tanh^2(s / c)."""
    return build(cap=lambda s, c: s + (cap(s, c) - s).detach())


# --- faulty: pages ------------------------------------------------------------------------------------------------


def window_along_the_slots() -> Attention:
    """A window is counted between slots of the pages: right where they follow each other."""
    return build_paged(windowed=along_the_slots)


def window_before_new_tokens() -> Attention:
    """A window's position is that before new tokens are appended."""
    return build_paged(windowed=lambda text: text.behind - (text.n_kv - text.before))


def window_ignored_over_pages() -> Attention:
    """A window is accepted and not used (compare pytorch/executorch PR21384)."""
    return build_paged(sides=lambda sides, text: (-1, -1))


def window_of_a_chunk_from_its_first_key() -> Attention:
    """A chunk's window is counted with its first query at the first key."""
    return build_paged(windowed=from_the_first_key)


def paged_cap_ignored() -> Attention:
    """A soft cap is accepted and not used."""
    return build_paged(cap=lambda s, c: s)


def paged_cap_of_5_at_most() -> Attention:
    """A larger cap counts as 5."""
    return build_paged(cap=lambda s, c: cap(s, min(c, 5.0)))


def cap_of_half_the_size() -> Attention:
    """The cap is halved: c / 2 tanh(2 s / c)."""
    return build_paged(cap=lambda s, c: cap(s, c / 2))


def sinks_once_a_page() -> Attention:
    """The sink is counted once for every page that is merged (after vllm-project/vllm's split decoding)."""

    def often(s: Tensor, sinks: Tensor | None, text: Text) -> Tensor:
        pages = max(-(-text.n_kv // text.page), 1)
        return normalise(s, None if sinks is None else sinks + math.log(pages), text)

    return build_paged(normalise=often)


def sinks_of_0_over_pages() -> Attention:
    """Every sink is 0: one is added to the normaliser."""
    return build_paged(sinks=lambda values, text: torch.zeros_like(values)[:, None, None])


def sinks_of_key_heads_over_pages() -> Attention:
    """Sinks are read by key head, and shared by its query heads."""
    return build_paged(sinks=of_key_heads)


def slopes_along_the_slots() -> Attention:
    """Distances are those of slots of the pages: right where they follow each other."""
    return build_paged(biased=along_the_slots)


def slopes_of_a_chunk_from_its_first_key() -> Attention:
    """Distances of a chunk are counted with its first query at the first key."""
    return build_paged(biased=from_the_first_key)


def slopes_in_the_page() -> Attention:
    """Distances are counted in the last page: those of a key in another page are off by whole pages."""
    return build_paged(biased=lambda text: text.behind % max(text.page, 1))


def slopes_ignored_over_pages() -> Attention:
    """Slopes are accepted and not used."""
    return build_paged(slopes=lambda values, text: 0 * values[:, None, None])


PACKED = (
    window_along_the_pack, window_from_the_first_key_of_a_text, window_sides_exchanged, window_of_the_first_text_alone,
    window_left_out_in_decoding, packed_cap_ignored, packed_cap_before_the_scale, packed_cap_after_the_mask,
    packed_cap_of_5_at_most, cap_of_distances_too, packed_sinks_ignored, sinks_of_the_first_text_alone,
    sinks_of_key_heads, sinks_in_turn_by_text, sink_without_a_value_is_a_key, slopes_along_the_pack,
    slopes_from_the_first_key_of_a_text, packed_slopes_with_the_other_sign, slopes_of_key_heads,
    sink_gradient_of_the_first_text, packed_sinks_without_a_gradient, packed_backward_without_the_cap,
)  # fmt: skip
PAGED = (
    window_along_the_slots, window_before_new_tokens, window_ignored_over_pages, window_of_a_chunk_from_its_first_key,
    paged_cap_ignored, paged_cap_of_5_at_most, cap_of_half_the_size, sinks_once_a_page, sinks_of_0_over_pages,
    sinks_of_key_heads_over_pages, slopes_along_the_slots, slopes_of_a_chunk_from_its_first_key, slopes_in_the_page,
    slopes_ignored_over_pages,
)  # fmt: skip
FAULTY = (*PACKED, *PAGED)
ROWS = (
    *(row(fault, "law", contract="varlen", accumulate="float32") for fault in PACKED),
    *(row(fault, "law", contract="paged", accumulate="float32") for fault in PAGED),
)
