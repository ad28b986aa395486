"""torch's attention beside the rows of the kernel table: flex_attention's score_mod, modules, nested tensors, masks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel


def flex(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """flex_attention without torch.compile, nothing modified."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(query, key, value, scale=scale, enable_gqa=enable_gqa)


def flex_causal(query: Tensor, key: Tensor, value: Tensor) -> Any:
    """flex_attention without torch.compile, causal by its score_mod."""
    from torch.nn.attention.flex_attention import flex_attention

    def causal(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.where(i >= j, score, -torch.inf)

    return flex_attention(query, key, value, score_mod=causal)


def flex_blocks(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Any = None, block_mask: Any = None,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """flex_attention without torch.compile, under a BlockMask."""
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(query, key, value, score_mod, block_mask, scale, enable_gqa)


def sdpa(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    """scaled_dot_product_attention as torch chooses its kernel."""
    return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def nested_tensors(query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor) -> Tensor:
    """scaled_dot_product_attention of jagged nested tensors: packed texts, (T, H, d)."""
    ends = cu_seqlens.long()
    q, k, v = (torch.nested.nested_tensor_from_jagged(x, ends).transpose(1, 2) for x in (query, key, value))
    out: Any = nn.functional.scaled_dot_product_attention(q, k, v)
    values: Tensor = out.transpose(1, 2).values()
    return values


def sdpa_math(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """scaled_dot_product_attention held to the unfused backend."""
    with sdpa_kernel(SDPBackend.MATH):
        return nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )


def sdpa_flash(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """scaled_dot_product_attention held to flash attention."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )


class MultiHead(nn.Module):
    """nn.MultiheadAttention attending to its own input."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Any:
        """Attend where the mask is True: the module's own masks are True where it may not."""
        mask = None if attn_mask is None else ~attn_mask
        return self.mha(x, x, x, attn_mask=mask, need_weights=False)[0]


def quantizable(embed_dim: int, num_heads: int, batch_first: bool) -> Any:
    """torch.ao.nn.quantizable.MultiheadAttention without the in_proj_weight that it inherits and never reads."""
    from torch.ao.nn.quantizable import MultiheadAttention

    module: Any = MultiheadAttention(embed_dim, num_heads, batch_first=batch_first)
    module.in_proj_weight = module.in_proj_bias = None
    return module


class QuantizableMultiHead(nn.Module):
    """torch.ao.nn.quantizable.MultiheadAttention attending to its own input, before anything is quantized."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.mha = quantizable(embed_dim, num_heads, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        """Attend to the input itself."""
        return self.mha(x, x, x, need_weights=False)[0]


class QuantizableSequenceFirst(nn.Module):
    """The same with the tokens on the first axis, as it is without batch_first=True."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.mha = quantizable(embed_dim, num_heads, batch_first=False)

    def forward(self, x: Tensor) -> Any:
        """Attend to the input itself."""
        y = x.transpose(0, 1)
        return self.mha(y, y, y, need_weights=False)[0].transpose(0, 1)


class EncoderMultiHead(nn.Module):
    """nn.MultiheadAttention as an encoder layer calls it: padding by key_padding_mask, True where a key is hidden."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Any:
        """Attend to the input itself."""
        return self.mha(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]


def causal_mask(n_q: int, n_kv: int) -> Tensor:
    """The mask of nn.Transformer, of one length."""
    if n_q != n_kv:
        raise ValueError("one length")
    return nn.Transformer.generate_square_subsequent_mask(n_q) == 0
