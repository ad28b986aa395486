"""The public `attention(...)`: one call with structured masks, answered by a kernel of the table.

A row of `kernels.py` can answer when it takes and returns what torch's scaled_dot_product_attention does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from .arguments import check_mask_fits, check_shapes
from .choice import DEFAULT, LEAST, LONGEST_SHORT, SPARSE, choose, is_short, short_classes, torch_skips, wants_gradients
from .kernels import KERNELS, Kernel
from .kernels import kernel as row_of
from .masking import Causal, Mask
from .variants.block_sparse import block_sparse_attention

# Declaring one of these, a kernel wants or gives something else than torch's function does.
OTHER_CONVENTIONS = {"contract", "layout", "out_layout", "returns", "mask_true", "causal", "factory"}


def answers(row: Kernel) -> bool:
    """Whether `attention` can call a row: torch's conventions, and not wrong on purpose."""
    return row.expected == "conforms" and not OTHER_CONVENTIONS & row.record.keys()


@cache
def load(name: str) -> Callable[..., Tensor]:
    """The function of a kernel, imported when first asked for.

    Raises: ValueError for a name that no row has or whose row `attention` cannot call; Unavailable where the
        kernel cannot run on this machine. Example: load("core:tiled") is `tiled_attention`.
    """
    if not answers(row_of(name)):
        usable = ", ".join(row.name for row in KERNELS if answers(row))
        raise ValueError(f"kernel {name!r} has other conventions or is wrong on purpose; use auto, {usable}")
    module, _, attribute = row_of(name).origin.partition(":")
    function: Callable[..., Tensor] = getattr(import_module(module), attribute)
    return function


def attention(
    query: Float[Tensor, "*batch H n_q d"],
    key: Float[Tensor, "*batch H_kv n_kv d"],
    value: Float[Tensor, "*batch H_kv n_kv d_v"],
    mask: Tensor | Mask | None = None,
    *,
    scale: float | None = None,
    kernel: str = "auto",
) -> Float[Tensor, "*batch H n_q d_v"]:
    """Scaled dot-product attention: o_i = sum_j w_ij v_j, w_i = softmax_j(scale q_i . k_j + b_ij).

    Args: query (*batch, H, n_q, d), key (*batch, H_kv, n_kv, d), value (*batch, H_kv, n_kv, d_v), one dtype;
        H_kv may divide H (grouped queries); mask: bool (True = attend) or float (added to the scaled scores)
        and broadcastable to (*batch, H, n_q, n_kv), or structured, from `attention_core.masking`;
        scale, None = 1/sqrt(d); kernel, "auto" or a name of the table in `kernels.py`.
        "auto" is chosen by a table for the device, dtype and direction (`choice.py`): torch's own
        choice, or `core:fused` where torch would fall back to its unfused kernel, or that kernel where sequences are
        so short that it is faster, or `core:block_sparse` where a structured mask leaves enough out. Elsewhere a
        kernel is told that a mask is causal where the alignment allows; other masks are written out. What is masked
        must not hold NaN, but for the kernels written out in `dot_product.py`, `tiled.py` and `split_merge.py`.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; a row without a key left is 0.
    Raises: ValueError for an unknown kernel, or sizes, heads or a mask that contradict each other.
    Example: attention(q, k, v, causal() & padding(lengths)).
    Source: Vaswani et al., "Attention Is All You Need" (2017), eq. 1.
    """
    auto = kernel == "auto"
    if auto and (mask is None or type(mask) is Causal) and _nothing_to_choose(query, key, value, mask, scale):
        return scaled_dot_product_attention(query, key, value, is_causal=mask is not None, scale=scale)
    is_causal = auto and mask is not None and torch_skips(mask, *_lengths(query, key), scale)
    grouped = _grouped_if_plain(query, key, value, mask, is_causal) if auto else None
    if grouped is None:
        grouped = query.ndim >= 3 and key.ndim >= 3 and query.shape[-3] != key.shape[-3]
        # The sizes are checked before a structured mask is written out for them.
        check_shapes(query, key, value, grouped)
        kernel = choose(query, key, value, mask) if auto else kernel
        if kernel == SPARSE and isinstance(mask, Mask):
            return block_sparse_attention(query, key, value, mask, scale)
    function = scaled_dot_product_attention if kernel in ("auto", DEFAULT) and auto else load(kernel)
    if mask is None or is_causal:
        return function(query, key, value, is_causal=is_causal, scale=scale, enable_gqa=grouped)
    attn_mask, is_causal = _plain_mask(mask, query, key, scale)
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, grouped)
    return function(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale, enable_gqa=grouped)


def _nothing_to_choose(query: Tensor, key: Tensor, value: Tensor, mask: Causal | None, scale: float | None) -> bool:
    """Whether a call is plain self-attention that torch does best, found with as few steps as can be.

    After a kernel of a millisecond Python's own code has left the processor's caches: what takes 3 microseconds in a
    loop takes 30 then.
    """
    shape = query.shape
    if not (len(shape) == 4 and shape == key.shape == value.shape and query.dtype is key.dtype is value.dtype):
        return False
    if not (query.is_contiguous() and key.is_contiguous() and value.is_contiguous() and query.is_floating_point()):
        return False
    if mask is not None:
        return scale is None or scale > 0
    if shape[2] > LONGEST_SHORT or (query.dtype, wants_gradients(query, key, value)) not in short_classes():
        return True
    return not is_short(query, key, value, shape[2])


def _lengths(query: Tensor, key: Tensor) -> tuple[int, int]:
    """n_q and n_kv; two numbers that do not agree for what is no pair of matrices, which is refused later."""
    return (query.shape[-2], key.shape[-2]) if query.ndim > 1 < key.ndim else (0, 1)


def _grouped_if_plain(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Mask | None, is_causal: bool
) -> bool | None:
    """Whether heads are grouped, for inputs that fit and leave nothing to choose; None for others.

    Each shape is looked up once: a call of ten microseconds should not wait another ten to be checked.
    """
    q, k, v = query.shape, key.shape, value.shape
    if not len(q) == len(k) == len(v) == 4:
        return None
    (B, H, n_q, d), (B_k, H_kv, n_kv, d_k), (B_v, H_v, n_v, d_v) = q, k, v
    if not (B == B_k == B_v and H_kv == H_v and d == d_k and n_kv == n_v):
        return None
    if not (query.dtype == key.dtype == value.dtype and query.is_floating_point()):
        return None
    if B * H * n_q * n_kv * (d + d_v) >= LEAST:
        fused = H_kv == H and d == d_v and query.stride(3) == key.stride(3) == value.stride(3) == 1
        if not fused or (isinstance(mask, Mask) and not is_causal):
            return None
        return None if mask is None and is_short(query, key, value, max(n_q, n_kv)) else False
    return False if H_kv == H else (True if H_kv and H % H_kv == 0 else None)


def _plain_mask(
    mask: Tensor | Mask, query: Tensor, key: Tensor, scale: float | None
) -> tuple[Tensor | None, bool]:  # fmt: skip
    """A mask as what every kernel takes: (attn_mask, is_causal)."""
    if isinstance(mask, Tensor):
        return (mask if mask.ndim >= 2 else mask.reshape(1, -1)), False  # torch's kernels want both axes
    n_q, n_kv = query.shape[-2], key.shape[-2]
    if torch_skips(mask, n_q, n_kv, scale):
        return None, True
    return mask.dense(n_q, n_kv, query.device), False
