"""Right implementations that other people ship, each as its library would be called: what must never be refuted.

Each function imports its library itself, so that one missing package costs one row. An adapter only names arguments or
moves axes; whatever it computes is the library's. `TABLE` says how each is verified.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Row(NamedTuple):
    """One implementation: its function here, its package, its contract, and the options of a second run.

    `function` is the name of one in `targets.py`, FILE:NAME of one in another file here, or MODULE:NAME of the library.
    `faults` are the laws that the library is known to break in truth: see docs/findings.md. With `declared` the options
    are given at once: its conventions are those of a serving library, which no first look finds.
    """

    function: str
    package: str
    contract: str = "attention"
    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    faults: tuple[str, ...] = ()
    declared: bool = False


# --- attention, in torch ----------------------------------------------------------------------------------


def _module(H_q: int, H_kv: int) -> Any:
    """What transformers' functions read of the module they serve."""
    return SimpleNamespace(num_key_value_groups=H_q // H_kv, training=False, is_causal=False, config=SimpleNamespace())


def _grouped(query: Tensor, key: Tensor) -> Any:
    if query.shape[1] % key.shape[1]:
        raise ValueError("heads do not divide")
    return _module(query.shape[1], key.shape[1])


def llama_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    from transformers.models.llama.modeling_llama import eager_attention_forward

    scaling = query.shape[-1] ** -0.5
    return eager_attention_forward(_grouped(query, key), query, key, value, attention_mask, scaling)


def mistral_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    from transformers.models.mistral.modeling_mistral import eager_attention_forward

    return eager_attention_forward(_grouped(query, key), query, key, value, attention_mask, query.shape[-1] ** -0.5)


def bert_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    from transformers.models.bert.modeling_bert import eager_attention_forward

    return eager_attention_forward(_module(1, 1), query, key, value, attention_mask, query.shape[-1] ** -0.5)


def whisper_eager(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> tuple[Any, ...]:
    from transformers.models.whisper.modeling_whisper import eager_attention_forward

    return eager_attention_forward(_module(1, 1), query, key, value, attention_mask, query.shape[-1] ** -0.5)


def transformers_sdpa(query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None) -> Tensor:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if query.shape[1] % key.shape[1]:
        raise ValueError("heads do not divide")
    module = _module(query.shape[1], key.shape[1])
    return sdpa_attention_forward(module, query, key, value, attention_mask, is_causal=False)[0]


def _of_pairs(mask: Tensor | None) -> Tensor | None:
    """A mask with axes of sequences and heads: x-transformers takes one of two axes for (B, n_kv)."""
    return mask[None, None] if mask is not None and mask.ndim == 2 else mask


def x_transformers_attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    from x_transformers.attend import Attend

    return Attend(causal=False).eval()(query, key, value, _of_pairs(mask))[0]


def x_transformers_flash(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    from x_transformers.attend import Attend

    return Attend(flash=True).eval()(query, key, value, _of_pairs(mask))[0]


def x_transformers_causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    from x_transformers.attend import Attend

    if query.shape[-2] != key.shape[-2]:
        raise ValueError("self-attention only")
    return Attend(causal=True).eval()(query, key, value)[0]


def torch_flex(
    query: Tensor, key: Tensor, value: Tensor, scale: float | None = None, enable_gqa: bool = False
) -> Tensor:
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(query, key, value, scale=scale, enable_gqa=enable_gqa)


def torch_flex_causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    from torch.nn.attention.flex_attention import flex_attention

    def causal(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return torch.where(i >= j, score, -torch.inf)

    return flex_attention(query, key, value, score_mod=causal)


def torch_functional_mha(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def keras_torch(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, is_causal: bool = False) -> Any:
    import keras

    return keras.ops.dot_product_attention(query, key, value, mask=mask, is_causal=is_causal)


# --- modules ------------------------------------------------------------------------------------------------


class TorchMHA(nn.Module):
    """nn.MultiheadAttention as self-attention."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        mask = None if attn_mask is None else ~attn_mask
        return self.mha(x, x, x, attn_mask=mask, need_weights=False)[0]


def _diffusers(embed_dim: int, num_heads: int) -> nn.Module:
    from diffusers.models.attention_processor import Attention

    return Attention(embed_dim, heads=num_heads, dim_head=embed_dim // num_heads, bias=True)


class Diffusers(nn.Module):
    """diffusers' Attention with its default processor."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide")
        self.attention = _diffusers(embed_dim, num_heads)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x)


class XTransformers(nn.Module):
    """x-transformers' Attention."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        from x_transformers.x_transformers import Attention

        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads do not divide")
        self.attention = Attention(embed_dim, dim_head=embed_dim // num_heads, heads=num_heads)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x)


# --- positions ----------------------------------------------------------------------------------------------


def llama_rotary(x: Tensor, positions: Tensor) -> Tensor:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    d = x.shape[-1]
    config = LlamaConfig(hidden_size=d, num_attention_heads=1, num_key_value_heads=1, head_dim=d)
    cos, sin = LlamaRotaryEmbedding(config)(x, positions[None])
    return apply_rotary_pos_emb(x, x, cos, sin)[0]


def gptj_rotary(x: Tensor, positions: Tensor) -> Tensor:
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions

    table = create_sinusoidal_positions(int(positions.max()) + 1 if positions.numel() else 1, x.shape[-1])
    sin, cos = table[positions].to(x.dtype).chunk(2, -1)
    rotated = apply_rotary_pos_emb(x.transpose(-3, -2), sin[None], cos[None])
    return rotated.transpose(-3, -2)


def rotary_embedding_torch(x: Tensor, positions: Tensor) -> Tensor:
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    freqs = RotaryEmbedding(x.shape[-1])(positions)
    return apply_rotary_emb(freqs, x)


def performer_rotary(x: Tensor, positions: Tensor) -> Tensor:
    from performer_pytorch.performer_pytorch import FixedPositionalEmbedding, apply_rotary_pos_emb

    table = FixedPositionalEmbedding(x.shape[-1], int(positions.max()) + 1 if len(positions) else 1).emb
    return apply_rotary_pos_emb(x, x, table[None, positions])[0]


def local_attention_rotary(x: Tensor, positions: Tensor) -> Tensor:
    from local_attention.rotary import SinusoidalEmbeddings, apply_rotary_pos_emb

    rows = int(positions.max()) + 1 if len(positions) else 1
    table, scale = SinusoidalEmbeddings(x.shape[-1])(x.new_empty(rows, x.shape[-1]))
    return apply_rotary_pos_emb(x, x, table[positions], scale)[0]


def x_transformers_rotary(x: Tensor, positions: Tensor) -> Tensor:
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    freqs, _ = RotaryEmbedding(x.shape[-1])(positions)
    return apply_rotary_pos_emb(x, freqs)


def diffusers_rotary(x: Tensor, positions: Tensor) -> Tensor:
    from diffusers.models.embeddings import apply_rotary_emb, get_1d_rotary_pos_embed

    cos, sin = get_1d_rotary_pos_embed(x.shape[-1], positions, use_real=True)
    return apply_rotary_emb(x, (cos, sin))


def mpt_alibi(H: int, n_q: int, n_kv: int) -> Tensor:
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    if n_q > n_kv:
        raise ValueError("more queries than keys")
    keys = build_mpt_alibi_tensor(H, n_kv)[:, 0].float()  # (H, n_kv): relative to the last key
    last = torch.arange(n_kv - n_q, n_kv)
    return keys[:, None, :] - keys[:, last, None]


def bloom_alibi(H: int, n_q: int, n_kv: int) -> Tensor:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    if n_q > n_kv:
        raise ValueError("more queries than keys")
    keys = build_alibi_tensor(torch.ones(1, n_kv, dtype=torch.long), H, torch.float32)[:, 0]  # (H, n_kv): slope * j
    last = torch.arange(n_kv - n_q, n_kv)
    return keys[:, None, :] - keys[:, last, None]


def diffusers_table(n: int, d: int) -> Tensor:
    from diffusers.models.embeddings import get_timestep_embedding

    return get_timestep_embedding(torch.arange(n), d, downscale_freq_shift=0)


def whisper_table(n: int, d: int) -> Tensor:
    from transformers.models.whisper.modeling_whisper import sinusoids

    return sinusoids(n, d)


def x_transformers_table(n: int, d: int) -> Tensor:
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    embedding = ScaledSinusoidalEmbedding(d)
    with torch.no_grad():
        embedding.scale.fill_(1.0)
        return embedding(torch.zeros(1, n, d))


# --- masks and caches -----------------------------------------------------------------------------------------


def transformers_causal(n_q: int, n_kv: int) -> Tensor:
    from transformers.masking_utils import sdpa_mask

    offset = n_kv - n_q
    mask = sdpa_mask(1, n_q, n_kv, q_offset=offset, allow_is_causal_skip=False)
    return mask[0, 0]


def transformers_window(n_q: int, n_kv: int, W: int) -> Tensor:
    from transformers.masking_utils import sdpa_mask, sliding_window_causal_mask_function

    if n_q != n_kv:
        raise ValueError("one length")
    function = sliding_window_causal_mask_function(W)
    return sdpa_mask(1, n_q, n_kv, mask_function=function, allow_is_causal_skip=False)[0, 0]


def torch_subsequent(n_q: int, n_kv: int) -> Tensor:
    if n_q != n_kv:
        raise ValueError("one length")
    return nn.Transformer.generate_square_subsequent_mask(n_q) == 0


class DynamicCacheStep:
    """transformers' DynamicCache with torch's attention."""

    def __init__(self) -> None:
        from transformers import DynamicCache

        self.cache = DynamicCache()

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        k, v = self.cache.update(key, value, 0)
        n_q, n_kv = query.shape[-2], k.shape[-2]
        allowed = torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q)
        return nn.functional.scaled_dot_product_attention(query, k, v, attn_mask=allowed)


CLASSES = (
    ("bert.modeling_bert", "BertSelfAttention"),
    ("gpt2.modeling_gpt2", "GPT2Attention"),
    ("llama.modeling_llama", "LlamaAttention"),
    ("mistral.modeling_mistral", "MistralAttention"),
    ("qwen2.modeling_qwen2", "Qwen2Attention"),
    ("opt.modeling_opt", "OPTAttention"),
    ("bart.modeling_bart", "BartAttention"),
    ("clip.modeling_clip", "CLIPAttention"),
    ("vit.modeling_vit", "ViTAttention"),
    ("distilbert.modeling_distilbert", "DistilBertSelfAttention"),
    ("whisper.modeling_whisper", "WhisperAttention"),
    ("roberta.modeling_roberta", "RobertaSelfAttention"),
    ("electra.modeling_electra", "ElectraSelfAttention"),
    ("xlm_roberta.modeling_xlm_roberta", "XLMRobertaSelfAttention"),
    ("mbart.modeling_mbart", "MBartAttention"),
    ("pegasus.modeling_pegasus", "PegasusAttention"),
    ("marian.modeling_marian", "MarianAttention"),
    ("deit.modeling_deit", "DeiTAttention"),
    ("siglip.modeling_siglip", "SiglipAttention"),
    ("dinov2.modeling_dinov2", "Dinov2Attention"),
    ("wav2vec2.modeling_wav2vec2", "Wav2Vec2Attention"),
    ("gemma.modeling_gemma", "GemmaAttention"),
    ("starcoder2.modeling_starcoder2", "Starcoder2Attention"),
    ("stablelm.modeling_stablelm", "StableLmAttention"),
    ("qwen3.modeling_qwen3", "Qwen3Attention"),
    ("olmo2.modeling_olmo2", "Olmo2Attention"),
    ("granite.modeling_granite", "GraniteAttention"),
)
"""Attention classes of transformers, verified as they are, without an adapter."""
FUSED = ("garbage_is_not_turned_into_a_number", "lengths_of_key_and_value_must_agree")
"""What torch's fused kernel breaks: a NaN query gives 0, and a value of another length than its key is read."""
FLEX = ("an_empty_key_sequence_leaves_dead_rows", "no_queries_give_an_empty_output")
"""What flex_attention breaks; OpenVINO breaks the first of them: without any key it gives what lay in its memory."""
ONNX = (
    "evaluation_has_no_dropout", "agrees_with_truth", "a_leading_key_is_copied", "zero_queries_average",
    "two_matching_keys_are_averaged", "mask_and_causal_mean_both", "stays_finite", "low_precision_rounds_as_declared",
    "head_sizes_may_be_odd_and_differ", "calls_in_between_leave_no_trace", "earlier_masks_are_forgotten",
    "results_outlive_the_next_call", "arrays_written_into_are_read_anew",
)  # fmt: skip
"""What ONNX's reference breaks: a mask of one row together with `is_causal` is the mask of the first query."""
TABLE: tuple[Row, ...] = (
    Row("llama_eager", "transformers"),
    Row("mistral_eager", "transformers"),
    Row("bert_eager", "transformers"),
    Row("whisper_eager", "transformers"),
    Row("transformers_sdpa", "transformers", faults=FUSED),
    Row("x_transformers_attend", "x-transformers"),
    Row("x_transformers_flash", "x-transformers", faults=FUSED),
    Row("x_transformers_causal", "x-transformers"),
    Row("torch_flex", "torch", faults=FLEX),
    Row("torch_flex_causal", "torch", faults=FLEX),
    Row("torch_functional_mha", "torch", faults=FUSED),
    Row("keras_torch", "keras", environment=(("KERAS_BACKEND", "torch"),), faults=FUSED),
    Row("numpy_targets.py:onnx_reference", "onnx", faults=ONNX),
    Row("numpy_targets.py:onnxruntime_attention", "onnxruntime"),
    Row("numpy_targets.py:mlx_fast", "mlx"),
    Row("numpy_targets.py:openvino_attention", "openvino", faults=FLEX[:1]),
    Row("TorchMHA", "torch", "multi-head"),
    Row("Diffusers", "diffusers", "multi-head"),
    Row("XTransformers", "x-transformers", "multi-head"),
    Row("llama_rotary", "transformers", "rotary"),
    Row("gptj_rotary", "transformers", "rotary"),
    Row("rotary_embedding_torch", "rotary-embedding-torch", "rotary"),
    Row("performer_rotary", "performer-pytorch", "rotary"),
    Row("local_attention_rotary", "local-attention", "rotary"),
    Row("numpy_targets.py:mlx_rope", "mlx", "rotary", ("--array", "numpy")),
    Row("x_transformers_rotary", "x-transformers", "rotary"),
    Row("diffusers_rotary", "diffusers", "rotary"),
    Row("mpt_alibi", "transformers", "bias"),
    Row("bloom_alibi", "transformers", "bias"),
    Row("diffusers_table", "diffusers", "position-table"),
    Row("whisper_table", "transformers", "position-table"),
    Row("x_transformers_table", "x-transformers", "position-table"),
    Row("transformers_causal", "transformers", "mask-builder"),
    Row("transformers_window", "transformers", "mask-builder"),
    Row("torch_subsequent", "torch", "mask-builder"),
    Row("DynamicCacheStep", "transformers", "kv-cache"),
    *(Row(f"transformers.models.{family}:{name}", "transformers", "multi-head") for family, name in CLASSES),
    Row("timm.layers:Attention", "timm", "multi-head"),
    Row("jax_targets.py:jax_nn", "jax"),
    Row("jax_targets.py:flax_linen", "flax"),
    Row("jax_targets.py:flax_nnx", "flax"),
    Row("jax_targets.py:equinox_single", "equinox"),
)
"""What a first run is given is the contract alone; `options` are those of the second, as the first advises."""


def in_triton(name: str, package: str, contract: str, *options: str, faults: tuple[str, ...] = ()) -> Row:
    """A row of `triton_targets.py`."""
    always = ("--runtime", "triton", "--dtype", "float32,bfloat16,float16", *options)
    return Row(f"triton_targets.py:{name}", package, contract, always, faults=faults, declared=True)


ONE_TOKEN = ("--parameter", "query=bhd")
FLA = ("--layout", "bnhd", "--no-gradients", "--accumulate", "float32")
POWERS = ("--sizes", "d in (16, 32, 64) and d == d_v")
CONCH = ("--sizes", "d in (16, 32, 64) and d == d_v and page in (1, 2, 4, 8, 16, 32, 64)")
UNSPECIFIED = ("--dead-rows", "unspecified", "--masked-nan", "unspecified")
PREFILL = (
    "paged_keys_agree_with_the_truth", "unused_pages_and_tails_do_not_matter", "texts_may_share_pages",
    "entries_behind_the_last_page_are_not_followed", "query_heads_share_pages_heads_in_order",
    "many_pages_are_read_to_the_last", "pages_are_read_by_their_own_strides", "texts_without_keys_are_dead",
)  # fmt: skip
"""What a diagonal at the first keys breaks."""
ROPE = (
    "rotation_is_true", "scores_depend_on_the_distance_alone", "position_zero_changes_nothing", "calls_leave_no_state",
    "views_are_rotated_alike", "positions_written_into_are_read_anew", "gradients_turn_back",
    "large_positions_stay_precise",
)  # fmt: skip
LAST_AXIS = ("slices_of_a_projection_are_read_by_their_strides",)
MERGE = ("rows_without_any_key_stay_empty", "strides_are_followed")
TRITON: tuple[Row, ...] = (
    in_triton("vllm_unified", "conch-triton-kernels", "paged", *CONCH, *UNSPECIFIED, "--always-causal"),
    in_triton("conch_paged", "conch-triton-kernels", "paged", *ONE_TOKEN, *CONCH, "--dead-rows", "nan"),
    in_triton("conch_varlen", "conch-triton-kernels", "paged", *CONCH, *UNSPECIFIED, faults=PREFILL),
    in_triton("sglang_decode", "sglang", "paged", *ONE_TOKEN, "--dead-rows", "nan"),
    in_triton("sglang_prefill", "sglang", "varlen", "--no-gradients", "--sizes", "d == d_v", faults=LAST_AXIS),
    in_triton("sglang_merge", "sglang", "merge", "--untested", "v_merged,s_merged", faults=MERGE),
    in_triton("lightllm_decode", "lightllm", "paged", *ONE_TOKEN, *POWERS),
    in_triton("lightllm_prefill", "lightllm", "varlen", "--no-gradients", "--always-causal", *POWERS),
    in_triton("fla_parallel", "fla-core", "attention", *FLA, "--always-causal", "--sizes", "n_q == n_kv"),
    in_triton("fla_decoding", "fla-core", "attention", *FLA, "--sizes", "n_q == 1"),
    in_triton("fla_rotary", "fla-core", "rotary"),
    in_triton("trinix_flash", "trinix", "attention", *FLA, "--sizes", "n_q == n_kv and d == d_v"),
    in_triton("liger_rotary", "liger-kernel", "rotary", faults=ROPE),
)
"""Kernels in Triton that other people ship, as their libraries launch them, in Triton's interpreter."""
