"""Attention as people write it: one function a form, for the tests of the first look."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
Mask = Tensor | None


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1) @ v


def with_einsum(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = torch.einsum("bhqd,bhkd->bhqk", query, key).div(query.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, value)


def flash_like(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """(B, n, H, d), the causal diagonal from the bottom right."""
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if causal:
        n_q, n_kv = scores.shape[-2:]
        scores = scores.masked_fill(~torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q), -torch.inf)
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


def single_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    _, _, width = q.shape
    return torch.bmm(torch.bmm(q, k.transpose(1, 2)).div(width**0.5).softmax(2), v)


def one_sequence(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    _, d = q.shape
    return torch.softmax(q @ k.T / d**0.5, dim=1) @ v


def with_weights(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    weights = F.softmax(torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1)), dim=-1)
    return weights @ value, weights


def unscaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT).softmax(-1) @ v


def always_causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    n_q, n_kv = scores.shape[-2:]
    return scores.masked_fill(torch.ones(n_q, n_kv).triu(1) == 1, float("-inf")).softmax(-1) @ v


def additive_masks(q: Tensor, k: Tensor, v: Tensor, attn_mask: Mask = None) -> Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return torch.softmax(scores if attn_mask is None else scores + attn_mask, -1) @ v


def padding_masks(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """Bool masks alone, True where a key is hidden."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return torch.softmax(scores if mask is None else scores.masked_fill(mask.bool(), -torch.inf), -1) @ v


def in_numpy(Q: Array, K: Array, V: Array) -> Array:
    scores = Q @ np.swapaxes(K, -1, -2) / math.sqrt(Q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    out: Array = weights / weights.sum(axis=-1, keepdims=True) @ V
    return out


def in_numpy_of_one_sequence(Q: Array, K: Array, V: Array) -> Array:
    scores = Q.dot(K.T) / np.sqrt(K.shape[1])
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    out: Array = (weights / np.sum(weights, axis=1, keepdims=True)).dot(V)
    return out


def filled_with_a_billion(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    return torch.softmax(scores if mask is None else scores.masked_fill(mask == 0, -1e9), dim=-1) @ v


def causal_at_the_end(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if is_causal:
        n_q, n_kv = scores.shape[-2:]
        hidden = torch.arange(n_kv) > torch.arange(n_q)[:, None] + n_kv - n_q
        scores = scores.masked_fill(hidden, -torch.inf)
    return scores.softmax(-1) @ value


def repeat_kv(x: Tensor, times: int) -> Tensor:
    batch, heads, length, width = x.shape
    return x[:, :, None].expand(batch, heads, times, length, width).reshape(batch, heads * times, length, width)


def llama_like(
    query: Tensor, key: Tensor, value: Tensor, attention_mask: Mask = None, scaling: float | None = None
) -> tuple[Tensor, Tensor]:
    """Transposed output, as transformers' eager attention has it."""
    times = query.shape[1] // key.shape[1]
    if times * key.shape[1] != query.shape[1]:
        raise ValueError("query heads are not a multiple of key heads")
    key, value = repeat_kv(key, times), repeat_kv(value, times)
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = F.softmax(scores, dim=-1, dtype=torch.promote_types(query.dtype, torch.float32)).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def rearranged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As code with einops has it: b n h d -> b h n d and back."""
    q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))
    weights = (torch.einsum("b h i d, b h j d -> b h i j", q, k) * q.shape[-1] ** -0.5).softmax(dim=-1)
    return torch.einsum("b h i j, b h j d -> b h i d", weights, v).permute(0, 2, 1, 3)


def annotated(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask = None, dropout: Any = None
) -> tuple[Tensor, Tensor]:
    """The annotated transformer's."""
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> tuple[Tensor, Tensor]:
    """Of tutorials: 1 in a mask hides a key."""
    matmul_qk = torch.matmul(q, k.transpose(-1, -2))
    logits = matmul_qk / torch.sqrt(torch.tensor(k.size(-1), dtype=q.dtype))
    if mask is not None:
        logits = logits.masked_fill((1 - mask) == 0, -torch.inf)
    weights = torch.softmax(logits, dim=-1)
    return torch.matmul(weights, v), weights


def four_axes_alone(query: Tensor, key: Tensor, value: Tensor, attention_mask: Mask = None) -> Tensor:
    """Of model code: the axes are counted from the front, those of masks too."""
    scores = torch.matmul(query, key.transpose(2, 3)) * query.shape[-1] ** -0.5
    if attention_mask is not None:
        scores = scores + attention_mask[:, :, :, :]
    return torch.matmul(scores.softmax(-1), value)


def with_lse(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    return scores.softmax(-1) @ value, torch.logsumexp(scores, -1)


def forward_only(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    with torch.no_grad():
        return plain(query, key, value)


def heads_shared_by_remainder(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    _, heads, _, _ = k.shape
    if q.shape[1] % heads:
        raise ValueError("query heads are not a multiple of key heads")
    times = q.shape[1] // heads
    return plain(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1))


def heads_repeated_in_turn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Without a batch axis it answers with an axis too many where there are as many queries as keys."""
    if q.shape[1] % k.shape[1]:
        raise ValueError("query heads are not a multiple of key heads")
    times = q.shape[1] // k.shape[1]
    return plain(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1))


def causal_flag_with_a_default(q: Tensor, k: Tensor, v: Tensor, causal: bool = True) -> Tensor:
    return always_causal(q, k, v) if causal else plain(q, k, v)


def second_result_is_none(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, None]:
    return plain(query, key, value), None


def single_precision_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """As Llama and x-transformers have it: the softmax runs in float32, whatever it is given."""
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.finfo(scores.dtype).max)
    return F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v


def self_attention_alone(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One length and one head size: what else is asked for is declined."""
    assert q.shape == k.shape == v.shape
    return plain(q, k, v)


def additive_bias(q: Tensor, k: Tensor, v: Tensor, bias: Mask = None) -> Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return torch.softmax(scores if bias is None else scores + bias, -1) @ v


def exercise(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """The seed's, on (n, E)."""
    assert Q.shape == K.shape == V.shape
    n, E = Q.shape
    outs = []
    for h in range(n_heads):
        q, k, v = (x[:, h * E // n_heads : (h + 1) * E // n_heads] for x in (Q, K, V))
        scores = q @ k.T / math.sqrt(E // n_heads)
        if causal:
            scores = scores + torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        outs.append(torch.softmax(scores, dim=-1) @ v)
    return torch.cat(outs, dim=-1)


def exercise_scaled_by_all_features(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Wrong with more than one head."""
    return exercise(Q / math.sqrt(n_heads), K, V, n_heads, causal)


def heads_joined(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(B, H, n, d) in, (B, n, H d) out, ready for the output projection."""
    return plain(q, k, v).transpose(1, 2).flatten(2)


def sequence_first(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(n, B, H, d), as Megatron has it."""
    return plain(*(x.permute(1, 2, 0, 3) for x in (q, k, v))).permute(2, 0, 1, 3)


def sequence_first_with_heads_joined(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return sequence_first(q, k, v).flatten(2)


def sequence_first_of_one_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(n, B, d)."""
    _, _, width = q.shape
    weights = torch.einsum("qbd,kbd->bqk", q, k).div(width**0.5).softmax(-1)
    return torch.einsum("bqk,kbd->qbd", weights, v)


def with_position_bias(q: Tensor, k: Tensor, v: Tensor, position_bias: Mask = None) -> Tensor:
    return additive_bias(q, k, v, position_bias)


def bool_masks_that_take_some_biases(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """Made for bool masks: a bias is added, but a row of it that is 0 is taken for one without any key."""
    if mask is None:
        return plain(q, k, v)
    bias = torch.where(mask, 0.0, -torch.inf) if mask.dtype == torch.bool else mask
    dead = ~mask.any(-1, keepdim=True)
    return additive_bias(q, k, v, bias.masked_fill(dead, 0.0)).masked_fill(dead, 0.0)


def bool_masks_filled_and_float_masks_added(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """As MLX has it: a row without any key is the mean under a bool mask, and NaN under one of -inf."""
    if mask is None or mask.dtype != torch.bool:
        return additive_bias(q, k, v, mask)
    scores = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).masked_fill(~mask, torch.finfo(q.dtype).min)
    return torch.softmax(scores, -1) @ v


def lowest_number_of_the_dtype(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """As Keras has it: where float32 swallows every score beside its lowest number, float16's leaves them what they are."""
    scores = torch.einsum("...qd,...kd->...qk", *(x.to(torch.promote_types(x.dtype, torch.float32)) for x in (q, k)))
    scores = scores / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores + torch.full_like(scores, torch.finfo(q.dtype).min).masked_fill(mask, 0.0)
    return (scores.softmax(-1) @ v.to(scores.dtype)).to(q.dtype)


def scale_of_single_precision(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Its scale is a float32 number, as an attribute of ONNX is: exact where d is a power of 4 alone."""
    scale = torch.tensor(1 / math.sqrt(q.size(-1)), dtype=torch.float32).to(q.dtype)
    return torch.softmax(q @ k.transpose(-2, -1) * scale, dim=-1) @ v


def features_first(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(B, H, d, n), as attention over the pixels of an image has it."""
    weights = torch.einsum("bhdi,bhdj->bhij", q, k).div(q.shape[-2] ** 0.5).softmax(-1)
    return torch.einsum("bhij,bhdj->bhdi", weights, v)


def features_first_but_of_the_output(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return features_first(q, k, v).transpose(-1, -2)


def features_first_of_one_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(B, d, n)."""
    _, width, _ = q.shape
    weights = torch.einsum("bct,bcs->bts", q, k).div(width**0.5).softmax(-1)
    return torch.einsum("bts,bcs->bct", weights, v)


def key_transposed(q: Tensor, k_t: Tensor, v: Tensor) -> Tensor:
    """The key alone is (.., d, n)."""
    return torch.softmax(q @ k_t / math.sqrt(q.size(-1)), dim=-1) @ v
