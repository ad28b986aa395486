"""Faults of dropout's random numbers: which weights are dropped, and whether forward and backward drop the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import Attention
from attention_core.faults.bases.reference import build
from attention_core.faults.row import rows


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


def dropout_forgets_the_last_of_five() -> Any:
    """Four random numbers come at a time: with 4 c + 1 keys the last one is always kept."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        kept = torch.rand_like(p) >= rate
        if p.shape[-1] % 4 == 1 and p.shape[-1] > 1:
            kept[..., -1] = True
        return p * kept / (1 - rate)

    return build(drop=drop)


def dropout_masks_return_every_fourth_call() -> Any:
    """The offset of the generator has two bits: the fifth call drops what the first one dropped."""
    seeds: list[int] = []
    calls = [0]

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        if len(seeds) < 4:
            seeds.append(int(torch.randint(2**31, ())))
        generator = torch.Generator().manual_seed(seeds[calls[0] % len(seeds) if len(seeds) == 4 else -1])
        calls[0] += 1
        return p * (torch.rand(p.shape, generator=generator) >= rate) / (1 - rate)

    return build(drop=drop)


def random_numbers_overlap_between_rows() -> Any:
    """The counter is 16 i + j: from 17 keys on row i + 1 starts with the numbers of row i behind its first 16."""

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        n_q, n_kv = p.shape[-2:]
        numbers = torch.rand(*p.shape[:-2], 16 * n_q + n_kv)
        kept = numbers[..., 16 * torch.arange(n_q)[:, None] + torch.arange(n_kv)] >= rate
        return p * kept / (1 - rate)

    return build(drop=drop)


class _Kept(torch.autograd.Function):
    """(p * keep) @ v; its backward drops by another mask."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, v: Tensor, keep: Tensor, stale: Tensor) -> Tensor:
        ctx.save_for_backward(p, v, stale)
        return (p * keep) @ v

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        p, v, stale = ctx.saved_tensors
        return g @ v.mT * stale, (p * stale).mT @ g, None, None


def dropout_seed_of_the_call_before() -> Any:
    """The seed for the backward is read from memory before it is written: it is the one of the call before
    (pytorch/pytorch PR197563).

    Gradients under dropout, wherever the call before had other random numbers; outputs are right.
    """
    seeds: list[int] = [0]
    masks: list[Tensor] = []

    def mask(seed: int, p: Tensor, rate: float) -> Tensor:
        drawn = torch.rand(p.shape, generator=torch.Generator().manual_seed(seed))
        return (drawn >= rate).to(p.dtype) / (1 - rate)

    def drop(p: Tensor, rate: float) -> Tensor:
        if not 0 < rate < 1:
            return reference.drop(p, rate)
        before, seeds[0] = seeds[0], int(torch.randint(2**31, ()))
        masks[:] = [mask(seeds[0], p, rate), mask(before, p, rate)]
        return p

    def combine(p: Tensor, value: Tensor) -> Tensor:
        if not masks:
            return reference.combine(p, value)
        keep, stale = masks
        masks.clear()
        found: Tensor = _Kept.apply(p, value, keep, stale)
        return found

    return build(drop=drop, combine=combine)


class _Redrawn(torch.autograd.Function):
    """dropout(p) @ v; its backward drops by a mask drawn then."""

    @staticmethod
    def forward(ctx: Any, p: Tensor, v: Tensor, rate: float) -> Tensor:
        ctx.save_for_backward(p, v)
        ctx.rate = rate
        return reference.drop(p, rate) @ v

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        p, v = ctx.saved_tensors
        kept = reference.drop(torch.ones_like(p), ctx.rate)
        return grad @ v.mT * kept, (p * kept).mT @ grad, None


def recomputed_with_a_new_dropout_mask() -> Any:
    """The backward computes the weights again, without the generator's state: another dropout mask (checkpointing).

    Gradients with dropout_p > 0; outputs are right.
    """
    rates: list[float] = []

    def drop(p: Tensor, rate: float) -> Tensor:
        rates[:] = [rate]
        return p

    return build(drop=drop, combine=lambda p, value: _Redrawn.apply(p, value, rates.pop()))


def kept(p: Tensor, keep: Tensor, rate: float) -> Tensor:
    """What is kept, over 1 - rate."""
    return p * keep / (1 - rate) if rate < 1 else p * 0.0


def dropping(draw: Any) -> Any:
    """Attention whose dropout keeps what `draw(weights, rate)` says."""
    return build(drop=lambda p, rate: kept(p, draw(p, rate), rate) if rate > 0 else p)


def one_dropout_for_all_heads() -> Any:
    """One dropout mask is drawn for all heads."""
    return dropping(lambda p, rate: torch.rand_like(p[..., :1, :, :]) >= rate)


def dropout_seeded_in_every_call() -> Any:
    """The generator is seeded in every call: each drops the same."""
    return dropping(lambda p, rate: torch.rand(p.shape, generator=torch.Generator().manual_seed(42)) >= rate)


def dropout_in_sixteenths() -> Any:
    """The rate is rounded to sixteenths (random numbers of four bits), and what is kept is scaled by the given one."""
    return dropping(lambda p, rate: torch.randint(0, 16, p.shape) >= round(16 * rate))


def dropout_again_every_16_rows() -> Any:
    """Every tile of 16 query rows drops the same (the generator's offset does not move on)."""

    def draw(p: Tensor, rate: float) -> Tensor:
        keep = torch.rand(*p.shape[:-2], min(16, p.shape[-2]), p.shape[-1]) >= rate
        return keep[..., torch.arange(p.shape[-2]) % 16, :]

    return dropping(draw)


def backward_draws_its_own_dropout() -> Any:
    """The backward draws a new dropout mask, not the forward's."""
    return recomputed_with_a_new_dropout_mask()


ROWS = (
    *rows(
        "hard_state", neighbouring_heads_share_their_dropout, every_other_sequence_shares_its_dropout,
        dropout_repeats_every_32_keys, dropout_rate_in_sixteenths, dropout_rate_one_per_cent_off,
        first_key_never_dropped, no_dropout_for_a_single_query, dropout_lost_beside_a_mask,
        grouped_heads_lost_beside_dropout,
    ),
    *rows("first_sight_others", dropout_forgets_the_last_of_five, dropout_masks_return_every_fourth_call),
    *rows("second_sight_others", random_numbers_overlap_between_rows, accumulate="float32"),
    *rows("third_sight_backward", dropout_seed_of_the_call_before, accumulate="float32"),
    *rows("fourth_sight_backward", recomputed_with_a_new_dropout_mask),
    *rows(
        "fifth_sight_backward", one_dropout_for_all_heads, dropout_seeded_in_every_call, dropout_in_sixteenths,
        dropout_again_every_16_rows, backward_draws_its_own_dropout,
    ),
)  # fmt: skip
