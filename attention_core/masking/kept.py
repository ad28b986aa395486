"""Masks that are written out once and kept: of a plan's rectangles, each pattern once, and of short sequences whole.

Torch's kernels turn a mask of bools into numbers at every call; and the rectangles of a window all look alike, those of
a prefix like the last of them. What is kept is linear in the lengths; beyond that a mask is written out when needed.
"""

from __future__ import annotations

from collections.abc import Hashable

import torch
from torch import Tensor

from attention_core.masking.pieces import Piece, Tiling
from attention_core.masking.structured import Mask

KEPT = 256
"""Numbers that are kept for each query and each key."""
SMALL = 1 << 20
"""Numbers of the largest mask that is kept whole, that of one sequence of 1,024 tokens; and of all of one mask's."""


def numbers(attend: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask of bools as what is added to scores: 0 where it is True, -inf elsewhere.

    Example:
        >>> numbers(torch.tensor([True, False]), torch.float32)
        tensor([0., -inf])
    """
    return torch.zeros(attend.shape, dtype=dtype, device=attend.device).masked_fill_(~attend, -torch.inf)


def dense_mask(
    mask: Mask, n_q: int, n_kv: int, device: torch.device, dtype: torch.dtype = torch.bool
) -> Tensor:  # fmt: skip
    """`mask.dense`, as bools or as numbers of another dtype; the last few small ones are kept with the mask.

    Example:
        >>> from attention_core.masking import sliding_window
        >>> dense_mask(sliding_window(2), 3, 3, torch.device("cpu"), torch.float32)[0]
        tensor([0., -inf, -inf])
    """
    known: dict[Hashable, Tensor] = mask.__dict__.setdefault("_dense", {})
    what = n_q, n_kv, device, dtype
    if (found := known.get(what)) is not None:
        return found
    with torch.inference_mode(False), torch.no_grad():
        pairs = mask.dense(n_q, n_kv, device)
        written = pairs if dtype == torch.bool else numbers(pairs, dtype)
    if may_keep(written) and written.numel() <= SMALL:
        room = SMALL - written.numel() - sum(x.numel() for x in list(known.values()))
        for old in list(known):
            room += known.pop(old).numel() if room < 0 and old in known else 0
        known[what] = written
    return written


def may_keep(written: Tensor) -> bool:
    """Whether a mask may serve later calls: in a processor's memory, and no stand-in of an exporter or of torch.func.

    On a GPU one may be made while a graph is recorded, and its parts would lie where kernels do not take them.
    """
    if type(written) is not Tensor or written.device.type != "cpu":
        return False
    try:
        written.untyped_storage()
    except NotImplementedError:  # torch.func wraps in tensors that have none
        return False
    return True


def piece_mask(mask: Mask, cut: Tiling, piece: Piece, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The mask of one masked rectangle, of four axes, as numbers.

    Example:
        >>> from attention_core.masking import sliding_window
        >>> from attention_core.masking.pieces import plan
        >>> cut = plan(sliding_window(2), 4, 4, block=4)
        >>> piece_mask(sliding_window(2), cut, cut.pieces[1], torch.float32, torch.device("cpu"))
        tensor([[[[0., 0., -inf],
                  [-inf, 0., 0.]]]])
    """
    pairs = mask.part(cut.n_q, cut.n_kv, piece.rows, piece.keys, device)
    if pairs.ndim == 4 and pairs.shape[0] > 1 and piece.sequence is not None:
        pairs = pairs[piece.sequence : piece.sequence + 1]
    return numbers(pairs.reshape((1,) * (4 - pairs.ndim) + tuple(pairs.shape)), dtype)


def kept_masks(mask: Mask, cut: Tiling, dtype: torch.dtype, device: torch.device) -> tuple[Tensor | None, ...]:
    """For each piece its mask as `piece_mask` gives it; None where it has none, or too many would have to be kept.

    Kept with the plan, which is kept with the mask. The tensors that are kept are none of inference mode, since a later
    call may want gradients.
    """
    known: tuple[Tensor | None, ...] | None = cut.kept.get((dtype, device))
    if known is not None:
        return known
    if device.type != "cpu":
        return (None,) * len(cut.pieces)
    with torch.inference_mode(False), torch.no_grad():
        found = _write(mask, cut, dtype, device)
    if all(x is None or may_keep(x) for x in found):
        cut.kept[dtype, device] = found
    return found


def _write(mask: Mask, cut: Tiling, dtype: torch.dtype, device: torch.device) -> tuple[Tensor | None, ...]:
    keys = [_pattern(cut, index) for index in range(len(cut.pieces))]
    widest: dict[Hashable, Piece] = {}
    for key, piece in zip(keys, cut.pieces, strict=True):
        if key is not None and (key not in widest or _width(piece) > _width(widest[key])):
            widest[key] = piece
    room = KEPT * (cut.n_q + cut.n_kv)
    whole: dict[Hashable, Tensor] = {}
    for key, piece in widest.items():
        room -= (piece.rows.stop - piece.rows.start) * _width(piece) * (1 if cut.exact else cut.batch)
        if room < 0:
            break
        written = piece_mask(mask, cut, piece, dtype, device)
        whole[key] = written[:1, :1] if cut.exact else written
    return tuple(
        None if key not in whole else whole[key][..., whole[key].shape[-1] - _width(piece) :]
        for key, piece in zip(keys, cut.pieces, strict=True)
    )


def _width(piece: Piece) -> int:
    width: int = piece.keys.stop - piece.keys.start
    return width


def _pattern(cut: Tiling, index: int) -> Hashable:
    """What two pieces have in common whose masks are the last columns of one mask; None for a piece without a mask.

    Where all queries begin with the first key of a piece, what counts is how far before its last key each ends; else
    where each begins, too, and the width.
    """
    piece = cut.pieces[index]
    if piece.kind != "masked":
        return None
    if not cut.exact:
        return index
    b = piece.sequence or 0
    begins, ends = cut.first[b, piece.rows] - piece.keys.start, cut.end[b, piece.rows] - piece.keys.stop
    return (begins.tobytes(), _width(piece), ends.tobytes()) if begins.any() else ends.tobytes()
