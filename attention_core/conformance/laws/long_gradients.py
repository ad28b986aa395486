"""The law of gradients that are sums of very many parts: they are taken wider than the two-byte formats.

A sum of parts of one sign in bfloat16 stops growing at 256 parts, one in float16 at 2048: what is added is then less
than half a unit in the last place. The budget adds up what each part may be wrong, a few units of roundoff of it.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.gradients import INPUTS, NOT_DECLARED, differentiable, limits
from attention_core.conformance.subjects.evidence import NotApplicable, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

LOW = ("bfloat16", "float16")
PARTS = {"bfloat16": 1024, "float16": 4096}
"""Parts of one sum: four and two times as many as make a running sum of equal parts stop growing."""
KEYS, CHANNELS = 4, 8
TILE = 8
"""Rows that are drawn: a long sum is of these, over and over, so that a program can build it in a line."""
ROWS = ((1, 1, 1), (1, 1, 1), (1, 4, 1), (1, 4, 4), (4, 4, 4), (16, 16, 16))
"""How rows are dealt out where keys are few: sequences, query heads, key heads."""


def gradients_of_long_sums_keep_their_precision(subject: Subject, case: Case) -> None:
    """Gradients that are sums of a thousand parts of one sign and more are taken wider than in two bytes.

    Those of few keys for many rows, of few queries for many keys, and of a mask that all rows share, in every case.
    Every part is within its own budget, so the sum is within the sum of these budgets, a few u of it; a running sum in
    the input's format is off by many times as much.

    Formula: |d_x' - d_x| <= E_x for dV_j = sum_i p_ij dO_i, dK_j = scale sum_i dS_ij q_i, dQ_i = scale sum_j
        dS_ij k_j, db_j = sum_i dS_ij
    Source: derivations/error_budget.md (dV, dQ)
    Fault: value_gradient_added_in_its_dtype
    """
    rng = case.rng("long sums")
    masked = subject.implementation.mask_gradient and "attn_mask" in subject.binding.claims
    grouped, parts = "enable_gqa" in subject.binding.claims, PARTS[case.dtype]
    rows = [r for r in ROWS if (masked or r[0] * r[2] == 1) and (grouped or r[1] == r[2])]
    few_keys, cotangent = many_rows(case, rows[rng.integers(len(rows))], parts, rng)
    if masked:
        count = few_keys.sizes[1]
        shape = (1, 1, 1, count) if rng.random() < 0.5 else (1, count)
        few_keys = few_keys.with_(mask=np.zeros(shape))
    allowed = subject.binding.profile().allows
    problems = [p for p in ((few_keys, cotangent), many_keys(case, parts, rng)) if allowed(p[0].sizes)]
    if not problems:
        raise NotApplicable("the derived sizes are not declared")
    for problem in problems:
        judge_sums(subject, *problem)


def judge_sums(subject: Subject, long: Case, cotangent: NDArray) -> None:
    """All gradients of one problem are within their budgets."""
    want = (*INPUTS, "mask") if long.mask is not None else INPUTS
    true, bounds = limits(subject, long, cotangent, "mask" in want)
    found = subject.backward(long, cotangent, want)
    for name in want:
        what = f"gradient of {name}, a sum of up to {PARTS[long.dtype]} parts"
        require_close(found.gradients[name], getattr(true, name), getattr(bounds, name), what)


def many_rows(
    case: Case, dealt: tuple[int, int, int], parts: int, rng: np.random.Generator
) -> tuple[Case, NDArray]:  # fmt: skip
    """Many rows and few keys, of which one has a value: dS has one sign for each key, and so have queries and dO."""
    batch, heads, kv_heads = dealt
    d, d_v = (min(width, CHANNELS) for width in case.sizes[2:4])
    n_q = parts // (batch * heads)
    query = repeat_rows(0.5 + 0.25 * np.abs(rng.standard_normal((TILE, d))), (batch, heads, n_q))
    key = repeat_rows(0.25 * rng.standard_normal((KEYS, d)), (batch, kv_heads, KEYS))
    value = np.zeros((batch, kv_heads, KEYS, d_v))
    value[..., rng.integers(KEYS), :] = 1.0
    down = repeat_rows(0.5 + 0.25 * np.abs(rng.standard_normal((TILE, d_v))), (batch, heads, n_q))
    return exact(case, query, key, value), round_to(down, case.dtype)


def many_keys(case: Case, parts: int, rng: np.random.Generator) -> tuple[Case, NDArray]:
    """One row and many keys, half of which have values and first features of either sign: dS k has one sign."""
    d, d_v = (min(width, CHANNELS) for width in case.sizes[2:4])
    sign = np.where(rng.permutation(TILE) % 2 == 0, 1.0, -1.0)[:, None]
    key = 0.25 * rng.standard_normal((TILE, d))
    key[:, :1] = sign * (0.75 + 0.25 * rng.random((TILE, 1)))
    key = repeat_rows(key, (1, 1, parts))
    query = 2.0**-6 * rng.standard_normal((1, 1, 1, d))
    value = repeat_rows(sign.repeat(d_v, axis=1), (1, 1, parts))
    down = 0.5 + 0.25 * np.abs(rng.standard_normal((1, 1, 1, d_v)))
    return exact(case, query, key, value), round_to(down, case.dtype)


def repeat_rows(tile: NDArray, shape: tuple[int, int, int]) -> NDArray:
    """The rows of a tile, over and over, for every sequence and head.

    Example:
        >>> repeat_rows(np.array([[1.0], [2.0]]), (1, 2, 4)).ravel().tolist()
        [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    """
    batch, heads, n = shape
    return np.tile(tile, (batch, heads, n // len(tile), 1))


def exact(case: Case, query: NDArray, key: NDArray, value: NDArray) -> Case:
    """A case of these numbers, rounded to the dtype of `case`, and of its seed."""
    query, key, value = (round_to(x, case.dtype) for x in (query, key, value))
    return Case(case.dtype, query, key, value, seed=case.seed, default_scale=case.default_scale)


LONG = Space(masks=("none",), causal=(False,), dtypes=LOW, scales=False, grouped=False, small=False, max_n=8)
"""Of these cases the dtype, the head sizes and the seed are used."""

LAWS = (
    Law(
        gradients_of_long_sums_keep_their_precision, "gradients", declares=differentiable, because=NOT_DECLARED,
        space=LONG, large=4, small=0,
    ),
)  # fmt: skip
