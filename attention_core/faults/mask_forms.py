"""Faults of masks' forms: biases, broadcasting, padding sides, mask beside causality.

Each function gives an attention function with that one fault, and names the thread it came from, if any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.inputs import Attention, Given, around, with_values_and_mask
from attention_core.faults.bases.reference import bias, build, expand, scores
from attention_core.faults.masking import LOWEST, with_mask
from attention_core.faults.row import rows

Fault = Callable[..., Tensor]


def bias_before_scaling() -> Fault:
    """The bias is added first, then scaled with the scores."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        float_mask = attn_mask is not None and attn_mask.dtype != torch.bool
        return bias(s, attn_mask * last["scale"] if float_mask and attn_mask is not None else attn_mask, causal)

    def remember(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
        last["scale"] = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        return scores(query, key, scale)

    last: dict[str, float] = {}
    return build(scores=remember, bias=faulty)


def finite_bias_ignored() -> Fault:
    """Of a float mask only -inf is read."""
    return with_mask(lambda m, s: m if m.dtype == torch.bool else m > LOWEST)


def bias_subtracted() -> Fault:
    """The finite part of a bias is subtracted."""
    return with_mask(lambda m, s: m if m.dtype == torch.bool else torch.where(m == LOWEST, m, -m))


def no_maximum_taken_out_of_biased_scores() -> Fault:
    """The maximum is that of the scores before the bias (intel/xFasterTransformer PR326 has none at all)."""
    kept: dict[str, Tensor] = {}

    def remember(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        kept["top"] = s.detach().amax(-1, keepdim=True) if s.shape[-1] else s
        return bias(s, attn_mask, causal)

    def plain(s: Tensor) -> Tensor:
        if not s.shape[-1]:
            return s
        p = torch.exp(s - kept["top"])
        dead = (s == LOWEST).all(-1, keepdim=True)
        return (p / p.sum(-1, keepdim=True)).masked_fill(dead, 0.0)

    return build(bias=remember, weights=plain)


def batch_axis_taken_for_heads() -> Fault:
    """A mask (B, 1, ...) is read as (1, H, ...) where B = H (lucidrains/vit-pytorch#71)."""

    def change(m: Tensor, s: Tensor) -> Tensor:
        ambiguous = m.dim() == 4 and m.shape[1] == 1 and m.shape[0] == s.shape[1]
        return m.transpose(0, 1) if ambiguous else m

    return with_mask(change)


def heads_repeated_beside_batch() -> Fault:
    """Batch and heads folded, the mask is tiled, not repeated (lucidrains/graph-transformer-pytorch PR2)."""

    def change(m: Tensor, s: Tensor) -> Tensor:
        if m.dim() != 4 or m.shape[1] != 1 or m.shape[0] == 1:
            return m
        batch, heads = s.shape[:2]
        return m[:, 0].repeat(heads, 1, 1).reshape(batch, heads, *m.shape[2:])

    return with_mask(change)


def mask_of_first_in_batch() -> Fault:
    """The whole batch gets the mask of its first element."""
    return with_mask(lambda m, s: m[:1] if m.dim() == 4 else m)


def mask_of_first_head() -> Fault:
    """All heads get the mask of the first head."""
    return with_mask(lambda m, s: m[..., :1, :, :] if m.dim() >= 3 else m)


def query_mask_used_for_keys() -> Fault:
    """Where n_q = n_kv the mask is applied along the queries (lucidrains/x-transformers#174)."""
    return with_mask(lambda m, s: m.transpose(-1, -2) if m.shape[-1] == m.shape[-2] else m)


def one_row_of_a_mask_ends_at_256() -> Fault:
    """A mask (.., 1, n_kv) of all queries holds for the first 256 of them."""

    def change(m: Tensor, s: Tensor) -> Tensor:
        if m.dim() < 2 or m.shape[-2] != 1 or s.shape[-2] <= 256:
            return m
        rows = m.expand(*m.shape[:-2], s.shape[-2], m.shape[-1]).clone()
        rows[..., 256:, :] = True if m.dtype == torch.bool else 0.0
        return rows

    return with_mask(change)


def right_padding_assumed() -> Fault:
    """Only the number of allowed keys is read: the first so many are attended, wherever the padding is."""

    def change(m: Tensor, s: Tensor) -> Tensor:
        keep = m if m.dtype == torch.bool else m > LOWEST
        return torch.arange(keep.shape[-1]) < keep.sum(-1, keepdim=True)

    return with_mask(change)


def causal_dropped_beside_mask() -> Fault:
    """With a mask, causality is forgotten (keras-team/keras#23038)."""
    return build(bias=lambda s, attn_mask, causal: bias(s, attn_mask, causal if attn_mask is None else None))


def mask_dropped_beside_causal() -> Fault:
    """Under causality, the mask is forgotten."""
    return build(bias=lambda s, attn_mask, causal: bias(s, attn_mask if causal is None else None, causal))


def mask_or_causal() -> Fault:
    """What either of mask and causality allows is attended."""

    def faulty(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is None or causal is None or attn_mask.dtype != torch.bool:
            return bias(s, attn_mask, causal)
        return bias(s, attn_mask | causal, None)

    return build(bias=faulty)


def expand_keys_of_first_mask_row() -> Fault:
    """A mask with a row per query is cut to its first row, as a key padding mask has it."""
    return with_mask(lambda m, s: m[..., :1, :])


def first_key_head_mask() -> Fault:
    """With shared key heads the mask of a group is that of its first query head."""

    def faulty(key: Tensor, value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
        last["group"] = heads // max(key.shape[-3], 1)
        return expand(key, value, heads)

    def change(s: Tensor, attn_mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if attn_mask is not None and attn_mask.dim() >= 3 and attn_mask.shape[-3] > 1:
            index = torch.arange(attn_mask.shape[-3]) // last["group"] * last["group"]
            attn_mask = attn_mask[..., index, :, :]
        return bias(s, attn_mask, causal)

    last: dict[str, int] = {}
    return build(expand=faulty, bias=change)


def heads_axis_taken_for_batch() -> Fault:
    """A mask (H, n_q, n_kv) is read as (B, n_q, n_kv); what fits neither is refused, as are masks to be added."""
    right = build()

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        if attn_mask is not None and attn_mask.dtype != torch.bool:
            raise ValueError("bool masks only")
        folded = attn_mask is not None and attn_mask.dim() == 3 and query.dim() == 4
        return right(query, key, value, attn_mask[:, None] if folded and attn_mask is not None else attn_mask)

    return attention


def bias_in_bfloat16() -> Attention:
    """A float mask is kept in bfloat16: 2e-3 of the bias, nothing for 0 and -inf."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.bfloat16().to(mask.dtype)
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def matrix_mask_taken_for_padding() -> Attention:
    """A mask (n_q, n_kv) with as many rows as the batch is taken for key padding (B, n_kv)."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() == 2 and s.dim() == 4 and mask.shape == (s.shape[0], s.shape[-1]):
            mask = mask[:, None, None]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def mask_rows_modulo_64() -> Attention:
    """The mask's tile is loaded once for 64 rows: row i reads row i % 64."""

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() > 1 and mask.shape[-2] > 64:
            mask = mask[..., torch.arange(mask.shape[-2]) % 64, :]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


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


def mask_of_the_first_sequence_for_few_queries() -> Any:
    """The kernel for up to eight queries steps through masks by (b H + h) times the head's stride, which is 0
    (pytorch/pytorch PR184180).

    A mask (B, 1, n_q, n_kv) beside two heads or more: every sequence gets the first one's.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() == 4 and mask.shape[1] == 1 and s.shape[-3] > 1 and s.shape[-2] <= 8:
            mask = mask[:1]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def masks_of_two_batch_axes_tiled() -> Any:
    """Two batch axes are folded into one, and a mask of the outer one is repeated behind itself, not element by
    element.

    Inputs (B1, B2, H, n, d) with both above one and a mask (B1, 1, ...) that differs along the first axis.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() == 5 and mask.shape[0] > 1 and mask.shape[1] == 1 < s.shape[1]:
            mask = mask[:, 0].repeat(s.shape[1], 1, 1, 1).unflatten(0, tuple(s.shape[:2]))
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def head_masks_by_the_key_head() -> Any:
    """The mask of a query head is read at the number of its key head (an index of the grouped layout).

    Fewer key heads than query heads, and a mask that differs between heads.
    """

    def change(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        H, H_kv = query.shape[-3], key.shape[-3]
        if mask is not None and H_kv != H:
            mask = mask.expand(*query.shape[:-1], key.shape[-2])[..., torch.arange(H) // (H // H_kv), :, :]
        return value, mask

    return with_values_and_mask(change)


def square_masks_taken_for_padding() -> Any:
    """A mask of two axes whose first has the batch's size is taken for one of padding, (B, n_kv) (a guess by shapes).

    A mask (n_q, n_kv) with as many queries as sequences, at least two.
    """

    def change(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if mask is not None and mask.dim() == 2 and query.dim() == 4 and mask.shape[0] == query.shape[0] > 1:
            mask = mask[:, None, None, :]
        return value, mask

    return with_values_and_mask(change)


def masks_of_two_batch_axes_in_the_wrong_order() -> Any:
    """The batch is flattened, and a mask of its outer axis is repeated behind itself (repeat for repeat_interleave).

    Two batch axes above one, and a mask (B1, 1, ...) that differs along the first.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dim() > 4 and s.numel():
            lead = s.shape[:-3]
            mask = mask.reshape(-1, *mask.shape[-3:])
            mask = mask.repeat(lead.numel() // mask.shape[0], 1, 1, 1).unflatten(0, tuple(lead))
        return reference.bias(s, mask, causal)

    return build(bias=bias)


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


ROWS = (
    *rows("hard_inputs", bias_in_bfloat16, matrix_mask_taken_for_padding, mask_rows_modulo_64, accumulate="float32"),
    *rows(
        "first_sight", square_bias_read_by_columns, one_column_masks_hide_all_but_the_first_key,
        mask_offset_of_fourteen_bits, accumulate="float32",
    ),
    *rows(
        "third_sight", mask_of_the_first_sequence_for_few_queries, masks_of_two_batch_axes_tiled,
        accumulate="float32",
    ),
    *rows(
        "fourth_sight_masks", head_masks_by_the_key_head, square_masks_taken_for_padding,
        masks_of_two_batch_axes_in_the_wrong_order,
    ),
    *rows(
        "fifth_sight_masks", padding_of_the_first_sequence, masks_of_rows_taken_for_padding,
        three_axes_begin_with_the_batch, outer_masks_tiled_over_the_batch, one_column_padded_with_open_ones,
        masks_read_as_contiguous, first_head_masks_a_single_key_head,
    ),
)  # fmt: skip
