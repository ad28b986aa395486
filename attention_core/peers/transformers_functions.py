"""Attention, positions, masks and caches of transformers, each as its models call it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn


def module_of(query: Tensor, key: Tensor) -> Any:
    """What transformers' functions read of the module that they serve."""
    if query.shape[1] % key.shape[1]:
        raise ValueError("heads do not divide")
    groups = query.shape[1] // key.shape[1]
    return SimpleNamespace(num_key_value_groups=groups, training=False, is_causal=False, config=SimpleNamespace())


def llama_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    """Llama's eager attention, with weights."""
    from transformers.models.llama.modeling_llama import eager_attention_forward as attend

    found: tuple[Any, ...] = attend(module_of(query, key), query, key, value, attention_mask, query.shape[-1] ** -0.5)
    return found


def mistral_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    """Mistral's eager attention, with weights."""
    from transformers.models.mistral.modeling_mistral import eager_attention_forward as attend

    found: tuple[Any, ...] = attend(module_of(query, key), query, key, value, attention_mask, query.shape[-1] ** -0.5)
    return found


def bert_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    """BERT's eager attention, with weights."""
    from transformers.models.bert.modeling_bert import eager_attention_forward as attend

    found: tuple[Any, ...] = attend(module_of(query, query), query, key, value, attention_mask, query.shape[-1] ** -0.5)
    return found


def whisper_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    """Whisper's eager attention, with weights."""
    from transformers.models.whisper.modeling_whisper import eager_attention_forward as attend

    found: tuple[Any, ...] = attend(module_of(query, query), query, key, value, attention_mask, query.shape[-1] ** -0.5)
    return found


def sdpa(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> Any:
    """The attention function `sdpa`, which calls torch's."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    return sdpa_attention_forward(module_of(query, key), query, key, value, attention_mask, is_causal=False)[0]


def llama_rotary(x: Tensor, positions: Tensor) -> Any:
    """Llama's rotary embedding."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    d = x.shape[-1]
    config = LlamaConfig(hidden_size=d, num_attention_heads=1, num_key_value_heads=1, head_dim=d)
    cos, sin = LlamaRotaryEmbedding(config)(x, positions[None])
    return apply_rotary_pos_emb(x, x, cos, sin)[0]


def gptj_rotary(x: Tensor, positions: Tensor) -> Any:
    """GPT-J's rotary embedding."""
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions

    table = create_sinusoidal_positions(int(positions.max()) + 1 if positions.numel() else 1, x.shape[-1])
    sin, cos = table[positions].to(x.dtype).chunk(2, -1)
    rotated = apply_rotary_pos_emb(x.transpose(-3, -2), sin[None], cos[None])
    return rotated.transpose(-3, -2)


def of_last_queries(biases: Tensor, n_q: int) -> Tensor:
    """Biases that stand at keys, (H, n_kv), less that of each query's own position: the queries are the last ones."""
    n_kv = biases.shape[-1]
    if n_q > n_kv:
        raise ValueError("more queries than keys")
    last = torch.arange(n_kv - n_q, n_kv)
    return biases[:, None, :] - biases[:, last, None]


def mpt_alibi(H: int, n_q: int, n_kv: int) -> Tensor:
    """MPT's ALiBi biases, which the library makes relative to the last key."""
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    return of_last_queries(build_mpt_alibi_tensor(H, n_kv)[:, 0].float(), n_q)


def bloom_alibi(H: int, n_q: int, n_kv: int) -> Tensor:
    """Bloom's ALiBi biases, slope times key."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    mask = torch.ones(1, n_kv, dtype=torch.long)
    return of_last_queries(build_alibi_tensor(mask, H, torch.float32)[:, 0], n_q)


def falcon_alibi(H: int, n_q: int, n_kv: int) -> Tensor:
    """Falcon's ALiBi biases, slope times key."""
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor

    mask = torch.ones(1, n_kv, dtype=torch.long)
    return of_last_queries(build_alibi_tensor(mask, H, torch.float32)[:, 0], n_q)


def whisper_table(n: int, d: int) -> Any:
    """Whisper's sinusoids."""
    from transformers.models.whisper.modeling_whisper import sinusoids

    return sinusoids(n, d)


def causal_mask(n_q: int, n_kv: int) -> Any:
    """The mask of a causal model whose queries are the last tokens."""
    from transformers.masking_utils import sdpa_mask

    return sdpa_mask(1, n_q, n_kv, q_offset=n_kv - n_q, allow_is_causal_skip=False)[0, 0]


def window_mask(n_q: int, n_kv: int, W: int) -> Any:
    """The mask of a sliding window."""
    from transformers.masking_utils import sdpa_mask, sliding_window_causal_mask_function

    if n_q != n_kv:
        raise ValueError("one length")
    function = sliding_window_causal_mask_function(W)
    return sdpa_mask(1, n_q, n_kv, mask_function=function, allow_is_causal_skip=False)[0, 0]


class DynamicCacheStep:
    """DynamicCache with torch's attention."""

    def __init__(self) -> None:
        from transformers import DynamicCache

        self.cache = DynamicCache()

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        k, v = self.cache.update(key, value, 0)
        n_q, n_kv = query.shape[-2], k.shape[-2]
        allowed = torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q)
        return nn.functional.scaled_dot_product_attention(query, k, v, attn_mask=allowed)

    def crop(self, n: int) -> None:
        self.cache.crop(n)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.cache.reorder_cache(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        self.cache.batch_repeat_interleave(repeats)

    def batch_select_indices(self, indices: Tensor) -> None:
        self.cache.batch_select_indices(indices)


class SlidingWindowCacheStep:
    """The layer of a cache that keeps a sliding window, with torch's attention under the window's mask."""

    def __init__(self, window: int) -> None:
        from transformers.cache_utils import DynamicSlidingWindowLayer

        self.layer, self.window = DynamicSlidingWindowLayer(window), window

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        k, v = self.layer.update(key, value)
        n_q, n_kv = query.shape[-2], k.shape[-2]
        behind = torch.arange(n_kv - n_q, n_kv)[:, None] - torch.arange(n_kv)
        allowed = (behind >= 0) & (behind < self.window)
        return nn.functional.scaled_dot_product_attention(query, k, v, attn_mask=allowed)

    def crop(self, n: int) -> None:
        self.layer.crop(n)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.layer.reorder_cache(beam_idx)
