"""Faults of masks of the fourth set, by somebody who had seen neither the laws nor the faults so far.

Their rate of refutation at first sight is in experiments/power/first_sight.json. They are what they were then, on the
catalogue's own correct bases, and declare what they declared then.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build
from attention_core.faults.fourth_sight import changed
from attention_core.faults.row import row


def head_masks_by_the_key_head() -> Any:
    """The mask of a query head is read at the number of its key head (an index of the grouped layout).

    Fewer key heads than query heads, and a mask that differs between heads.
    """

    def change(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        H, H_kv = query.shape[-3], key.shape[-3]
        if mask is not None and H_kv != H:
            mask = mask.expand(*query.shape[:-1], key.shape[-2])[..., torch.arange(H) // (H // H_kv), :, :]
        return value, mask

    return changed(change)


def square_masks_taken_for_padding() -> Any:
    """A mask of two axes whose first has the batch's size is taken for one of padding, (B, n_kv) (a guess by shapes).

    A mask (n_q, n_kv) with as many queries as sequences, at least two.
    """

    def change(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if mask is not None and mask.dim() == 2 and query.dim() == 4 and mask.shape[0] == query.shape[0] > 1:
            mask = mask[:, None, None, :]
        return value, mask

    return changed(change)


def blocks_skipped_by_the_first_mask() -> Any:
    """Blocks of 4 x 4 are skipped where the first mask is empty (FlexAttention's block mask with B = None, H = None).

    Bool masks that differ between heads or sequences, and five keys or more.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool and s.shape[-1] > 4 and s.numel():
            n_q, n_kv = s.shape[-2:]
            first = mask.expand(s.shape).flatten(0, -3)[0]
            tiles = torch.nn.functional.pad(first, (0, -n_kv % 4, 0, -n_q % 4)).unflatten(1, (-1, 4))
            kept = tiles.unflatten(0, (-1, 4)).any(3).any(1)
            mask = mask & kept[torch.arange(n_q)[:, None] // 4, torch.arange(n_kv) // 4]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


def blocks_full_by_their_corners() -> Any:
    """A block of 4 x 4 counts as full where its four corners are open (a shortcut of block masks).

    Bool masks with holes, four queries and four keys or more.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool:
            mask = mask.expand(s.shape).clone()
            for i in range(0, s.shape[-2] - 3, 4):
                for j in range(0, s.shape[-1] - 3, 4):
                    tile = mask[..., i : i + 4, j : j + 4]
                    tile |= tile[..., ::3, ::3].all(-1).all(-1)[..., None, None]
        return reference.bias(s, mask, causal)

    return build(bias=bias)


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


def causality_lost_beside_a_float_mask() -> Any:
    """is_causal is dropped where a float mask is given: only bool masks are combined (compare pytorch/pytorch#99282).

    A float mask and is_causal at once.
    """

    def bias(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
        return reference.bias(s, mask, causal if mask is None or mask.dtype == torch.bool else None)

    return build(bias=bias)


ROWS = tuple(
    row(make, "hard", "fourth_sight") for make in (
        head_masks_by_the_key_head, square_masks_taken_for_padding, blocks_skipped_by_the_first_mask,
        blocks_full_by_their_corners, masks_of_two_batch_axes_in_the_wrong_order, causality_lost_beside_a_float_mask,
    )
)  # fmt: skip
