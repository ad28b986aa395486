"""The law of sizes beyond those that kernels are cut for: wide heads, long sequences, many heads, many problems.

A kernel is tuned, tabled or indexed up to some size; what lies beyond it is seen by no test of usual sizes. Only one
size is large at a time, so that each call is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from attention_core.conformance.case import Case
from attention_core.conformance.law import Law
from attention_core.conformance.laws.shapes import judge_gradients, judge_output
from attention_core.conformance.rounding import round_to
from attention_core.conformance.space import Space
from attention_core.conformance.subject import Subject


class Sizes(NamedTuple):
    """Batch, heads, queries, keys, width."""

    B: int = 1
    H: int = 1
    n_q: int = 3
    n_kv: int = 5
    d: int = 4


BEYOND = (
    Sizes(H=9), Sizes(H=17), Sizes(H=65), Sizes(B=9, H=8), Sizes(B=65),
    Sizes(d=129), Sizes(d=257),
    Sizes(n_kv=257, n_q=2), Sizes(n_kv=516, n_q=2), Sizes(n_kv=1025, n_q=2), Sizes(n_q=257), Sizes(n_q=1025),
    Sizes(n_q=513, n_kv=513, d=2),
    Sizes(n_kv=1025, n_q=1, d=65),
)  # fmt: skip
"""One above 8, 16 and 64 heads, 64 problems, widths of 128 and 256, lengths of 256, 512 and 1,024; both lengths at
once; and more than 2^16 numbers in one tensor, beyond what two bytes count."""
SHARED = 2
"""Query heads of a key head where heads may be shared and are even in number; more are tried elsewhere."""


def sizes_beyond_the_usual_are_right(subject: Subject, case: Case) -> int:
    """Head sizes above 128 and 256, lengths above 256, 512 and 1,024, more than 64 heads or problems change nothing.

    Formula: |f(x) - t(x)| <= E_o(x) and |d_x' - d_x| <= E_x, with one size at a time beyond what kernels are cut for
    Source: derivations/error_budget.md (output); flashinfer-ai/flashinfer#4347 (pages beyond a size are skipped)
    Mutant: keys_beyond_512_lost
    """
    allows = subject.binding.profile().allows
    count = 0
    for one in enlarged(case, "enable_gqa" in subject.binding.claims, "attn_mask" in subject.binding.claims):
        if not allows(one.sizes):
            continue
        n_q, n_kv, d, _, heads, _ = one.sizes
        remark = f"for B={one.query.shape[0]} H={heads} n_q={n_q} n_kv={n_kv} d={d}"
        judge_output(subject, one, remark)
        judge_gradients(subject, one, remark)
        count += one.slices
    return count


def enlarged(case: Case, shared: bool, masked: bool) -> Iterator[Case]:
    """The problems of `BEYOND` in the dtype, scale and causality of a case; now and then masked, or with shared heads.

    Args: shared, masked: whether the target takes shared key heads, and masks.
    """
    rng = case.rng("large sizes")
    for size in BEYOND:
        heads = size.H // SHARED if shared and size.H % SHARED == 0 and rng.random() < 0.5 else size.H
        shapes = (size.B, size.H, size.n_q), (size.B, heads, size.n_kv), (size.B, heads, size.n_kv)
        query, key, value = (round_to(rng.standard_normal((*shape, size.d)), case.dtype) for shape in shapes)
        mask = None
        if masked and not case.is_causal and rng.random() < 0.5:
            full = (size.B, size.H) if rng.random() < 0.5 else (1, 1)
            mask = rng.random((*full, size.n_q, size.n_kv)) < 0.75
            mask[..., 0] = True
        yield case.with_(query=query, key=key, value=value, mask=mask)


LAWS = (
    Law(
        sizes_beyond_the_usual_are_right, "large_sizes", space=Space(masks=("none",), small=False, max_n=8),
        large=2, small=0,
    ),
)  # fmt: skip
