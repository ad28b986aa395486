"""The door of every attention function: check the call once, and put it into one normal form.

What comes out, a `Problem`, is in the dtype of the computation, has as many key heads as query heads, and
has one bool tensor that says which pairs are attended. Inner code trusts it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_core.kernels.heads import expand_kv_heads


class Problem(NamedTuple):
    """One call of attention in normal form; *batch includes the heads."""

    query: Float[Tensor, "*#batch n_q d"]
    key: Float[Tensor, "*#batch n_kv d"]
    value: Float[Tensor, "*#batch n_kv d_v"]
    attend: Bool[Tensor, "*mask n_q n_kv"]  # True where query i attends key j; *mask broadcasts to *batch
    bias: Float[Tensor, "..."] | None  # broadcasts to the scores; added after scaling
    scale: float

    def part(self, keys: slice) -> Problem:
        """The same queries with a run of the keys."""
        bias = self.bias
        if bias is not None and bias.ndim and bias.shape[-1] > 1:
            bias = bias[..., keys]
        key, value = self.key[..., keys, :], self.value[..., keys, :]
        return self._replace(key=key, value=value, attend=self.attend[..., keys], bias=bias)


def prepare(
    query: Float[Tensor, "*#batch n_q d"],
    key: Float[Tensor, "*#batch_kv n_kv d"],
    value: Float[Tensor, "*#batch_kv n_kv d_v"],
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Problem:
    """Check a call with the meaning of torch's scaled_dot_product_attention and normalise it.

    Raises: ValueError where the arguments contradict each other (see `check_shapes`, `check_mask_fits`).
    Example:
        >>> x = torch.ones(2, 4)
        >>> prepare(x, x, x, is_causal=True).attend.tolist()
        [[True, False], [True, True]]
    """
    check_shapes(query, key, value, enable_gqa)
    if attn_mask is not None:
        check_mask_fits(attn_mask, query, key, enable_gqa)
    if enable_gqa:
        key, value = expand_kv_heads(key, query.shape[-3]), expand_kv_heads(value, query.shape[-3])
    n_q, n_kv, d = query.shape[-2], key.shape[-2], query.shape[-1]
    # Two-byte numbers are summed in four bytes; wider ones are left as they are.
    dtype = torch.promote_types(query.dtype, torch.float32)
    bias = None if attn_mask is None or attn_mask.dtype == torch.bool else attn_mask.to(dtype)
    if scale is None:
        scale = 1.0 / math.sqrt(d) if d else 1.0  # without features every score is 0, whatever the scale
    attend = attended_pairs(n_q, n_kv, attn_mask, is_causal, query.device)
    return Problem(query.to(dtype), key.to(dtype), value.to(dtype), attend, bias, scale)


def attended_pairs(
    n_q: int, n_kv: int, attn_mask: Tensor | None, is_causal: bool, device: torch.device
) -> Bool[Tensor, "*mask n_q n_kv"]:
    """The pairs that mask and causality leave, both where both are given: {j <= i} and {mask allows}.

    A bias of -inf forbids a pair, and only that: -1e9 is a bias like any other. Causality is top-left:
    query 0 faces key 0, also where n_q and n_kv differ.

    Returns: bool, at least (n_q, n_kv); no memory of its own where everything is attended.
    """
    attend = torch.ones((), dtype=torch.bool, device=device).expand(n_q, n_kv)
    if is_causal:
        attend = attend.tril()
    if attn_mask is not None:
        attend = attend & (attn_mask if attn_mask.dtype == torch.bool else attn_mask != -torch.inf)
    return attend


def check_shapes(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    """Raise ValueError unless query, key and value fit together; say which sizes do not."""
    if _fit(query, key, value, enable_gqa):
        return
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"query, key and value need at least the axes (n, d): {shapes}")
    if not query.ndim == key.ndim == value.ndim:
        raise ValueError(f"query, key and value differ in their number of axes: {shapes}")
    if not query.dtype == key.dtype == value.dtype or not query.is_floating_point():
        dtypes = f"{query.dtype}, {key.dtype}, {value.dtype}"
        raise ValueError(f"query, key and value need one floating-point dtype, got {dtypes}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"the head sizes of query and key differ: {query.shape[-1]} and {key.shape[-1]}")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"the lengths of key and value differ: {key.shape[-2]} and {value.shape[-2]}")
    if query.ndim >= 3:
        check_heads(query.shape[-3], key.shape[-3], value.shape[-3], enable_gqa)
    elif enable_gqa:
        raise ValueError(f"grouped queries need a head axis: {shapes}")
    if broadcast(query.shape[:-3], key.shape[:-3], value.shape[:-3]) is None:
        raise ValueError(f"the batch axes do not broadcast: {shapes}")


def _fit(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> bool:
    """Whether inputs of four axes are valid as they are: the common case, in a microsecond."""
    if not query.ndim == key.ndim == value.ndim == 4:
        return False
    (B, H, _, d), (B_k, H_kv, n_kv, d_k), (B_v, H_v, n_v, _) = query.shape, key.shape, value.shape
    if not (B == B_k == B_v and H_kv == H_v and d == d_k and n_kv == n_v):
        return False
    heads = H_kv == H or (enable_gqa and H_kv > 0 and H % H_kv == 0)
    return heads and query.dtype == key.dtype == value.dtype and query.is_floating_point()


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The common shape of tensors of these shapes, or None where there is none.

    Written out since torch's own imports a second's worth of the compiler at its first call.

    Example:
        >>> broadcast((3, 1), (4,))
        (3, 4)
        >>> broadcast((2,), (3,)) is None
        True
    """
    common = [1] * max(map(len, shapes))
    for shape in shapes:
        for axis, size in enumerate(reversed(shape)):
            if size == 1 or size == common[axis]:
                continue
            if common[axis] != 1:
                return None
            common[axis] = size
    return tuple(reversed(common))


def check_heads(H: int, H_kv: int, H_v: int, enable_gqa: bool) -> None:
    """Raise ValueError unless the numbers of heads fit: equal, or divisible for grouped queries."""
    if H_kv != H_v:
        raise ValueError(f"the numbers of heads of key and value differ: {H_kv} and {H_v}")
    if enable_gqa and H_kv != H and (H_kv == 0 or H % H_kv):
        raise ValueError(f"H = {H} query heads are not divisible by H_kv = {H_kv} key heads")
    if not enable_gqa and H_kv != H:
        raise ValueError(f"query has {H} heads and key has {H_kv}: grouped queries need enable_gqa=True")


def check_mask_fits(attn_mask: Tensor, query: Tensor, key: Tensor, enable_gqa: bool) -> None:
    """Raise ValueError unless the mask is bool or floating and broadcasts to the scores."""
    if attn_mask.dtype != torch.bool and not attn_mask.is_floating_point():
        raise ValueError(f"a mask is bool or floating, got {attn_mask.dtype}: 0 and 1 could mean either way")
    if attn_mask.ndim == 2 and attn_mask.shape == (query.shape[-2], key.shape[-2]):
        return
    # With grouped queries the head axis of the scores is the query's, and the key's is one of its divisors.
    batch = broadcast(query.shape[:-3], key.shape[:-3]) or ()
    scores = (*batch, *query.shape[-3:-1], key.shape[-2])
    # Equality, since a mask that broadcasts may still be larger than the scores.
    if broadcast(attn_mask.shape, scores) != scores:
        raise ValueError(f"the mask {tuple(attn_mask.shape)} does not broadcast to the scores {scores}")


def check_dropout(dropout_p: float) -> None:
    """Raise ValueError unless dropout_p is a probability."""
    if not 0.0 <= dropout_p <= 1.0:
        raise ValueError(f"dropout_p must be a probability between 0 and 1, got {dropout_p}")
