"""Faults of the fifth set in masks and causality, by somebody who had read neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are the faults counted then, on
the catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.fifth_sight import Given, around
from attention_core.faults.fourth_sight_masks import square_masks_taken_for_padding
from attention_core.faults.row import row

# --- shapes of masks ------------------------------------------------------------------------------


def padding_of_the_first_sequence() -> Any:
    """A mask of padding (B, 1, 1, n_kv) is read for the first sequence alone."""

    def change(a: Given) -> Given:
        mask = a["attn_mask"]
        padding = mask is not None and mask.dim() == 4 and mask.shape[1] == mask.shape[2] == 1
        return {"attn_mask": mask[:1]} if padding else {}

    return around(change)


def masks_of_rows_taken_for_padding() -> Any:
    """A mask of two axes whose first has the batch's size is taken for padding (B, n_kv), also where it is
    (n_q, n_kv).
    """
    return square_masks_taken_for_padding()


def three_axes_begin_with_the_batch() -> Any:
    """A mask of three axes is taken for (B, n_q, n_kv), where broadcasting makes it (H, n_q, n_kv)."""

    def change(a: Given) -> Given:
        mask, q = a["attn_mask"], a["query"]
        batch = mask is not None and mask.dim() == 3 and q.dim() == 4 and mask.shape[0] == q.shape[0]
        return {"attn_mask": mask.unsqueeze(1)} if batch else {}

    return around(change)


def outer_masks_tiled_over_the_batch() -> Any:
    """Two batch axes are flattened, and a mask of the outer one is repeated behind itself."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() == s.dim() == 5 and mask.shape[1] == 1 and mask.shape[0] == s.shape[0]:
            a, b = s.shape[:2]
            mask = mask.squeeze(1).repeat(b, 1, 1, 1).unflatten(0, (a, b))
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def one_column_padded_with_open_ones() -> Any:
    """A mask of one column is padded with open ones to n_kv columns, and not broadcast."""

    def change(a: Given) -> Given:
        mask, n = a["attn_mask"], a["key"].shape[-2]
        if mask is None or mask.dim() < 2 or mask.shape[-1] != 1 or n < 2:
            return {}
        return {"attn_mask": torch.nn.functional.pad(mask, (0, n - 1), value=mask.dtype == torch.bool)}

    return around(change)


def masks_read_as_contiguous() -> Any:
    """A mask is read as contiguous, whatever its strides.

    A transposed mask.
    """

    def change(a: Given) -> Given:
        mask = a["attn_mask"]
        if mask is None or mask.is_contiguous():
            return {}
        size = mask.untyped_storage().nbytes() // mask.element_size() - mask.storage_offset()
        strides = torch.empty(mask.shape, device="meta").stride()
        return {"attn_mask": mask.as_strided(mask.shape, strides)} if mask.numel() <= size else {}

    return around(change)


def first_head_masks_a_single_key_head() -> Any:
    """One key head has a path of its own, which takes the first head's mask for all."""

    def change(a: Given) -> Given:
        mask = a["attn_mask"]
        single = a["enable_gqa"] and a["key"].shape[-3] == 1 and mask is not None and mask.dim() >= 3
        return {"attn_mask": mask[..., :1, :, :]} if single else {}

    return around(change)


# --- what masks hide ------------------------------------------------------------------------------


def bias_below_minus_10000_hides() -> Any:
    """A float mask below -1e4 is taken for hidden: a row that is biased by -2e4 throughout gets nothing."""

    def change(a: Given) -> Given:
        mask = a["attn_mask"]
        if mask is None or mask.dtype == torch.bool:
            return {}
        return {"attn_mask": mask.masked_fill(mask < -1e4, -math.inf)}

    return around(change)


def rows_dead_in_any_head_are_cleared() -> Any:
    """A row that is empty in one head is cleared in all heads."""

    def weights(s: Tensor) -> Tensor:
        dead = (s == -math.inf).all(-1, keepdim=True)
        return reference.weights(s).masked_fill(dead.any(1, keepdim=True) if s.dim() == 4 else dead, 0.0)

    return build(weights=weights)


def hidden_keys_ten_below_the_minimum() -> Any:
    """Hidden keys get their row's minimum less 10, not -inf: they keep weight where scores are flat."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool and s.shape[-1]:
            s = torch.where(mask, s, s.amin(-1, keepdim=True) - 10)
            s, mask = s.masked_fill(~mask.expand(s.shape).any(-1, keepdim=True), -math.inf), None
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def one_key_ignores_its_bias() -> Any:
    """With one key its value is returned at once, and a bias of -inf is not looked at."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        alone = s.shape[-1] == 1 and mask is not None and mask.is_floating_point()
        return reference.bias(s, None if alone else mask, causal)

    return build(bias=bias)


# --- causality ------------------------------------------------------------------------------------


def bottom_right_never_below_zero() -> Any:
    """The offset of causality from the last key is clamped at 0.

    Bottom right is declared: more queries than keys.
    """
    return build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(max(0, n_kv - n_q)))


def one_query_sees_everything() -> Any:
    """n_q = 1 is taken for decoding: causality is dropped, though from the first key it leaves that key alone."""
    return build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(0 if n_q > 1 else n_kv))


def last_causal_row_beside_a_mask_of_one_row() -> Any:
    """A mask of one row and causality are combined in the shape of the mask, by the last causal row."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and causal is not None and mask.dim() >= 2 and mask.shape[-2] == 1:
            causal = causal[-1:]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def causality_by_the_share_of_tokens() -> Any:
    """In (B, n, H, d) causality compares shares, j / n_kv <= i / n_q: right where both lengths are one."""
    right = build(causal_allowed=lambda n_q, n_kv: torch.arange(n_kv) * n_q <= torch.arange(n_q)[:, None] * n_kv)

    def attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        return right(*(x.transpose(-2, -3) for x in (query, key, value)), is_causal=is_causal).transpose(-2, -3)

    return attention


def weights_from_before_causality() -> Any:
    """The weights that are returned are those before causality where no mask is given; the output is right."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        out = reference.correct(query, key, value, attn_mask, 0.0, is_causal)
        wide = torch.promote_types(query.dtype, torch.float32)
        causal = (
            reference.causal_allowed(query.shape[-2], key.shape[-2]) if is_causal and attn_mask is not None else None
        )
        s = reference.bias(reference.scores(query.to(wide), key.to(wide), None), attn_mask, causal)
        return out, reference.weights(s).to(query.dtype)

    return attention


ROWS = (
    row(bottom_right_never_below_zero, "hard", "fifth_sight", causal="bottom_right"),
    row(causality_by_the_share_of_tokens, "hard", "fifth_sight", layout="bnhd"),
    row(weights_from_before_causality, "hard", "fifth_sight", returns="out,weights"),
    row(hidden_keys_ten_below_the_minimum, "hard", "fifth_sight", dtypes=("float32", "float64", "bfloat16")),
    *(row(make, "hard", "fifth_sight") for make in (
        padding_of_the_first_sequence, masks_of_rows_taken_for_padding, three_axes_begin_with_the_batch,
        outer_masks_tiled_over_the_batch, one_column_padded_with_open_ones, masks_read_as_contiguous,
        first_head_masks_a_single_key_head, bias_below_minus_10000_hides, rows_dead_in_any_head_are_cleared,
        one_key_ignores_its_bias, one_query_sees_everything, last_causal_row_beside_a_mask_of_one_row,
    )),
)  # fmt: skip
