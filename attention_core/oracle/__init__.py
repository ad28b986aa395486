"""The float64 truth that every attention is judged by; it needs NumPy alone.

It shares no code with anything it judges: not the kernels, not even the mask builder.
Definitions are written out from the formulas; speed comes only from whole-array operations.
"""

from __future__ import annotations

from attention_core.oracle.gradients import Gradients, gradients, merge_gradients, second_gradients
from attention_core.oracle.masks import (
    allowed,
    block_pairs,
    causal_mask,
    padding,
    prefix,
    segments,
    sliding_window,
    window,
)
from attention_core.oracle.packed import split_texts, text_mask
from attention_core.oracle.positions import alibi_slopes, rotary, sinusoidal
from attention_core.oracle.recurrence import LinearGradients, linear_attention, linear_attention_gradients
from attention_core.oracle.truth import Truth, attention, merge

__all__ = [
    "Gradients",
    "LinearGradients",
    "Truth",
    "alibi_slopes",
    "allowed",
    "attention",
    "block_pairs",
    "causal_mask",
    "gradients",
    "linear_attention",
    "linear_attention_gradients",
    "merge",
    "merge_gradients",
    "padding",
    "prefix",
    "rotary",
    "second_gradients",
    "segments",
    "sinusoidal",
    "sliding_window",
    "split_texts",
    "text_mask",
    "window",
]
