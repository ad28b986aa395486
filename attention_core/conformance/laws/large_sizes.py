"""The law of sizes that kernels are cut for, and of those beyond: wide heads, long sequences, many heads or problems.

A kernel takes a fast path where sizes are round, and is tuned, tabled or indexed up to some size; what lies beyond is
seen by no test of usual sizes. Only one size is large at a time, so that each call is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Profile, Space, some
from attention_core.conformance.laws.shapes import attribute_failures, judge_gradients, judge_output, judge_weights
from attention_core.conformance.subjects.evidence import Refused
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject


class Sizes(NamedTuple):
    """Batch, heads, queries, keys, width; a dtype where only that is meant."""

    B: int = 1
    H: int = 1
    n_q: int = 3
    n_kv: int = 6
    d: int = 5  # no square: its root is rounded
    dtype: str = ""


SIZES = (
    Sizes(H=9), Sizes(H=18), Sizes(H=66), Sizes(B=9, H=8), Sizes(B=65),
    Sizes(d=129), Sizes(d=257),
    Sizes(n_kv=257, n_q=2), Sizes(n_kv=4099, n_q=2, d=2), Sizes(n_kv=1025, n_q=2), Sizes(n_q=257), Sizes(n_q=1025),
    Sizes(n_q=523, n_kv=523, d=2), Sizes(n_q=300, n_kv=300, d=2, dtype="bfloat16"),
    Sizes(n_kv=1025, n_q=1, d=65), Sizes(n_q=64, n_kv=64, d=64), Sizes(n_q=128, n_kv=128, d=16),
)  # fmt: skip
"""One above 8, 16 and 64 heads, 64 problems, widths of 128 and 256, lengths of 256 and 1,024, keys beyond 4,096, where
parts that are merged with wrong shares stand out even beside the budget of a merge by rounded log-sum-exps; both
lengths at once; more than 2^16 numbers in one tensor, beyond what two bytes count; positions that bfloat16 does
not count; and all sizes round."""
WIDE = ("float32", "float64")
LOW_SHARE = 0.3
"""How often a size is tried in two bytes where wider numbers are declared, too: they hide an error of 1e-3."""
CAUSAL_SHARE = 0.5
"""How often a size is tried causally where a call can be causal: of two cases three in four see it."""
MANY_ROWS = 256
"""More queries than this are tried under a mask of one row, too, that of all of them."""
MOST_WEIGHTS = 1 << 20
"""Bound on n_q n_kv^2 of a problem whose returned weights are judged: their budget is that of n_kv values."""
SHARED = 2
"""Query heads of a key head where heads may be shared and are even in number; more are tried elsewhere."""


def round_sizes_and_sizes_beyond_are_right(subject: Subject, case: Case) -> int:
    """Round sizes, and more than 64 heads or problems, 128 or 256 features, 256, 512 or 1,024 rows, give true results.

    Formula: |f(x) - t(x)| <= E_o(x) and |d_x' - d_x| <= E_x, at the sizes that kernels are cut for and beyond
    Source: derivations/error_budget.md (output); flashinfer-ai/flashinfer#4347 (pages beyond a size are skipped)
    Fault: keys_beyond_512_lost
    """
    profile = subject.binding.profile()
    count = 0
    for one in [case] if case.given else enlarge(case, profile):
        if not profile.allows(one.sizes):
            continue
        n_q, n_kv, d, _, heads, _ = one.sizes
        remark = f"for B={one.query.shape[0]} H={heads} n_q={n_q} n_kv={n_kv} d={d}"
        try:
            judge_sizes(subject, one, remark, weights=n_q * n_kv**2 <= MOST_WEIGHTS)
        except Refused:  # perhaps of one row of a mask for all queries
            if one.mask is None or one.mask.shape[-2] == n_q:
                raise
            mask = np.broadcast_to(one.mask, (*one.mask.shape[:-2], n_q, n_kv)).copy()
            judge_sizes(subject, one.with_(mask=mask), remark, weights=n_q * n_kv**2 <= MOST_WEIGHTS)
        count += one.slices
    return count


def judge_sizes(subject: Subject, one: Case, remark: str, *, weights: bool) -> None:
    """Output, gradients and, where that is asked, weights of one problem are true."""
    with attribute_failures(one):
        judge_output(subject, one, remark)
        if weights:
            judge_weights(subject, one, remark)
        judge_gradients(subject, one, remark)


def enlarge(case: Case, profile: Profile) -> Iterator[Case]:
    """The problems of `SIZES` with the scale of a case; now and then causal, masked, or with shared heads.

    Args: profile, what the target declares and claims.
    Yields: cases of the case's dtype, or mostly of a wider one that is declared.
    """
    rng, claims = case.rng("large sizes"), profile.claims
    always = profile.always_causal
    wider = [t for t in WIDE if t in profile.dtypes and case.dtype not in WIDE]
    for size in some(SIZES, case, profile):
        dtype = size.dtype or (wider[0] if wider and rng.random() > LOW_SHARE else case.dtype)
        if dtype not in profile.dtypes:
            continue
        shared = "enable_gqa" in claims and size.H % SHARED == 0 and rng.random() < 0.5
        heads = size.H // SHARED if shared else size.H
        shapes = (size.B, size.H, size.n_q), (size.B, heads, size.n_kv), (size.B, heads, size.n_kv)
        query, key, value = (round_to(rng.standard_normal((*shape, size.d)), dtype) for shape in shapes)
        shows = size.n_q >= size.n_kv or profile.alignment == "bottom_right"  # else most keys would be hidden
        causal = always or ("is_causal" in claims and shows and (bool(size.dtype) or rng.random() < CAUSAL_SHARE))
        mask = None
        if "attn_mask" in claims and not causal and rng.random() < 0.5:
            full = (size.B, size.H) if rng.random() < 0.5 else (1, 1)
            mask = rng.random((*full, size.n_q, size.n_kv)) < 0.75
            mask[..., 0] = True
        one = case.with_(dtype=dtype, query=query, key=key, value=value, mask=mask, is_causal=causal)
        yield one
        if "attn_mask" in claims and not always and size.n_q > MANY_ROWS and size.n_kv <= Sizes().n_kv:
            yield one.with_(mask=np.arange(size.n_kv)[None] != size.n_kv - 1, is_causal=False)


LAWS = (
    Law(
        round_sizes_and_sizes_beyond_are_right, "large_sizes", space=Space(masks=("none",), small=False, max_n=8),
        large=2, small=0,
    ),
)  # fmt: skip
