"""Functions of libraries that are known by their name and their parameters: the conventions of their calls.

A target of such a name with such parameters is called as its library calls it, unless another convention is declared.
A function of the same name with other parameters, or of another name, is called as it is declared. So is one of such a
name and parameters that agrees with the truth in the declared layout and not in its library's: the name is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attention_core.conformance.first_look.findings import FirstLook, option_text
from attention_core.conformance.worker.mask_classes import CLASSES, PARAMETER
from attention_core.declaration.implementation import (
    Implementation,
    OtherForm,
    TargetError,
    is_stated,
    usual,
    usual_dead_rows,
)
from attention_core.declaration.sizes import ATTENTION

if TYPE_CHECKING:
    from attention_core.conformance.engine.session import Session


@dataclass(frozen=True)
class LibraryCall:
    """A function of a library.

    Args:
        library: its name in words. parameters: names that a target of this name has, all of them.
        conventions: fields of the record, as the library's documentation has them.
    """

    library: str
    parameters: frozenset[str]
    conventions: Mapping[str, Any]


def names(text: str) -> frozenset[str]:
    """Short for a set of names."""
    return frozenset(text.split())


FLASH: Mapping[str, Any] = {"layout": "bnhd", "causal": "bottom_right"}
KNOWN: Mapping[str, LibraryCall] = {
    "flash_attn_func": LibraryCall("flash-attention", names("softmax_scale causal"), FLASH),
    "flash_attn_qkvpacked_func": LibraryCall(
        "flash-attention", names("qkv softmax_scale causal"), {**FLASH, "qkv_axis": -3}
    ),
    "flash_attn_with_kvcache": LibraryCall(
        "flash-attention", names("k_cache v_cache cache_seqlens block_table"), {"contract": "paged"}
    ),
    "memory_efficient_attention": LibraryCall(
        "xFormers", names("attn_bias p scale"), {"layout": "bnhd", "masks": "additive", "dead_rows": "unspecified"}
    ),
    "GroupQueryAttention": LibraryCall(
        "ONNX Runtime", names("past_key past_value seqlens_k total_sequence_length"), {"contract": "paged"}
    ),
    "eager_attention_forward": LibraryCall(
        "transformers", names("attention_mask scaling dropout"),
        {"out_layout": "bnhd", "returns": "out,weights", "masks": "additive", "dropped_weights": True,
         "dead_rows": "unspecified"},
    ),
    "dot_product_attention": LibraryCall(
        "JAX", names("bias mask is_causal key_value_seq_lengths local_window_size"),
        {"layout": "bnhd", "window": "bounded_sides"},
    ),
}  # fmt: skip
"""A function's name -> what is known of it."""


def find_library_call(name: str, parameters: Any) -> LibraryCall | None:
    """The function of a library that a target is, by its name and its parameters; None where it is none of them.

    Args: name: of the target, as `FILE.py:NAME` or plain; parameters: as its description has them.

    Example:
        >>> flash = [{"name": name} for name in ("q", "k", "v", "dropout_p", "softmax_scale", "causal")]
        >>> find_library_call("mine.py:flash_attn_func", flash).conventions["layout"]
        'bnhd'
        >>> find_library_call("mine.py:attention", flash) is None
        True
    """
    known = KNOWN.get(name.rpartition(":")[2].rpartition(".")[2])
    own = {p["name"] for p in parameters or ()}
    return known if known is not None and known.parameters <= own else None


def declared_call(record: Implementation) -> dict[str, Any]:
    """What the process of a target has to know to call it as its library does: the contract, and what is declared.

    Raises:
        TargetError: something else than objects is declared of masks.
    """
    stated = is_stated(record.causal, usual("causal", record.contract))
    declared = record.parameters.get(PARAMETER, "")
    if declared not in ("", "objects"):
        raise TargetError(f"--parameter {PARAMETER}={declared}: write {PARAMETER}=objects, or leave it out")
    return {"contract": record.contract, "causal": record.causal if stated else "", "objects": bool(declared)}


def adapt_to_library(session: Session) -> tuple[Implementation, list[str]]:
    """The record of a session as `follow_library` has it, by a look at its target."""

    def look(record: Implementation) -> FirstLook | None:
        with suppress(TargetError):  # what cannot be called so is reported by the laws
            return ask(session.runner, record, session.description, session.seed) if ask else None
        return None

    ask = session.contract.look
    record, known = follow_library(session.implementation, session.description.get("parameters"), look)
    record, adapted = follow_objects(record, session.description)
    return record, [*known, *adapted]


def follow_objects(implementation: Implementation, description: Mapping[str, Any]) -> tuple[Implementation, list[str]]:
    """The record of a target that is called with objects of masks, or as an operator over pages, and notes on it.

    Args: description: of the target, as its process has it.
    """
    if operator := description.get("operator"):
        window = implementation.window or "last"  # ONNX Runtime 1.32 sees W keys, the query's own among them
        note = f"it is called as ONNX Runtime calls {operator}: pages hold its past, it is causal, --window {window}"
        return implementation.with_(always_causal=True, window=window), [note]
    masks = description.get("mask_objects") or {}
    if not masks:
        return implementation, []
    packed, others = implementation.contract in ("varlen", "paged"), masks.get("others", [])
    if not masks["given"]:
        lacks = "" if packed else ", and no class of these is in its module or installed (xformers): tensors alone are"
        places = sorted({CLASSES[name].contract for name in others if name in CLASSES} - {implementation.contract})
        lacks = f": {' and '.join(others)} are of --contract {places[0]}" if places else lacks
        return implementation, [f"objects as masks (attn_bias) were not judged{lacks}"]
    changes: dict[str, Any] = {}
    if masks["causal"] and not is_stated(implementation.causal, usual("causal", implementation.contract)):
        changes["causal"] = masks["causal"]
    if masks["always_causal"]:
        changes["always_causal"] = True
    if not is_stated(implementation.dead_rows, usual_dead_rows(implementation.contract)):
        changes["dead_rows"] = "unspecified"
    other = "bottom_right" if masks["causal"] == "top_left" else "top_left"
    left = ["a tensor as its mask" if packed else "blocks of packed texts (--contract varlen)", *others]
    left += [f"the diagonal of --causal {other}"] if masks["causal"] else []
    note = f"attn_bias is given {' and '.join(masks['given'])}; not judged: {', '.join(left)}"
    return implementation.with_(**changes), [note]


def follow_library(
    implementation: Implementation, parameters: Any, look: Callable[[Implementation], FirstLook | None] | None = None
) -> tuple[Implementation, list[str]]:
    """The record with the conventions of the library's function that the target is, and notes that name them.

    What is declared stays as it is. Without such a function there is no note.

    Args:
        implementation: as declared.
        parameters: of the target, as its description has them.
        look: what a few calls find under a record.

    Raises:
        OtherForm: it is called as functions of another contract.
    """
    name = implementation.name or getattr(implementation.function, "__name__", "")
    known = find_library_call(name, parameters)
    if known is None or implementation.contract not in ATTENTION:
        return implementation, []
    if contract := known.conventions.get("contract"):
        message = f"{name} is called as {known.library} calls its function: give --contract {contract}"
        raise OtherForm(message, {"contract": contract})
    fields = Implementation.__dataclass_fields__
    plain = {name: fields[name].default for name in known.conventions}
    plain |= {"causal": usual("causal", implementation.contract), "dead_rows": usual_dead_rows(implementation.contract)}
    usually = {n: value for n, value in known.conventions.items() if value != plain[n]}
    changes = {n: value for n, value in usually.items() if not is_stated(getattr(implementation, n), plain[n])}
    if is_stated(implementation.layout, fields["layout"].default):
        changes.pop("out_layout", None)  # a layout that is declared is that of the output, too
    if not changes:
        return implementation, []
    own = _layout_of_its_own(implementation, changes, look)
    changes = {n: value for n, value in changes.items() if n not in own or own[n] != plain[n]}
    heads = [f"{known.library} has a function of this name; this one takes arrays {plain['layout']}"] if own else []
    if not changes:
        return implementation, heads
    options = " ".join(option_text(name, value) for name, value in changes.items())
    return implementation.with_(**changes), [*heads, f"it is called as {known.library} calls its function: {options}"]


def _layout_of_its_own(
    implementation: Implementation,
    changes: Mapping[str, Any],
    look: Callable[[Implementation], FirstLook | None] | None,
) -> Mapping[str, Any]:
    """What a few calls find where the target agrees with the truth in the declared layout, not in its library's."""
    if look is None or "layout" not in changes:
        return {}
    seen = look(implementation.with_(**changes))
    own = seen is not None and seen.explains and seen.found.get("layout") == implementation.layout
    return seen.found if own and seen is not None else {}
