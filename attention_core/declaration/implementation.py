"""The record under test: a function (or factory) together with the conventions it declares.

Every field is a statement that the suite then verifies; none of them switches a check off silently. The
command line offers one option for each field, generated from this dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from attention_core.declaration.errors import OtherForm, TargetError, Unavailable, summarize_error
from attention_core.declaration.features import ALIASES as FEATURE_ALIASES
from attention_core.declaration.features import FEATURES, WINDOW_KINDS
from attention_core.declaration.scales import check_fill, check_scale
from attention_core.declaration.sizes import ALIKE, ATTENTION, alike

__all__ = [
    "ALIASES", "CHOICES", "CLAIMS", "DTYPES", "Implementation", "OtherForm", "TargetError", "Unavailable",
    "Unstated", "is_stated", "summarize_error", "usual", "usual_dead_rows",
]  # fmt: skip

CLAIMS = ("attn_mask", "is_causal", "scale", "dropout_p", "enable_gqa")
"""The parameters of the attention contract that a signature can claim."""

ALIASES: Mapping[str, str] = {
    "mask": "attn_mask",
    "attention_mask": "attn_mask",
    "causal": "is_causal",
    "scaling": "scale",
    "sm_scale": "scale",
    "softmax_scale": "scale",
    "dropout": "dropout_p",
    **FEATURE_ALIASES,
}

CHOICES: Mapping[str, tuple[str, ...]] = {
    "layout": ("bhnd", "bnhd", "nbhd", "bhdn"),
    "key_layout": ("bhnd", "bnhd", "nbhd", "bhdn"),
    "out_layout": ("bhnd", "bnhd", "bne", "nbhd", "nbe", "bhdn"),
    "returns": ("out", "out,weights", "out,lse"),
    "causal": ("top_left", "bottom_right"),
    "mask_true": ("attend", "ignore"),
    "grouping": ("interleaved", "modular"),
    "dead_rows": ("zeros", "nan", "uniform", "unspecified"),
    "masked_nan": ("ignored", "propagates", "unspecified"),
    "accumulate": ("input", "float32"),
    "merges": ("none", "lse"),
    "misfits": ("refused", "unspecified"),
    "array": ("torch", "numpy", "jax"),
    "masks": ("any", "bool", "additive", "binary"),
    "batch_axes": ("any", "one"),
    "runtime": ("auto", "triton", "numba", "python"),
    "shapes": ("auto", "pool", "free"),
    "window": WINDOW_KINDS,
}
UNDECLARED = (("key_layout", None), ("out_layout", None), ("window", ""))
"""Fields with choices that may be left open."""
QKV_AXES = (-3, -4, -2, -5)
"""Where the axis of query, key and value may lie in the one array that holds them, the most usual first."""
DTYPES = ("float32", "float64", "bfloat16", "float16")
SPELLINGS = {
    "fp32": "float32", "f32": "float32", "float": "float32", "single": "float32", "fp64": "float64", "f64": "float64",
    "double": "float64", "fp16": "float16", "f16": "float16", "half": "float16", "bf16": "bfloat16",
}  # fmt: skip
"""What others call a dtype."""


class Unstated(str):
    """A default that nobody declared: equal to the same word when it is declared; `is_stated` knows which it is."""

    __slots__ = ()


def is_stated(value: object, default: object) -> bool:
    """Whether a field of the record was declared; what has no word of its own is where it differs from its default.

    Example:
        >>> is_stated("bhnd", "bhnd"), is_stated(Implementation(len).layout, "bhnd"), is_stated(None, None)
        (True, False, False)
    """
    return not isinstance(value, Unstated) and (isinstance(value, str) or value != default)


USUAL: Mapping[str, Mapping[str, str]] = {
    **{contract: {"causal": "bottom_right", "masked_nan": "ignored"} for contract in ("varlen", "paged")},
    **{contract: {"causal": "bottom_right"} for contract in ("quantised", "mla", "indexer")},
}
"""Defaults that differ by contract: where texts are served, queries are the last tokens, and a text is its own."""


def usual(name: str, contract: str) -> str:
    """The default of `causal` and of `masked_nan`.

    Example:
        >>> usual("causal", "attention"), usual("causal", "paged")
        ('top_left', 'bottom_right')
    """
    return USUAL.get(contract, {}).get(name, {"causal": "top_left", "masked_nan": "unspecified"}[name])


def usual_dead_rows(contract: str) -> str:
    """The default of `dead_rows`. Libraries of modules differ, so theirs are not judged."""
    return "unspecified" if contract == "multi-head" else "zeros"


@dataclass(frozen=True)
class Implementation:
    """An attention implementation and what it declares about itself.

    Args:
        function: the callable, `nn.Module` instance or (with `factory=True`) a factory without arguments.
        name: what reports call it; taken from the function when empty.
        contract: which laws apply, e.g. "attention", "attention-lse", "rotary".
        arguments: extra keyword arguments passed on every call.
        layout, out_layout: axis order of inputs and output, "bhnd", "bnhd", "nbhd" or "bhdn" (output defaults to
            `layout`); "bne" or "nbe" of an output whose heads are joined.
        returns: "out", "out,weights" or "out,lse".
        dropped_weights: the weights that it returns are those after dropout.
        causal: where the causal diagonal starts when n_q != n_kv: "top_left", of texts that are served "bottom_right",
            where nothing is declared.
        key_layout: axis order of the key alone, where it is another than that of query and value.
        axes: 4 for query (B, H, n, d), 3 for (B, n, d), with layout "nbhd" (n, B, d), 2 for (n, d), and with "bhdn"
            (B, d, n) and (d, n): without an axis of heads there is one head.
        batch_axes: axes before the heads: "any" number of them, or exactly "one".
        qkv_axis: where one array holds query, key and value: the axis of these three, from the end (-3 of
            (B, n, 3, H, d)); `layout` says how the other axes lie. None: they are three arrays.
        masks: which masks it takes: "any" (bool or added to the scores), "bool" or "additive" alone, or "binary" (whole
            numbers 0 and 1).
        mask_fill: what a masked score is set to: "-inf", or a number of at most -1e7 that no score comes near.
        mask_added: the finite number of `mask_fill` is added to a masked score, which then counts less by as much.
        mask_true: whether True (or 1) in a mask means attend or ignore.
        always_causal: every call is causal, without a parameter that says so.
        scale: what a call without a scale means: "1/sqrt(d)", "1/d", "sqrt(d)" or a number.
        grouping: which key head query head h shares: "interleaved", h // (H / H_kv), or "modular", h mod H_kv.
        dead_rows: what a row without any key returns: "zeros", of modules "unspecified", where nothing is declared.
        masked_nan: what NaN in a masked key or value does: "unspecified", of texts that are served "ignored" in those
            of others, where nothing is declared.
        dtypes: the dtypes it supports.
        accumulate: dtype of its intermediates: "input", or "float32" inside low precision.
        merges: "lse" if it adds parts of the keys times exp(lse - total), without dividing by the sum of these shares.
        deterministic: the same call gives the same bits.
        gradients, mask_gradient, second_gradients: which derivatives it supports.
        validates: it refuses what broadcasting would let pass, such as a mask that enlarges the result.
        misfits: what it does with arrays that do not fit each other, such as two keys and three values: they are
            "refused", or it is "unspecified".
        sizes: predicate over (n_q, n_kv, d, d_v, H, H_kv) naming the sizes it supports.
        device: where it runs.
        runtime: what runs its kernels: "triton" for Triton's interpreter, "numba" for the simulator of numba.cuda,
            "python" for neither, "auto" by what the target's file imports.
        array: the array library of its arguments.
        shapes: "pool" for cases of a dozen shapes, for what a compiler builds anew for each; "free" for any; "auto"
            takes the pool for functions of JAX and for those that torch.compile made.
        claims: parameters it supports; None reads them from the signature.
        declines: exceptions that decline a case beside the usual ones, by class name (dotted or plain).
        untested: parameters that no law tests and that it may have all the same.
        known_failures: law name -> reason, for laws it is known to break (strict).
        factory: `function` builds the callable.
        parameters: declared parameters of other contracts (`kind`, `pairing`, `base`, ...).
        config: what a module's constructor, or its config object, is given beside the sizes that are known.
        window: what a window is given as, such as "sides" for (left, right) or "last" for a number of keys; "" as the
            parameter's name has it.

    Raises:
        TargetError: a field holds a value outside its choices.

    Example:
        >>> Implementation(len, name="len").dead_rows
        'zeros'
    """

    function: Any
    name: str = ""
    contract: str = "attention"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    layout: str = Unstated("bhnd")
    out_layout: str | None = None
    returns: str = Unstated("out")
    causal: str = ""
    mask_true: str = "attend"
    grouping: str = "interleaved"
    dead_rows: str = ""
    masked_nan: str = ""
    dtypes: tuple[str, ...] = DTYPES
    accumulate: str = "input"
    merges: str = "none"
    deterministic: bool = False
    gradients: bool = True
    mask_gradient: bool = False
    second_gradients: bool = False
    validates: bool = False
    sizes: Callable[..., bool] | None = None
    device: str = "cpu"
    array: str = "torch"
    claims: tuple[str, ...] | None = None
    untested: tuple[str, ...] = ()
    known_failures: Mapping[str, str] = field(default_factory=dict)
    factory: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    axes: int = 4
    masks: str = Unstated("any")
    always_causal: bool = False
    scale: str = "1/sqrt(d)"
    declines: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    mask_fill: str = "-inf"
    batch_axes: str = "any"
    dropped_weights: bool = False
    mask_added: bool = False
    runtime: str = "auto"
    qkv_axis: int | None = None
    shapes: str = "auto"
    window: str = ""
    key_layout: str | None = None
    misfits: str = "refused"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dead_rows", self.dead_rows or Unstated(usual_dead_rows(self.contract)))
        for name in ("causal", "masked_nan"):
            object.__setattr__(self, name, getattr(self, name) or Unstated(usual(name, self.contract)))
        if self.contract == "attention-lse" and self.returns == "out":  # the contract says what comes back
            object.__setattr__(self, "returns", "out,lse")
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices and (name, value) not in UNDECLARED:
                raise TargetError(f"{name}={value!r} is not one of {', '.join(choices)}")
        self._check_scale_and_axes()
        self._check_packed()
        if self.runtime in ("triton", "numba") and self.device != "cpu":
            raise TargetError(
                f"runtime={self.runtime} interprets kernels on a processor: leave it out with device={self.device}"
            )
        if self.contract == "rotary" and self.layout not in ("bhnd", "bnhd"):
            raise TargetError(f"layout={self.layout} is not known of rotary: declare bhnd or bnhd")
        if self.array == "numpy":  # NumPy has no derivatives, and no bfloat16
            for name in ("gradients", "mask_gradient", "second_gradients"):
                object.__setattr__(self, name, False)
            object.__setattr__(self, "dtypes", tuple(d for d in self.dtypes if d != "bfloat16"))
        unknown = [d for d in self.dtypes if d not in DTYPES]
        if unknown or not self.dtypes:
            known = [d for d in DTYPES if (self.array, d) != ("numpy", "bfloat16")]
            near = next((SPELLINGS.get(d.lower()) for d in unknown), None)
            hint = f"did you mean {near}? " if near in known else ""
            raise TargetError(f"dtypes={self.dtypes!r}: {hint}choose from {', '.join(known)}")
        wrong = [c for c in self.claims or () if c not in (*CLAIMS, *FEATURES)]
        if wrong:
            raise TargetError(f"claims={wrong!r}: choose from {', '.join((*CLAIMS, *FEATURES))}")

    @property
    def asks_float64(self) -> bool:
        """Whether float64 is declared, and not only one of the default dtypes."""
        return "float64" in self.dtypes and self.dtypes is not DTYPES

    def _check_scale_and_axes(self) -> None:
        object.__setattr__(self, "scale", check_scale(self.scale))
        object.__setattr__(self, "mask_fill", check_fill(self.mask_fill))
        if self.axes not in (2, 3, 4):
            raise TargetError(f"axes={self.axes!r}: write 4 for (B, H, n, d), 3 for (B, n, d) or 2 for (n, d)")
        for layout in (self.layout, self.key_layout or self.layout, self.out_layout or self.layout):
            if self.axes != 4 and layout not in ("bhnd", "bhdn", "nbhd")[: self.axes]:
                raise TargetError(f"axes={self.axes} has no axis of heads, so it has no layout {layout}")

    def _check_packed(self) -> None:
        if self.qkv_axis is None:
            return
        if self.qkv_axis not in QKV_AXES or self.contract not in ATTENTION or self.axes != 4:
            known = ", ".join(map(str, QKV_AXES))
            raise TargetError(
                f"qkv_axis={self.qkv_axis!r}: choose from {known}, for functions of one array with 5 axes that holds "
                "query, key and value"
            )
        if self.key_layout not in (None, self.layout):
            raise TargetError("key_layout: one array holds query, key and value, which lie alike")
        object.__setattr__(self, "sizes", alike(self.sizes))

    def as_dict(self) -> dict[str, Any]:
        """The conventions as plain JSON values, for reports."""
        skip = {"function", "sizes", "known_failures"}
        record = {k: getattr(self, k) for k in self.__dataclass_fields__ if k not in skip}
        record["arguments"] = {k: repr(v) for k, v in self.arguments.items()}
        record["parameters"], record["config"] = dict(self.parameters), dict(self.config)
        record["dtypes"] = list(self.dtypes)
        record["declines"] = list(self.declines)
        record["claims"] = None if self.claims is None else list(self.claims)
        record["untested"] = list(self.untested)
        implied = self.sizes is None or (self.qkv_axis is not None and getattr(self.sizes, "text", "") == ALIKE)
        record["sizes"] = None if implied else getattr(self.sizes, "text", "predicate")
        return record

    def with_(self, **changes: Any) -> Implementation:
        """A copy with some fields changed."""
        return replace(self, **changes)
