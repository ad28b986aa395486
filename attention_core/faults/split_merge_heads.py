"""Faults of splitting and merging heads: pairs (split, merge) with one fault each.

Each function returns one pair; its docstring tells the fault and a thread where people made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.faults.row import rows

Pair = tuple[Callable[[Tensor, int], Tensor], Callable[[Tensor], Tensor]]


def split(x: Tensor, H: int) -> Tensor:
    """The correct split."""
    if x.shape[-1] % H:
        raise ValueError(f"{H} heads do not divide {x.shape[-1]}")
    return x.unflatten(-1, (H, x.shape[-1] // H)).transpose(1, 2)


def merge(x: Tensor) -> Tensor:
    """The correct merge."""
    return x.transpose(1, 2).flatten(2)


def correct() -> Pair:
    """Without a fault."""
    return split, merge


def split_of_packed_rows() -> Pair:
    """Rows are taken to follow each other without a gap, whatever the strides say."""

    def packed(x: Tensor, H: int) -> Tensor:
        right = split(x, H)
        if x.numel() == 0 or x.is_contiguous():
            return right
        n, E = x.shape[1:]
        return x.as_strided((x.shape[0], H, n, E // H), (n * E, E // H, E, 1))

    return packed, merge


def split_by_view() -> Pair:
    """A view alone mixes tokens with features (reczoo/FuxiCTR#30, Chinese-Text-Classification-Pytorch#53)."""

    def by_view(x: Tensor, H: int) -> Tensor:
        split(x, H)
        return x.reshape(x.shape[0], H, x.shape[1], -1)

    return by_view, merge


def view_both_ways() -> Pair:
    """Split and merge by views: each undoes the other, and both mix tokens (as in reczoo/FuxiCTR#30)."""

    def by_view(x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[2], -1)

    return split_by_view()[0], by_view


def merge_without_permute() -> Pair:
    """Heads are not moved behind the tokens (jsbaan/transformer-from-scratch PR6, hackiey/QAnet-pytorch#2)."""

    def straight(x: Tensor) -> Tensor:
        B, H, n, d = x.shape
        return x.reshape(B, n, H * d)

    return split, straight


def merge_mixes_batch_and_heads() -> Pair:
    """view(H, B, ...) of what lies as (B, H, ...) (gazelle93/Transformer-Various-Positional-Encoding#1)."""

    def mixing(x: Tensor) -> Tensor:
        B, H, n, d = x.shape
        return x.reshape(H, B, n, d).permute(1, 2, 0, 3).reshape(B, n, H * d)

    return split, mixing


def split_mixes_batch_and_heads() -> Pair:
    """The split, too, exchanges batch and heads, and the merge undoes it (as above)."""

    def mixing(x: Tensor, H: int) -> Tensor:
        B, n, E = x.shape
        return split(x, H).transpose(0, 1).reshape(B, H, n, E // H)

    def undo(x: Tensor) -> Tensor:
        B, H, n, d = x.shape
        return merge(x.reshape(H, B, n, d).transpose(0, 1))

    return mixing, undo


def merge_to_sequence_first() -> Pair:
    """view(n, B, E) in place of a transpose to sequence-first and back (rish-16/tokenlearner-pytorch#1)."""

    def viewed(x: Tensor) -> Tensor:
        y = merge(x)
        B, n, E = y.shape
        return y.reshape(n, B, E).transpose(0, 1).contiguous()

    return split, viewed


def uneven_split_truncated() -> Pair:
    """E // H without a check loses the last features (sgl-project/sglang PR32028)."""

    def truncated(x: Tensor, H: int) -> Tensor:
        return split(x[..., : x.shape[-1] // H * H], H)

    return truncated, merge


def heads_in_reverse() -> Pair:
    """Heads come back in the reverse order."""
    return split, lambda x: merge(x.flip(1))


def features_interleaved() -> Pair:
    """Head h takes the features h, h + H, ...: a reshape to (d, H) where (H, d) is meant."""

    def interleaved(x: Tensor, H: int) -> Tensor:
        split(x, H)
        return x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2)

    return interleaved, lambda x: x.permute(0, 2, 3, 1).flatten(2)


def heads_behind_tokens() -> Pair:
    """The axes stay (B, n, H, d)."""
    return lambda x, H: split(x, H).transpose(1, 2).contiguous(), lambda x: x.flatten(2)


def split_in_half_precision() -> Pair:
    """A detour through a narrower format rounds what should only move."""
    return lambda x, H: split(x, H).to(torch.bfloat16).to(x.dtype), merge


class _Split(torch.autograd.Function):
    """The right split with the gradient of a view."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, H: int) -> Tensor:
        return split(x, H).clone()

    @staticmethod
    def backward(ctx: Any, down: Tensor) -> Any:
        B, H, n, d = down.shape
        return down.reshape(B, n, H * d), None


def gradients_of_split_by_view() -> Pair:
    """The split has a kernel of its own, whose backward views where it should move heads behind tokens."""

    def with_kernel(x: Tensor, H: int) -> Tensor:
        found: Tensor = _Split.apply(x, H)
        return found

    return with_kernel, merge


def merged_into_one_buffer() -> Pair:
    """Merged heads lie in one buffer for each shape where no gradient is asked for: the next merge overwrites them."""
    kept: dict[tuple[int, ...], Tensor] = {}

    def buffered(x: Tensor) -> Tensor:
        y = merge(x).clone()
        return y if y.requires_grad else kept.setdefault((*y.shape, y.element_size()), y).copy_(y)

    return split, buffered


def axes_exchanged_in_place() -> Pair:
    """The split exchanges axes of a view of its input, and the merge those of its input itself."""

    def in_place(x: Tensor) -> Tensor:
        y = merge(x)
        if not x.requires_grad:
            x.swapaxes_(1, 2)
        return y

    return split, in_place


def slices_merged_as_they_lie() -> Pair:
    """Heads inside tokens are read from memory in order: a slice of their features lies apart."""

    def in_order(x: Tensor) -> Tensor:
        B, H, n, d = x.shape
        inside = x.stride(1) < x.stride(2) and not x.transpose(1, 2).is_contiguous()
        return x.as_strided((B, n, H * d), (n * H * d, H * d, 1)) if inside else merge(x)

    return split, in_order


def fewer_features_than_heads() -> Pair:
    """Features are repeated where their number divides that of the heads."""

    def repeated(x: Tensor, H: int) -> Tensor:
        E = x.shape[-1]
        return split(x.repeat_interleave(H // E, -1) if E < H and H % E == 0 else x, H)

    return repeated, merge


FAULTY = (
    slices_merged_as_they_lie, fewer_features_than_heads,
    split_by_view, view_both_ways, merge_without_permute, merge_mixes_batch_and_heads,
    split_mixes_batch_and_heads, merge_to_sequence_first, uneven_split_truncated, heads_in_reverse,
    features_interleaved, heads_behind_tokens, split_in_half_precision,
    gradients_of_split_by_view, merged_into_one_buffer, axes_exchanged_in_place,
    split_of_packed_rows,
)  # fmt: skip


def merge_right_for_one_sequence() -> Pair:
    """The merge moves axes by strides of the first sequence: one sequence hides it."""

    def wrong_merge(x: Tensor) -> Tensor:
        right = merge(x)
        return right if x.shape[0] == 1 else torch.cat([right[:1], x[1:].reshape(x.shape[0] - 1, *right.shape[1:])])

    return split, wrong_merge


def split_right_for_even_heads() -> Pair:
    """Heads are split in two, and again; an odd number of more than one loses its order."""

    def wrong_split(x: Tensor, H: int) -> Tensor:
        y = split(x, H)
        return y if H % 2 == 0 or H == 1 else y[:, [*range(0, H, 2), *range(1, H, 2)]]

    return wrong_split, merge


def merge_guesses_its_axes() -> Pair:
    """The merge takes the smaller of two axes for the heads: fewer tokens than heads reveal it."""

    def wrong_merge(x: Tensor) -> Tensor:
        return x.flatten(2) if x.shape[1] > x.shape[2] else merge(x)

    def safe(x: Tensor) -> Tensor:
        y = wrong_merge(x)
        return y if y.shape[1] == x.shape[2] else y.reshape(x.shape[0], x.shape[2], -1)

    return split, safe


def merge_transposes_in_place() -> Pair:
    """The merge calls transpose_ where no gradient forbids it: the caller's tensor has other axes afterwards."""

    def wrong_merge(x: Tensor) -> Tensor:
        return merge(x) if x.requires_grad else x.transpose_(1, 2).flatten(2)

    return split, wrong_merge


def split_of_a_chunk_reads_its_neighbours() -> Pair:
    """Heads are split by strides for packed tokens: of one chunk of a joined projection it reads the others' features.

    Inputs whose step from token to token is wider than E.
    """

    def wrong_split(x: Tensor, H: int) -> Tensor:
        right = split(x, H)
        n, E = x.shape[1:]
        if n < 2 or x.stride(2) != 1 or x.stride(1) <= E or x.stride(0) != n * x.stride(1):
            return right
        return torch.as_strided(x, right.shape, (x.stride(0), E // H, E, 1), x.storage_offset())

    return wrong_split, merge


ROWS = (
    *rows("hard_contracts", merge_right_for_one_sequence, split_right_for_even_heads, contract="heads"),
    *rows("first_sight_others", merge_guesses_its_axes, contract="heads"),
    *rows("second_sight_others", merge_transposes_in_place, contract="heads"),
    *rows("third_sight_others", split_of_a_chunk_reads_its_neighbours, contract="heads"),
)  # fmt: skip
