"""transformers' eager attention, the function that its Llama layers call (other models have a copy of it).

It adds the mask to the scores whatever its type, so a bool mask must become 0 and -inf first, and it knows
no causal flag: its models write causality into the mask. The import takes seconds.
"""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import Tensor

from attention_core.peers.nan_products import leave_out_bfloat16

try:
    from transformers.models.llama.modeling_llama import eager_attention_forward
except ImportError as error:
    from attention_core.declaration.implementation import Unavailable

    raise Unavailable(f"transformers cannot be imported ({error})") from error


def eager(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """eager_attention_forward: the output, heads after positions, and the weights."""
    group = query.shape[1] // key.shape[1] if enable_gqa else 1
    module = SimpleNamespace(num_key_value_groups=group, training=True)
    scaling = query.shape[-1] ** -0.5 if scale is None else scale
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -torch.inf)
    out, weights = eager_attention_forward(module, query, key, value, attn_mask, scaling, dropout_p)
    return out, weights


leave_out_bfloat16(eager)
