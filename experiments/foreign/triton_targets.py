"""Triton kernels that other people ship, each as its library launches it, judged in Triton's interpreter.

Each function imports its library itself. An adapter only names arguments, moves axes and makes what a library's caller
makes for it (ends of texts, tables of sines); whatever it computes with queries, keys and values is the library's.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor


def conch_paged(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """conch's paged attention: one token a text, query (B, H, d)."""
    from conch.ops.attention.paged_attention import paged_attention

    return paged_attention(query, key_pages, value_pages, block_table, cache_seqlens, scale=softmax_scale)


def ends_of(query: Tensor) -> Tensor:
    """Where every text of (B, n, H, d) queries begins, one behind the other, and the end of the last."""
    B, n = query.shape[:2]
    return torch.arange(B + 1, dtype=torch.int32) * n


def conch_varlen(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    causal: bool = False, softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """conch's attention of packed texts to keys in pages."""
    from conch.ops.attention.varlen_attention import varlen_attention

    out = varlen_attention(
        query.flatten(0, 1), key_pages, value_pages, ends_of(query), query.shape[1], cache_seqlens,
        int(cache_seqlens.max()) if len(cache_seqlens) else 0, block_table, causal=causal, scale=softmax_scale,
    )  # fmt: skip
    return out.view(query.shape)


def vllm_unified(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """vLLM's unified attention, as conch ships it; always causal."""
    from conch.third_party.vllm.unified_attention import unified_attention

    packed = query.flatten(0, 1).contiguous()
    out = torch.empty_like(packed)
    scale = query.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    longest = int(cache_seqlens.max()) if len(cache_seqlens) else 0
    unified_attention(
        packed, key_pages, value_pages, out, ends_of(query), query.shape[1], cache_seqlens, longest, scale, True,
        (-1, -1), block_table, 0.0, None, None, None,
    )  # fmt: skip
    return out.view(query.shape)


def fla_parallel(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """flash-linear-attention's parallel attention, (B, n, H, d), always causal."""
    from fla.ops.attn.parallel import parallel_attn

    if query.shape[:2] != key.shape[:2] or key.shape[:3] != value.shape[:3] or query.shape[-1] != key.shape[-1]:
        raise ValueError("lengths, heads or head sizes differ")
    return parallel_attn(query, key, value, scale=scale)


def fla_decoding(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    """flash-linear-attention's decoding of one token: texts one behind the other, (B, 1, H, d)."""
    from fla.ops.attn.decoding import attn_decoding_one_step

    (B, n, H, d), n_kv = query.shape, key.shape[1]
    if n != 1 or key.shape[:3] != value.shape[:3] or len(key) != B or d != key.shape[-1]:
        raise ValueError("one token a text, and one shape of keys and values")
    packed = (x.reshape(1, B * n_kv, *x.shape[2:]) for x in (key, value))
    ends = torch.arange(B + 1) * n_kv
    return attn_decoding_one_step(query.reshape(1, B, H, d), *packed, scale=scale, cu_seqlens=ends).view(B, 1, H, -1)


def table_of_angles(x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the angles of (c, c + d/2), each for every position, (n, d), in the dtype of x."""
    d = x.shape[-1]
    frequencies = 10000.0 ** (-torch.arange(0, d, 2).double() / d)
    angles = (positions[:, None].double() * frequencies).repeat(1, 2)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def liger_rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Liger's rotary embedding, which rotates queries and keys in place, of a contiguous (B, H, n, d)."""
    from liger_kernel.ops.rope import LigerRopeFunction

    cos, sin = table_of_angles(x, positions)
    q = x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])
    return LigerRopeFunction.apply(q.clone(), q.clone(), cos[None], sin[None])[0].view(x.shape)


@cache
def load_alone(package: str, path: str, **stand_ins: Any) -> ModuleType:
    """One file of an installed package, without what the packages around it import for a whole server.

    `stand_ins` are modules that it imports, by their names with "__" for a point.
    """
    found = find_spec(package)
    assert found is not None and found.submodule_search_locations, f"{package} is not installed"
    file = Path(found.submodule_search_locations[0]) / path
    spec = spec_from_file_location(f"alone_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    with patch.dict(sys.modules, {name.replace("__", "."): made for name, made in stand_ins.items()}):
        spec.loader.exec_module(module)
    return module


class NoDevice(SimpleNamespace):
    """What a library hears that asks whether a device is there: no."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: False

    __hash__ = object.__hash__


NONE = NoDevice()


def sglang_merge(
    v_a: Tensor, s_a: Tensor, v_b: Tensor, s_b: Tensor, v_merged: Tensor | None = None, s_merged: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """SGLang's merge of two parts, (n, H, d) and (n, H)."""
    merged: tuple[Tensor, Tensor] = load_alone("sglang", "kernels/ops/attention/merge_state.py").merge_state_triton(
        v_a, s_a, v_b, s_b, v_merged, s_merged
    )
    return merged


def sglang_prefill(
    query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor, max_seqlen: int, causal: bool = False,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """SGLang's attention of packed texts, for prefill and encoders."""
    module = load_alone("sglang", "kernels/ops/attention/prefill_attention.py", sglang__srt__utils=NONE)
    out = torch.empty_like(query)
    lengths = cu_seqlens.diff()
    module.context_attention_fwd(
        query, key, value, out, cu_seqlens[:-1], lengths, max_seqlen, is_causal=causal, sm_scale=softmax_scale
    )
    return out


def slots_of(block_table: Tensor, page: int) -> Tensor:
    """Where every token of a text lies among all slots of all pages: (B, columns page)."""
    return (block_table[:, :, None] * page + torch.arange(page, dtype=torch.int32)).flatten(1)


def sglang_decode(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor,
    softmax_scale: float | None = None,
) -> Tensor:  # fmt: skip
    """SGLang's decoding of one token a text, query (B, H, d), with 8 splits of the keys."""
    score_mod = load_alone("sglang", "kernels/ops/attention/score_mod.py")
    stand_ins = {
        "sglang__kernels__ops__attention__score_mod": score_mod, "sglang__srt__environ": NONE,
        "sglang__srt__utils": NONE,
    }  # fmt: skip
    module = load_alone("sglang", "kernels/ops/attention/decode_attention.py", **stand_ins)
    (B, H, d), d_v, splits = query.shape, value_pages.shape[-1], 8
    slots, lengths = slots_of(block_table, key_pages.shape[1]), cache_seqlens.tolist()
    indices = torch.cat([row[:n] for row, n in zip(slots, lengths, strict=True)]) if B else slots.flatten()
    ends = torch.cat([torch.zeros(1, dtype=torch.int32), cache_seqlens.cumsum(0, dtype=torch.int32)])
    out, logits, lse = query.new_empty(B, H, d_v), torch.empty(B, H, splits, d_v), torch.empty(B, H, splits)
    module.decode_attention_fwd(
        query, key_pages.flatten(0, 1), value_pages.flatten(0, 1), out, ends, indices, logits, lse,
        torch.full((B,), splits, dtype=torch.int32), splits, d**-0.5 if softmax_scale is None else softmax_scale,
        1.0, 1.0,
    )  # fmt: skip
    return out


def lightllm_decode(
    query: Tensor, key_pages: Tensor, value_pages: Tensor, block_table: Tensor, cache_seqlens: Tensor
) -> Tensor:
    """lightllm's decoding of one token a text, query (B, H, d)."""
    from lightllm.models.llama.triton_kernel.gqa_decode_flashattention_nopad import gqa_decode_attention_fwd

    out, keys, values = torch.empty_like(query), key_pages.flatten(0, 1), value_pages.flatten(0, 1)
    slots, texts = slots_of(block_table, key_pages.shape[1]), torch.arange(len(query), dtype=torch.int32)
    gqa_decode_attention_fwd(query, keys, values, out, slots, texts, cache_seqlens)
    return out


def lightllm_prefill(query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor, max_seqlen: int) -> Tensor:
    """lightllm's attention of packed texts, always causal."""
    with patch("torch.cuda.get_device_name", return_value="none"):
        from lightllm.models.llama.triton_kernel import context_flashattention_nopad as module

    out = torch.empty_like(query)
    module.context_attention_fwd_no_prompt_cache(query, key, value, out, cu_seqlens[:-1], cu_seqlens.diff(), max_seqlen)
    return out


def fla_rotary(x: Tensor, positions: Tensor) -> Tensor:
    """flash-linear-attention's rotary embedding, (B, n, H, d), with its gradient."""
    from fla.modules.rotary import rotary_embedding

    cos, sin = table_of_angles(x, positions)
    q = x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:]).transpose(1, 2)
    half = x.shape[-1] // 2
    out: Tensor = rotary_embedding(q, cos[:, :half].contiguous(), sin[:, :half].contiguous())
    return out.transpose(1, 2).reshape(x.shape)


def dao_flash(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, scale: float | None = None
) -> Tensor:  # fmt: skip
    """flash-attn-triton's copy of flash-attention's Triton kernels, forward and backward: (B, n, H, d)."""
    from flash_attn_triton.triton_kernel.flash_attn_dao import FlashAttnFunc

    if value.shape != key.shape:
        raise ValueError("keys and values have one shape")
    out: Tensor = FlashAttnFunc.apply(query, key, value, None, is_causal, scale)
    return out


def trinix_flash(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, scale: float | None = None
) -> Tensor:  # fmt: skip
    """trinix's attention kernel: (B, n, H, d)."""
    from trinix.kernels.attention_kernel import TritonAttentionKernel

    out: Tensor = TritonAttentionKernel.apply(query, key, value, causal=is_causal, scale=scale)
    return out
