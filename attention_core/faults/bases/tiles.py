"""A correct tiled attention with an online softmax, cut into steps: the base of faults that need tiles.

A fault overrides one step. Keys are walked in blocks of 16, so that lengths of a few dozen reach late blocks.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference


class Tiles:
    """softmax(scale Q K^T + b) V in one pass over blocks of keys, with running maximum m, sum l and output acc."""

    block = 16

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        """Where blocks of keys start and stop."""
        return [(start, min(start + self.block, n_kv)) for start in range(0, n_kv, self.block)]

    def scale(self, d: int, scale: float | None) -> float:
        """The given scale, or 1/sqrt(d)."""
        return 1 / math.sqrt(d) if scale is None else scale

    def expand(self, key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        """One key head for every query head."""
        return reference.expand(key, value, heads)

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        """Scaled scores of one block."""
        return scale * query @ key.mT

    def causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        """Which keys of the block causality allows, top left."""
        return torch.arange(start, stop) <= torch.arange(n_q)[:, None]

    def mask(self, s: Tensor, start: int, stop: int, attn_mask: Tensor | None, n_kv: int) -> Tensor:
        """The block's columns of the mask."""
        if attn_mask is None:
            return s
        part = attn_mask.expand(*attn_mask.shape[:-1], n_kv)[..., start:stop]
        return s.masked_fill(~part, -math.inf) if part.dtype == torch.bool else s + part

    def first_maximum(self) -> float:
        """What the running maximum starts from."""
        return -math.inf

    def maximum(self, m: Tensor, s: Tensor, start: int) -> Tensor:
        """The running maximum with this block."""
        return torch.maximum(m, s.detach().amax(-1, keepdim=True))

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        """exp(m - m'), by which sums of earlier blocks shrink."""
        return torch.exp(m - new.masked_fill(new == -math.inf, 0.0))

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        """exp(s - m)."""
        return torch.exp(s - m.masked_fill(m == -math.inf, 0.0))

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        """The running sum of weights."""
        return alpha * l + p.sum(-1, keepdim=True)

    def output(self, acc: Tensor, alpha: Tensor, p: Tensor, value: Tensor, start: int) -> Tensor:
        """The running weighted sum of values."""
        return alpha * acc + p @ value

    def finish(self, acc: Tensor, l: Tensor, m: Tensor) -> Tensor:  # noqa: E741
        """Divided by the sum; rows without keys are zero."""
        return acc / l.masked_fill(l == 0, 1.0)

    def store(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        """The output in the input's dtype."""
        return out.to(dtype)

    def walk(
        self, q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(acc, l, m) after all blocks; k and v have a head for each of q's."""
        n_q, n_kv = q.shape[-2], k.shape[-2]
        m = torch.full((*q.shape[:-1], 1), self.first_maximum(), dtype=q.dtype)
        l, acc = torch.zeros_like(m), q.new_zeros(*q.shape[:-1], v.shape[-1])  # noqa: E741
        for start, stop in self.edges(n_kv):
            s = self.mask(self.scores(q, k[..., start:stop, :], scale), start, stop, attn_mask, n_kv)
            if is_causal:
                s = s.masked_fill(~self.causal(start, stop, n_q, n_kv), -math.inf)
            new = self.maximum(m, s, start)
            alpha, p = self.rescale(m, new, start), self.exponential(s, new)
            l, acc = self.total(l, alpha, p, start), self.output(acc, alpha, p, v[..., start:stop, :], start)  # noqa: E741
            m = new
        return acc, l, m

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        dtype = query.dtype
        q, k, v = (x.to(torch.promote_types(dtype, torch.float32)) for x in (query, key, value))
        k, v = self.expand(k, v, q.shape[-3])
        acc, l, m = self.walk(q, k, v, attn_mask, is_causal, self.scale(q.shape[-1], scale))  # noqa: E741
        return self.store(self.finish(acc, l, m), dtype)


class _Flash(torch.autograd.Function):
    """`Tiles` with a backward that computes the weights again from a stored log-sum-exp."""

    @staticmethod
    def forward(
        ctx: Any, kernel: Flash, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None,
        options: tuple[bool, float | None, bool],
    ) -> Tensor:  # fmt: skip
        is_causal, scale, _ = options
        dtype = query.dtype
        q, k, v = (x.to(torch.promote_types(dtype, torch.float32)) for x in (query, key, value))
        k, v = kernel.expand(k, v, q.shape[-3])
        acc, l, m = kernel.walk(q, k, v, attn_mask, is_causal, kernel.scale(q.shape[-1], scale))  # noqa: E741
        out = kernel.finish(acc, l, m)
        lse = torch.where(l > 0, m + torch.log(l), math.inf)  # rows without keys: weights of zero
        ctx.kernel, ctx.options = kernel, options
        ctx.save_for_backward(
            query, key, value, attn_mask, kernel.saved_output(out, dtype), kernel.saved_lse(lse, dtype)
        )
        return kernel.store(out, dtype)

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        kernel, (is_causal, scale, _) = ctx.kernel, ctx.options
        query, key, value, mask, out, lse = ctx.saved_tensors
        found = kernel.backward(query, key, value, mask, is_causal, scale, out, lse, cotangent)
        return (None, *kernel.hand_over(ctx.needs_input_grad[1:5], found), None)


class Flash(Tiles):
    """`Tiles` with its own backward, in the steps of flash attention."""

    def saved_output(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        """The output as the backward will see it."""
        return out

    def saved_lse(self, lse: Tensor, dtype: torch.dtype) -> Tensor:
        """The log-sum-exp as the backward will see it."""
        return lse

    def delta(self, out: Tensor, c: Tensor) -> Tensor:
        """D = rowsum(dO o)."""
        return (out * c).sum(-1, keepdim=True)

    def again(self, s: Tensor, lse: Tensor, start: int) -> Tensor:
        """The weights, computed again."""
        return torch.exp(s - lse)

    def backward_causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        """Which keys of the block causality allows, in the backward."""
        return self.causal(start, stop, n_q, n_kv)

    def add_query(self, dq: Tensor, part: Tensor, start: int) -> Tensor:
        """dQ is summed over blocks of keys."""
        return dq + part

    def d_value(self, p: Tensor, c: Tensor, start: int) -> Tensor:
        """dV of one block."""
        return p.mT @ c

    def d_key(self, ds: Tensor, q: Tensor, scale: float, start: int) -> Tensor:
        """dK of one block."""
        return scale * ds.mT @ q

    def d_scores(self, p: Tensor, dp: Tensor, delta: Tensor) -> Tensor:
        """dS = P (dP - D)."""
        return p * (dp - delta)

    def backward_scale(self, d: int, scale: float | None) -> float:
        """The scale of the backward."""
        return self.scale(d, scale)

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        """Query heads that share a key head are summed."""
        return x.reshape(*x.shape[:-3], heads, x.shape[-3] // heads, *x.shape[-2:]).sum(-3)

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        """dS summed over the axes along which the mask was broadcast."""
        return ds.sum_to_size(mask.shape)

    def hand_over(self, asked: tuple[bool, ...], found: list[Tensor | None]) -> list[Tensor | None]:
        """Gradients where they are asked for."""
        return [g if wanted else None for wanted, g in zip(asked, found, strict=True)]

    def backward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None,
        out: Tensor, lse: Tensor, cotangent: Tensor,
    ) -> list[Tensor | None]:  # fmt: skip
        """Gradients of query, key, value and a float mask, block by block of keys."""
        dtype, heads, n_q, n_kv = query.dtype, key.shape[-3], query.shape[-2], key.shape[-2]
        wide = torch.promote_types(dtype, torch.float32)
        q, c, out, lse = query.to(wide), cotangent.to(wide), out.to(wide), lse.to(wide)
        k, v = self.expand(key.to(wide), value.to(wide), q.shape[-3])
        factor, delta = self.backward_scale(q.shape[-1], scale), self.delta(out, c)
        dq, dk, dv, all_ds = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v), []
        for start, stop in self.edges(n_kv):
            s = self.mask(self.scores(q, k[..., start:stop, :], factor), start, stop, mask, n_kv)
            if is_causal:
                s = s.masked_fill(~self.backward_causal(start, stop, n_q, n_kv), -math.inf)
            p = self.again(s, lse, start)
            ds = self.d_scores(p, c @ v[..., start:stop, :].mT, delta)
            dq = self.add_query(dq, factor * ds @ k[..., start:stop, :], start)
            dk[..., start:stop, :] = self.d_key(ds, q, factor, start)
            dv[..., start:stop, :] = self.d_value(p, c, start)
            all_ds.append(ds)
        db = None
        if mask is not None and mask.is_floating_point() and all_ds:
            db = self.d_mask(torch.cat(all_ds, -1), mask).to(dtype)
        return [dq.to(dtype), self.over_group(dk, heads).to(dtype), self.over_group(dv, heads).to(dtype), db]

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        found: Tensor = _Flash.apply(self, query, key, value, attn_mask, (is_causal, scale, enable_gqa))
        return found
