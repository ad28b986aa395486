"""transformers' registered attention function "sdpa".

Its `is_causal` is a statement about the model, not about the call: with a mask it is ignored, and one query
is taken for decoding, where it is the last position. The adapter refuses what its arguments cannot express.
"""

from __future__ import annotations

from types import SimpleNamespace

from torch import Tensor

try:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
except ImportError as error:
    from attention_core.declaration.implementation import Unavailable

    raise Unavailable(f"transformers cannot be imported ({error})") from error


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """sdpa_attention_forward: the output, heads after positions."""
    if query.ndim != 4:
        raise NotImplementedError("transformers calls it with the axes batch, heads, positions, channels")
    if is_causal and attn_mask is not None:
        raise NotImplementedError("with a mask, transformers ignores is_causal")
    group = query.shape[1] // key.shape[1] if enable_gqa else 1
    module = SimpleNamespace(num_key_value_groups=group)
    out: Tensor = sdpa_attention_forward(
        module, query, key, value, attn_mask, dropout_p, scaling=scale, is_causal=is_causal
    )[0]
    return out


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The function for many queries: is_causal aligns them with the first keys."""
    if is_causal and query.shape[-2] == 1 < key.shape[-2]:
        raise NotImplementedError("transformers takes a single causal query for the last position")
    return attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def sdpa_decoding(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The function for one query: is_causal aligns it with the last key."""
    return attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
