"""What the parameters of serving kernels mean, by their names in libraries and in people's own code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attention_core.declaration.implementation import TargetError

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "cu_q": "cu_seqlens_q cu_seq_q cu_q cu_seqlens_qo",
        "cu_k": "cu_seqlens_k cu_seq_k cu_k cu_seqlens_kv cu_kv",
        "cu": "cu_seqlens cu_seqlen cu cumulative_lengths offsets",
        "lengths_q": "lengths_q seqlens_q seq_lens_q q_lens query_lengths",
        "lengths_k": "lengths_k seqlens_k seq_lens_k kv_lens seqlens_kv key_lengths cache_seqlens context_lens",
        "lengths": "lengths seqlens seq_lens lens seq_lengths sequence_lengths",
        "max_q": "max_seqlen_q max_q",
        "max_k": "max_seqlen_k max_k max_seqlen_kv",
        "max": "max_seqlen max_len max_length max_seq_len",
        "causal": "causal is_causal",
        "scale": "softmax_scale scale sm_scale scaling",
        "sides": "window_size",
        "grouped": "enable_gqa",
        "table": "block_table block_tables page_table",
        "page_size": "page_size block_size",
        "new_key": "k",
        "new_value": "v",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is. `k` and `v` are new tokens only behind a query and a cache of keys and values."""
INPUTS = 3
"""Query, key and value come first, whatever they are called."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str], usual: tuple[str, ...]) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters behind query, key and value.

    Args:
        parameters: of the target, None where its signature cannot be read.
        bound: those that are given a value otherwise.
        usual: the names that are taken where there is no signature.

    Raises:
        TargetError: a parameter without a default whose meaning is not known.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q k v cu_seqlens".split()], (), ())
        {'cu': 'cu_seqlens'}
    """
    if parameters is None:
        return {ROLES[name]: name for name in usual}
    named = [p for p in parameters if not p["kind"].startswith("VAR")][INPUTS:]
    unknown = [p["name"] for p in named if p["name"] not in ROLES and not p["default"] and p["name"] not in bound]
    if unknown:
        raise TargetError(
            f"what the parameter {unknown[0]} is given is not known: name it as its library does (such as "
            f"cu_seqlens_q, block_table, cache_seqlens), or fix it with --arg {unknown[0]}=VALUE"
        )
    found: dict[str, str] = {}
    for p in named:
        if p["name"] in ROLES and p["name"] not in bound:
            found.setdefault(ROLES[p["name"]], p["name"])
    return found
