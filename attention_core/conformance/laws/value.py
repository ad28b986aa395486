"""Laws of the value: what an output must be, given its inputs. Unmasked, masked and causal alike.

Laws that relate two or more calls stand in `value_relations`.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from attention_core.conformance.budgets.budget import FLUSH
from attention_core.conformance.cases import null_models
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.expected import (
    attended_range,
    beyond_half_scores,
    diameter,
    finite_rows,
    float_noise,
    limit,
    near_the_best,
    require_mean,
    sharpen,
)  # fmt: skip
from attention_core.conformance.subjects.evidence import Refused, require_close
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

WIDE = ("float32", "float64")
"""Dtypes whose scores may lie beyond what float16 holds."""
PLAIN = Space(masks=("none", "bool"), max_n=129)
"""Without finite biases, equal dot products are equal scores."""


def agrees_with_truth(subject: Subject, case: Case) -> int:
    """The output agrees with the float64 truth within the derived error budget.

    Formula: |f(x) - softmax(scale q k^T + b) v| <= E_o(x)
    Source: derivations/error_budget.md (output)
    Fault: wrong_scale
    """
    out, truth = subject.forward(case).out, subject.truth(case)
    where = None if subject.implementation.dead_rows != "unspecified" else ~truth.dead[..., None]
    ratio = require_close(out, truth.out, limit(subject, case), "output against the float64 truth", where=where)
    subject.record_ratio(case, "out", ratio)
    power = null_models.power(case, truth, limit(subject, case), subject.implementation.causal)
    return subject.record_power(agrees_with_truth.__name__, power)


def weights_are_a_distribution(subject: Subject, case: Case) -> None:
    """Constant values come back: the weights of a row that attends to something sum to one.

    Formula: v_j = c for all j implies f(x) = c
    Source: derivations/laws.md (constant-values)
    Fault: mask_after_softmax
    """
    constant = case.rng("constant").integers(1, 5, size=case.value.shape[-1]).astype(float)
    flat = case.with_(value=np.broadcast_to(constant, case.value.shape).copy())
    truth = subject.truth(flat)
    live = ~truth.dead[..., None]
    want = np.where(live, constant, truth.out)
    require_close(subject.forward(flat).out, want, limit(subject, flat), "output for constant values", where=live)


def output_lies_in_the_hull(subject: Subject, case: Case) -> None:
    """No output coordinate leaves the range of the attended values, whatever the scores.

    Formula: min_j v_jc - e <= f(x)_ic <= max_j v_jc + e over attended j, with e = E_1 max|v_j|
        and E_1 the budget of v = 1
    Source: derivations/laws.md (hull)
    Fault: negative_weights
    """
    out, truth = subject.forward(case).out, subject.truth(case)
    low, high, largest = attended_range(case, truth.scores > -np.inf)
    ones = case.with_(value=np.ones_like(case.value))
    # Products below the format's range are an absolute error each: one flush per key.
    widen = limit(subject, ones) * largest + (1 + case.key.shape[-2]) * FLUSH[case.dtype]
    middle, half = (low + high) / 2, (high - low) / 2
    where = finite_rows(subject, case)
    require_close(out, middle, half + widen, "output against the range of the attended values", where=where)


def a_leading_key_is_copied(subject: Subject, case: Case) -> int:
    """A key ahead of all others by a gap is copied, up to the weight that is left for the others.

    Formula: s_J - s_j >= g for all j != J implies |f(x) - v_J| <= (n - 1) e^-g max_jk |v_j - v_k| + E_o(x)
    Source: derivations/copying.md (copy)
    Fault: values_one_late
    """
    keys = case.rng("leader").integers(case.key.shape[-2], size=(*case.query.shape[:-1], 1))
    chosen = np.take_along_axis(np.repeat(case.key, case.group, axis=-3), keys, axis=-2)
    sign = -1.0 if case.scale is not None and case.scale < 0 else 1.0
    led = case.with_(query=sign * chosen)
    led = led.with_(query=led.query * sharpen(led))
    if case.dtype in WIDE:  # where float16 ends, nothing else does
        far = led.with_(query=led.query * beyond_half_scores(led))
        near_the_best(subject, far, "output where one key leads, at scores of 2^20")
    return near_the_best(subject, led, "output where one key leads")


def zero_queries_average(subject: Subject, case: Case) -> None:
    """Equal scores give the mean of the attended values.

    Formula: q = 0 implies f(x)_i = mean of v_j over the attended j
    Source: derivations/laws.md (equal-scores)
    Fault: first_key_sink
    """
    require_mean(subject, case.with_(query=np.zeros_like(case.query)), "output for equal scores")


def two_matching_keys_are_averaged(subject: Subject, case: Case) -> None:
    """A query that matches two of many orthonormal keys gets the mean of their two values.

    Formula: k_j orthonormal, q = c (k_a + k_b) implies
        |f(x) - (v_a + v_b)/2| <= n e^(-scale c) max_jk |v_j - v_k| + E_o(x)
    Source: derivations/averaging.md (factor-bound)
    Fault: hard_maximum
    """
    n_kv, d = case.key.shape[-2:]
    # With more keys than dimensions the unit vectors repeat: every copy of a matching key counts alike.
    key = np.broadcast_to(np.eye(d)[np.arange(n_kv) % d], case.key.shape).copy()
    pair = case.rng("pair").integers(min(d, n_kv), size=(*case.query.shape[:-1], 2))
    scale = case.factor
    # Gap g = scale c: e^-g n <= 1/64, c a power of two so that the query is exact.
    c = np.exp2(np.ceil(np.log2(np.log(64.0 * max(n_kv, 2)) / max(abs(scale), 2.0**-8)))) * np.sign(scale)
    query = c * np.minimum(np.eye(d)[pair].sum(axis=-2), 1.0)
    matched = case.with_(query=query, key=key)
    truth = subject.truth(matched)
    seen = truth.scores > -np.inf
    hit = seen & (np.einsum("...id,...jd->...ij", query, np.repeat(key, case.group, axis=-3)) != 0)
    judged = hit.any(axis=-1) & ~truth.dead
    value = np.repeat(case.value, case.group, axis=-3)
    mean = hit.astype(float) @ value / np.maximum(hit.sum(axis=-1, keepdims=True), 1)
    left = seen.sum(axis=-1) * np.exp(-abs(scale * c))
    bound = left[..., None] * diameter(value) + limit(subject, matched) + float_noise(value)
    require_close(subject.forward(matched).out, mean, bound, "output for two matching keys", where=judged[..., None])


def scale_zero_averages(subject: Subject, case: Case) -> None:
    """Scale zero gives the mean of what is attended; it is a scale like any other, not a missing one.

    Formula: scale = 0 implies f(x)_i = mean of v_j over the attended j
    Source: derivations/laws.md (equal-scores)
    Fault: scale_zero_is_default
    """
    require_mean(subject, case.with_(scale=0.0), "output for scale 0")


def large_scales_pick_the_best_key(subject: Subject, case: Case) -> int:
    """Large scales approach the argmax, as long as the budget still separates the best key from the next.

    Without a mask at negative scales too, with the queries' signs changed: what is best stays so.

    Formula: gap_i = scale (q.k_J - max_(j != J) q.k_j) implies
        |f(x) - v_J| <= (n - 1) e^-gap max_jk |v_j - v_k| + E_o(x)
    Source: derivations/copying.md (copy)
    Fault: scores_clamped
    """
    factor = float(np.median(sharpen(case)))
    scale = case.factor
    says = near_the_best(subject, case.with_(scale=scale * factor), "output at a large scale")
    # Scores apart by more than e^89, the reach of float32; no mask, as some kernels scale what is masked (see `draw`).
    wide = case.with_(query=-case.query, scale=-8 * scale * factor, mask=None, is_causal=False)
    with suppress(Refused):  # a target that declines negative scales is judged at positive ones
        near_the_best(subject, wide, "output at a large negative scale")
    return says


def returned_weights_are_right(subject: Subject, case: Case) -> None:
    """Returned weights are non-negative, sum to one over the attended keys, and agree with the truth.

    Formula: p_ij >= 0, sum_j p_ij = 1, |p - softmax(s)| <= E_o for v = I
    Source: derivations/error_budget.md (output)
    Fault: weights_before_softmax
    """
    weights, truth = subject.forward(case).weights, subject.truth(case)
    assert weights is not None
    live = ~truth.dead[..., None]
    # The weights are the output for the unit vectors as values, their sums the output for v = 1.
    n_kv = case.key.shape[-2]
    unit = np.broadcast_to(np.eye(n_kv), (*case.key.shape[:-1], n_kv)).copy()
    bound = limit(subject, case.with_(value=unit))
    require_close(weights, truth.weights, bound, "returned weights against the float64 truth", where=live)
    require_close(weights, np.abs(weights.values), 0.0, "returned weights: sign", where=live)
    sums = np.where(live, weights.values, 0.0).sum(axis=-1, keepdims=True)
    total = limit(subject, case.with_(value=np.ones_like(case.value[..., :1])))
    bound = total + n_kv * 2.0**-53  # the sum is taken here, in float64
    require_close(weights, weights.values - (sums - 1), bound, "returned weights: sum of a row", where=live)


def returned_lse_is_right(subject: Subject, case: Case) -> None:
    """A returned log-sum-exp is the natural one, of the scaled and biased scores.

    Formula: |lse - log sum_j exp(s_ij)| <= E_lse
    Source: derivations/error_budget.md (lse)
    Fault: lse_base_two
    """
    lse, truth = subject.forward(case).lse, subject.truth(case)
    assert lse is not None
    bound = subject.bounds(case).lse
    assert bound is not None
    ratio = require_close(lse, truth.lse, bound, "log-sum-exp against the float64 truth", where=~truth.dead)
    subject.record_ratio(case, "lse", ratio)


LAWS = (
    Law(agrees_with_truth, "value", central=True, large=8, small=25),
    Law(weights_are_a_distribution, "value", large=3, small=10),
    Law(output_lies_in_the_hull, "value", space=Space(max_n=129), large=3, small=10),
    Law(a_leading_key_is_copied, "value", space=Space(max_n=129), large=4, small=8),
    Law(zero_queries_average, "value", space=PLAIN, large=3, small=8),
    Law(two_matching_keys_are_averaged, "value", space=PLAIN, large=3, small=8),
    Law(
        scale_zero_averages, "value", needs=needs("scale"), space=PLAIN.with_(causal=(False,)),
        large=3, small=8,
    ),
    Law(large_scales_pick_the_best_key, "value", needs=needs("scale"), space=PLAIN, large=4, small=8),
    Law(
        returned_weights_are_right, "value", declares=lambda i: i.returns == "out,weights",
        because="no weights are returned", space=Space(max_n=65), large=4, small=12,
    ),
    Law(
        returned_lse_is_right, "value", declares=lambda i: i.returns == "out,lse",
        because="no log-sum-exp is returned", large=4, small=12,
    ),
)  # fmt: skip
