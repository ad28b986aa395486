"""One explicit table of attention kernels, ours and other people's, each with its declared conventions.

A row is data: importing the table imports no kernel and no torch. What a row declares, the conformance suite
verifies; where a kernel is known to break a law, the row says so, and docs/findings.md says how.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_core.declaration.implementation import Implementation
from attention_core.declaration.kernel import FLASH_FAILURES, GARBAGE, TORCH, WEIGHTS, Kernel
from attention_core.declaration.known_failures import KnownFailure
from attention_core.declaration.sizes import ATTENTION, SizeCondition
from attention_core.peers.table import PEERS

# Ours compute two-byte inputs in float32 inside, and what is masked may hold NaN.
CORE: dict[str, Any] = {
    "accumulate": "float32",
    "masked_nan": "ignored",
    "mask_gradient": True,
    "second_gradients": True,
}
LSE: dict[str, Any] = {**CORE, "contract": "attention-lse", "returns": "out,lse", "arguments": {"return_lse": True}}

# Ours that call torch's fused kernel, or matmuls in the inputs' dtype, do with masked NaN what these do.
SPARSE: dict[str, Any] = {
    "claims": ("attn_mask", "is_causal", "scale", "enable_gqa"),
    "masked_nan": "unspecified",
    "accumulate": "float32",
    "arguments": {"block": 16},  # many pieces also in small cases
}
FLEX: dict[str, Any] = {
    **SPARSE,
    "dtypes": ("float32", "bfloat16", "float16"),
    "gradients": False,  # on a processor
    "arguments": {"block": 16, "compiled": False},
}
TRITON: dict[str, Any] = {
    "claims": ("is_causal", "scale", "enable_gqa"),
    "dtypes": ("float32", "bfloat16", "float16"),
    "arguments": {"block": 32},  # the interpreter is slow: few programs, and more than one from 33 rows on
}
HALF: dict[str, Any] = {**SPARSE, "accumulate": "input", "mask_gradient": True, "arguments": {"rows": 16}}

# What no law of a row's contract tests of our kernels, and why.
WEIGHTS_TOO = {"return_weights": "another form of the result, that of transformers:eager"}
LSE_TOO = {"return_lse": "another form of the result: the row with _lse"}
DROPOUT = {"dropout_p": "no law says what the log-sum-exp is under dropout; the row without it is judged"}
NO_MASK = {"attn_mask": "refused: the kernel has none", "dropout_p": "refused: the kernel has none"}
BLOCKS = {"block_size": "the size of the blocks; the tests of the kernel try others"}

OURS = (
    Kernel(
        "core:attention",
        "attention_core.dispatch.attention:attention",
        "the public attention(...): the fastest kernel for each call, by a table measured on the machine",
        {
            **TORCH,
            "claims": ("attn_mask", "scale", "enable_gqa", "window", "sinks", "softcap"),
            "window": "sides",
            "mask_gradient": True,
        },
        known_failures={GARBAGE: FLASH_FAILURES[GARBAGE]},
        untested={"kernel": "which kernel runs; each has a row of its own"},
    ),
    Kernel(
        "core:dot_product",
        "attention_core.kernels.dot_product:dot_product_attention",
        "scores, weights, output: the definition, step by step",
        CORE,
        untested={**WEIGHTS_TOO, **LSE_TOO},
    ),
    Kernel(
        "core:tiled",
        "attention_core.kernels.tiled:tiled_attention",
        "blocks of keys with an online softmax",
        CORE,
        untested={**BLOCKS, **LSE_TOO},
    ),
    Kernel(
        "core:split_merge",
        "attention_core.kernels.split_merge:split_merge_attention",
        "parts of the keys, merged by their log-sum-exp",
        CORE,
        untested={"sizes": "of the parts; the tests of the kernel try others"},
    ),
    Kernel(
        "core:invariant",
        "attention_core.kernels.invariant:invariant_attention",
        "every sum in the order of its terms, so that a row has the same bits in any batch",
        {**CORE, "mask_gradient": False, "second_gradients": False},
    ),
    Kernel(
        "core:fused",
        "attention_core.kernels.fused:fused_attention",
        "every call in the form that torch's fused kernel takes: never its unfused one",
        {**TORCH, "mask_gradient": True},
        known_failures={GARBAGE: FLASH_FAILURES[GARBAGE]},
    ),
    Kernel(
        "core:upcast",
        "attention_core.kernels.upcast:upcast_attention",
        "half precision computed in float32: faster where a processor has no products of it",
        {**TORCH, "mask_gradient": True},
        known_failures={GARBAGE: FLASH_FAILURES[GARBAGE]},
        untested={"inner": "the kernel that computes in float32; each has a row of its own"},
    ),
    Kernel(
        "core:featured",
        "attention_core.kernels.featured:featured_attention",
        "the definition with a window, a soft cap and sinks",
        {**CORE, "window": "sides"},
    ),
    Kernel(
        "core:block_sparse",
        "attention_core.kernels.block_sparse:block_sparse_written",
        "only the rectangles that a mask leaves, each by torch's fused kernel",
        SPARSE,
        known_failures={GARBAGE: FLASH_FAILURES[GARBAGE]},
    ),
    Kernel(
        "core:flex",
        "attention_core.kernels.flex:flex_written",
        "the kernel that FlexAttention generates for a mask's structure; judged by torch's reference of it",
        FLEX,
        compiles=True,
    ),
    Kernel(
        "core:half_accuracy",
        "attention_core.kernels.half_accuracy:half_accuracy_attention",
        "matmuls in the inputs' dtype: about twice the error, less time in bfloat16",
        HALF,
    ),
    Kernel(
        "core:dot_product_lse",
        "attention_core.kernels.dot_product:dot_product_attention",
        "the definition, with the log-sum-exp of every row",
        LSE,
        untested={**WEIGHTS_TOO, **DROPOUT},
    ),
    Kernel(
        "core:tiled_lse",
        "attention_core.kernels.tiled:tiled_attention",
        "blocks of keys with an online softmax, with the log-sum-exp of every row",
        LSE,
        untested={**BLOCKS, **DROPOUT},
    ),
    Kernel(
        "core:triton_flash",
        "attention_core.registry.triton_kernels:flash_attention",
        "FlashAttention in Triton, forward and backward; without a GPU in Triton's interpreter",
        TRITON,
        untested={**NO_MASK, **LSE_TOO},
    ),
    Kernel(
        "core:triton_flash_lse",
        "attention_core.registry.triton_kernels:flash_attention",
        "the same, with the log-sum-exp of every row",
        {**TRITON, "contract": "attention-lse", "returns": "out,lse", "arguments": {"block": 32, "return_lse": True}},
        untested=NO_MASK,
    ),
    Kernel(
        "core:naive_causal",
        "attention_core.kernels.naive_causal:naive_causal_attention",
        "WRONG ON PURPOSE: masks after the softmax, so the normaliser sees the future",
        CORE,
        expected="refuted",
    ),
)


WIDE_SUMS = (
    "kv-cache", "varlen", "paged", "batch-invariant", "linear-attention", "block-mask", "mla", "tree-mask",
    "topk-index", "cross-cache", "variant-attention",
)  # fmt: skip
"""Contracts of our kernels that keep what lies between in float32."""


def other(
    name: str, origin: str, about: str, contract: str, untested: Mapping[str, str] | None = None, **parameters: Any
) -> Kernel:
    """A row of ours of another contract than attention, with what is declared of it."""
    record: dict[str, Any] = {"contract": contract, "parameters": parameters}
    if contract == "rotary":
        record["arguments"] = {"pairing": parameters["pairing"], "base": 10000.0}
    if contract in WIDE_SUMS:
        record["accumulate"] = "float32"
    return Kernel(f"core:{name}", f"attention_core.{origin}", about, record, untested=untested or {})


TABLE = {"base": "of the frequencies, as the paper has it", "dtype": "of the table; float32 is judged"}
FORMS = {
    "shared_projection": "core:self_attention_shared is a row of its own",
    "output_projection": "off, the heads are joined and nothing more",
    "dropout": "of the weights, in training alone; the laws judge modules without dropout",
    "bias": "of the projections, which are given and read either way",
}
BUILDERS = "masking.builders"
MASKS, ROTARY = "mask-builder", "rotary"

OTHER_CONTRACTS = (
    other("causal_mask", f"{BUILDERS}:causal_mask", "keys not later than the query", MASKS, kind="causal"),
    other(
        "sliding_window_mask",
        f"{BUILDERS}:sliding_window_mask",
        "the last W keys up to the query's own",
        MASKS,
        kind="sliding_window",
    ),
    other("prefix_mask", f"{BUILDERS}:prefix_mask", "open within a prefix, causal after", MASKS, kind="prefix"),
    other("padding_mask", f"{BUILDERS}:padding_mask", "the real keys of each sequence", MASKS, kind="padding"),
    other("segments_mask", f"{BUILDERS}:segments_mask", "packed documents kept apart", MASKS, kind="segments"),
    other(
        "batch_invariant",
        "kernels.invariant:invariant_attention",
        "core:invariant, whose bits are compared",
        "batch-invariant",
    ),
    other("merge", "kernels.split_merge:merge", "two parts of the keys, joined by their log-sum-exps", "merge"),
    other("packed", "kernels.packed:packed_attention", "texts one after the other, each by itself", "varlen"),
    other("paged", "kernels.packed:paged_attention", "the keys of each text in pages, by a block table", "paged"),
    Kernel(
        "core:triton_paged",
        "attention_core.registry.triton_kernels:paged_decode",
        "the same in Triton, parts of the keys in several programs, merged; without a GPU in Triton's interpreter",
        {
            "contract": "paged",
            "dtypes": ("float32", "bfloat16", "float16"),
            "arguments": {"block": 16, "splits": 2},  # the interpreter is slow: few programs
        },
    ),
    *(
        other(
            name,
            "kernels.linear_attention:chunked_linear_attention",
            about,
            "linear-attention",
            {
                **dict.fromkeys(others, "of the rows of other kinds"),
                "block": "tokens of a block; its tests try others",
            },
            kind=kind,
            tokens="bhnd",
        )
        for name, about, kind, others in (
            ("linear", "linear attention in blocks of tokens", "linear", ("log_decay", "beta")),
            ("retention", "the same with a decay for each head", "retention", ("beta",)),
            ("gated_linear", "the same with a decay for each feature", "gla", ("beta",)),
            ("gated_delta", "the gated delta rule in blocks of tokens", "gated-delta", ()),
            ("kimi_delta", "the delta rule with a decay for each feature, in blocks of tokens", "kda", ()),
        )
    ),
    other(
        "gated_delta_recurrent",
        "kernels.linear_attention:recurrent_linear_attention",
        "the gated delta rule, one token after the other",
        "linear-attention",
        kind="gated-delta",
        tokens="bhnd",
    ),
    other(
        "state_space",
        "kernels.linear_attention:state_space_dual",
        "Mamba-2 in blocks of tokens, projections shared by heads",
        "linear-attention",
        {"chunk_size": "tokens of a block; its tests try others"},
    ),
    *(
        Kernel(
            f"core:quantised_{name}",
            "attention_core.kernels.quantised:quantised_attention",
            about,
            {
                "contract": "quantised",
                "accumulate": "float32",
                "parameters": {"stored": stored, "scales": scales},
                "arguments": {"block": 16 if scales == "block" else 1},
            },
        )
        for name, about, stored, scales in (
            ("tensor", "float8 keys and values with one scale each", "float8_e4m3fn", "tensor"),
            ("sequence", "int8 keys and values with a scale for each head of a sequence", "int8", "sequence"),
            ("token", "int8 keys and values with a scale for each token", "int8", "token"),
            ("block", "float8 keys and values with a scale for each block of 16 tokens", "float8_e5m2", "block"),
        )
    ),
    other(
        "block_map",
        "kernels.block_map:block_map_attention",
        "the keys of the blocks that a map allows, gathered for each row of blocks",
        "block-mask",
    ),
    other(
        "mla_materialised",
        "kernels.latent:materialised_latent_attention",
        "latent attention with every head's keys and values in full",
        "mla",
    ),
    other(
        "mla_absorbed", "kernels.latent:absorbed_latent_attention", "latent attention on the latents themselves", "mla"
    ),
    other(
        "tree",
        "kernels.tree:tree_attention",
        "draft tokens that attend to a context and to their ancestors in a tree",
        "tree-mask",
    ),
    other(
        "indexed",
        "kernels.indexed:indexed_attention",
        "the keys that indices name, gathered for each query",
        "topk-index",
    ),
    other(
        "sigmoid",
        "kernels.variants:sigmoid_attention",
        "weights that are sigmoids of their scores, each by itself",
        "variant-attention",
    ),
    other(
        "differential",
        "kernels.variants:differential_attention",
        "the difference of two maps of attention",
        "variant-attention",
    ),
    other(
        "cross_cache",
        "modules.cross_cache:CrossCache",
        "cross attention over a text whose keys and values are kept",
        "cross-cache",
    ),
    other("heads", "kernels.heads:split_heads,merge_heads", "features cut into heads, and joined again", "heads"),
    other(
        "rotary",
        "modules.positions:rotary",
        "rotary positions, pairs (c, c + d/2)",
        ROTARY,
        pairing="half",
        positions="batched",
    ),
    other(
        "rotary_interleaved",
        "modules.positions:rotary",
        "rotary positions, pairs (2c, 2c + 1)",
        ROTARY,
        pairing="interleaved",
        positions="batched",
    ),
    other("alibi", "modules.positions:alibi_bias", "biases that fall with distance", "bias"),
    other("sinusoidal", "modules.positions:sinusoidal", "sines and cosines of the position", "position-table", TABLE),
    other(
        "self_attention",
        "modules.self_attention:MultiHeadSelfAttention",
        "multi-head self-attention with three projections",
        "multi-head",
        FORMS,
        **WEIGHTS,
    ),
    other(
        "self_attention_shared",
        "modules.self_attention:shared_projection_attention",
        "multi-head self-attention with one projection for all three",
        "multi-head",
        **WEIGHTS,
    ),
    other(
        "cache",
        "modules.cache:KeyValueCache",
        "keys and values kept from step to step",
        "kv-cache",
        {"window": "core:cache_window is a row of its own"},
    ),
    other("cache_window", "modules.cache:KeyValueCache", "the same, keeping the last 4 tokens", "kv-cache", window=4),
)

KERNELS: tuple[Kernel, ...] = OURS + OTHER_CONTRACTS + PEERS


def kernel(name: str) -> Kernel:
    """The row of a name.

    Args: name, e.g. "torch:flash". Returns: its `Kernel`.
    Raises: ValueError for a name that no row has; the message lists those there are.
    Example:
        >>> kernel("core:tiled").origin
        'attention_core.kernels.tiled:tiled_attention'
    """
    for row in KERNELS:
        if row.name == name:
            return row
    raise ValueError(f"unknown kernel {name!r}; known are {', '.join(row.name for row in KERNELS)}")


def implementation(name: str) -> Implementation:
    """The row of a name as the record that the conformance suite takes; `function` stays None (see `origin`).

    Args, Raises: as `kernel`. Returns: an `Implementation` with the row's declared conventions.
    Example:
        >>> implementation("torch:flash").dead_rows
        'zeros'
    """
    row = kernel(name)
    fields = dict(row.record)
    if fields.get("contract", "attention") in ATTENTION:
        fields.setdefault("validates", True)  # a kernel that others call should refuse a mask too large for it
    if "sizes" in fields:
        fields["sizes"] = SizeCondition(fields["sizes"])
    known: dict[str, Any] = {law: KnownFailure(reason, saved_case(law)) for law, reason in row.known_failures.items()}
    return Implementation(None, name=row.name, known_failures=known, untested=tuple(row.untested), **fields)


def saved_case(law: str) -> dict[str, Any]:
    """The case that shows how the rows that are known to break a law break it.

    Args: law, its name. Returns: the case as JSON values. Raises: FileNotFoundError where none is saved.
    Example:
        >>> saved_case("causal_holds_at_any_scale")["is_causal"]
        True
    """
    path = Path(__file__).parents[1] / "peers" / "cases" / f"{law}.json"
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["case"]
    return case
