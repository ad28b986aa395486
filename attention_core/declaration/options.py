"""From words (command line, pytest options) to an `Implementation`: one option for every field of the record.

Values are parsed as data: numbers, literals and a small arithmetic of sizes. Nothing is evaluated as code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import CHOICES, CLAIMS, DTYPES, TargetError
from attention_core.declaration.sizes import NAMES, OF_ATTENTION, SizeCondition

DECLARED: Mapping[str, tuple[str, ...]] = {
    "kind": (
        "causal",
        "sliding_window",
        "prefix",
        "padding",
        "segments",
        "split_heads",
        "merge_heads",
        "pairwise_similarities",
        "attn_scaled",
        "attn_softmax",
        "compute_outputs",
        "make_causal_mask",
        "apply_causal_mask",
        "linear",
        "retention",
        "gla",
        "gated-delta",
        "kda",
        "ssd",
    ),
    "pairing": ("half", "interleaved"),
}
"""Parameters of other contracts that have options of their own: `--kind`, `--pairing`."""
FLAGS = (
    "deterministic", "gradients", "mask_gradient", "second_gradients", "validates", "factory", "always_causal",
    "dropped_weights", "mask_added",
)  # fmt: skip
HELP: Mapping[str, str] = {
    "name": "The target's name in reports.",
    "contract": "Which laws apply; see `attention-core laws`.",
    "layout": "Axis order of query, key and value.",
    "key_layout": "Axis order of the key, if it is not that of query and value.",
    "out_layout": "Axis order of the output, if it is not that of the inputs.",
    "returns": "What the call returns.",
    "dropped_weights": "Returned weights are those after dropout.",
    "causal": "Where the causal diagonal starts when n_q != n_kv.",
    "mask_true": "What True means in a bool mask.",
    "mask_fill": "What a masked score is set to: -inf, or a number of at most -1e7 that no score comes near.",
    "mask_added": "The finite number of mask_fill is added to a masked score instead of replacing it.",
    "grouping": "Key head of query head h: h // (H / H_kv) (interleaved) or h mod H_kv (modular).",
    "dead_rows": "Output of a row without any key.",
    "masked_nan": "What NaN in a masked key or value does.",
    "accumulate": "Dtype of intermediates in low precision.",
    "merges": "Parts of the keys are weighted by exp(lse - total), and not divided by the sum of these weights (lse).",
    "deterministic": "Repeating a call gives the same bits.",
    "gradients": "It is differentiable.",
    "mask_gradient": "A float mask gets a gradient.",
    "second_gradients": "Second derivatives are supported.",
    "validates": "It refuses shapes that only broadcasting makes fit, e.g. a mask that enlarges the result.",
    "misfits": "What it does with arrays that do not fit each other, such as two keys and three values.",
    "factory": "TARGET takes no arguments and returns the callable.",
    "device": "The device it runs on.",
    "runtime": "What runs its kernels: Triton's interpreter, numba's simulator or neither (python); auto: as imported.",
    "shapes": "Draw cases from a dozen shapes (pool), for code that is compiled for each, or from all (free); auto: "
    "pool for JAX and torch.compile.",
    "array": "The array library of its arguments.",
    "dtypes": f"Supported dtypes, comma separated, of {', '.join(DTYPES)}.",
    "claims": f"Supported parameters, comma separated, of {', '.join((*CLAIMS, *FEATURES))}; '' for none. "
    "Default: the signature's.",
    "untested": "Parameters that no law tests, comma separated: accepted, and named in the verdict. Repeatable.",
    "sizes": f"Supported sizes as a condition over {', '.join(OF_ATTENTION)} (of other contracts: B, n, H, d, ...), "
    "e.g. 'd % 8 == 0 and n_kv >= 1'.",
    "arguments": "NAME=VALUE passed on every call; repeatable.",
    "axes": "Axes of query, key and value: 4 (B, H, n, d), 3 (B, n, d), 2 (n, d); of self-attention 2 for (n, E).",
    "batch_axes": "Axes before the heads: any number (none included) or exactly one.",
    "qkv_axis": "The axis of query, key and value, from the end, if one array holds all three: -3 for (B, n, 3, H, d).",
    "window": "How a window is given: (left, right) or a number of keys; default: by the parameter's name.",
    "masks": "Which masks it takes: bool and additive (any), one of them alone, or whole numbers 0 and 1 (binary).",
    "always_causal": "Every call is causal, without a parameter for it.",
    "scale": "What a call without a scale means: 1/sqrt(d), 1/d, sqrt(d), or a number (1: unscaled).",
    "declines": "Another exception that declines a case, by class name (dotted or plain); repeatable.",
    "config": "NAME=VALUE given to a module's constructor or its config; E, H, H_kv, d, n are sizes; repeatable.",
    "parameters": "NAME=VALUE parameter of another contract (kind, pairing, ...); repeatable.",
}


_ALWAYS = frozenset(["name", "contract", "factory", "device", "runtime", "array", "dtypes", "arguments", "parameters"])
_ALWAYS |= {"declines", "untested", "sizes"}
_BUILT = _ALWAYS - {"factory"}
_SERVED = {
    "causal",
    "always_causal",
    "dead_rows",
    "masked_nan",
    "accumulate",
    "merges",
    "gradients",
    "scale",
    "returns",
    "grouping",
}
APPLIES: Mapping[str, frozenset[str]] = {
    "attention": frozenset(HELP) - {"config"},
    "attention-lse": frozenset(HELP) - {"config"},
    "mask-builder": _ALWAYS | {"causal", "mask_true", "masks"},
    "heads": _ALWAYS | {"gradients"},
    "multi-head": _BUILT
    | {"mask_true", "masks", "always_causal", "config", "scale", "dead_rows", "gradients", "grouping"},
    "rotary": _ALWAYS | {"layout"},
    "bias": _ALWAYS,
    "position-table": _ALWAYS,
    "kv-cache": _BUILT | {"accumulate", "scale", "grouping"},
    "self-attention": _ALWAYS | {"accumulate", "scale", "axes", "gradients"},
    "self-attention-steps": _ALWAYS | {"scale"},
    "varlen": _ALWAYS | _SERVED,
    "paged": _ALWAYS | _SERVED - {"gradients"},
    "merge": _ALWAYS | {"layout", "dead_rows", "masked_nan", "accumulate", "gradients"},
    "linear-attention": _ALWAYS | {"layout", "accumulate", "scale", "gradients"},
    "mla": _ALWAYS | {"layout", "causal", "always_causal", "accumulate", "merges", "scale"},
    "quantised": _ALWAYS | {"layout", "causal", "always_causal", "accumulate", "merges", "scale", "grouping"},
    "block-mask": _ALWAYS
    | {"layout", "causal", "always_causal", "mask_true", "masks", "dead_rows", "masked_nan", "accumulate", "merges"}
    | {"scale", "gradients", "grouping"},
    "tree-mask": _ALWAYS | {"layout", "mask_true", "masks", "masked_nan", "accumulate", "merges", "scale", "grouping"},
    "topk-index": _ALWAYS
    | {"layout", "causal", "always_causal", "dead_rows", "masked_nan", "accumulate", "merges", "scale", "gradients"}
    | {"grouping"},
    "indexer": _ALWAYS | {"causal", "always_causal", "accumulate"},
    "variant-attention": _ALWAYS
    | {"layout", "causal", "always_causal", "dead_rows", "masks", "accumulate", "merges", "gradients", "grouping"},
    "cross-cache": _BUILT | {"layout", "accumulate", "merges", "scale", "grouping"},
    "batch-invariant": frozenset(HELP) - {"config"},
}
"""Fields of the record that say something about the targets of a contract; contracts of others take every field."""
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "attention": ("learned",), "attention-lse": (), "mask-builder": ("kind", "segments_causal", "results"), "heads": (),
    "multi-head": ("weights_flag", "q_proj", "k_proj", "v_proj", "out_proj", "batch_first"),
    "bias": ("slopes", "results"),
    "rotary": ("pairing", "base", "positions", "min_position", "max_position"),
    "position-table": ("base", "frequencies", "results"), "kv-cache": ("window", "inputs", "trim"),
    "self-attention": (), "self-attention-steps": ("kind",), "merge": ("form", "base"), "varlen": ("lse", "tokens"),
    "paged": ("query", "pages", "key_pages", "lse", "stored", "scales"),
    "linear-attention": ("kind", "state", "tokens"), "quantised": ("stored", "scales", "block"),
    "mla": ("w_uk", "w_uv"),
    "block-mask": ("block", "q_block", "k_block", "map"), "tree-mask": ("tree", "tree_axes", "roots"),
    "topk-index": ("tokens", "index_axes", "index_heads", "index_dtype", "block", "beyond", "repeats"),
    "indexer": ("scores", "tokens", "score_axes", "topk", "padding", "ties", "order"),
    "variant-attention": ("kind", "bias", "norm", "eps", "lambda_init"),
    "cross-cache": (), "batch-invariant": (),
}  # fmt: skip
"""What `--parameter` can declare by contract (`--kind` and `--pairing` are two of these)."""
NUMBERS: Mapping[str, tuple[Any, float, str]] = {
    "window": (int, 1, "a whole number of keys, at least 1"), "block": (int, 1, "a whole number of keys, at least 1"),
    "topk": (int, 1, "a whole number of keys, at least 1"),
    "base": (int | float, 1e-300, "a positive number"), "bias": (int | float, -1e30, "a number"),
    "eps": (int | float, 1e-300, "a positive number"), "lambda_init": (int | float, -1e30, "a number"),
    "min_position": (int, -(2**31), "a whole number"), "max_position": (int, 0, "a whole number of at least 0"),
    **dict.fromkeys(("q_block", "k_block"), (int, 1, "a whole number of at least 1")),
}  # fmt: skip
"""Parameters that are numbers: their type, the least of them, and what to write."""
WORDS: Mapping[str, tuple[str, ...]] = {
    "inputs": ("kept",), "trim": ("keeps", "removes", "negative"), "results": ("shared",),
    "form": ("pair", "stacked", "in_place"),
    "lse": ("hn", "nh"), "query": ("bnhd", "bhnd", "bhd", "nhd"),
    **dict.fromkeys(("pages", "key_pages"), ("pshd", "phsd", "hpsd", "phds")), "tokens": ("nhd", "hnd", "bnhd", "bhnd"),
    "state": ("kv", "vk"), "stored": ("int8", "float8_e4m3fn", "float8_e5m2"),
    "scales": ("tensor", "head", "sequence", "token", "block", "page"),
    "map": ("bhqk", "bqk", "hqk", "qk", "flex"),
    "w_uk": ("hdr", "hrd", "rhd"), "w_uv": ("hdr", "hrd", "rhd"),
    "tree": ("parents", "mask", "bias", "full", "bits"), "tree_axes": ("bqk", "b1qk", "qk"), "roots": ("one",),
    "index_axes": ("bhqk", "bqhk", "bqk", "hqk", "qhk", "qk"), "index_heads": ("query",),
    "index_dtype": ("int32", "int64"), "beyond": ("padding",), "repeats": ("once",),
    "scores": ("given", "made"), "score_axes": ("bqk", "qk", "bhqk", "hqk"), "padding": ("minus_one", "beyond", "any"),
    "ties": ("first", "last"), "order": ("scores", "keys"), "norm": ("rms", "layer"),
    "learned": ("alibi_slopes",),
}  # fmt: skip
"""Parameters that are words: whose memory a cache keeps, or a builder hands out; how parts to merge are given."""


def takes(contract: str, field: str) -> bool:
    """Whether a field of the record says something about the targets of a contract.

    Example:
        >>> takes("attention", "gradients"), takes("paged", "gradients")
        (True, False)
    """
    return contract not in APPLIES or field in APPLIES[contract]


def check_applies(contract: str, fields: Mapping[str, Any]) -> None:
    """Refuse options that do not apply to a contract's targets, since they would have no effect.

    Raises:
        TargetError: one does not apply; the text says to which contracts it does.
    """
    if contract not in APPLIES:
        return
    for name in fields:
        if name in HELP and name not in APPLIES[contract]:
            built = " (its target is the factory itself)" if name == "factory" else ""
            where = ", ".join(c for c, names in APPLIES.items() if name in names)
            raise TargetError(f"{option_of(name)} does not apply to the contract {contract}{built}, but to: {where}")
    for name in fields.get("parameters", {}):
        if name not in (*PARAMETERS[contract], "snippet"):
            option = f"--{name}" if name in DECLARED else f"--parameter {name}"
            where = ", ".join(c for c, names in PARAMETERS.items() if name in names)
            known = (
                f"but to --contract {where}" if where else f"which knows: {', '.join(PARAMETERS[contract]) or 'none'}"
            )
            raise TargetError(f"{option} does not apply to the contract {contract}, {known}")
    check_numbers(fields.get("parameters", {}))
    if isinstance(fields.get("sizes"), SizeCondition):
        fields["sizes"].check_names(NAMES[contract], f"the contract {contract}")


def check_numbers(parameters: Mapping[str, Any]) -> None:
    """Refuse numbers and words among declared parameters that mean nothing, or nothing together.

    Raises:
        TargetError: one line, with what the number should be.
    """
    for name, (kind, least, words) in NUMBERS.items():
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kind) or not least <= value < float("inf"):
            raise TargetError(f"--parameter {name}={value}: {name} is {words}")
    for name, choices in WORDS.items():
        if parameters.get(name) not in (None, *choices):
            known = ", ".join(choices)
            raise TargetError(f"--parameter {name}={parameters[name]}: {name} is {known}, or not declared")
    first, last = parameters.get("min_position"), parameters.get("max_position")
    if last is not None and last < (first or 0):
        raise TargetError(f"--parameter max_position={last} lies before the first position, {first or 0}")


def option_of(name: str) -> str:
    """The command line's option for a field of the record."""
    named = {"dtypes": "--dtype", "arguments": "--arg", "parameters": "--parameter"}
    return named.get(name, f"--{name.replace('_', '-')}")


def fields_from_text(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the record from option texts; options that were not given (None, ()) are left out.

    Raises:
        TargetError: a value that cannot be read, with the way to write it.
    """
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value == ():
            continue
        if name in ("dtypes", "claims", "declines", "untested"):
            parts = [p.strip() for v in ([value] if isinstance(value, str) else value) for p in v.split(",")]
            fields[name] = tuple(p for p in parts if p)
        elif name in ("axes", "qkv_axis"):
            fields[name] = int(value) if str(value).lstrip("-").isdigit() else value
        elif name == "sizes":
            fields[name] = SizeCondition(value)
        elif name in ("arguments", "parameters", "config"):
            fields[name] = dict(assignment(text, option_of(name)) for text in value)
        elif name in FLAGS:
            fields[name] = value if isinstance(value, bool) else as_flag(name, value)
        elif name in HELP:
            fields[name] = value
        else:
            raise TargetError(f"no field {name!r}; there are: {', '.join(HELP)}")
    return fields


def as_flag(name: str, text: str) -> bool:
    """ "true"/"false" (also yes/no, 1/0) as a bool."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise TargetError(f"{name}={text!r}: write true or false")
    return words[text.lower()]


def assignment(text: str, option: str = "--arg") -> tuple[str, Any]:
    """NAME=VALUE with VALUE a Python literal (number, string, True, None, tuple, ...) or a bare word."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise TargetError(f"{option} {text!r}: write NAME=VALUE")
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name, value
    if not crosses(found):
        kinds = "a number, a string, True, None, or a list, tuple or dict of these"
        raise TargetError(f"{option} {text[:80]!r}: write {kinds}")
    return name, found


def crosses(value: Any) -> bool:
    """Whether a literal can be sent to the process of the target."""
    if isinstance(value, tuple | list):
        return all(map(crosses, value))
    if isinstance(value, dict):
        return all(crosses(k) and crosses(v) for k, v in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def choices(name: str) -> Sequence[str] | None:
    """The allowed words of a field, or None."""
    return CHOICES.get(name)
