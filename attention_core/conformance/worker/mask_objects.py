"""Functions whose masks are objects, as those of xFormers' memory_efficient_attention: called with the right object.

Where attention is judged, causality or a window is an object beside the arrays (B, n, H, d). Where packed texts are,
all texts lie in one batch (1, T, H, d), and an object of their lengths keeps them apart; so it does over pages.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from attention_core.conformance.worker.mask_classes import (
    CLASSES,
    CONTRACTS,
    HOME,
    PARAMETER,
    TENSOR_BIAS,
    Choice,
    choose,
    classes_in_annotation,
    find_class,
    find_masks,
    find_own,
)
from attention_core.conformance.worker.planned import parameters_of
from attention_core.declaration.errors import TargetError

ANY_SIDES = (-1, -1)
"""A window of all keys."""
FIRST: Mapping[str, tuple[str, ...]] = {
    "attention": ("LowerTriangularMask", "LowerTriangularFromBottomRightMask"),
    "varlen": ("BlockDiagonalMask", "BlockDiagonalCausalMask", "BlockDiagonalCausalFromBottomRightMask"),
    "paged": ("PagedBlockDiagonalPaddedKeysMask", "PagedBlockDiagonalCausalWithOffsetPaddedKeysMask"),
}
"""Contract -> the classes that a line names where there is none."""
UNUSED_KEY = 7.0
"""What lies in the rows of keys and values that belong to no text."""


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
    named = "AttentionBias" in str(bias.annotation) or classes_in_annotation(target)
    return bool(named) or any(find_own(target, name) for name in CLASSES)


def needs_objects(target: Any, contract: str) -> bool:
    """Whether a target is given objects as masks under a contract: it takes them, and nothing else says the same."""
    if not takes_mask_objects(target):
        return False
    if contract == "varlen":
        return True
    parameters = parameters_of(target)
    has_table = contract == "paged" and any("table" in name or "indices" in name for name in parameters)
    required = parameters[PARAMETER].default is inspect.Parameter.empty
    return not has_table and bool(find_masks(target, contract) or (required and classes_in_annotation(target)))


def call_with_masks(target: Any, contract: str, causal: str = "") -> Any:
    """The function that takes causality (and where texts end) as arguments, and gives the target an object of them.

    Args: causal: where the diagonal begins, "" for the first of which there is a class.

    Raises:
        TargetError: there is no class for what is to be judged.
    """
    kind, chosen = CONTRACTS[contract], choose(find_masks(target, contract), causal)
    require_classes(target, kind, chosen, causal)
    attend = {"attention": attend_arrays, "varlen": attend_texts, "paged": attend_pages}[kind](target, chosen)
    attend.__name__ = attend.__qualname__ = getattr(target, "__name__", type(target).__name__)
    attend.__module__ = getattr(target, "__module__", "")
    attend.mask_objects = {
        "causal": chosen.corner if chosen.can_be_causal else "", "given": chosen.names,
        "others": [name for name in classes_in_annotation(target) if name not in (*chosen.names, TENSOR_BIAS)],
        "always_causal": not can_see_all(target, kind, chosen),
    }  # fmt: skip
    return attend


def can_see_all(target: Any, kind: str, chosen: Choice) -> bool:
    """Whether a call need not be causal: without a mask, or with one that hides nothing within a text."""
    without = kind == "attention" and parameters_of(target)[PARAMETER].default is None
    return without or chosen.plain is not None or chosen.sides is not None


def takes_tensors(target: Any) -> bool:
    """Whether masks may be tensors: unless the annotation names classes and no tensor."""
    words = str(parameters_of(target)[PARAMETER].annotation)
    return not classes_in_annotation(target) or any(name in words for name in ("Tensor", "AttentionBias"))


def require_classes(target: Any, kind: str, chosen: Choice, causal: str) -> None:
    """Raise TargetError where no class hides what a contract asks for."""
    named, known = " and ".join(classes_in_annotation(target)), set(classes_in_annotation(target)) & CLASSES.keys()
    elsewhere = sorted({CLASSES[name].contract for name in known} - {kind})
    if named and not chosen.names:
        mend = f"give --contract {elsewhere[0]}" if elsewhere else "no contract gives it: write a function of arrays"
        raise TargetError(f"{PARAMETER} takes {named} alone: {mend}")
    lacks = "" if chosen.names else FIRST[kind][0]
    if causal and not chosen.can_be_causal:
        lacks = next(name for name in (*FIRST[kind], *CLASSES) if CLASSES[name].corner == causal)
    if lacks and named:
        raise TargetError(f"{PARAMETER} takes {named} alone, none of which is of --causal {causal}")
    if lacks:
        raise TargetError(
            f"{PARAMETER} takes objects, and neither the target's module nor {HOME} has "
            f"{lacks}: define it there, or install xformers"
        )


# --- how the target is called -------------------------------------------------------------------------------


def attend_arrays(target: Any, chosen: Choice) -> Any:
    """The target with a parameter is_causal, and a window, which stand for an object of a class."""
    biased = find_class(target, TENSOR_BIAS) if TENSOR_BIAS in classes_in_annotation(target) else None
    always, tensors = not can_see_all(target, "attention", chosen), takes_tensors(target) or biased

    def attend(*arrays: Any, is_causal: bool = always, **options: Any) -> Any:
        kind, sides = chosen.pick(is_causal, read_sides(options, chosen), sum(map(sum, (x.shape for x in arrays))))
        tensor = options.get(PARAMETER)
        if tensor is not None and not tensors:
            raise NotImplementedError(f"{PARAMETER} takes objects alone")
        if kind is None:
            return target(*arrays, **options)
        if tensor is None:
            return target(*arrays, **{**options, PARAMETER: make_mask(kind, chosen, sides)})
        if biased is None or kind is not chosen.diagonal or chosen.corner != "top_left":
            raise NotImplementedError(f"{PARAMETER} is one mask: causality or a tensor")
        return target(*arrays, **{**options, PARAMETER: biased(tensor)})

    own = parameters_of(target)
    if always or chosen.sides is not None:  # an object is always given
        own = {**own, PARAMETER: own[PARAMETER].replace(default=None)}
    return with_parameters(attend, [*own.values()], switches(target, "attention", chosen))


def make_mask(kind: Any, chosen: Choice, sides: tuple[int, int]) -> Any:
    """An object of a class of one mask."""
    if kind is chosen.sides:
        return kind(window_left=sides[0], window_right=sides[1])
    return kind(sides[0] + 1) if kind is chosen.last else kind()


def attend_texts(target: Any, chosen: Choice) -> Any:
    """The target over packed texts (T, H, d), kept apart by an object of their lengths."""

    def attend(q: Any, k: Any, v: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, **own: Any) -> Any:
        lengths = [(ends[1:] - ends[:-1]).tolist() for ends in (cu_seqlens_q, cu_seqlens_k)]
        rows = [sum(lengths[i]) for i in (0, 1, 1)]
        if any(len(x) < n for x, n in zip((q, k, v), rows, strict=True)):
            raise ValueError("texts have more rows than there are")
        causal = bool(own.pop("causal", not can_see_all(target, "varlen", chosen)))
        kind, sides = chosen.pick(causal, read_sides(own, chosen), sum(rows))
        room = max([1, *(n + 1 for n in lengths[1])])
        bias = decline(lambda: mask_of_texts(kind, chosen, lengths, room, sides))
        if chosen.keys != "packed":
            k, v = (spread_keys(x[: rows[1]], lengths[1], room) for x in (k, v))
            rows[1:] = [len(k), len(v)]
        arrays = (x[None, :n] for x, n in zip((q, k, v), rows, strict=True))
        return target(*arrays, **own, **{PARAMETER: bias})[0]

    return over_texts(target, attend, ("cu_seqlens_q", "cu_seqlens_k"), switches(target, "varlen", chosen))


def mask_of_texts(kind: Any, chosen: Choice, lengths: list[list[int]], room: int, sides: tuple[int, int]) -> Any:
    """An object of a class of masks of several texts.

    Args: lengths: of queries and of keys. room: rows that a text's keys have where they are padded, or have gaps.
    """
    queries, keys = lengths
    if chosen.keys == "gappy":
        return kind.from_seqlens(queries, [room * i for i in range(len(keys) + 1)], keys)
    if chosen.keys == "packed" and kind is chosen.last:
        home = inspect.getmodule(kind)
        blocks = getattr(home, "BlockDiagonalMask").from_seqlens(queries, keys)  # noqa: B009
        method = "make_local_attention" + ("_from_bottomright" if chosen.corner == "bottom_right" else "")
        return getattr(blocks, method)(sides[0] + 1)
    if chosen.keys == "packed":
        return kind.from_seqlens(queries, keys)
    if kind is chosen.last:
        return kind.from_seqlens_local(queries, room, keys, sides[0] + 1)
    if kind is chosen.sides:
        return kind.from_seqlens_local(queries, room, keys, *sides)
    return kind.from_seqlens(queries, room, keys)


def decline(make: Callable[[], Any]) -> Any:
    """An object of lengths; those that a class refuses to stand for are declined, not wrong."""
    try:
        return make()
    except (AssertionError, RuntimeError, ValueError) as error:
        raise NotImplementedError(f"no object has such lengths: {error}") from error


def spread_keys(rows: Any, lengths: list[int], room: int) -> Any:
    """Rows (T, H, d) of texts, each of which has so much room (texts * room, H, d)."""
    import torch

    places = torch.tensor([i * room + j for i, n in enumerate(lengths) for j in range(n)], dtype=torch.int64)
    whole = rows.new_full((len(lengths) * room, *rows.shape[1:]), UNUSED_KEY)
    return whole.index_copy(0, places.to(rows.device), rows)


def attend_pages(target: Any, chosen: Choice) -> Any:
    """The target over pages (pages, page, H_kv, d), which it is given as one row of keys."""

    def attend(q: Any, k: Any, v: Any, cu_seqlens_q: Any, block_table: Any, cache_seqlens: Any, **own: Any) -> Any:
        causal = bool(own.pop("causal", not can_see_all(target, "paged", chosen)))
        kind, _ = chosen.pick(causal, ANY_SIDES, 1)
        lengths, keys = (cu_seqlens_q[1:] - cu_seqlens_q[:-1]).tolist(), cache_seqlens.tolist()
        bias = decline(lambda: kind.from_seqlens(lengths, keys, block_table, k.shape[1], device=k.device))
        flat = (x.reshape(1, -1, *x.shape[2:]) for x in (k, v))
        return target(q[None], *flat, **own, **{PARAMETER: bias})[0]

    names = ("cu_seqlens_q", "block_table", "cache_seqlens")
    return over_texts(target, attend, names, switches(target, "paged", chosen))


# --- signatures ---------------------------------------------------------------------------------------------


def read_sides(own: dict[str, Any], chosen: Choice) -> Any:
    """The sides of a call's window, which is taken out of its arguments; any number where it has none."""
    if chosen.sides is not None:
        return own.pop("window_size", ANY_SIDES)
    width = own.pop("sliding_window", None) if chosen.last is not None else None
    return ANY_SIDES if width is None else (width - 1, 0)


def switches(target: Any, kind: str, chosen: Choice) -> dict[str, Any]:
    """What a call may ask for, with its default: causality, and a window."""
    found: dict[str, Any] = {}
    if chosen.can_be_causal and can_see_all(target, kind, chosen):
        found["is_causal" if kind == "attention" else "causal"] = False
    if chosen.sides is not None:
        return {**found, "window_size": ANY_SIDES}
    return {**found, "sliding_window": None} if chosen.last is not None else found


def over_texts(target: Any, attend: Any, names: tuple[str, ...], more: Mapping[str, Any]) -> Any:
    """A function of three arrays and of parameters that say where texts lie, with the target's other parameters."""
    named = [p for name, p in parameters_of(target).items() if name != PARAMETER]
    both, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    ends = [inspect.Parameter(name, both, default=empty) for name in names]
    return with_parameters(attend, [*named[:3], *ends, *named[3:]], more)


def with_parameters(function: Any, parameters: list[inspect.Parameter], more: Mapping[str, Any]) -> Any:
    """A function with a signature: parameters, those without a default first, and more of them by name."""
    by_name = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in more.items()]
    first = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    rest = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    function.__signature__ = inspect.Signature([*first, *rest, *by_name])
    return function
