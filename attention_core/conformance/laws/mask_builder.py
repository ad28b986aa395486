"""Laws of mask builders: `f(n_q, n_kv, **params) -> bool (n_q, n_kv) or (B, 1, n_q, n_kv)`, for one declared kind.

Masks are sets: they are compared exactly with the oracle's own builder, never through an attention.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws.built_mask import KINDS, PER_SEQUENCE, MaskBuilder
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close, require_same
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after
from attention_core.declaration.implementation import Implementation

__all__ = ["CONTRACT", "KINDS", "LAWS", "MaskBuilder"]

CONTRACT = "mask-builder"


def mask_is_the_exact_set(subject: MaskBuilder, case: ParameterCase) -> None:
    """The mask is True exactly on the declared set of (query, key) pairs.

    Formula: causal j <= i, sliding window i - W < j <= i, prefix j < P or j <= i, padding j < length, segments of equal
        ids
    Source: attention_core/masking/structured.py, the sets in its docstrings
    Fault: window_one_wider
    """
    require_close(subject.build_mask(case), subject.truth(case).astype(float), 0.0, subject.describe_masks(case))


def rows_count_what_they_may_see(subject: MaskBuilder, case: ParameterCase) -> None:
    """Every row counts as many keys as its set has: W in the interior of a window, i + 1 of a causal mask.

    Formula: sum_j m_ij = |{j : (i, j) allowed}|
    Source: huggingface/transformers#39408 (a window one too wide)
    Fault: window_one_wider
    """
    built = subject.build_mask(case)
    each = built.expression
    assert each is not None
    counted = Result(built.values.sum(-1), built.request)
    keys = range(case["n_kv"])
    counted.expression = lambda *row: f"sum({each(*row, 'j')} for j in {keys})"
    want = subject.truth(case).sum(-1)
    require_close(counted, want, 0.0, f"number of keys in each row of a {subject.describe_masks(case)}")


def mask_alignment_is_as_declared(subject: MaskBuilder, case: ParameterCase) -> None:
    """With n_q != n_kv the diagonal starts where it is declared, or asked by a parameter `align`, to start.

    Formula: the last query of a bottom-right mask sits at the last key, the first of a top-left one at the first
    Source: pytorch/pytorch#103082, Dao-AILab/flash-attention#282
    Fault: causal_aligned_top_left
    """
    if case["n_q"] == case["n_kv"]:
        raise NotApplicable
    if subject.kind == "segments" and subject.alignment(case) == "bottom_right" and case["n_q"] > case["n_kv"]:
        raise NotApplicable  # such queries would have no id
    require_close(
        subject.build_mask(case),
        subject.truth(case).astype(float),
        0.0,
        f"{subject.describe_masks(case)} where n_q != n_kv",
    )


def batch_order_is_kept(subject: MaskBuilder, case: ParameterCase) -> None:
    """Each batch row's mask follows from its own lengths or ids, in their order.

    Formula: m(lengths[perm]) = m(lengths)[perm]
    Source: lucidrains/vit-pytorch#71 (the batch axis broadcast onto heads)
    Fault: lengths_shared_by_the_batch
    """
    if case["B"] < 2:
        raise NotApplicable
    parameter = subject.parameter(case)
    order = np.roll(np.arange(case["B"]), 1)
    first = subject.build_mask(case, parameter)
    each = first.expression
    assert each is not None
    moved = Result(first.values[order], first.request)
    moved.expression = lambda b, *rest: each(order[b], *rest)
    require_same(subject.build_mask(case, parameter[order]), moved, 0.0, "mask for a permuted batch")


def masks_outlive_the_next_call(subject: MaskBuilder, case: ParameterCase) -> None:
    """A mask still holds its entries after one of the same shape, for other lengths or ids, was built.

    Formula: m = f(lengths), f(lengths[perm]), then m = f(lengths)
    Source: the definition of a function
    Fault: masks_share_one_buffer
    """
    parameter = subject.parameter(case)
    args, kwargs = subject.arguments(case, np.roll(parameter, 1, axis=0))
    found = subject.build_mask(case, parameter, between_=subject.request(*args, **kwargs))
    want = subject.truth(case, parameter).astype(float)
    require_close(found, want, 0.0, f"{subject.kind} mask, looked at after another call")


def sizes_may_change_between_calls(subject: MaskBuilder, case: ParameterCase) -> None:
    """A call with other sizes in between leaves no trace: nothing is built once and kept.

    Formula: f(x), f(y), f(x) again all right
    Source: facebookresearch/xformers PR660 (a causal mask sized by the first call)
    Fault: mask_built_once
    """
    other = case.with_(n_q=case["n_q"] + 2, n_kv=case["n_kv"] + 2, size=case["size"] + 1)
    earlier = list(subject.first)
    for one in (case, other, case):
        with after(earlier):
            earlier.append(subject.build_mask(one))
            want = subject.truth(one).astype(float)
            require_close(earlier[-1], want, 0.0, f"{subject.describe_masks(one)} after other sizes")


def _fitting(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """n_q <= n_kv half of the time, as many queries as keys sometimes, the window smaller than the sequence mostly."""
    if rng.random() < 0.2:  # lengths beyond a byte, with few queries
        sizes["n_q"], sizes["n_kv"] = int(rng.integers(1, 9)), int(rng.integers(120, 301))
    elif rng.random() < 0.5:
        sizes["n_q"], sizes["n_kv"] = sorted((sizes["n_q"], sizes["n_kv"]))
    if rng.random() < 0.15:  # the plainest use, and the only one that some builders have
        sizes["n_q"] = sizes["n_kv"]
    if rng.random() < 0.7:
        sizes["size"] = int(rng.integers(0, max(sizes["n_kv"], 1)))
    return sizes


def _unequal(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    sizes = _fitting(sizes, rng)
    if sizes["n_q"] == sizes["n_kv"]:
        sizes["n_kv"] += 1
    return sizes


def _per_sequence(implementation: Implementation) -> bool:
    return implementation.parameters.get("kind") in PER_SEQUENCE


def _is_aligned(implementation: Implementation) -> bool:
    return implementation.parameters.get("kind") != "padding"


RANGES = {"n_q": (1, 70), "n_kv": (1, 70), "size": (0, 80), "B": (1, 5)}
ANY = Sizes(RANGES, adjust=_fitting)
UNEQUAL = Sizes(RANGES, adjust=_unequal, related=lambda sizes: sizes["n_q"] != sizes["n_kv"])
MANY = Sizes({**RANGES, "B": (2, 5)}, adjust=_fitting)
ROW: dict[str, Any] = {"contract": CONTRACT, "large": 24, "small": 0, "space": ANY}
LAWS = (
    Law(mask_is_the_exact_set, "mask_builder", **ROW, central=True),
    Law(rows_count_what_they_may_see, "mask_builder", **ROW),
    Law(
        mask_alignment_is_as_declared, "mask_builder", **{**ROW, "space": UNEQUAL},
        declares=_is_aligned, because="a padding mask has no diagonal",
    ),
    Law(
        batch_order_is_kept, "mask_builder", **{**ROW, "space": MANY},
        declares=_per_sequence, because="masks of this kind are the same for every sequence",
    ),
    Law(
        masks_outlive_the_next_call, "mask_builder", **{**ROW, "space": MANY},
        declares=_per_sequence, because="masks of this kind are the same for every sequence",
    ),
    Law(sizes_may_change_between_calls, "mask_builder", **ROW),
)  # fmt: skip
COMPARISONS = ("rows_count_what_they_may_see", "mask_alignment_is_as_declared")
