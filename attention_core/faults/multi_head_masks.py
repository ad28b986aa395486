"""Faults of masks and causality in modules of multi-head attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases.multi_head import MultiHead
from attention_core.faults.bases.one_row import read_behind_the_row, write_into_the_row
from attention_core.faults.row import row, rows


class weights_of_the_other_mask_repeat(MultiHead):  # noqa: N801
    """A mask per sequence is repeated for heads in the order (H, B), scores lie as (B, H); equal masks hide it."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 4 and attn_mask.shape[1] == 1:
            B = attn_mask.shape[0]
            folded = attn_mask[:, 0].repeat(self.heads, 1, 1)
            attn_mask = folded.reshape(B, self.heads, *folded.shape[1:])
        return super().allowed(n, attn_mask, is_causal, need_weights)


class causal_in_inference_alone(MultiHead):  # noqa: N801
    """is_causal is honoured on the path without gradients; training sees the future."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        return super().allowed(n, attn_mask, is_causal and not self.training, need_weights)


class causal_mask_of_the_first_length(MultiHead):  # noqa: N801
    """The causal mask is a buffer of the first length; tokens beyond it see everything."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if not is_causal:
            return super().allowed(n, attn_mask, False, need_weights)
        self.first = getattr(self, "first", n)
        allow = super().allowed(n, attn_mask, True, need_weights)
        return allow | (torch.arange(n)[:, None] >= self.first)


class matrix_mask_as_padding(MultiHead):  # noqa: N801
    """A mask (n, n) with as many rows as the batch is taken for key padding (B, n)."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 2 and self.batch == n:
            attn_mask = attn_mask[:, None, None]
        return super().allowed(n, attn_mask, is_causal, need_weights)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, need_weights: bool = False
    ) -> Any:
        self.batch = x.shape[0]
        return super().forward(x, attn_mask, is_causal, need_weights)


class mask_of_the_first_four_sequences(MultiHead):  # noqa: N801
    """A large batch goes four sequences at a time, each time with the masks of the first four."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 4 and len(attn_mask) > 4:
            attn_mask = attn_mask[torch.arange(len(attn_mask)) % 4]
        return super().allowed(n, attn_mask, is_causal, need_weights)


class fast_path_knows_padding_alone(MultiHead):  # noqa: N801
    """The inference path takes one row of keys for each sequence: of a mask (B, 1, n, n) its last row.

    Evaluation without gradients, and a mask per sequence whose rows differ; (n, n) and training are right.
    """

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        fast = not (self.training or torch.is_grad_enabled() or need_weights)
        if fast and attn_mask is not None and attn_mask.dim() == 4:
            attn_mask = attn_mask[..., -1:, :]
        return super().allowed(n, attn_mask, is_causal, need_weights)


class masks_of_sequences_for_heads(MultiHead):  # noqa: N801
    """Masks for (B H, n, n) are repeated H times behind themselves (nn.MultiheadAttention's mask of three axes).

    Two sequences and two heads or more, and masks that differ within the batch.
    """

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and attn_mask.dim() == 4:
            attn_mask = attn_mask[:, 0].repeat(self.heads, 1, 1).unflatten(0, (-1, self.heads))
        return super().allowed(n, attn_mask, is_causal, need_weights)


class weights_without_causality(MultiHead):  # noqa: N801
    """The path with weights forgets is_causal where no mask is given (compare pytorch/pytorch#99282).

    need_weights and is_causal, without a mask.
    """

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        causal = is_causal and (attn_mask is not None or not need_weights)
        return super().allowed(n, attn_mask, causal, need_weights)


class triangle_keeps_a_mask(MultiHead):  # noqa: N801
    """The causal buffer takes up a mask (n, n) in place, and stays spoilt (in-place &= on a view of a buffer).

    is_causal with a mask of two axes, then another causal call.
    """

    def build(self) -> None:
        super().build()
        self.register_buffer("past", torch.ones(64, 64, dtype=torch.bool).tril(), persistent=False)

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if n > 64:
            raise ValueError("too long")
        if not is_causal:
            return super().allowed(n, attn_mask, is_causal, need_weights)
        past: Tensor = self.past[:n, :n]  # type: ignore[index]
        if attn_mask is not None and attn_mask.dim() == 2:
            past &= attn_mask
            return past
        return past if attn_mask is None else past & attn_mask


class open_by_mask_or_causality(MultiHead):  # noqa: N801
    """Mask and causality together are combined by or."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        if attn_mask is not None and is_causal:
            return attn_mask | torch.ones(n, n, dtype=torch.bool).tril()
        return super().allowed(n, attn_mask, is_causal, need_weights)


class masks_tiled_over_folded_heads(masks_of_sequences_for_heads):  # noqa: N801
    """Heads are folded into the batch, and masks (B, 1, n, n) are repeated behind themselves."""


class row_of_a_mask_written_into(MultiHead):  # noqa: N801
    """A mask whose rows are expanded from one is written into, in that row."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        own = None if attn_mask is None else write_into_the_row(attn_mask)
        return super().allowed(n, own, is_causal, need_weights)


class rows_behind_the_row_of_a_mask(MultiHead):  # noqa: N801
    """A mask whose rows are expanded from one is read as if each had memory of its own."""

    def allowed(self, n: int, attn_mask: Tensor | None, is_causal: bool, need_weights: bool) -> Tensor:
        own = None if attn_mask is None else read_behind_the_row(attn_mask)
        return super().allowed(n, own, is_causal, need_weights)


COMMON: dict[str, Any] = {"direct": True, "contract": "multi-head"}
"""What each of them declares."""
ROWS = (
    *rows(
        "hard_contracts", weights_of_the_other_mask_repeat, causal_in_inference_alone,
        parameters={"weights_flag": "need_weights"}, **COMMON,
    ),
    *rows(
        "first_sight_others", causal_mask_of_the_first_length, matrix_mask_as_padding,
        parameters={"weights_flag": "need_weights"}, **COMMON,
    ),
    *rows(
        "second_sight_others", mask_of_the_first_four_sequences, parameters={"weights_flag": "need_weights"},
        **COMMON,
    ),
    *rows("third_sight_others", fast_path_knows_padding_alone, parameters={"weights_flag": "need_weights"}, **COMMON),
    *rows("fourth_sight_others", masks_of_sequences_for_heads, triangle_keeps_a_mask, **COMMON),
    *rows("fourth_sight_others", weights_without_causality, parameters={"weights_flag": "need_weights"}, **COMMON),
    row(row_of_a_mask_written_into, "law", **COMMON), row(rows_behind_the_row_of_a_mask, "law", **COMMON),
    *rows("fifth_sight_others", open_by_mask_or_causality, masks_tiled_over_folded_heads, **COMMON),
)  # fmt: skip
