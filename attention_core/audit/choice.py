"""The faults that an audit puts in the target's place: those of its contract, in a fixed order over all subjects."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.faults import features
from attention_core.faults.bases import reference
from attention_core.faults.catalogue import FAULTS
from attention_core.faults.row import Row

CONTRACTS = ("attention", "attention-lse")
"""Contracts whose targets can be replaced."""
OWN_FORM = (
    "array", "layout", "key_layout", "out_layout", "axes", "masks", "mask_true", "grouping", "qkv_axis", "factory",
)  # fmt: skip
"""What a fault must not declare that stands in another's place: it would be a flaw in how that form is handled."""
ANYWHERE = ("contract", "accumulate", "dtypes")
"""What a fault may declare whatever the target declares."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "causality": ("is_causal",), "dead rows": ("attn_mask", "is_causal"), "dropout": ("dropout_p",),
    "features": FEATURES, "mask forms": ("attn_mask",), "masking": ("attn_mask",), "random numbers": ("dropout_p",),
}  # fmt: skip
"""Subjects that are about parameters, one of which the target needs."""
SHOWS_WITHOUT = ("dead rows",)
"""Those of these subjects whose faults may show without the parameters: where there are no keys at all."""
FEATURED: Callable[..., Tensor] = features.build()


def candidates(contract: str, seed: int = 0) -> list[Row]:
    """The faults of a contract: a subject's in an order that the seed decides, and the subjects in turn.

    Raises: TargetError, for a contract whose targets cannot be replaced.
    """
    if contract not in CONTRACTS:
        raise TargetError(f"audit cannot judge --contract {contract} yet; it judges {' and '.join(CONTRACTS)}")
    groups: dict[str, list[Row]] = {}
    for row in FAULTS:
        if row.faulty and row.contract == contract and can_stand_in(row):
            groups.setdefault(subject(row), []).append(row)
    ordered = [sorted(groups[name], key=lambda row: place(row.name, seed)) for name in sorted(groups)]
    return [row for turn in zip_longest(*ordered) for row in turn if row is not None]


def likely_first(rows: Sequence[Row], declared: Implementation, claims: Container[str]) -> list[Row]:
    """The same faults, those last that the laws can hardly see in the place of a target.

    These are the faults that declare what the target does not, and those of a parameter that it does not have: to find
    that no law sees one takes all laws, and seconds.
    """

    def is_unlikely(row: Row) -> bool:
        other = [name for name in row.record if name not in ANYWHERE and row.record[name] != getattr(declared, name)]
        return bool(other) or not has_parameters(row, declared, claims)

    return sorted(rows, key=is_unlikely)


def has_parameters(row: Row, declared: Implementation, claims: Container[str]) -> bool:
    """Whether a target has one of the parameters that a fault is about."""
    needs = NEEDS.get(subject(row), ())
    always = declared.always_causal and "is_causal" in needs
    return not needs or always or any(name in claims for name in needs)


def split_by_parameters(
    rows: Sequence[Row], declared: Implementation, claims: Container[str]
) -> tuple[list[Row], list[str]]:
    """The faults that may show in the place of a target, and which others are left out and why, a sentence each.

    Args: declared, claims: the conventions of the target, and the parameters that it has.
    """
    kept = [row for row in rows if subject(row) in SHOWS_WITHOUT or has_parameters(row, declared, claims)]
    names = {row.name for row in kept}
    absent = Counter(subject(row) for row in rows if row.name not in names)
    by_reason: dict[str, list[str]] = {}
    for name, number in sorted(absent.items()):
        what = "window, softcap or other feature" if name == "features" else " or ".join(NEEDS[name])
        by_reason.setdefault(what, []).append(f"{number} on {name}")
    return kept, [f"left out, as the target has no {what}: {', '.join(own)}" for what, own in by_reason.items()]


def place(name: str, seed: int) -> str:
    """Where a name stands in an order that has nothing to do with the alphabet.

    >>> place("tiles.a", 0) == place("tiles.a", 0) != place("tiles.a", 1)
    True
    """
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()


def subject(row: Row) -> str:
    """What a fault is about, in the words of its file."""
    return row.file.rpartition(".")[2].replace("_", " ")


def can_stand_in(row: Row) -> bool:
    """Whether a fault is called with tensors as the contract has them."""
    return not any(name in row.record for name in OWN_FORM)


@cache
def by_name() -> dict[str, Row]:
    """The faults by their names."""
    return {row.name: row for row in FAULTS}


def find_fault(name: str) -> Row:
    """The fault of a name.

    Raises: TargetError.
    """
    if name not in by_name():
        raise TargetError(f"the catalogue has no fault {name!r}")
    return by_name()[name]


def right_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, **more: Any,
) -> Tensor:  # fmt: skip
    """Attention as the catalogue has it without a fault, with any of its features."""
    if not more:
        return reference.correct(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if dropout_p:
        raise NotImplementedError("dropout beside a feature")
    return FEATURED(query, key, value, attn_mask, is_causal, scale, enable_gqa, **more)


def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    window_size: tuple[int, int] = features.NONE, softcap: float | None = None, sinks: Tensor | None = None,
    alibi_slopes: Tensor | None = None, key_lengths: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The same with the features by their names."""
    given = {"softcap": softcap, "sinks": sinks, "alibi_slopes": alibi_slopes, "key_lengths": key_lengths}
    more: dict[str, Any] = {name: feature for name, feature in given.items() if feature is not None}
    if tuple(window_size) != features.NONE:
        more["window_size"] = window_size
    return right_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, **more)


def with_lse(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Attention and the log-sum-exp of its scores."""
    from attention_core.faults.correct import log_sum_exp

    out = right_attention(query, key, value, attn_mask, 0.0, is_causal, scale, enable_gqa)
    wide = torch.promote_types(query.dtype, torch.float32)
    keys, _ = reference.expand(key.to(wide), value, query.shape[-3])
    causal = reference.causal_allowed(query.shape[-2], key.shape[-2]) if is_causal else None
    s = reference.bias(reference.scores(query.to(wide), keys, scale), attn_mask, causal)
    return out, log_sum_exp(s)[..., 0]


def right_implementation(contract: str) -> Implementation:
    """The right function of a contract."""
    if contract == "attention-lse":
        return Implementation(with_lse, name="right", contract=contract, returns="out,lse")
    return Implementation(attention, name="right")
