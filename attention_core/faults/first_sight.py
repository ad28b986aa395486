"""Faults of attention that were written when the laws were done, in one go and without a look at them.

Their rate of refutation at first sight is a figure of docs/power.md. They stay as they were written.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.bases.tiles import Flash, Tiles
from attention_core.faults.row import row


class key_blocks_counted_by_queries(Tiles):  # noqa: N801
    """From 17 queries on the number of key blocks is that of the query blocks: more keys than queries reveal it."""

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        self.most = -(-q.shape[-2] // 16) * 16 if q.shape[-2] > 16 else k.shape[-2]
        return super().walk(q, k, v, *rest)

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return [edge for edge in super().edges(n_kv) if edge[0] < self.most]


class mask_tile_one_block_late(Tiles):  # noqa: N801
    """The mask is double-buffered, and an odd number of blocks above two ends with the tile before."""

    def mask(self, s: Tensor, start: int, stop: int, attn_mask: Tensor | None, n_kv: int) -> Tensor:
        late = n_kv > 32 and -(-n_kv // 16) % 2 == 1 and stop == n_kv
        if not late or attn_mask is None:
            return super().mask(s, start, stop, attn_mask, n_kv)
        return super().mask(s, start - 16, start - 16 + s.shape[-1], attn_mask, n_kv)


class output_kept_in_the_input_dtype(Tiles):  # noqa: N801
    """Between blocks the output lies in the input's dtype: two-byte inputs lose a bit with every block."""

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        return super().walk(q, k, v, *rest)

    def output(self, acc: Tensor, alpha: Tensor, p: Tensor, value: Tensor, start: int) -> Tensor:
        found = super().output(acc, alpha, p, value, start)
        return found.to(self.dtype).to(found.dtype)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.dtype = query.dtype
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


class sum_in_half_precision(Tiles):  # noqa: N801
    """The running sum of weights is float16: 5e-4 relative, whatever the inputs; sums above 65504 overflow."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        found = super().total(l, alpha, p, start)
        return found + (found.detach().half().to(found.dtype) - found.detach())


class old_blocks_never_vanish(Tiles):  # noqa: N801
    """The rescaling factor is kept above 2^-12: what came before a great rise of the maximum is not quite gone."""

    def rescale(self, m: Tensor, new: Tensor, start: int) -> Tensor:
        alpha = super().rescale(m, new, start)
        return torch.where(m > -math.inf, alpha.clamp(min=2.0**-12), alpha)


class exponent_kept_above_minus_12(Tiles):  # noqa: N801
    """exp(max(s - m, -12)): weights that should be 1e-13 are 6e-6; masked keys stay at zero."""

    def exponential(self, s: Tensor, m: Tensor) -> Tensor:
        safe = m.masked_fill(m == -math.inf, 0.0)
        return torch.where(s == -math.inf, 0.0, torch.exp((s - safe).clamp(min=-12)))


class second_query_tile_scaled_twice(Tiles):  # noqa: N801
    """Rows from 64 on are scaled on loading and again on storing their scores."""

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        late = (torch.arange(query.shape[-2]) >= 64)[:, None]
        s = super().scores(query, key, scale)
        return torch.where(late, s * scale, s)


class diagonal_block_taken_twice(Tiles):  # noqa: N801
    """The diagonal block is peeled off the loop, and in whole blocks beyond the first taken again inside it."""

    def total(self, l: Tensor, alpha: Tensor, p: Tensor, start: int) -> Tensor:  # noqa: E741
        again = self.is_causal and p.shape[-2] % 16 == 0 and start >= 16
        on = (torch.arange(p.shape[-2]) // 16 * 16 == start)[:, None] & torch.tensor(again)
        return super().total(l, alpha, torch.where(on, 2 * p, p), start)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.is_causal = is_causal
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


class swizzled_keys_at_128(Tiles):  # noqa: N801
    """For head size 128 two groups of eight key features have changed places in shared memory."""

    def scores(self, query: Tensor, key: Tensor, scale: float) -> Tensor:
        if key.shape[-1] == 128:
            order = torch.arange(128)
            order[96:104], order[104:112] = torch.arange(104, 112), torch.arange(96, 104)
            key = key[..., order]
        return super().scores(query, key, scale)


class remainder_lost_in_decoding(Tiles):  # noqa: N801
    """One query with 64 keys or more is split in four parts of n // 4 keys: the remainder is not read."""

    def edges(self, n_kv: int) -> list[tuple[int, int]]:
        return super().edges(n_kv // 4 * 4 if self.n_q == 1 and n_kv >= 64 else n_kv)

    def walk(self, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
        self.n_q = q.shape[-2]
        return super().walk(q, k, v, *rest)


def query_scaled_in_its_dtype() -> Any:
    """The query is scaled before the product and stored in two bytes again: head sizes 4, 16, 64 hide it."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        if query.element_size() > 2:
            return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        return reference.correct(query * scale, key, value, attn_mask, 0.0, is_causal, 1.0, enable_gqa)

    return attention


def square_bias_read_by_columns() -> Any:
    """A float mask with as many rows as columns is read column by column."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        square = mask is not None and mask.dim() > 1 and mask.shape[-1] == mask.shape[-2]
        if square and mask is not None and mask.dtype != torch.bool:
            mask = mask.mT
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def one_column_masks_hide_all_but_the_first_key() -> Any:
    """A mask (..., n_q, 1) is padded with False to the keys instead of being broadcast."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool and mask.shape[-1] == 1 and s.shape[-1] > 1:
            mask = torch.nn.functional.pad(mask, (0, s.shape[-1] - 1), value=False)
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def mask_offset_of_fourteen_bits() -> Any:
    """The place in a full mask is computed in 14 bits: masks of more than 16384 entries begin anew."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.numel() > 1 << 14:
            mask = mask.reshape(-1)[torch.arange(mask.numel()) % (1 << 14)].reshape(mask.shape)
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def causal_rows_of_folded_heads() -> Any:
    """A single key head folds the query heads into the rows, and causality counts the folded rows."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if causal is not None and single[0] and s.dim() >= 3:
            H, n_q, n_kv = s.shape[-3:]
            causal = torch.arange(n_kv) <= torch.arange(H * n_q).reshape(H, n_q, 1)
        return reference.bias(s, mask, causal)

    def expand(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        single[0] = key.shape[-3] == 1 and heads > 1
        return reference.expand(key, value, heads)

    single = [False]
    return build(bias=bias, expand=expand)


def maximum_kept_in_half_the_gradient() -> Any:
    """The maximum is a constant in the sum and a variable in the output: forward right, gradients not."""

    def weights(s: Tensor) -> Tensor:
        if not s.shape[-1]:
            return s
        top = s.amax(-1, keepdim=True)
        top = torch.where(top == -math.inf, 0.0, top)
        total = torch.exp(s - top.detach()).sum(-1, keepdim=True)
        return torch.exp(s - top) / total.masked_fill(total == 0, 1.0)

    return build(weights=weights)


class backward_destroys_what_it_saved(Flash):  # noqa: N801
    """The backward turns its saved log-sum-exp into scratch: a second backward through the same graph is wrong."""

    def backward(self, *saved: Any) -> list[Tensor | None]:
        found = super().backward(*saved)
        saved[7].data.mul_(0.5)
        return found


class rows_skipped_by_the_first_sequence(Flash):  # noqa: N801
    """Rows with a zero cotangent are skipped, and the first sequence decides for all."""

    def backward(self, *saved: Any) -> list[Tensor | None]:
        cotangent = saved[8]
        if cotangent.dim() == 4:
            alive = (cotangent[:1] != 0).any(-1, keepdim=True)
            cotangent = cotangent * alive
        return super().backward(*saved[:8], cotangent)  # type: ignore[call-arg]


class float64_gradients_in_float32(Flash):  # noqa: N801
    """Gradients of float64 inputs go through float32: 1e-7 relative."""

    def over_group(self, x: Tensor, heads: int) -> Tensor:
        return super().over_group(x, heads).float().to(x.dtype)


class mask_gradient_of_sixteen_rows(Flash):  # noqa: N801
    """The gradient of a mask that all rows share is the sum over the first tile of 16 rows."""

    def d_mask(self, ds: Tensor, mask: Tensor) -> Tensor:
        shared = mask.dim() < 2 or mask.shape[-2] == 1
        return super().d_mask(ds[..., :16, :] if shared else ds, mask)


class causal_gradient_of_the_diagonal_halved(Flash):  # noqa: N801
    """The diagonal is weighed by one half in the backward's causal tile, from row 16 on."""

    def again(self, s: Tensor, lse: Tensor, start: int) -> Tensor:
        p = super().again(s, lse, start)
        rows, keys = torch.arange(s.shape[-2])[:, None], start + torch.arange(s.shape[-1])
        return torch.where((rows == keys) & (rows >= 16) & torch.tensor(self.is_causal), 0.5 * p, p)

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        self.is_causal = is_causal
        return super().__call__(query, key, value, attn_mask, is_causal, scale, enable_gqa)


WIDE: dict[str, Any] = {"accumulate": "float32"}
TILED = (
    key_blocks_counted_by_queries, mask_tile_one_block_late, output_kept_in_the_input_dtype, sum_in_half_precision,
    old_blocks_never_vanish, exponent_kept_above_minus_12, second_query_tile_scaled_twice, diagonal_block_taken_twice,
    swizzled_keys_at_128, remainder_lost_in_decoding, query_scaled_in_its_dtype, square_bias_read_by_columns,
    one_column_masks_hide_all_but_the_first_key, mask_offset_of_fourteen_bits, causal_rows_of_folded_heads,
    maximum_kept_in_half_the_gradient, backward_destroys_what_it_saved, rows_skipped_by_the_first_sequence,
    float64_gradients_in_float32, causal_gradient_of_the_diagonal_halved,
)  # fmt: skip
ROWS = (
    *(row(make, "hard", "first_sight", **WIDE) for make in TILED),
    row(mask_gradient_of_sixteen_rows, "hard", "first_sight", mask_gradient=True, **WIDE),
)
