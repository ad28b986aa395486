"""Hard faults of the backward: the forward is right, and so are most gradients of most inputs.

Each class is the correct `Flash` with one step of its backward changed, of our making.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.tiles import Flash
from attention_core.faults.row import row


class key_gradient_of_the_tail_lost(Flash):  # noqa: N801
    """dK of a last block that is not full stays zero: lengths off a multiple of 16 alone."""

    def d_key(self, ds: Tensor, q: Tensor, scale: float, start: int) -> Tensor:
        found = super().d_key(ds, q, scale, start)
        return found if ds.shape[-1] == self.block or start == 0 else torch.zeros_like(found)


class query_gradient_stored_not_added(Flash):  # noqa: N801
    """From key 64 on dQ is stored where it should be added: only the last block counts."""

    def add_query(self, dq: Tensor, part: Tensor, start: int) -> Tensor:
        return part if start >= 64 else super().add_query(dq, part, start)


class delta_from_the_rounded_output(Flash):  # noqa: N801
    """The output is saved in bfloat16 for the backward's rowsum(dO o), for float32 inputs too: 1e-3 relative."""

    def saved_output(self, out: Tensor, dtype: torch.dtype) -> Tensor:
        return out.bfloat16().to(out.dtype)


class lse_saved_in_half_precision(Flash):  # noqa: N801
    """The log-sum-exp is saved in float16: weights of the backward are off by 1e-3, dV and dK with them."""

    def saved_lse(self, lse: Tensor, dtype: torch.dtype) -> Tensor:
        return lse.half().to(lse.dtype)


class backward_with_the_default_scale(Flash):  # noqa: N801
    """The scale is not passed to the backward, which computes 1/sqrt(d): a given scale reveals it."""

    def backward_scale(self, d: int, scale: float | None) -> float:
        return self.scale(d, None)


class mask_gradient_of_the_first_batch_row(Flash):  # noqa: N801
    """The gradient of a mask that is shared by the batch is that of the first batch row."""

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        shared = mask.dim() < 4 or mask.shape[0] == 1
        return super().d_mask(ds[:1] if ds.dim() == 4 and shared else ds, mask)


class query_gradient_needs_that_of_the_key(Flash):  # noqa: N801
    """With the key frozen the backward stops early, and the query gets no gradient either."""

    def hand_over(self, asked: tuple[bool, ...], found: list[Tensor | None]) -> list[Tensor | None]:
        given = super().hand_over(asked, found)
        if not asked[1] and given[0] is not None:
            given[0] = torch.zeros_like(given[0])
        return given


class causal_backward_as_if_square(Flash):  # noqa: N801
    """The backward skips causal pairs by min(n_q, n_kv): queries beyond the keys give them no gradient."""

    def backward_causal(self, start: int, stop: int, n_q: int, n_kv: int) -> Tensor:
        return self.causal(start, stop, n_q, n_kv) & (torch.arange(n_q) < max(n_kv, 1))[:, None]


class group_summed_in_the_input_dtype(Flash):  # noqa: N801
    """Gradients of a group are added by atomics in bfloat16, for float32 inputs too: 4e-3 relative, groups alone."""

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        group = x.shape[-3] // heads
        if group == 1:
            return super().over_group(x, heads)
        parts = x.reshape(*x.shape[:-3], heads, group, *x.shape[-2:]).unbind(-3)
        total = parts[0].bfloat16()
        for part in parts[1:]:
            total = total + part.bfloat16()
        return total.to(x.dtype)


class group_of_three_loses_one(Flash):  # noqa: N801
    """A group is summed in pairs, and an odd one loses its last head: dK and dV, groups of three alone."""

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        parts = x.reshape(*x.shape[:-3], heads, x.shape[-3] // heads, *x.shape[-2:])
        even = parts.shape[-3] // 2 * 2 or 1
        return parts[..., :even, :, :].sum(-3)


class small_weights_have_no_gradient(Flash):  # noqa: N801
    """The backward skips weights below 2^-8: keys that are hardly attended to learn nothing."""

    def again(self, s: Tensor, lse: Tensor, start: int) -> Tensor:
        p = super().again(s, lse, start)
        return p.masked_fill(p < 2.0**-8, 0.0)


class value_gradient_of_64_columns(Flash):  # noqa: N801
    """dV has tiles of 64 columns, and from the second one on they are stored one row further."""

    def d_value(self, p: Tensor, c: Tensor, start: int) -> Tensor:
        found = super().d_value(p, c, start)
        return torch.cat([found[..., :64], found[..., 64:].roll(1, -2)], -1)


class delta_of_the_first_64_columns(Flash):  # noqa: N801
    """rowsum(dO o) runs over the first 64 columns: d_v up to 64 hides it, and dV is right."""

    def delta(self, out: Tensor, c: Tensor) -> Tensor:
        return super().delta(out[..., :64], c[..., :64])


class small_score_gradients_flushed(Flash):  # noqa: N801
    """The gradient of the scores is stored in a format that has nothing below 2^-12."""

    def d_scores(self, p: Tensor, dp: Tensor, delta: Tensor) -> Tensor:
        ds = super().d_scores(p, dp, delta)
        return torch.where(ds.abs() < 2.0**-12, 0.0, ds)


class backward_of_the_last_call(Flash):  # noqa: N801
    """The mask lies on the kernel, not in the graph: a call between forward and backward changes the gradients."""

    last: Any = None

    def __call__(  # type: ignore[override]
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None
    ) -> Tensor:
        self.last = attn_mask
        return super().__call__(query, key, value, attn_mask)

    def backward(self, *saved: Any) -> list[Tensor | None]:
        mask = self.last if saved[3] is not None else None
        return super().backward(*saved[:3], mask, *saved[4:])  # type: ignore[call-arg]


FAULTS = (
    key_gradient_of_the_tail_lost, query_gradient_stored_not_added, delta_from_the_rounded_output,
    lse_saved_in_half_precision, backward_with_the_default_scale, query_gradient_needs_that_of_the_key,
    causal_backward_as_if_square, group_summed_in_the_input_dtype, group_of_three_loses_one,
    small_weights_have_no_gradient, value_gradient_of_64_columns, delta_of_the_first_64_columns,
    small_score_gradients_flushed, backward_of_the_last_call,
)  # fmt: skip
ROWS = (
    *(row(fault, "hard", accumulate="float32") for fault in FAULTS),
    row(mask_gradient_of_the_first_batch_row, "hard", accumulate="float32", mask_gradient=True),
)
