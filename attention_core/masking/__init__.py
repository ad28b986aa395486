"""Masks: structured ones that combine, their dense forms, and bool <-> additive."""

from __future__ import annotations

from attention_core.masking.builders import (
    causal_mask,
    padding_mask,
    prefix_mask,
    segments_mask,
    sliding_window_mask,
    to_additive,
    to_bool,
)
from attention_core.masking.checks import Align
from attention_core.masking.structured import (
    And,
    Causal,
    Mask,
    Or,
    Padding,
    Prefix,
    Segments,
    SlidingWindow,
    Window,
    causal,
    padding,
    prefix,
    segments,
    sliding_window,
    window,
)

__all__ = [
    "causal", "sliding_window", "window", "prefix", "segments", "padding",
    "Mask", "Causal", "SlidingWindow", "Window", "Prefix", "Segments", "Padding", "And", "Or", "Align",
    "causal_mask", "sliding_window_mask", "prefix_mask", "segments_mask", "padding_mask",
    "to_additive", "to_bool",
]  # fmt: skip
