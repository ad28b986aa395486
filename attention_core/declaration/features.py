"""Features of attention beyond masks, causality and scale: their names in libraries, and how a window is spelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FEATURES = ("window", "softcap", "sinks", "alibi_slopes", "key_lengths")
"""Parameters that a signature can claim beside those of the contract; each is tested where it is named."""

ALIASES: Mapping[str, str] = {
    name: feature
    for feature, names in {
        "window": "window_size sliding_window local_window_size local_window window_left left_window_size "
        "attention_window sliding_window_size",
        "softcap": "logits_soft_cap logit_cap attn_logit_softcapping soft_cap logit_softcap logits_softcap softcapping "
        "attn_logits_soft_cap attn_logit_softcap attn_softcap",
        "sinks": "s_aux attention_sinks attn_sinks sink learnable_sink sink_logits",
        "alibi_slopes": "alibi slopes",
        "key_lengths": "cache_seqlens seqused_k kv_lengths key_value_seq_lengths kv_lens nonpad_kv_seqlen "
        "kv_seqlens key_lens",
    }.items()
    for name in names.split()
}
"""A parameter's name -> the feature that it is."""

WINDOWS: Mapping[str, tuple[int, str]] = {
    "last": (-1, "none"), "before": (0, "none"), "last_and_later": (-1, "any"), "before_and_later": (0, "any"),
    "within": (-1, "alike"), "around": (0, "alike"),
}  # fmt: skip
"""A whole number W as sides: W plus the first number on the left; on the right as on the left, 0, or any number."""
SYMMETRIC = ("within", "around")
PAIRS = ("sides", "bounded_sides")
WINDOW_KINDS = (*PAIRS, *WINDOWS)
"""What a window is given as.

sides: (left, right), i - left <= j <= i + right, and -1 for any number; bounded_sides: the same without -1.
last: W keys up to the query's own, i - W < j <= i. before: one more, i - W <= j <= i.
last_and_later, before_and_later: the same on the left, and later keys as causality has it.
within: |i - j| < W. around: |i - j| <= W.
"""
USUAL_WINDOWS: Mapping[str, str] = {
    "window_size": "sides", "local_window_size": "before", "window_left": "before", "left_window_size": "before",
    "sliding_window_size": "before",
}  # fmt: skip
"""What a window is given as where nothing is declared, by the name of its parameter; others are `last`."""


FILLED = ("sinks", "alibi_slopes", "key_lengths")
"""Features with a value that leaves a call as it is, which a parameter without a default is given: -inf, 0, n_kv."""


def window_kind(declared: str, name: str) -> str:
    """What a window is given as: as declared, else as its parameter's name has it.

    Example:
        >>> window_kind("", "window_size"), window_kind("", "sliding_window"), window_kind("around", "window_size")
        ('sides', 'last', 'around')
    """
    return declared or USUAL_WINDOWS.get(name, "last")


def sides_of(kind: str, width: int) -> tuple[int, int]:
    """The sides (left, right) that a whole number means; -1 for any number.

    Example:
        >>> sides_of("last", 3), sides_of("before_and_later", 3), sides_of("within", 3)
        ((2, 0), (3, -1), (2, 2))
    """
    more, right = WINDOWS[kind]
    return width + more, {"alike": width + more, "none": 0, "any": -1}[right]


def spell_window(kind: str, sides: tuple[int, int]) -> Any:
    """Sides as the target takes them: a pair, or the whole number that means them.

    Example:
        >>> spell_window("sides", (2, 0)), spell_window("last", (2, 0)), spell_window("around", (2, 2))
        ((2, 0), 3, 2)
    """
    return sides if kind in PAIRS else sides[0] - WINDOWS[kind][0]


def fit_cap(cap: float, whole: bool | None) -> float:
    """A cap as a target can take it: the next whole number, at least 1, where it takes these alone.

    Example:
        >>> fit_cap(0.43, True), fit_cap(0.43, False), fit_cap(12.0, None)
        (1, 0.43, 12)
    """
    if whole:
        return max(1, round(cap))
    return int(cap) if whole is None and cap == int(cap) else cap


def is_neutral_feature(name: str, value: Any) -> bool:
    """Whether a default of a feature, as far as it is known, leaves it out."""
    return value is None or value is False or value in (-1, 0)
