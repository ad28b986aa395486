"""The other faults that were written beside the laws: every law has one that it was seen to refute."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from attention_core.faults import (
    bias,
    cache_state,
    causality,
    conventions,
    dead_rows,
    decoding,
    dropout,
    gradients,
    heads_and_batch,
    known,
    kv_cache,
    lse,
    mask_builder,
    mask_forms,
    masking,
    memory,
    model_forms,
    module_forms,
    multi_head,
    numerics,
    position_table,
    process_state,
    refusal,
    rotary,
    seed_attention,
    seed_steps,
    shapes,
    sharing,
    split_merge_heads,
    state,
    value,
)
from attention_core.faults.row import Row, row

FILES = (
    value, masking, mask_forms, dead_rows, causality, heads_and_batch, gradients, numerics, shapes,
    memory, state, sharing,
    dropout, refusal, lse, process_state, decoding,
)  # fmt: skip
CORRECT = {
    "correct", "correct_with_weights", "correct_with_lse", "sums_in_random_order", "dropout_module", "dropout_in_bytes",
    "returns_weights", "aligned_bottom_right",
    "loads_a_library_at_first", "draws_without_seeding", "settings_in_a_context",
}  # fmt: skip
"""Functions of these files that are right (one of them only where bottom right is declared)."""
HELPERS = {
    "after_each_call",
    "with_mask",
    "filled",
    "other_backward",
    "swapped_backward",
    "pairs",
    "build_lse",
    "without_causality",
}
DECLARED: dict[str, dict[str, Any]] = {
    "dead_rows_zeroed_behind_the_projection": {"dead_rows": "zeros"},
    "large_mask_broadcasts_the_scores": {"validates": True},
    "weights_before_softmax": {"returns": "out,weights"},
    "weights_dropped_out": {"returns": "out,weights"},
    "weights_of_64_keys": {"returns": "out,weights"},
    "lse_base_two": {"returns": "out,lse"},
    "lse_without_maximum": {"returns": "out,lse"},
    "masked_nan_removed": {"masked_nan": "propagates"},
    "masked_nan_leaves_its_slice": {"masked_nan": "propagates"},
    "offset_kept_above_zero": {"causal": "bottom_right"},
    "causal_aligned_top_left": {"causal": "bottom_right"},
    "mask_not_summed": {"mask_gradient": True},
    "mask_gradient_scaled": {"mask_gradient": True},
    "mask_gradient_of_sixteen_rows": {"mask_gradient": True},
    "mask_gradient_nan_at_masked": {"mask_gradient": True},
    "weights_constant_in_backward": {"second_gradients": True, "mask_gradient": True},
    "sums_in_low_precision": {"accumulate": "float32"},
    "product_overflows_in_float16": {"accumulate": "float32"},
    "output_summed_in_low_precision": {"accumulate": "float32"},
    "value_gradient_added_in_its_dtype": {"accumulate": "float32"},
    "key_gradient_added_in_its_dtype": {"accumulate": "float32"},
    "query_gradient_added_in_its_dtype": {"accumulate": "float32"},
    "mask_gradient_added_in_its_dtype": {"accumulate": "float32", "mask_gradient": True},
}
"""What some of them declare beside their fault."""


def is_fault(file: ModuleType, name: str, made: Any) -> bool:
    """A public factory without arguments that is defined in the file, which does not list it itself."""
    if any(row.name.rpartition(".")[2] == name for row in getattr(file, "ROWS", ())):
        return False
    own = inspect.isfunction(made) and made.__module__ == file.__name__ and not name.startswith("_")
    return own and not inspect.signature(made).parameters and name not in CORRECT | HELPERS


def of_files() -> list[Row]:
    """Rows of the files whose factories take no arguments."""
    taken = {(entry[1], entry[2]) for entry in known.KNOWN}
    return [
        row(made, "law", **known.CONTRACTS.get(file, {}), **DECLARED.get(name, {}))
        for file in FILES for name, made in vars(file).items()
        if is_fault(file, name, made) and (file, name) not in taken
    ]  # fmt: skip


def of_tables() -> list[Row]:
    """Rows of the files that list their faults themselves."""
    taken = {(entry[1], entry[2]) for entry in known.KNOWN}
    listed: list[tuple[ModuleType, Any, dict[str, Any]]] = [
        *((file, made, {}) for file in (kv_cache, cache_state) for made in file.FAULTY),
        *((kv_cache, made, {"parameters": {"window": 4}}) for made in kv_cache.WINDOWED),
        *((multi_head, made, {}) for made in multi_head.FAULTY),
        *((seed_attention, made, {}) for made in seed_attention.FAULTY),
        *((seed_steps, made, {"parameters": {"kind": kind}}) for kind, all_of in seed_steps.FAULTY.items()
          for made in all_of),
        *((forms, fault, record) for forms in (module_forms, model_forms) for _, fault, record in forms.FORMS),
        *((rotary, made, {}) for made in rotary.FAULTY),
        *((rotary, made, {"factory": True}) for made in rotary.STATEFUL),
        *((file, made, {}) for file in (bias, position_table) for made in file.FAULTY),
        *((file, made, {"factory": True}) for file in (bias, position_table) for made in file.STATEFUL),
        *((mask_builder, made, {"parameters": {"kind": kind}, "factory": True})
          for kind, all_of in mask_builder.STATEFUL.items() for made in all_of),
        *((mask_builder, made, {"parameters": {"kind": kind}}) for kind, all_of in mask_builder.KINDS.items()
          for made in all_of),
        *((split_merge_heads, getattr(split_merge_heads, name), {}) for name in vars(split_merge_heads)
          if is_fault(split_merge_heads, name, getattr(split_merge_heads, name))),
    ]  # fmt: skip
    return [
        row(made, "law", **{**known.CONTRACTS[file], **more, **DECLARED.get(made.__name__, {})})
        for file, made, more in listed if (file, made.__name__) not in taken
    ]  # fmt: skip


def of_conventions() -> list[Row]:
    """Rows of the faults under declared conventions."""
    return [row(getattr(conventions, name), "law", **record) for name, record in conventions.DECLARED.items()]


ROWS = (*of_files(), *of_tables(), *of_conventions())
