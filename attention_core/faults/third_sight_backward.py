"""Faults of the third set in the backward, in dropout and between calls, written when the laws were frozen and unseen.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They stay as they were written.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash
from attention_core.faults.row import row

# --- backward -------------------------------------------------------------------------------------


class value_gradient_spills_into_the_next_head(Flash):  # noqa: N801
    """The last tile of dV is stored whole: its empty rows overwrite the first rows of the next head
    (flagos-ai/FlagGems PR898).

    Two key heads or more and a length off a multiple of 16: so many rows as are missing are zero, but for the first
    head.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        assert dv is not None
        over = -dv.shape[-2] % 16
        hit = (torch.arange(dv.shape[-3]) > 0)[:, None, None] & (torch.arange(dv.shape[-2]) < over)[:, None]
        return [dq, dk, dv.masked_fill(hit, 0.0), db]


class delta_found_in_another_tile(Flash):  # noqa: N801
    """rowsum(dO o) is stored with sequences padded to 32 rows and read with 16 (Dao-AILab/flash-attention PR2337).

    dQ and dK of every sequence but the first, unless the number of queries leaves a remainder of 0 or above 16 by 32.
    """

    def delta(self, out: Tensor, c: Tensor) -> Tensor:
        found = super().delta(out, c)
        if found.dim() != 4 or not found.numel():
            return found
        B, _, n, _ = found.shape
        wide, narrow = -(-n // 32) * 32, -(-n // 16) * 16
        stored = torch.nn.functional.pad(found[..., 0], (0, wide - n)).transpose(0, 1).flatten(1)
        return stored[:, torch.arange(B)[:, None] * narrow + torch.arange(n)].transpose(0, 1)[..., None]


class value_gradient_in_chunks_of_the_key_width(Flash):  # noqa: N801
    """dV's two halves are stored in chunks of gcd(32, d / 2) columns, a width made for dK
    (Dao-AILab/flash-attention#2552).

    Head sizes of 16 and more, even, whose d_v / 2 is no multiple of it: the last, partial chunk lies one column
    further.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        assert dv is not None
        d, half = saved[0].shape[-1], dv.shape[-1] // 2
        if d < 16 or d % 2:
            return [dq, dk, dv, db]
        whole = half // math.gcd(32, d // 2) * math.gcd(32, d // 2)
        order = torch.arange(dv.shape[-1])
        for start in (0, half):
            order[start + whole : start + half] = order[start + whole : start + half].roll(1)
        return [dq, dk, dv[..., order], db]


class keys_transposed_twice_in_the_backward(Flash):  # noqa: N801
    """The backward gets keys and values with heads and tokens exchanged once too often (huggingface/diffusers PR14341).

    As many keys as key heads: other shapes are noticed, and exchanged back. The forward is right.
    """

    def backward(self, query: Tensor, key: Tensor, value: Tensor, *saved: Any) -> list[Tensor | None]:
        if key.shape[-3] != key.shape[-2]:
            return super().backward(query, key, value, *saved)
        found = super().backward(query, key.transpose(-3, -2), value.transpose(-3, -2), *saved)
        return [g if g is None or i not in (1, 2) else g.transpose(-3, -2) for i, g in enumerate(found)]


class nan_query_gradient_above_the_first_key(Flash):  # noqa: N801
    """Rows that stand before the first key get a query gradient of NaN; outputs, dK and dV are right
    (Dao-AILab/flash-attention#443).

    Bottom right is declared: causal calls with more queries than keys.
    """

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return torch.arange(start, stop) <= torch.arange(n_q)[:, None] + n_kv - n_q

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        query, key, is_causal = saved[0], saved[1], saved[4]
        above = torch.arange(query.shape[-2]) < query.shape[-2] - key.shape[-2]
        assert dq is not None
        return [dq.masked_fill(above[:, None], math.nan) if is_causal and key.shape[-2] else dq, dk, dv, db]


class no_queries_leave_key_gradients_unwritten(Flash):  # noqa: N801
    """Without any query the backward returns before it clears dK and dV (ROCm/flash-attention PR179); ones stand for
    what memory held.

    n_q = 0 and keys that ask for a gradient.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        if saved[0].shape[-2] or dk is None or dv is None:
            return [dq, dk, dv, db]
        return [dq, torch.ones_like(dk), torch.ones_like(dv), db]


class value_gradient_of_a_fused_projection(Flash):  # noqa: N801
    """dV is written as (B, H, n, d) into memory that lies as the values do (Dao-AILab/flash-attention#2541).

    Values that are a slice of one projection to queries, keys and values, with heads behind tokens; packed ones are
    right.
    """

    def backward(self, *saved: Any) -> list[Tensor | None]:
        dq, dk, dv, db = super().backward(*saved)
        value = saved[2]
        assert dv is not None
        H, n, d = value.shape[-3:]
        if not (H > 1 and n > 1 and value.stride(-3) < value.stride(-2) and value.stride(-2) > H * d):
            return [dq, dk, dv, db]
        return [dq, dk, dv.reshape(*value.shape[:-3], n, H, d).transpose(-3, -2), db]


# --- dropout --------------------------------------------------------------------------------------


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


# --- between calls --------------------------------------------------------------------------------


def window_of_self_attention_stays() -> Any:
    """A causal call sets the window to (-1, 0), and cross-attention after it takes that over
    (NVIDIA/TransformerEngine#629).

    A causal call, then one that is not and has another number of keys than of queries; a square one sets it back.
    """
    window = [False]

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if is_causal or query.shape[-2] == key.shape[-2]:
            window[0] = is_causal
        return reference.correct(query, key, value, attn_mask, 0.0, window[0], scale, enable_gqa)

    return attention


def scale_of_one_compiled_in() -> Any:
    """A scale of 1 folds away when a kernel is compiled, and the key of the kernels' cache has no scale
    (local-inference-lab/b12x PR52).

    The first call of a head size and dtype had scale 1: every later one has it too. Another first scale is no harm.
    """
    folded: dict[Any, bool] = {}

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        scale = max(query.shape[-1], 1) ** -0.5 if scale is None else scale
        one = folded.setdefault((query.shape[-1], query.dtype), scale == 1.0)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, 1.0 if one else scale, enable_gqa)

    return attention


WIDE: dict[str, Any] = {"accumulate": "float32"}
ROWS = (
    *(row(make, "hard", "third_sight", **WIDE) for make in (
        value_gradient_spills_into_the_next_head, delta_found_in_another_tile,
        value_gradient_in_chunks_of_the_key_width, keys_transposed_twice_in_the_backward,
        no_queries_leave_key_gradients_unwritten, value_gradient_of_a_fused_projection,
        dropout_seed_of_the_call_before, window_of_self_attention_stays, scale_of_one_compiled_in,
    )),
    row(nan_query_gradient_above_the_first_key, "hard", "third_sight", causal="bottom_right", **WIDE),
)  # fmt: skip
