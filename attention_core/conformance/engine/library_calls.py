"""Functions of libraries that are known by their name and their parameters: the conventions of their calls.

A target of such a name with such parameters is called as its library calls it, unless another convention is declared.
A function of the same name with other parameters, or of another name, is called as it is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attention_core.conformance.first_look.findings import option_text
from attention_core.declaration.implementation import Implementation, OtherForm, usual, usual_dead_rows
from attention_core.declaration.sizes import ATTENTION


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


def follow_library(implementation: Implementation, parameters: Any) -> tuple[Implementation, list[str]]:
    """The record with the conventions of the library's function that the target is, and notes that name them.

    What is declared stays as it is. Without such a function there is no note.

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
    changes = {n: value for n, value in known.conventions.items() if getattr(implementation, n) == plain[n] != value}
    if not changes:
        return implementation, []
    options = " ".join(option_text(name, value) for name, value in changes.items())
    return implementation.with_(**changes), [f"it is called as {known.library} calls its function: {options}"]
