"""Arguments of FlexAttention, built beside the target: functions of (b, h, i, j), and the BlockMask made of one."""

from __future__ import annotations

from typing import Any

from attention_core.conformance.worker.exchange import FlexArgument


def build_flex_argument(argument: FlexArgument, table: Any) -> Any:
    """The mask_mod, score_mod or BlockMask that an argument stands for.

    Args: table: the argument's, as a tensor (B or 1, H or 1, n_q, n_kv).

    Example:
        >>> import numpy as np, torch
        >>> from attention_core.conformance.worker.exchange import array
        >>> add = FlexArgument("score_mod", array(np.full((1, 1, 1, 2), 0.5), "float32"))
        >>> build_flex_argument(add, torch.full((1, 1, 1, 2), 0.5))(1.0, 3, 2, 0, 1)
        tensor(1.5000)

    Source: Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels" (2024).
    """
    B, H, n_q, n_kv = table.shape

    def look_up(b: Any, h: Any, i: Any, j: Any) -> Any:
        return table[b % B, h % H, i, j]

    def add(score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return score + look_up(b, h, i, j)

    if argument.kind == "score_mod":
        return add
    if argument.kind == "mask_mod":
        return look_up
    from torch.nn.attention.flex_attention import create_block_mask  # takes a second, and few targets want it

    return create_block_mask(look_up, B, H, n_q, n_kv, table.device, argument.block)
