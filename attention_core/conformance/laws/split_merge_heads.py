"""Laws of splitting and merging heads: `split(x (B, n, E), H) -> (B, H, n, E/H)` and `merge`, its inverse.

Both only move numbers, so every comparison is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.cases.counts import count_many
from attention_core.conformance.laws.gradients import NOT_DECLARED, differentiable
from attention_core.conformance.subjects.evidence import Evidence, Refused, Shown, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    Sizes,
    require_sizes,
)
from attention_core.conformance.worker.exchange import array

CONTRACT = "heads"
MERGED_VIEWS = ("heads_last", "heads_chunk", "heads_chunk", "rows_first", "transposed", "chunk", "sliced")
"""How heads may lie that are to be merged: as a split gives them, or some features of such."""


def split_takes_contiguous_features(subject: ParameterSubject, case: ParameterCase) -> None:
    """Head h holds features h E/H to (h + 1) E/H of every token, tokens in their order.

    Formula: split(x)[b, h, t] = x[b, t, h E/H : (h + 1) E/H]
    Source: seed exercise "split_heads"; reczoo/FuxiCTR#30 (view without transpose)
    Fault: split_by_view
    """
    x, heads = case.values("x", case["B"], case["n"], case["H"] * case["d"]), case["H"]
    want = x.reshape(case["B"], case["n"], heads, case["d"]).swapaxes(1, 2)
    got = subject.call(x, heads, method_="split", dtype=case.dtype, shape=want.shape)
    require_close(got, want, 0.0, "split heads")


def merge_joins_heads_token_by_token(subject: ParameterSubject, case: ParameterCase) -> None:
    """Merging puts the heads of each token side by side again.

    Formula: merge(y)[b, t] = [y[b, 0, t], ..., y[b, H - 1, t]]
    Source: jsbaan/transformer-from-scratch PR6 (merge without permute)
    Fault: merge_without_permute
    """
    y = case.values("y", case["B"], case["H"], case["n"], case["d"])
    want = y.swapaxes(1, 2).reshape(case["B"], case["n"], -1)
    require_close(subject.call(y, method_="merge", dtype=case.dtype, shape=want.shape), want, 0.0, "merged heads")


def merge_inverts_split(subject: ParameterSubject, case: ParameterCase) -> None:
    """Splitting and merging gives the input back, bit for bit.

    Formula: merge(split(x, H)) = x
    Source: seed exercise "merge_heads"
    Fault: merge_without_permute
    """
    x = case.values("x", case["B"], case["n"], case["H"] * case["d"])
    split = subject.call(x, case["H"], method_="split", dtype=case.dtype)
    got = subject.call(split.values, method_="merge", dtype=case.dtype, shape=x.shape)
    require_close(got, x, 0.0, "split, then merged")


def split_is_local(subject: ParameterSubject, case: ParameterCase) -> None:
    """Changing one token of one batch row changes that token's slices alone.

    Formula: split(x + e_t) - split(x) is zero away from (b, :, t)
    Source: gazelle93/Transformer-Various-Positional-Encoding#1 (batch and heads mixed)
    Fault: merge_mixes_batch_and_heads
    """
    x = case.values("x", case["B"], case["n"], case["H"] * case["d"])
    rng = case.rng("token")
    b, t = int(rng.integers(case["B"])), int(rng.integers(case["n"]))
    changed = x.copy()
    changed[b, t] = 2.0  # exact in every dtype
    before = subject.call(x, case["H"], method_="split", dtype=case.dtype)
    after = subject.call(changed, case["H"], method_="split", dtype=case.dtype, shape=before.values.shape)
    elsewhere = np.ones(after.values.shape, bool)
    elsewhere[b, :, t] = False
    require_close(after, before.values, 0.0, f"split after token {t} of batch row {b} changed", where=elsewhere)
    moved = subject.call(after.values, method_="merge", dtype=case.dtype, shape=x.shape)
    require_close(moved, changed, 0.0, "merged after one token changed")


def gradients_move_back(subject: ParameterSubject, case: ParameterCase) -> None:
    """The gradient of a split is the merged cotangent, that of a merge the split one, number by number.

    Formula: d split = merge(dy), d merge = split(dy): each only moves numbers, so its transpose is its inverse
    Source: merge_inverts_split; a permutation matrix is orthogonal
    Fault: gradients_of_split_by_view
    """
    x, y = (case.values(name, case["B"], case["n"], case["H"] * case["d"]) for name in ("x", "cotangent"))
    heads = (case["B"], case["n"], case["H"], case["d"])
    split_x, split_y = (a.reshape(heads).swapaxes(1, 2) for a in (x, y))
    down, up = array(split_y, case.dtype), array(y, case.dtype)
    split = subject.gradient_of(x, case["H"], method_="split", dtype=case.dtype, cotangent_=down)
    require_close(split, y, 0.0, "gradient of split heads")
    merged = subject.gradient_of(split_x, method_="merge", dtype=case.dtype, cotangent_=up)
    require_close(merged, split_y, 0.0, "gradient of merged heads")


def moved_numbers_outlive_the_next_call(subject: ParameterSubject, case: ParameterCase) -> None:
    """Split and merged heads still hold their numbers after another call of the same shape.

    Formula: y = split(x, H), split(x', H), then y = split(x, H); likewise merge
    Source: the definition of a function
    Fault: merged_into_one_buffer
    """
    x, other = (case.values(name, case["B"], case["n"], case["H"] * case["d"]) for name in ("x", "other"))
    heads = (case["B"], case["n"], case["H"], case["d"])
    split_x, split_other = (a.reshape(heads).swapaxes(1, 2) for a in (x, other))
    for method, given, next_one, want in (
        ("split", (x, case["H"]), (other, case["H"]), split_x), ("merge", (split_x,), (split_other,), x),
    ):  # fmt: skip
        between = subject.request(*next_one, method_=method, dtype=case.dtype)
        got = subject.call(*given, method_=method, dtype=case.dtype, shape=want.shape, between_=between)
        require_close(got, want, 0.0, f"{method} heads, looked at after another call")


def views_are_moved_alike(subject: ParameterSubject, case: ParameterCase) -> None:
    """Where the numbers lie in memory changes nothing: a chunk of a wider projection, heads inside tokens, gaps.

    Formula: split(x, H) and merge(y) are the same for every stride of x and y
    Source: strides are not part of a tensor's value; queries, keys and values are chunks of one projection
    Fault: split_of_packed_rows
    """
    x = case.values("x", case["B"], case["n"], case["H"] * case["d"])
    heads = x.reshape(case["B"], case["n"], case["H"], case["d"]).swapaxes(1, 2)
    rng = case.rng("view")
    wide = array(x, case.dtype, str(rng.choice(("chunk", "chunk", "transposed", "rows_first", "sliced"))))
    got = subject.call(wide, case["H"], method_="split", dtype=case.dtype, shape=heads.shape)
    require_close(got, heads, 0.0, "split heads of a view")
    y = array(heads, case.dtype, str(rng.choice(MERGED_VIEWS)))
    require_close(subject.call(y, method_="merge", dtype=case.dtype, shape=x.shape), x, 0.0, "merged heads of a view")


def uneven_splits_are_refused(subject: ParameterSubject, case: ParameterCase) -> None:
    """An embedding that the heads do not divide is refused, one of fewer features than heads, too.

    Formula: E % H != 0 raises
    Source: sgl-project/sglang PR32028 (head size truncated)
    Fault: uneven_split_truncated
    """
    heads = case["H"] + 1
    require_sizes(subject.implementation, case.with_(H=heads))
    rng = case.rng("features")
    size = int(rng.integers(1, heads)) if rng.random() < 0.5 else heads * case["d"] + 1
    x = case.values("x", case["B"], case["n"], size)
    request = subject.request(x, heads, method_="split", dtype=case.dtype)
    try:
        subject.send(request)
    except Refused:
        return
    raise Violation(
        f"embedding size {size} with {heads} heads: got a result, but should be refused",
        Evidence((Shown(request),), kind="must_raise"),
    )


PRIMES = Sizes({"B": (1, 3), "n": (1, 7), "H": (1, 5), "d": (1, 7)}, adjust=count_many(share=0.15))
ROW: dict[str, Any] = {"contract": CONTRACT, "large": 16, "small": 0, "space": PRIMES}
LAWS = (
    *(
        Law(check, "split_merge_heads", **ROW, central=check is split_takes_contiguous_features)
        for check in (
            split_takes_contiguous_features,
            merge_joins_heads_token_by_token,
            merge_inverts_split,
            split_is_local,
            moved_numbers_outlive_the_next_call,
            views_are_moved_alike,
            uneven_splits_are_refused,
        )
    ),
    Law(gradients_move_back, "split_merge_heads", **ROW, declares=differentiable, because=NOT_DECLARED),
)
COMPARISONS = ("merge_joins_heads_token_by_token",)
