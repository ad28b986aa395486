"""Attention that skips what a mask forbids: only the rectangles of its plan are computed, each by torch's fused kernel.

Time follows the number of pairs in those rectangles, memory the lengths: no n_q x n_kv mask is ever written out.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_core.kernels.arguments import broadcast, check_mask_fits, check_shapes
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.fused import four_axes, fused, fused_attention, mask_of_four_axes
from attention_core.masking import Causal, Mask
from attention_core.masking.kept import kept_masks, piece_mask
from attention_core.masking.pieces import Piece, Tiling, plan

BLOCK = 128
Masks = tuple[Tensor | None, ...]


class DenseMask(Mask):
    """A structured mask made from pairs that are written out; its structure is looked up in them.

    Args: pairs: bool, (n_q, n_kv) or (B, H, n_q, n_kv), True = attend.
    """

    def __init__(self, pairs: Bool[Tensor, "..."]) -> None:
        self.pairs = pairs

    def dense(self, n_q: int, n_kv: int, device: torch.device | None = None) -> Bool[Tensor, "..."]:
        return self.pairs.expand(*self.pairs.shape[:-2], n_q, n_kv).to(device)


def block_sparse_attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    mask: Mask,
    scale: float | None = None,
    *,
    block: int = BLOCK,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """Attention under a structured mask, o_i = sum_j w_ij v_j over its pairs (i, j), skipping what it forbids.

    Args: query, key, value of one dtype, H_kv may divide H; mask, a structured mask; scale, None = 1/sqrt(d);
        block >= 1, about how many queries are computed together.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; rows without a key are 0. What no rectangle holds is never
        read; masked values beside attended ones may be, so NaN there gives NaN, as in torch.
    Raises: ValueError for sizes, heads or a mask that contradict each other. Gradients are those of torch's fused
        kernel, once; second gradients are refused.
    Example:
        >>> from attention_core.masking import sliding_window
        >>> block_sparse_attention(torch.ones(3, 2), torch.ones(3, 2), torch.eye(3), sliding_window(1))[2]
        tensor([0., 0., 1.])

    Source: Child et al., "Sparse Transformers" (2019), section 5.5; Dao et al., "FlashAttention" (2022), section 3.3.
    """
    grouped = query.ndim >= 3 and key.ndim >= 3 and query.shape[-3] != key.shape[-3]
    check_shapes(query, key, value, grouped)
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    scores = (*query.shape[:-1], key.shape[-2])
    cut = plan(mask, scores[-2], scores[-1], block)
    if cut.batch != 1 and (query.ndim != 4 or cut.batch != max(query.shape[0], key.shape[0])):
        raise ValueError(f"a mask of {cut.batch} sequences does not broadcast to the scores {scores}")
    return _by_pieces(query, key, value, mask, cut, scale)


def block_sparse_written(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    block: int = BLOCK,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """`block_sparse_attention` for masks that are written out: their structure is found, and used.

    Args: attn_mask, bool, True = attend, or numbers, which leave nothing to skip and go to `fused_attention`;
        is_causal: j <= i, together with the mask; the rest as there.
    Raises: ValueError as `dot_product_attention`.

    Example:
        >>> x = torch.randn(1, 1, 256, 8)
        >>> block_sparse_written(x, x, x, torch.ones(256, 256, dtype=torch.bool).tril()).shape
        torch.Size([1, 1, 256, 8])
    """
    check_shapes(query, key, value, enable_gqa)
    mask: Mask | None = Causal("top_left") if is_causal else None
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, enable_gqa)
        if attn_mask.dtype != torch.bool:  # numbers are added to every score: there is nothing to skip
            return fused_attention(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
        batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
        written = DenseMask(mask_of_four_axes(attn_mask, batch))
        mask = written if mask is None else written & mask
    if mask is None:
        mask = DenseMask(torch.ones((1, 1), dtype=torch.bool, device=query.device))
    cut = plan(mask, query.shape[-2], key.shape[-2], block)
    return _by_pieces(query, key, value, mask, cut, scale)


def _by_pieces(query: Tensor, key: Tensor, value: Tensor, mask: Mask, cut: Tiling, scale: float | None) -> Tensor:
    """Inputs that fit together and the plan of their mask; the pieces keep their graphs where gradients are wanted."""
    # What torch does to its own function before anything else.
    if torch.is_autocast_enabled(query.device.type) and query.dtype != torch.float64:
        dtype = torch.get_autocast_dtype(query.device.type)
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
    if not (query.numel() and key.numel() and value.numel()):
        return without_numbers(query, key, value, mask, scale)
    four = four_axes(query, batch), four_axes(key, batch), four_axes(value, batch)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    masks = kept_masks(mask, cut, four[0].dtype, four[0].device)
    if torch.is_grad_enabled() and any(x.requires_grad for x in four):
        out = _Pieces.apply(*four, mask, cut, masks, scale)  # type: ignore[no-untyped-call]
    else:
        out = four[0].new_zeros(*four[0].shape[:-1], value.shape[-1])
        for piece, pairs in zip(cut.pieces, masks, strict=True):
            inputs = _rows(four[0], piece), _keys(four[1], piece), _keys(four[2], piece)
            _rows(out, piece).copy_(_call(piece, *inputs, mask, cut, pairs, scale))
    result: Tensor = out.reshape(*batch, *query.shape[-3:-1], value.shape[-1])
    return result


def without_numbers(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, scale: float | None) -> Tensor:
    """The answer where one of the inputs is empty: by the definition, since there is next to nothing to compute.

    Heads without channels (d = 0) still have weights, which are equal, and a mask that counts.

    Example:
        >>> empty, v = torch.zeros(1, 1, 2, 0), torch.tensor([[[[1.0], [3.0]]]])
        >>> without_numbers(empty, empty, v, Causal("top_left"), None).flatten().tolist()
        [1.0, 2.0]
    """
    batch = broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) or ()
    q, k, v = (four_axes(x, batch) for x in (query, key, value))
    weighs = mask is not None and not query.shape[-1] and value.numel()
    pairs = mask.dense(q.shape[-2], k.shape[-2], q.device) if mask is not None and weighs else None
    out = dot_product_attention(q, k, v, pairs, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
    return out.reshape(*batch, *query.shape[-3:-1], value.shape[-1])


class _Pieces(torch.autograd.Function):
    """The pieces with their graphs kept apart, so that gradients are added up in place.

    Slicing under autograd would fill a whole zero tensor for every piece: memory would be linear, time not.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Mask, cut: Tiling, masks: Masks, scale: float
    ) -> Tensor:
        out = query.new_zeros(*query.shape[:-1], value.shape[-1])
        wanted = ctx.needs_input_grad[:3]
        ctx.save_for_backward(query, key, value)
        ctx.pieces = []
        for piece, pairs in zip(cut.pieces, masks, strict=True):
            parts = (_rows(query, piece), _keys(key, piece), _keys(value, piece))
            inputs = [x.detach().requires_grad_(w) for x, w in zip(parts, wanted, strict=True)]
            with torch.enable_grad():
                result = _call(piece, inputs[0], inputs[1], inputs[2], mask, cut, pairs, scale)
            _rows(out, piece).copy_(result.detach())
            ctx.pieces.append((piece, inputs, result))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        wanted, saved = ctx.needs_input_grad[:3], ctx.saved_tensors
        totals = [gradient.new_zeros(x.shape) if w else None for x, w in zip(saved, wanted, strict=True)]
        with torch.no_grad():
            for piece, inputs, result in ctx.pieces:
                wanted = [x for x in inputs if x.requires_grad]
                # retain_graph: the caller may go backward through one graph more than once.
                found = iter(torch.autograd.grad(result, wanted, _rows(gradient, piece), retain_graph=True))
                for total, part in zip(totals, (_rows, _keys, _keys), strict=True):
                    if total is not None:
                        part(total, piece).add_(next(found))
        if torch.is_grad_enabled():  # create_graph=True
            totals = [t if t is None else _Once.apply(t, gradient, *saved) for t in totals]  # type: ignore[no-untyped-call]
        return (*totals, None, None, None, None)


class _Once(torch.autograd.Function):
    """A gradient that is a function of its inputs, and says so when it is differentiated: a constant would be wrong."""

    @staticmethod
    def forward(ctx: Any, total: Tensor, *inputs: Tensor) -> Tensor:
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise RuntimeError("block-sparse attention has no second gradients: use kernel='core:dot_product'")


def _call(
    piece: Piece, query: Tensor, key: Tensor, value: Tensor, mask: Mask, cut: Tiling, pairs: Tensor | None, scale: float
) -> Tensor:
    """One rectangle by the fused kernel, with its mask `pairs` where that is kept."""
    if piece.kind == "masked" and pairs is None:
        pairs = piece_mask(mask, cut, piece, query.dtype, query.device)
    return fused(query, key, value, pairs, 0.0, piece.kind == "causal", scale)


def _rows(x: Tensor, piece: Piece) -> Tensor:
    return x[_sequence(piece), :, piece.rows]


def _keys(x: Tensor, piece: Piece) -> Tensor:
    return x[_sequence(piece), :, piece.keys]


def _sequence(piece: Piece) -> slice:
    return slice(None) if piece.sequence is None else slice(piece.sequence, piece.sequence + 1)
