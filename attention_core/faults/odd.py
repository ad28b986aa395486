"""The rows of correct targets, each with what it declares; `NEEDS` names packages that are not always there."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from attention_core.faults import (
    bias,
    causality,
    correct,
    dead_rows,
    dropout,
    model_forms,
    module_forms,
    position_table,
    rotary,
    state,
    value,
)
from attention_core.faults.bases import arrays, multi_head, reference, tiles
from attention_core.faults.bases.backward import build_backward
from attention_core.faults.bases.cache import Cache
from attention_core.faults.lse import build_lse
from attention_core.faults.row import Row, row

WIDE: dict[str, Any] = {"accumulate": "float32"}
BOTH: dict[str, Any] = {**WIDE, "mask_gradient": True, "second_gradients": True}


def plain() -> Any:
    """The reference itself, with every derivative declared."""
    return reference.build()


def narrow() -> Any:
    """The reference with every step in the input's dtype, as it is without autocast."""
    return reference.build(wide=False)


def hand_written_backward() -> Any:
    """A custom autograd.Function."""
    return build_backward()


def log_sum_exp_beside() -> Any:
    """Output and log-sum-exp."""
    return build_lse()


def interleaved(x: Tensor, positions: Tensor) -> Tensor:
    """Neighbours are paired, as declared (karpathy/nanochat#264, EleutherAI/gpt-neox#834: not a fault)."""
    return rotary.other_pairing(x, positions)


def odd(target: Any, **record: Any) -> Row:
    """A row of a correct target."""
    return row(target, "odd", expected="conforms", **record)


CORRECT: tuple[Row, ...] = (
    odd(plain, **BOTH),
    odd(narrow),
    odd(tiles.Tiles, **BOTH),
    odd(tiles.Flash, **WIDE, mask_gradient=True),
    odd(correct.one_key_at_a_time, **WIDE),
    odd(correct.blocks_of_seven, **WIDE),
    odd(correct.keys_from_behind, **WIDE),
    odd(correct.rescaled_only_when_it_matters, **WIDE),
    odd(correct.powers_of_two, **WIDE),
    odd(correct.weights_in_the_input_dtype),
    odd(correct.float64_inside, **BOTH),
    odd(correct.by_einsum, **BOTH),
    odd(correct.transposed_throughout, **WIDE),
    odd(correct.split_scale, **WIDE),
    odd(correct.exponential_of_log_softmax, **WIDE),
    odd(correct.shifted_beyond_the_maximum, **WIDE),
    odd(correct.normalised_after_the_sum, **WIDE),
    odd(correct.padded_to_blocks, **WIDE),
    odd(correct.heads_in_the_batch, **WIDE),
    odd(correct.output_as_a_view, **WIDE),
    odd(correct.row_by_row, **WIDE),
    odd(correct.partial_with_other_names, **WIDE),
    odd(correct.as_a_module, **WIDE),
    odd(correct.one_head_size_alone, **WIDE, sizes=lambda n_q, n_kv, d, d_v, H, H_kv: d % 8 == 0 and d == d_v),
    odd(correct.keys_sorted_by_norm, **WIDE),
    odd(correct.halves_merged_by_lse, **BOTH),
    odd(correct.two_parts_at_their_shares, **WIDE, merges="lse", mask_gradient=True),
    odd(correct.four_parts_in_the_input_dtype, merges="lse"),
    odd(hand_written_backward, **WIDE, mask_gradient=True),
    odd(state.sums_in_random_order),
    odd(state.dropout_module),
    odd(dropout.dropout_in_bytes),
    odd(dropout.returns_weights, returns="out,weights"),
    odd(value.correct_with_weights, returns="out,weights"),
    odd(value.correct_with_lse, returns="out,lse"),
    odd(causality.aligned_bottom_right, causal="bottom_right"),
    odd(dead_rows.dead_rows_are_nan, name="odd.dead_rows_are_nan", dead_rows="nan"),
    odd(dead_rows.dead_rows_are_means, name="odd.dead_rows_are_means", dead_rows="uniform"),
    odd(correct.means_at_the_end, dead_rows="uniform", causal="bottom_right"),
    odd(arrays.by_numpy, array="numpy", **WIDE),
    odd(arrays.by_jax, array="jax", **WIDE, dtypes=("float32", "bfloat16", "float16")),
    odd(log_sum_exp_beside, contract="attention-lse", returns="out,lse", **WIDE),
    *(odd(f, contract="bias", direct=True) for f in bias.CORRECT),
    *(odd(f, contract="rotary", direct=True, parameters={"positions": "batched"}) for f in rotary.CORRECT),
    odd(interleaved, contract="rotary", direct=True, parameters={"pairing": "interleaved", "positions": "batched"}),
    *(odd(f, contract="position-table", direct=True) for f in position_table.CORRECT),
    *(odd(f, contract="multi-head", direct=True, parameters={"weights_flag": "need_weights"})
      for f in multi_head.NAMINGS),
    *(odd(right, contract="multi-head", direct=True, prefix="module_forms", **record)
      for right, _, record in (*module_forms.FORMS, *model_forms.FORMS)),
    odd(Cache, name="kv_cache.Cache", contract="kv-cache", direct=True, **WIDE),
    odd(Cache, name="kv_cache.Cache.window", contract="kv-cache", direct=True, parameters={"window": 4}, **WIDE),
)  # fmt: skip
NEEDS = {"arrays.by_jax": "jax"}
"""Row -> the package without which it cannot be built."""
