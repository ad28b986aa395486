"""Functions whose masks are objects, as those of xFormers' memory_efficient_attention: called with the right object.

Where attention is judged, causality is an object beside the arrays (B, n, H, d). Where packed texts are, all texts lie
in one batch (1, T, H, d), and an object of their lengths keeps them apart.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from attention_core.conformance.worker.planned import parameters_of
from attention_core.declaration.errors import TargetError

PARAMETER = "attn_bias"
HOME = "xformers.ops.fmha.attn_bias"
CAUSAL: Mapping[str, str] = {
    "top_left": "LowerTriangularMask", "bottom_right": "LowerTriangularFromBottomRightMask",
}  # fmt: skip
"""Where the diagonal begins -> the class of one mask; the class that xFormers' documentation names first is first."""
PACKED: Mapping[str, str] = {
    "": "BlockDiagonalMask", "top_left": "BlockDiagonalCausalMask",
    "bottom_right": "BlockDiagonalCausalFromBottomRightMask",
}  # fmt: skip
"""The same of packed texts; "" of texts whose queries attend to all keys of their own."""
NAMES = (*CAUSAL.values(), *PACKED.values())
FORMS: Mapping[str, Mapping[str, str]] = {
    "attention": CAUSAL, "attention-lse": CAUSAL, "batch-invariant": CAUSAL, "varlen": PACKED,
}  # fmt: skip
"""Contract -> the classes of its masks."""


def takes_mask_objects(target: Any) -> bool:
    """Whether a function's `attn_bias` takes objects: by its annotation, or by a class of such masks in its module.

    Example:
        >>> def attention(query, key, value, attn_bias: "AttentionBias | None" = None): ...
        >>> takes_mask_objects(attention), takes_mask_objects(len)
        (True, False)
    """
    bias = parameters_of(target).get(PARAMETER) if inspect.isroutine(target) else None
    if bias is None:
        return False
    words = str(bias.annotation)
    return any(name in words for name in ("AttentionBias", *NAMES)) or any(find_own(target, name) for name in NAMES)


def find_own(target: Any, name: str) -> Any:
    """A class by its name in the target's module, or in a module `attn_bias` or `fmha` that it imports; or None."""
    own = getattr(inspect.unwrap(target), "__globals__", {})
    modules = [own[one] for one in ("attn_bias", "fmha", "xops") if one in own]
    inner = [getattr(getattr(one, "fmha", one), PARAMETER, None) for one in modules]
    places = (getattr(one, name, None) for one in (*modules, *inner))
    return next((kind for kind in (own.get(name), *places) if inspect.isclass(kind)), None)


def find_class(target: Any, name: str) -> Any:
    """The class of a mask by its name: the target's own, or xFormers'; None where there is neither."""
    if own := find_own(target, name):
        return own
    try:
        return getattr(sys.modules.get(HOME) or import_module(HOME), name, None)
    except ImportError:
        return None


def find_masks(target: Any, contract: str) -> dict[str, Any]:
    """Where the diagonal begins -> the class of its mask, of those that there are."""
    found = {where: find_class(target, name) for where, name in FORMS.get(contract, {}).items()}
    return {where: kind for where, kind in found.items() if kind is not None}


def call_with_masks(target: Any, contract: str, causal: str = "") -> Any:
    """The function that takes causality (and where texts end) as arguments, and gives the target an object of them.

    Args: causal: where the diagonal begins, "" for the first of which there is a class.

    Raises:
        TargetError: there is no class for what is to be judged.
    """
    masks = find_masks(target, contract)
    where = causal or next((one for one in masks if one), "top_left")
    packed = FORMS[contract] is PACKED
    lacks = [FORMS[contract][one] for one in (*([""] if packed else []), where) if one not in masks]
    if lacks:
        raise TargetError(
            f"{PARAMETER} takes objects, and neither the target's module nor {HOME} has "
            f"{lacks[0]}: define it there, or install xformers"
        )
    attend = attend_packed(target, masks[""], masks[where]) if packed else attend_masked(target, masks[where])
    attend.__name__ = attend.__qualname__ = getattr(target, "__name__", type(target).__name__)
    attend.__module__ = getattr(target, "__module__", "")
    attend.mask_objects = {"causal": where, "given": [masks[one].__name__ for one in masks if one in ("", where)]}
    return attend


def attend_masked(target: Any, triangle: Any) -> Any:
    """The target with a parameter is_causal, which stands for an object of a class."""

    def attend(*arrays: Any, is_causal: bool = False, **options: Any) -> Any:
        if is_causal and options.get(PARAMETER) is not None:
            raise NotImplementedError(f"{PARAMETER} is one mask: causality or a tensor")
        return target(*arrays, **({**options, PARAMETER: triangle()} if is_causal else options))

    named = parameters_of(target)
    return with_parameters(attend, [*named.values()], {"is_causal": False})


def attend_packed(target: Any, blocks: Any, causal_blocks: Any) -> Any:
    """The target over packed texts (T, H, d), kept apart by an object of their lengths."""

    def attend(
        q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, *, causal: bool = False, **own: Any
    ) -> Any:
        lengths = [(ends[1:] - ends[:-1]).tolist() for ends in (cu_seqlens_q, cu_seqlens_k)]
        rows = [sum(lengths[i]) for i in (0, 1, 1)]
        if any(len(x) < n for x, n in zip((q, k, v), rows, strict=True)):
            raise ValueError("texts have more rows than there are")
        bias = (causal_blocks if causal else blocks).from_seqlens(*lengths)
        arrays = (x[None, :n] for x, n in zip((q, k, v), rows, strict=True))
        return target(*arrays, **own, **{PARAMETER: bias})[0]

    named = [p for name, p in parameters_of(target).items() if name != PARAMETER]
    both, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    ends = [inspect.Parameter(name, both, default=empty) for name in ("cu_seqlens_q", "cu_seqlens_k")]
    return with_parameters(attend, [*named[:3], *ends, *named[3:]], {"causal": False})


def with_parameters(function: Any, parameters: list[inspect.Parameter], more: Mapping[str, Any]) -> Any:
    """A function with a signature: parameters, those without a default first, and more of them by name."""
    by_name = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in more.items()]
    first = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    rest = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    function.__signature__ = inspect.Signature([*first, *rest, *by_name])
    return function
