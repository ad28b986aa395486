"""Correct attention with changed inputs, and the steps of a softmax, for faults that need one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from attention_core.faults.bases import reference

Attention = Callable[..., Any]


def with_keys_and_values(change: Any) -> Any:
    """Correct attention of what `change(query, key, value)` makes of keys and values, after the checks."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        key, value = change(query, key, value)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


def with_values_and_mask(change: Any) -> Any:
    """Correct attention of what `change(query, key, value, mask)` makes of values and mask, after the checks."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        value, attn_mask = change(query, key, value, attn_mask)
        return reference.correct(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)

    return attention


Given = dict[str, Any]


def as_given(out: Tensor, given: Given) -> Tensor:
    """The output as it is."""
    return out


def around(change: Callable[[Given], Given], finish: Callable[[Tensor, Given], Tensor] = as_given) -> Any:
    """Correct attention of what `change` makes of some arguments, after the checks, and `finish` of its output."""

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        reference.check(query, key, value, attn_mask, enable_gqa)
        given = {
            "query": query, "key": key, "value": value, "attn_mask": attn_mask, "dropout_p": dropout_p,
            "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa,
        }  # fmt: skip
        return finish(reference.correct(**{**given, **change(given)}), given)

    return attention


def over_sum(e: Tensor, more: float = 0.0) -> Tensor:
    """Divided by their sum; rows of zeros stay."""
    z = e.sum(-1, keepdim=True) + more
    return e / z.masked_fill(z == 0, 1.0)


def below_maximum(s: Tensor) -> Tensor:
    """s less the maximum of its row."""
    m = s.detach().amax(-1, keepdim=True)
    return s - m.masked_fill(m == -math.inf, 0.0)
