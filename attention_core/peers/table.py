"""The rows of the kernel table for other people's kernels: torch's and those of transformers.

Where one of them is known to break a law, the row says so, and docs/findings.md says how.
"""

from __future__ import annotations

from typing import Any

from attention_core.declaration.kernel import FLASH_FAILURES, GARBAGE, LENGTHS, TORCH, WEIGHTS, Kernel
from attention_core.peers.adapter_source import standalone


def peer(name: str, where: str, about: str, **fields: Any) -> Kernel:
    """A row for an adapter "module:function" in `peers`, whose source counterexamples carry."""
    known, untested = fields.pop("known_failures", {}), fields.pop("untested", {})
    parameters = {"snippet": standalone(*where.split(":")), **fields.pop("parameters", {})}
    record = {"parameters": parameters, **fields}
    return Kernel(name, f"attention_core.peers.{where}", about, record, known_failures=known, untested=untested)


CUDA: dict[str, Any] = {**TORCH, "device": "cuda", "dtypes": ("float32", "bfloat16", "float16")}

FLEX_FAILURES = {
    "an_empty_key_sequence_leaves_dead_rows": "IndexError from torch.max over no key (4)",
    "no_queries_give_an_empty_output": "an internal assertion fails for a mask and no query (4)",
    "an_empty_batch_gives_an_empty_output": "an internal assertion fails for a mask and no batch (4)",
}
EAGER_FAILURES = {
    "mask_must_not_enlarge_the_result": "the mask is added with torch's broadcasting (8)",
    "returned_weights_are_before_dropout": "the weights are returned after dropout (8)",
}

TORCH_KERNELS = (
    peer(
        "torch:default",
        "torch_sdpa:default",
        "scaled_dot_product_attention on the backend torch chooses",
        **TORCH,
        mask_gradient=True,
        known_failures=FLASH_FAILURES,
    ),
    peer(
        "torch:math",
        "torch_sdpa:math",
        "scaled_dot_product_attention, unfused",
        **TORCH,
        mask_gradient=True,
        second_gradients=True,
    ),
    peer(
        "torch:flash",
        "torch_sdpa:flash",
        "scaled_dot_product_attention, flash attention",
        **TORCH,
        sizes="d == d_v",
        known_failures=FLASH_FAILURES,
    ),
    peer(
        "torch:efficient",
        "torch_cuda:efficient",
        "scaled_dot_product_attention, memory-efficient (CUDA)",
        **CUDA,
        mask_gradient=True,
    ),
    peer(
        "torch:cudnn",
        "torch_cuda:cudnn",
        "scaled_dot_product_attention, cuDNN (CUDA)",
        **{**CUDA, "dtypes": ("bfloat16", "float16")},
    ),
)

TORCH_MODULES = (
    peer(
        "torch:flex",
        "torch_flex:flex",
        "flex_attention without torch.compile",
        masked_nan="propagates",
        accumulate="float32",
        gradients=False,
        known_failures=FLEX_FAILURES,
    ),
    peer(
        "torch:flex_compiled",
        "torch_flex_compiled:flex_compiled",
        "flex_attention under torch.compile (CUDA)",
        **{**CUDA, "claims": ("attn_mask", "is_causal", "scale", "enable_gqa")},
    ),
    peer(
        "torch:mha",
        "torch_mha:mha",
        "nn.MultiheadAttention with identity projections, without weights",
        mask_true="ignore",
        accumulate="float32",
        sizes="d == d_v",
        known_failures={GARBAGE: FLASH_FAILURES[GARBAGE]},
    ),
    peer(
        "torch:mha_weights",
        "torch_mha:mha_weights",
        "nn.MultiheadAttention with identity projections, with weights",
        mask_true="ignore",
        returns="out,weights",
        dead_rows="nan",
        sizes="d == d_v and H == 1",  # the output projection carries the NaN of a dead row to the other heads
    ),
    peer(
        "torch:mha_module",
        "torch_mha_module:mha_module",
        "nn.MultiheadAttention attending to its own input, with its projections",
        contract="multi-head",
        mask_true="ignore",
        parameters=WEIGHTS,
        known_failures={"dead_rows_are_the_same_on_both_paths": "zeros without the weights, NaN with them (7)"},
    ),
)

TRANSFORMERS = (
    peer(
        "transformers:eager",
        "transformers_eager:eager",
        "the eager attention of transformers' Llama, with weights",
        dtypes=("float32", "bfloat16", "float16"),  # the softmax of float64 scores is computed in float32
        out_layout="bnhd",
        returns="out,weights",
        dead_rows="nan",
        masked_nan="propagates",
        known_failures=EAGER_FAILURES,
    ),
    peer(
        "transformers:sdpa",
        "transformers_sdpa:sdpa",
        "transformers' attention function sdpa",
        **TORCH,
        out_layout="bnhd",
        sizes="n_q > 1 or n_kv == 1",
        known_failures=FLASH_FAILURES,
    ),
    peer(
        "transformers:sdpa_decoding",
        "transformers_sdpa:sdpa_decoding",
        "the same function at a single query, where it aligns otherwise",
        **TORCH,
        out_layout="bnhd",
        causal="bottom_right",
        sizes="n_q == 1",
        known_failures={law: FLASH_FAILURES[law] for law in (LENGTHS, GARBAGE)},
    ),
)

PEERS: tuple[Kernel, ...] = TORCH_KERNELS + TORCH_MODULES + TRANSFORMERS
