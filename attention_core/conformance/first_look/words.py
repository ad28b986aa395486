"""The lines of a first look: how the target is called, what it agrees with, what would declare that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attention_core.conformance.first_look.findings import option_text
from attention_core.conformance.subjects.binding import Binding
from attention_core.declaration.implementation import Implementation

SHAPES = {
    (4, "bhnd"): "(B, H, n, d)",
    (4, "bnhd"): "(B, n, H, d)",
    (4, "bne"): "(B, n, H d)",
    (4, "nbhd"): "(n, B, H, d)",
    (4, "nbe"): "(n, B, H d)",
    (4, "bhdn"): "(B, H, d, n)",
    (3, "bhnd"): "(B, n, d)",
    (3, "nbhd"): "(n, B, d)",
    (3, "bhdn"): "(B, d, n)",
    (2, "bhnd"): "(n, d)",
    (2, "bhdn"): "(d, n)",
}
RESULTS = {
    "out": "the output",
    "out,weights": "the output and the weights",
    "out,lse": "the output and its log-sum-exp",
}
MEANINGS: Mapping[tuple[str, Any], str] = {
    ("masks", "bool"): "takes only bool masks: a mask that should be added to the scores means something else to it",
    ("masks", "additive"): "takes only masks that are added to the scores",
    ("masks", "binary"): "takes only masks of the whole numbers 0 and 1",
    ("mask_true", "ignore"): "hides what is True in a mask",
    ("mask_true", "attend"): "attends to what is True in a mask",
    ("always_causal", True): "is causal in every call",
    ("causal", "bottom_right"): "aligns the last query with the last key where it is causal",
    ("causal", "top_left"): "aligns the first query with the first key where it is causal",
    ("dead_rows", "nan"): "gives NaN in rows without any key",
    ("dead_rows", "uniform"): "gives the mean of the values in rows without any key",
    ("dead_rows", "zeros"): "gives 0 in rows without any key",
    (
        "dead_rows",
        "unspecified",
    ): "gives the mean of the values in rows without any key, but not in every dtype, form of mask, or gradient",
    ("scale", "1"): "does not scale the scores",
    ("scale", "1/sqrt(d)"): "scales the scores by 1/sqrt(d)",
    ("grouping", "modular"): "shares key head h mod H_kv",
    ("grouping", "interleaved"): "shares key head h // (H / H_kv)",
    ("gradients", False): "carries no gradient",
    ("mask_added", True): "adds that number to masked scores instead of replacing them",
    ("batch_axes", "one"): "takes exactly one batch axis",
    ("window", "sides"): "takes a window as (left, right), with -1 for any number of keys",
    ("window", "bounded_sides"): "takes a window as (left, right)",
    ("window", "last"): "counts the query's own key in its window, which has no later ones",
    ("window", "before"): "counts the keys before the query's own in its window, which has no later ones",
    ("window", "last_and_later"): "counts the query's own key in its window, and no later ones",
    ("window", "before_and_later"): "counts the keys before the query's own in its window, and no later ones",
    ("window", "within"): "has a window of fewer keys to either side than it says",
    ("window", "around"): "has a window of as many keys to either side as it says",
}
"""What a convention that was found says of the target."""
KINDS = {
    "masks": "its calls with masks", "causal": "its causal calls", "dead": "its rows without a key",
    "window": "its calls with a window",
}  # fmt: skip
"""Kinds of calls."""
EMPTY: Mapping[str, str] = {}
MOST_WORDS = 240
"""Characters of a target's own message that are shown."""
FORM = ("array", "axes", "qkv_axis", "layout", "key_layout", "out_layout", "returns")
"""Conventions that the first line tells."""


def sentences(
    record: Implementation, binding: Binding, found: Mapping[str, Any] | None, nearest: str, failures: Sequence[str],
    unsettled: Mapping[str, str] = EMPTY,
) -> list[str]:  # fmt: skip
    """One to four plain lines; `unsettled` says what kinds of calls agree with where no convention explains them."""
    if failures:
        return [f"no call of query, key and value was accepted: {first_line(failures[0])}"]
    if found is None:
        if nearest:
            return [f"not softmax attention; agrees with: {nearest}"]
        return ["agrees with softmax attention under none of the conventions that were tried"]
    lines = [call(record, binding)]
    meanings = [meaning(name, value) for name, value in found.items() if name not in FORM]
    if meanings:
        lines.append(f"it {', '.join(meanings)}")
    but = "".join(f"; {of_kind(kind)}{cause}" for kind, cause in unsettled.items() if cause)
    silent = [KINDS[kind] for kind, cause in unsettled.items() if not cause]
    but += f"; no convention explains {', '.join(silent)}" if silent else ""
    if found.keys() == {"sizes"} or (
        found.keys() <= {"sizes", "dtypes"} and is_half_alone(found.get("dtypes", ("float32",)))
    ):
        where = f" where {found['sizes'].text}" if "sizes" in found else ""
        dtypes = f" in {' and '.join(found['dtypes'])}" if "dtypes" in found else ""
        lines.append(f"agrees with softmax attention as it is declared{dtypes}{where}{but}")
    elif found:
        options = " ".join(option_text(name, value) for name, value in found.items())
        lines.append(f"agrees with softmax attention under {options}, not as it is declared{but}")
    else:
        plain = " in plain calls" if unsettled else ""
        lines.append(f"agrees with softmax attention as it is declared{plain}{but}")
    return lines


def first_line(text: str) -> str:
    r"""The first line of a message, cut where it is very long (torch lists all its backends).

    Example:
        >>> first_line("heads differ\nsee above"), len(first_line("x" * 1000))
        ('heads differ', 240)
    """
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= MOST_WORDS else f"{line[: MOST_WORDS - 4]} ..."


def of_kind(kind: str) -> str:
    """How it begins what a kind of calls agrees with; what becomes of added masks is a sentence of its own."""
    return f"{KINDS[kind]} agree with " if kind in KINDS else ""


def call(record: Implementation, binding: Binding) -> str:
    """How the target is called, and what it returns."""
    shape = SHAPES[record.axes, record.layout]
    options = [binding.names[name] for name in sorted(binding.claims) if name in binding.names]
    named = f", with {', '.join(options)}" if options else ""
    out = record.out_layout or record.layout
    lies = f" {SHAPES[record.axes, out]}" if out != record.layout else ""
    what = f"query, key, value {shape}"
    if record.key_layout not in (None, record.layout):
        what += f", the key {SHAPES[record.axes, record.key_layout]},"
    if record.qkv_axis is not None:
        what = f"one array of query, key and value along axis {record.qkv_axis}, each {shape},"
    return f"takes {what} of {record.array}{named}; returns {RESULTS[record.returns]}{lies}"


def is_half_alone(dtypes: Sequence[str]) -> bool:
    """Whether none of the dtypes is wider than half precision: calls of others are then declined.

    Example:
        >>> is_half_alone(("bfloat16", "float16")), is_half_alone(("float32", "float16"))
        (True, False)
    """
    return not {"float32", "float64"} & set(dtypes)


def meaning(name: str, value: Any) -> str:
    """What a convention that was found says of the target."""
    if name == "scale":
        return MEANINGS.get((name, value), f"scales the scores by {value}")
    if name == "dtypes" and is_half_alone(value):
        return f"takes {' and '.join(value)} alone"
    if name == "dtypes":
        return f"keeps the dtype and the precision of its inputs only for {', '.join(value)}"
    if name == "sizes":
        return f"declines every call except those with {value.text}"
    if name == "declines":
        return f"raises {', '.join(value)} for what it does not take"
    if name == "arguments":
        return f"applies dropout only with {', '.join(f'{n}={v!r}' for n, v in value.items())}"
    if name == "mask_fill":
        return f"sets masked scores to {value}, not to -inf: beside lower scores, masked keys count again"
    return MEANINGS.get((name, value), f"follows {option_text(name, value)}")
