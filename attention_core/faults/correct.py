"""Correct targets that look odd: none of them may ever be refuted.

Each says in its docstring what is unusual about it. The conventions it follows are in its row.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash, Tiles

Attention = Callable[..., Any]


class one_key_at_a_time(Tiles):  # noqa: N801
    """Blocks of a single key: as many rescalings as keys."""

    block = 1


class blocks_of_seven(Flash):  # noqa: N801
    """Blocks that fit no power of two, forward and backward."""

    block = 7


class keys_from_behind(Tiles):  # noqa: N801
    """Blocks are walked from the last key to the first, as some causal kernels do."""

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return super().edges(n_kv)[::-1]


class rescaled_only_when_it_matters(Tiles):  # noqa: N801
    """The maximum moves only when it rises by more than 8; until then weights exceed 1 and sums stay as they are."""

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        new = super().maximum(m, s, start)
        return torch.where((m > -math.inf) & (new - m <= 8), m, new)


class powers_of_two(Tiles):  # noqa: N801
    """exp2 of scores times log2(e), as kernels do for speed."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        m = m.masked_fill(m == -math.inf, 0.0)
        return torch.exp2((s - m) * math.log2(math.e))

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        return torch.exp2((m - new.masked_fill(new == -math.inf, 0.0)) * math.log2(math.e))


class weights_in_the_input_dtype(Flash):  # noqa: N801
    """Weights meet the values in the input's dtype, sums are float32: flash attention as it is."""

    def output(self, acc: Tensor, alpha: Tensor, p: Tensor, value: Tensor, start: int) -> Tensor:
        return alpha * acc + p.to(self.dtype).to(p.dtype) @ value

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.dtype = query.dtype
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


def float64_inside() -> Attention:
    """Everything in float64, rounded once."""
    return _around(lambda *x: tuple(t.double() if t.is_floating_point() else t for t in x))


def _around(change: Callable[..., tuple[Tensor, ...]]) -> Attention:
    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        q, k, v = change(query, key, value)
        mask = attn_mask if attn_mask is None else change(attn_mask)[0]
        return reference.correct(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa).to(query.dtype)

    return attention


def by_einsum() -> Attention:
    """Both products by einsum, heads in the last place."""
    return build(
        scores=lambda q, k, s: torch.einsum(
            "...ihd,...jhd->...hij",
            q.transpose(-2, -3) * (q.shape[-1] ** -0.5 if s is None else s),
            k.transpose(-2, -3),
        ),
        combine=lambda p, v: torch.einsum("...hij,...hjd->...hid", p, v),
    )


def transposed_throughout() -> Attention:
    """(V^T P^T)^T of (K Q^T)^T: columns where others have rows."""
    return build(
        scores=lambda q, k, s: (k @ (q * (q.shape[-1] ** -0.5 if s is None else s)).mT).mT,
        combine=lambda p, v: (v.mT @ p.mT).mT,
    )


def split_scale() -> Attention:
    """The square root of the scale is given to queries and to keys, as transformers' EncoderDecoder and torch do."""

    def scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        root = math.sqrt(abs(scale))
        return (query * math.copysign(root, scale)) @ (key * root).mT

    return build(scores=scores)


def exponential_of_log_softmax() -> Attention:
    """exp(log_softmax(s)), dead rows patched first."""

    def weights(s: Tensor) -> Tensor:
        dead = (s == -math.inf).all(-1, keepdim=True)
        return torch.log_softmax(s.masked_fill(dead, 0.0), -1).exp().masked_fill(dead, 0.0)

    return build(weights=weights)


def shifted_beyond_the_maximum() -> Attention:
    """exp(s - max - 3): any shift will do that neither overflows nor underflows."""

    def weights(s: Tensor) -> Tensor:
        if not s.shape[-1]:
            return s
        top = s.detach().amax(-1, keepdim=True)
        e = torch.exp(s - top.masked_fill(top == -math.inf, 0.0) - 3)
        total = e.sum(-1, keepdim=True)
        return e / total.masked_fill(total == 0, 1.0)

    return build(weights=weights)


def normalised_after_the_sum() -> Attention:
    """The weighted sum first, divided by the sum of weights at the end, as flash attention does."""
    totals: list[Tensor] = []

    def weights(s: Tensor) -> Tensor:
        top = s.detach().amax(-1, keepdim=True) if s.shape[-1] else s.new_zeros(*s.shape[:-1], 1)
        e = torch.exp(s - top.masked_fill(top == -math.inf, 0.0))
        total = e.sum(-1, keepdim=True)
        totals[:] = [total.masked_fill(total == 0, 1.0)]
        return e

    return build(weights=weights, drop=lambda p, rate: reference.drop(p, rate), combine=lambda p, v: p @ v / totals[0])


def padded_to_blocks() -> Attention:
    """Keys are padded to a multiple of 16 with zeros that a mask hides; queries as well, and cut again."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        n_q, n_kv = query.shape[-2], key.shape[-2]
        more_q, more = -n_q % 16, -n_kv % 16
        pad = torch.nn.functional.pad
        mask = torch.zeros(n_q, n_kv, dtype=query.dtype) if attn_mask is None else attn_mask
        if mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, -math.inf)
        mask = (
            mask.expand(*mask.shape[:-2], n_q if mask.dim() > 1 else 1, n_kv)
            if mask.dim() > 1
            else mask.expand(n_q, n_kv)
        )
        mask = pad(pad(mask, (0, more), value=-math.inf), (0, 0, 0, more_q))
        q, k, v = pad(query, (0, 0, 0, more_q)), pad(key, (0, 0, 0, more)), pad(value, (0, 0, 0, more))
        return reference.correct(q, k, v, mask, 0.0, is_causal, scale, enable_gqa)[..., :n_q, :]

    return attention


def heads_in_the_batch() -> Attention:
    """Heads and batch are folded into one axis, key heads repeated by indexing, and unfolded at the end."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, None, enable_gqa)
        *batch, H, n_q, _ = query.shape
        index = torch.arange(H) // (H // key.shape[-3])
        q = query.reshape(-1, 1, *query.shape[-2:])
        k, v = (x[..., index, :, :].reshape(q.shape[0], 1, *x.shape[-2:]) for x in (key, value))
        out = reference.correct(q, k, v, None, 0.0, is_causal, scale)
        return out.reshape(*batch, H, n_q, value.shape[-1])

    return attention


def output_as_a_view() -> Attention:
    """The output lies in another order than it looks, inside a larger buffer."""

    def combine(p: Tensor, v: Tensor) -> Tensor:
        out = reference.combine(p, v)
        wide = torch.nn.functional.pad(out.transpose(-1, -2), (1, 2))
        return wide[..., 1 : 1 + out.shape[-2]].transpose(-1, -2)

    return build(combine=combine)


def row_by_row() -> Attention:
    """A Python loop over the queries, each with the keys that it may see and no others."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        if not query.shape[-2]:
            return reference.correct(query, key, value, is_causal=is_causal)
        # Wide once, not in every row: autograd adds up the rows' gradients in what they read, and in bfloat16 a sum
        # of some hundred parts stops growing.
        q, k, v = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (query, key, value))
        rows = [
            reference.correct(q[..., i : i + 1, :], *(x[..., : i + 1 if is_causal else None, :] for x in (k, v)))
            for i in range(query.shape[-2])
        ]
        return torch.cat(rows, -2).to(query.dtype)

    return attention


def partial_with_other_names() -> Attention:
    """A `functools.partial` whose parameters have their aliases."""

    def attend(
        flavour: str, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor | None = None, causal: bool = False,
        softmax_scale: float | None = None,
    ) -> Tensor:  # fmt: skip
        assert flavour == "plain"
        return reference.correct(q, k, v, attention_mask, 0.0, causal, softmax_scale)

    return functools.partial(attend, "plain")


class as_a_module(torch.nn.Module):  # noqa: N801
    """An nn.Module instance without parameters."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal)


def one_head_size_alone() -> Attention:
    """Refuses what it was not made for: head sizes that are no multiple of 8, and values wider than keys."""

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        if query.shape[-1] % 8 or value.shape[-1] != query.shape[-1]:
            raise NotImplementedError("head sizes are multiples of 8")
        return reference.correct(query, key, value, is_causal=is_causal)

    return attention


def keys_sorted_by_norm() -> Attention:
    """Keys are put in another order first: sums come out in other bits."""

    def attention(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
        order = key.detach().float().norm(dim=-1).argsort(-1)[..., None]
        k, v = (x.gather(-2, order.expand(x.shape)) for x in (key, value))
        return reference.correct(query, k, v, None, 0.0, False, scale)

    return attention


def halves_merged_by_lse() -> Attention:
    """Split-KV: odd and even keys apart, merged by their log-sum-exps."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        wide = torch.promote_types(query.dtype, torch.float32)
        k, v = reference.expand(key.to(wide), value.to(wide), query.shape[-3])
        s = reference.scores(query.to(wide), k, scale)
        causal = reference.causal_allowed(query.shape[-2], key.shape[-2]) if is_causal else None
        s = reference.bias(s, attn_mask, causal)
        parts = [s[..., 0::2], s[..., 1::2]]
        outs = [reference.weights(part) @ v[..., i::2, :] for i, part in enumerate(parts)]
        dead = [(part == -math.inf).all(-1) for part in parts]
        lse = [torch.logsumexp(p.masked_fill(d[..., None], 0.0), -1).masked_fill(d, -math.inf)
               for p, d in zip(parts, dead, strict=True)]  # fmt: skip
        share = reference.weights(torch.stack(lse, -1))
        return (share[..., :1] * outs[0] + share[..., 1:] * outs[1]).to(query.dtype)

    return attention


def dead_rows_at_the_end(weights: Callable[[Tensor], Tensor] = reference.weights) -> Attention:
    """The causal diagonal ends in the last corner, so that causality alone leaves the first rows without a key."""
    return build(weights=weights, causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv).tril(n_kv - n_q).bool())


def mean_where_dead(s: Tensor) -> Tensor:
    """Weights over keys; a row without keys attends all of them alike."""
    return torch.softmax(s.masked_fill((s == -math.inf).all(-1, keepdim=True), 0.0), -1)


def means_at_the_end() -> Attention:
    """Rows that causality leaves no key are the mean of all values."""
    return dead_rows_at_the_end(mean_where_dead)


def parts_at_their_shares(
    count: int = 3, *, wide: bool = True, lost: int = 0, weighted: bool = True, base: float = math.e
) -> Attention:
    """Split-KV: runs of keys, added times exp(lse - total), with no division by the sum of these shares.

    Faults: the last `lost` parts are left out, parts are averaged alike, or the total is of another base.
    """

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        inner = torch.promote_types(query.dtype, torch.float32) if wide else query.dtype
        k, v = reference.expand(key.to(inner), value.to(inner), query.shape[-3])
        s = reference.scores(query.to(inner), k, scale)
        causal = reference.causal_allowed(query.shape[-2], key.shape[-2]) if is_causal else None
        s = reference.bias(s, attn_mask, causal)
        length = max(1, -(-s.shape[-1] // count))
        runs = list(zip(s.split(length, -1), v.split(length, -2), strict=True))
        runs = runs[: max(1, len(runs) - lost)]
        lse = torch.stack([log_sum_exp(part) for part, _ in runs])
        outs = torch.stack([reference.weights(part) @ values for part, values in runs])
        if not weighted:
            return outs.mean(0).to(query.dtype)
        none = (lse == -math.inf).all(0)
        total = torch.logsumexp(lse.masked_fill(none, 0.0), 0)
        shares = (base ** (lse - total)).masked_fill(none, 0.0)
        return (shares * outs).sum(0).to(query.dtype)

    return attention


def log_sum_exp(s: Tensor) -> Tensor:
    """The log-sum-exp of each row, (..., n_q, 1), -inf where it has no key."""
    dead = (s == -math.inf).all(-1, keepdim=True)
    return torch.logsumexp(s.masked_fill(dead, 0.0), -1, keepdim=True).masked_fill(dead, -math.inf)


def two_parts_at_their_shares() -> Attention:
    """Two parts, added in float32."""
    return parts_at_their_shares(2)


def four_parts_in_the_input_dtype() -> Attention:
    """Four parts, each step in the inputs' dtype."""
    return parts_at_their_shares(4, wide=False)
