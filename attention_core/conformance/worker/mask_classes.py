"""xFormers' classes of masks: what each of them hides, which of them a function takes, and how an object is made."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from attention_core.conformance.worker.planned import parameters_of

PARAMETER = "attn_bias"
HOME = "xformers.ops.fmha.attn_bias"
TENSOR_BIAS = "LowerTriangularMaskWithTensorBias"
"""A diagonal from the first key and a tensor that is added: LowerTriangularMask().add_bias(tensor)."""


class MaskClass(NamedTuple):
    """What the masks of a class hide.

    Args:
        contract: under which it is judged.
        corner: where its diagonal, or its window, counts from; "" for neither.
        causal: whether it hides later keys.
        window: what its window is given as, "last" (W keys up to a query's own) or "sides" (left, right); "" for none.
        keys: how the keys of texts lie: packed, each text padded to one length (padded), or with gaps (gappy).
    """

    contract: str
    corner: str = ""
    causal: bool = False
    window: str = ""
    keys: str = "packed"


CLASSES: Mapping[str, MaskClass] = {
    "LowerTriangularMask": MaskClass("attention", "top_left", True),
    "LowerTriangularFromBottomRightMask": MaskClass("attention", "bottom_right", True),
    "LowerTriangularFromBottomRightLocalAttentionMask": MaskClass("attention", "bottom_right", True, "last"),
    "LocalAttentionFromBottomRightMask": MaskClass("attention", "bottom_right", window="sides"),
    "BlockDiagonalMask": MaskClass("varlen"),
    "BlockDiagonalCausalMask": MaskClass("varlen", "top_left", True),
    "BlockDiagonalCausalFromBottomRightMask": MaskClass("varlen", "bottom_right", True),
    "BlockDiagonalCausalLocalAttentionMask": MaskClass("varlen", "top_left", True, "last"),
    "BlockDiagonalCausalLocalAttentionFromBottomRightMask": MaskClass("varlen", "bottom_right", True, "last"),
    "BlockDiagonalPaddedKeysMask": MaskClass("varlen", keys="padded"),
    "BlockDiagonalCausalWithOffsetPaddedKeysMask": MaskClass("varlen", "bottom_right", True, keys="padded"),
    "BlockDiagonalLocalAttentionPaddedKeysMask": MaskClass("varlen", "bottom_right", False, "sides", "padded"),
    "BlockDiagonalCausalLocalAttentionPaddedKeysMask": MaskClass("varlen", "bottom_right", True, "last", "padded"),
    "BlockDiagonalGappyKeysMask": MaskClass("varlen", keys="gappy"),
    "BlockDiagonalCausalWithOffsetGappyKeysMask": MaskClass("varlen", "bottom_right", True, keys="gappy"),
    "PagedBlockDiagonalPaddedKeysMask": MaskClass("paged"),
    "PagedBlockDiagonalCausalWithOffsetPaddedKeysMask": MaskClass("paged", "bottom_right", True),
}
"""The classes that can be judged, by name; the one that xFormers' documentation names first stands first."""
UNKNOWN = ("PagedBlockDiagonalGappyKeysMask", "PagedBlockDiagonalCausalWithOffsetGappyKeysMask")
"""Classes that are not judged: their `from_seqlens` raises for all lengths (xFormers 0.0.35)."""
CONTRACTS: Mapping[str, str] = {
    "attention": "attention", "attention-lse": "attention", "batch-invariant": "attention", "varlen": "varlen",
    "paged": "paged",
}  # fmt: skip
"""Contract -> the contract of the classes that it gives."""


def classes_in_annotation(target: Any) -> list[str]:
    """The classes of masks that the annotation of a function's `attn_bias` names.

    Example:
        >>> def attention(query, key, value, attn_bias: "BlockDiagonalCausalMask | None" = None): ...
        >>> classes_in_annotation(attention)
        ['BlockDiagonalCausalMask']
    """
    bias = parameters_of(target).get(PARAMETER) if inspect.isroutine(target) else None
    words = set() if bias is None else set(re.findall(r"\w+", str(bias.annotation)))
    return [name for name in (*CLASSES, TENSOR_BIAS, *UNKNOWN) if name in words]


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
    """Name -> class of the masks of a contract that a target takes.

    Where its annotation names classes it takes these alone. Otherwise it takes all that there are; but classes with a
    window, and those whose keys do not lie packed, only where its module names them.
    """
    found, named, kind = {}, classes_in_annotation(target), CONTRACTS.get(contract)
    own = getattr(inspect.unwrap(target), "__globals__", {})
    for name, about in CLASSES.items():
        special = about.window or about.keys != "packed"
        taken = name in named if named else not special or inspect.isclass(own.get(name))
        if about.contract == kind and taken and (made := find_class(target, name)) is not None:
            found[name] = made
    return found


@dataclass(frozen=True)
class Choice:
    """The classes that a target is given in one run: one corner, one way in which keys lie.

    Args:
        corner: where diagonals and windows count from.
        keys: how the keys of texts lie.
        plain, diagonal, last, sides: the class without either, of causality, and of windows; None where there is none.
    """

    corner: str
    keys: str
    plain: Any = None
    diagonal: Any = None
    last: Any = None
    sides: Any = None

    @property
    def names(self) -> list[str]:
        """The names of the classes."""
        return [kind.__name__ for kind in (self.plain, self.diagonal, self.last, self.sides) if kind is not None]

    @property
    def can_be_causal(self) -> bool:
        """Whether there is a mask that hides later keys."""
        return any(kind is not None for kind in (self.diagonal, self.last, self.sides))

    def pick(self, causal: bool, sides: Sequence[int], most: int) -> tuple[Any, tuple[int, int]]:
        """The class of a call's mask, None for none, and the sides of its window.

        Args: sides: (left, right), -1 for any number. most: more keys than any query has on a side.

        Raises: NotImplementedError: no class hides just that.
        """
        left, right = (most if x < 0 else int(x) for x in sides)
        local = tuple(sides) != (-1, -1)
        right = 0 if causal else right
        if not local and (kind := self.diagonal if causal else self.plain):
            return kind, (left, right)
        if right == 0 and self.last is not None:
            return self.last, (left, right)
        if self.sides is not None:
            return self.sides, (left, right)
        if not local and not causal:
            return None, (left, right)
        raise NotImplementedError(f"{' and '.join(self.names)} cannot hide that")


def choose(masks: Mapping[str, Any], corner: str) -> Choice:
    """The classes given in one run, of those that there are.

    Args: corner: as declared; "" for the first class's.
    """
    about = {name: CLASSES[name] for name in masks}
    keys = next((way for way in ("packed", "padded", "gappy") if any(x.keys == way for x in about.values())), "packed")
    about = {name: x for name, x in about.items() if x.keys == keys}
    where = corner or next((x.corner for x in about.values() if x.corner), "top_left")

    def first(causal: bool, window: str) -> Any:
        """The class that hides just that from the corner."""
        kinds = [name for name, x in about.items() if (x.causal, x.window) == (causal, window)]
        return next((masks[name] for name in kinds if about[name].corner in ("", where)), None)

    return Choice(where, keys, first(False, ""), first(True, ""), first(True, "last"), first(False, "sides"))
