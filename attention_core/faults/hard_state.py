"""Hard faults of chance and memory: dropout whose numbers repeat, workspaces and caches that outlive their call.

Each function builds the reference with one step changed, of our making.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.row import row

Attention = Callable[..., Any]


def _dropping(kept: Callable[[Tensor, float], Tensor]) -> Attention:
    """Attention whose kept weights come from `kept(p, rate)`, scaled rightly."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if rate <= 0:
            return p
        return p * kept(p, rate) / (1 - rate) if rate < 1 else torch.zeros_like(p)

    return build(drop=drop)


def neighbouring_heads_share_their_dropout() -> Attention:
    """The seed is that of head h // 2: heads drop the same keys in pairs."""

    def kept(p: Tensor, rate: float) -> Tensor:
        drawn = torch.rand_like(p)
        return drawn[..., torch.arange(p.shape[-3]) // 2 * 2, :, :] >= rate

    return _dropping(kept)


def every_other_sequence_shares_its_dropout() -> Attention:
    """The seed has one bit for the sequence: b and b + 2 drop the same keys."""

    def kept(p: Tensor, rate: float) -> Tensor:
        drawn = torch.rand_like(p)
        return (drawn[torch.arange(p.shape[0]) % 2] if p.dim() == 4 else drawn) >= rate

    return _dropping(kept)


def dropout_repeats_every_32_keys() -> Attention:
    """The counter of the generator is the key's place in its tile of 32: tiles drop alike."""
    return _dropping(lambda p, rate: torch.rand_like(p)[..., torch.arange(p.shape[-1]) % 32] >= rate)


def dropout_rate_in_sixteenths() -> Attention:
    """The rate is compared with four random bits: 0.1 becomes 0.125, and 1/2 hides it."""
    return _dropping(lambda p, rate: (torch.rand_like(p) * 16).floor() >= rate * 16)


def dropout_rate_one_per_cent_off() -> Attention:
    """Weights are dropped at 1.01 times the rate: one per cent is below what a few thousand draws tell."""
    return _dropping(lambda p, rate: torch.rand_like(p) >= 1.01 * rate)


def first_key_never_dropped() -> Attention:
    """The random numbers start with the second key: the first one is always kept."""
    return _dropping(lambda p, rate: (torch.rand_like(p) >= rate) | (torch.arange(p.shape[-1]) == 0))


def no_dropout_for_a_single_query() -> Attention:
    """The decoding kernel has no dropout: one query alone keeps all its keys."""
    return _dropping(lambda p, rate: (torch.rand_like(p) >= rate) | torch.tensor(p.shape[-2] == 1))


def dropout_lost_beside_a_mask() -> Attention:
    """The masked kernel has no dropout."""
    masked = [False]

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        masked[0] = mask is not None
        return reference.bias(s, mask, causal)

    def drop(p: Tensor, rate: float) -> Tensor:
        return p if masked[0] else reference.drop(p, rate)

    return build(bias=bias, drop=drop)


def causal_lost_beside_dropout() -> Attention:
    """With dropout a fallback runs that has no causality (keras-team/keras#23038)."""
    right, open_ = build(), build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool))

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        chosen = open_ if dropout_p > 0 else right
        return chosen(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

    return attention


def grouped_heads_lost_beside_dropout() -> Attention:
    """With dropout key heads are tiled, without it they are repeated (compare ekzhang/jax-js PR180)."""

    def tiled(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        group = heads // key.shape[-3]
        return tuple(torch.cat([x] * group, -3) for x in (key, value))  # type: ignore[return-value]

    right, wrong = build(), build(expand=tiled)

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        chosen = wrong if dropout_p > 0 else right
        return chosen(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

    return attention


def second_call_of_a_shape_skips_a_part() -> Attention:
    """A semaphore is not set back: every second call of a shape leaves out the keys from 16 on."""
    calls: dict[tuple[int, ...], int] = {}

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        s = reference.bias(s, mask, causal)
        calls[tuple(s.shape)] = calls.get(tuple(s.shape), 0) + 1
        if calls[tuple(s.shape)] % 2 == 0 and s.shape[-1] > 16:
            s = s.masked_fill(torch.arange(s.shape[-1]) >= 16, -torch.inf)
        return s

    return build(bias=bias)


def mask_kept_by_its_count() -> Attention:
    """Converted masks are kept by shape and number of True: another mask of the same count gets the old one."""
    kept: dict[tuple[Any, ...], Tensor] = {}

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool:
            mask = kept.setdefault((*mask.shape, int(mask.sum())), mask.detach().clone())
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def wrong_from_the_hundredth_call() -> Attention:
    """A counter in a byte: from the 128th call on, the last key of long sequences is lost."""
    calls = [0]

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        calls[0] += 1
        s = reference.bias(s, mask, causal)
        last = torch.arange(s.shape[-1]) == s.shape[-1] - 1
        return s.masked_fill(last, -torch.inf) if calls[0] >= 128 and s.shape[-1] > 8 else s

    return build(bias=bias)


def scores_kept_as_the_next_bias() -> Attention:
    """The weights of a call are the bias of the next one of its shape (huggingface/transformers PR4499)."""
    kept: dict[tuple[int, ...], Tensor] = {}

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        shape = tuple(s.shape)
        found = reference.bias(s, mask, causal)
        found = found + kept[shape].to(found.dtype) if shape in kept else found
        kept[shape] = reference.weights(found.detach())
        return found

    return build(bias=bias)


OWN = (
    neighbouring_heads_share_their_dropout, every_other_sequence_shares_its_dropout, dropout_repeats_every_32_keys,
    dropout_rate_in_sixteenths, dropout_rate_one_per_cent_off, first_key_never_dropped, no_dropout_for_a_single_query,
    dropout_lost_beside_a_mask, grouped_heads_lost_beside_dropout, second_call_of_a_shape_skips_a_part,
    mask_kept_by_its_count, wrong_from_the_hundredth_call,
)  # fmt: skip
ROWS = tuple(row(make, "hard") for make in OWN)
