"""The public `attention(...)`: one call with structured masks, answered by a kernel of the table.

a call met before  -> `plans`: the kernel that was decided on, at once
another            -> `choice`: decided by the table that is measured for this machine, then kept in `plans`
sinks, soft caps   -> `kernels.featured`
structured masks   -> `kernels.block_sparse` where they leave enough out, else written out for the kernel in `plans`
                      (`kernels.flex`, compiled, where it is named)
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.compiler import is_dynamo_compiling
from torch.nn.functional import scaled_dot_product_attention

from attention_core.dispatch.plans import (
    check_kinds,
    is_plain,
    plan_call,
    shares_heads,
    squeeze_leading_axes,
    with_both_axes,
)
from attention_core.dispatch.tables import DEFAULT, FLEX, SPARSE, cheapest, computed_in, torch_skips
from attention_core.kernels.arguments import check_mask_fits, check_shapes
from attention_core.kernels.block_sparse import block_sparse_attention
from attention_core.kernels.featured import featured_attention
from attention_core.kernels.upcast import in_float32
from attention_core.masking import Mask
from attention_core.masking import window as masking_window
from attention_core.masking.kept import dense_mask
from attention_core.registry.load import load

FEATURED = "core:featured"
"""The kernel that has sinks and caps."""


def attention(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    mask: Tensor | Mask | None = None,
    *,
    scale: float | None = None,
    kernel: str = "auto",
    window: tuple[int, int] | None = None,
    sinks: Float[Tensor, " H"] | None = None,
    softcap: float | None = None,
) -> Float[Tensor, "*#batch n_q d_v"]:
    """Scaled dot-product attention: o_i = sum_j w_ij v_j, w_i = softmax_j(scale q_i . k_j + b_ij).

    Args: query (*batch, H, n_q, d), key (*batch, H_kv, n_kv, d), value (*batch, H_kv, n_kv, d_v), one dtype;
        H_kv may divide H (grouped queries); mask: bool (True = attend) or float (added to the scaled scores)
        and broadcastable to (*batch, H, n_q, n_kv), or structured, from `attention_core.masking`;
        scale, None = 1/sqrt(d); kernel, "auto" or a name of the table in `kernels.py`;
        window, (left, right): query i sees the keys from i - left to i + right, -1 for any number (a mask, which every
        kernel takes; `masking.window` aligns it otherwise); sinks, a score for each head that counts in the
        normaliser and has no value; softcap, c: scaled scores s become c tanh(s / c) before the mask. A call with
        sinks or a cap is computed by `core:featured`.
        "auto" is chosen by a table for the device, dtype and direction (`choice.py`): torch's own
        choice, or `core:fused` where torch would fall back to its unfused kernel, or that kernel where sequences are
        so short that it is faster, or `core:block_sparse` where a structured mask leaves enough out; of these any in
        float32 (`core:upcast`), where that is faster for inputs of half precision. Elsewhere a
        kernel gets `is_causal` in place of a mask where the alignment allows; other masks are written out. What is
        masked must not hold NaN, but for the kernels written out in `dot_product.py`, `tiled.py` and `split_merge.py`.
        What is attended must be finite, too: on a processor torch's fused kernel, which "auto" is mostly, turns a row
        of NaN scores into zeros where keys are few (docs/findings.md, 3); its gradients are NaN. A check would double
        the time of a short call. `kernel="core:dot_product"` and `kernel="torch:math"` keep NaN.
        On a GPU torch gets a positive scale and aligned rows (`kernels/guarded.py`), the same function of others.
        Within torch.compile and torch.export nothing is chosen: "auto" is torch's own function there.
    Returns: (*batch, H, n_q, d_v) in the query's dtype; a row without a key left is 0.
    Raises: ValueError for an unknown kernel, one without sinks and caps where they are given, or sizes, heads or a
        mask that contradict each other; TypeError for what
        is not a tensor. Second derivatives, forward-mode ones and torch.func need `kernel="torch:math"`: fused kernels
        have none, and auto may choose one where torch would have fallen back to that.
    Example:
        >>> import torch
        >>> from attention_core.masking import causal
        >>> attention(torch.ones(3, 2), torch.ones(3, 2), torch.eye(3), causal())[0]
        tensor([1., 0., 0.])
        >>> attention(torch.ones(3, 2), torch.ones(3, 2), torch.eye(3), window=(1, 0))[2]
        tensor([0.0000, 0.5000, 0.5000])

    Source: Vaswani et al., "Attention Is All You Need" (2017), eq. 1.
    """
    if window is not None:
        mask = with_window(mask, window, query, key)
    if sinks is not None or softcap is not None:
        return _with_features(query, key, value, mask, scale, kernel, sinks, softcap)
    auto, traced = kernel == "auto", is_dynamo_compiling()
    if auto and not traced:
        plan = plan_call(query, key, value, mask, scale)
        if plan is not None:
            function, attn_mask, is_causal, grouped, _ = plan
            return function(
                query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale, enable_gqa=grouped
            )
    check_kinds(query, key, value, mask)
    grouped = shares_heads(query, key)
    # The sizes are checked before a structured mask is written out for them.
    check_shapes(query, key, value, grouped)
    plain = is_plain(query) and not traced
    if auto:  # what has no plan is cut into pieces, or a stand-in, for which nothing is chosen
        kernel = SPARSE if plain else DEFAULT
    if kernel in (SPARSE, FLEX) and plain and isinstance(mask, Mask) and query.ndim <= 4:
        return _attend_in_blocks(query, key, value, mask, scale, kernel, auto)
    attn_mask, is_causal = _plain_mask(mask, query, key, scale, plain)
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, grouped)
    function = scaled_dot_product_attention if auto and kernel == DEFAULT else load(kernel)
    return function(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale, enable_gqa=grouped)


def _attend_in_blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float | None, kernel: str, auto: bool
) -> Tensor:
    """A structured mask whose forbidden blocks are skipped; `auto` may compute it in float32, where that is faster."""
    if kernel == FLEX:
        from attention_core.kernels.flex import flex_structured_attention  # half a second, for those who ask for it

        return flex_structured_attention(query, key, value, mask, scale)
    block, _ = cheapest(query, key, value, mask)

    def sparse(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return block_sparse_attention(query, key, value, mask, scale, block=block)

    upcast = auto and computed_in(query, key, value) != query.dtype
    return in_float32(sparse, query, key, value) if upcast else sparse(query, key, value)


def with_window(mask: Tensor | Mask | None, window: tuple[int, int], query: Tensor, key: Tensor) -> Tensor | Mask:
    """A mask that allows what it did and what lies in a window, counted from the first query and the first key.

    Raises: ValueError for what is not a pair of whole numbers of at least -1.
    Example:
        >>> with_window(None, (1, 0), torch.ones(3, 1), torch.ones(3, 1)).dense(3, 3)[2].tolist()
        [False, True, True]
    """
    try:
        left, right = window
    except (TypeError, ValueError):
        raise ValueError(f"window must be a pair (left, right) of numbers of keys, got {window!r}") from None
    sides = masking_window(left, right)
    if mask is None:
        return sides
    if isinstance(mask, Mask):
        return sides & mask
    check_kinds(query, key, key, mask)
    written = sides.dense(query.shape[-2], key.shape[-2], mask.device)
    return mask & written if mask.dtype == torch.bool else torch.where(written, mask, -torch.inf)


def _with_features(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Mask | None, scale: float | None, kernel: str,
    sinks: Tensor | None, softcap: float | None,
) -> Tensor:  # fmt: skip
    """The call with sinks or a cap, by the kernel that has them."""
    if kernel not in ("auto", FEATURED):
        lacking = " and ".join(name for name, x in (("sinks", sinks), ("softcap", softcap)) if x is not None)
        raise ValueError(f"kernel {kernel!r} takes no {lacking}: use auto or {FEATURED}")
    check_kinds(query, key, value, mask)
    grouped = shares_heads(query, key)
    check_shapes(query, key, value, grouped)
    if isinstance(mask, Mask):
        mask = mask.dense(query.shape[-2], key.shape[-2], query.device)
        mask = squeeze_leading_axes(mask, query.ndim)
    attn_mask = None if mask is None else with_both_axes(mask)
    return featured_attention(
        query, key, value, attn_mask=attn_mask, scale=scale, enable_gqa=grouped, sinks=sinks, softcap=softcap
    )


def _plain_mask(
    mask: Tensor | Mask | None, query: Tensor, key: Tensor, scale: float | None, plain: bool
) -> tuple[Tensor | None, bool]:  # fmt: skip
    """A mask as what every kernel takes, (attn_mask, is_causal)."""
    if not isinstance(mask, Mask):
        return None if mask is None else with_both_axes(mask), False
    n_q, n_kv = query.shape[-2], key.shape[-2]
    if torch_skips(mask, n_q, n_kv, scale):
        return None, True
    written = dense_mask(mask, n_q, n_kv, query.device) if plain else mask.dense(n_q, n_kv, query.device)
    return squeeze_leading_axes(written, query.ndim), False
