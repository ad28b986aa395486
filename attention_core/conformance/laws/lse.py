"""Laws of the contract attention-lse: the second result is the natural log of each row's sum of exponentials.

With it, attention over parts of the keys merges to attention over all of them. `BORROWED` names the families
of the attention contract that judge the first result here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import lse_backward_bound
from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import (
    NO_GRADIENTS,
    has_gradients,
    require_declared_sizes,
    take_keys,
    take_queries,
)
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

BORROWED = ("value", "masking", "causality", "heads_and_batch", "gradients", "numerics", "large_sizes", "sharing")
CONTRACT = "attention-lse"


def lse_of(subject: Subject, case: Case) -> tuple[Result, NDArray]:
    """The returned log-sum-exp of a case, (B, H, n_q), and its budget."""
    lse, bound = subject.forward(case).lse, subject.bounds(case).lse
    assert lse is not None and bound is not None
    return lse, bound


def lse_agrees_with_truth(subject: Subject, case: Case) -> None:
    """The log-sum-exp agrees with the float64 truth within the derived error budget.

    Formula: |lse_i - log sum_j exp(scale q_i . k_j + b_ij)| <= E_lse(x), the sum over attended j, natural log
    Source: derivations/error_budget.md (lse)
    Fault: base_two
    """
    truth = subject.truth(case)
    lse, bound = lse_of(subject, case)
    ratio = require_close(lse, truth.lse, bound, "log-sum-exp against the float64 truth", where=~truth.dead)
    subject.record_ratio(case, "lse", ratio)


def few_queries_have_their_lse(subject: Subject, case: Case) -> None:
    """One to four queries over many keys, as in decoding, have the log-sum-exp that they have among all queries.

    Formula: |lse(q[i:i+m], k)_i - log sum_j exp(s_ij)| <= E_lse(x), m = 1, ..., 4
    Source: intel/sycl-tla PR848 (the path that splits the keys has a log-sum-exp of its own)
    Fault: lse_of_split_keys_in_two_bases
    """
    n_q = case.sizes[0]
    rng = case.rng("few queries")
    count = min(1 if rng.random() < 0.5 else int(rng.integers(1, 5)), n_q)
    first = int(rng.integers(n_q - count + 1))
    few = require_declared_sizes(subject, take_queries(case, np.arange(first, first + count)))
    truth = subject.truth(few)
    lse, bound = lse_of(subject, few)
    require_close(lse, truth.lse, bound, "log-sum-exp of few queries", where=~truth.dead)


def lse_of_equal_scores_counts_the_keys(subject: Subject, case: Case) -> None:
    """A query of zeros has the log of the number of keys it attends.

    Formula: q_i = 0 implies lse_i = log #{j : i attends j}
    Source: derivations/laws.md (count-keys)
    Fault: counts_padding
    """
    flat = case.with_(query=np.zeros_like(case.query))
    truth = subject.truth(flat)
    count = (truth.scores > -np.inf).sum(axis=-1)
    lse, bound = lse_of(subject, flat)
    want = np.log(np.maximum(count, 1))
    require_close(lse, want, bound, "log-sum-exp of equal scores", where=count > 0)


def a_bias_shifts_the_lse(subject: Subject, case: Case) -> None:
    """A number added to all scores of a row is added to its log-sum-exp.

    Formula: lse(x, b_ij + c_i) = lse(x, b_ij) + c_i, within both budgets
    Source: derivations/online_softmax.md (lse-shift)
    Fault: lse_without_bias
    """
    n_q, n_kv = case.sizes[:2]
    added = case.rng("bias").integers(-4, 5, size=n_q).astype(float)
    shifted = case.with_(mask=np.broadcast_to(added[:, None], (n_q, n_kv)).copy())
    (lse, bound), (other, other_bound) = lse_of(subject, case), lse_of(subject, shifted)
    live = ~subject.truth(case).dead
    true = np.where(live, subject.truth(case).lse, 0.0), np.where(live, subject.truth(shifted).lse, 0.0)
    limit = bound + other_bound + np.abs(true[1] - true[0] - added)
    require_close(other, lse.values + added, limit, "log-sum-exp under a bias by row", where=live)


def dead_rows_have_no_mass(subject: Subject, case: Case) -> None:
    """A row without any key has log-sum-exp -inf, whatever its output is declared to be.

    Formula: m_ij = 0 for all j implies lse_i = log 0 = -inf
    Source: derivations/laws.md (dead-row)
    Fault: dead_rows_have_lse_zero
    """
    if case.mask is None:
        raise NotApplicable("no mask, no dead row")
    hidden = False if case.mask.dtype == bool else -np.inf
    dead = case.rng("dead").random((*case.query.shape[:-1], 1)) < 0.5
    killed = case.with_(mask=np.where(dead, hidden, case.mask))
    truth = subject.truth(killed)
    if not truth.dead.any():
        raise NotApplicable("no row is dead")
    nothing = np.full(truth.dead.shape, -np.inf)
    require_close(lse_of(subject, killed)[0], nothing, 0.0, "log-sum-exp of a dead row", where=truth.dead)


def lse_gradient_is_true(subject: Subject, case: Case) -> None:
    """The gradient of the log-sum-exp, where it carries one, is the weighted mean of the keys, and of the queries.

    Formula: d lse_i / d q_i = scale sum_j p_ij k_j, d lse_i / d k_j = scale p_ij q_i, within E_dQ and E_dK
    Source: derivations/softmax_backward.md (jacobian)
    Fault: lse_gradient_ignored
    """
    truth = subject.truth(case)
    if truth.dead.any():
        raise NotApplicable("the log-sum-exp of a dead row is -inf")
    down = case.rng("lse cotangent").integers(-2, 3, size=truth.lse.shape).astype(float)
    found = subject.lse_gradients(case, down)
    if found is None:
        raise NotApplicable("the log-sum-exp carries no gradient")
    options: dict[str, Any] = {"mask": case.mask, "scale": case.factor}
    alignment = subject.implementation.causal
    means = oracle.attention(case.query, case.key, case.key, is_causal=case.is_causal, alignment=alignment, **options)
    budgets = lse_backward_bound(
        case.query,
        case.key,
        down,
        means,
        dtype=case.dtype,
        accumulate=subject.implementation.accumulate,
        merges=subject.implementation.merges,
        **options,
    )
    scale = case.factor
    pulled = np.swapaxes(means.weights, -1, -2) @ (down[..., None] * case.query)
    by_head = pulled.reshape(*case.key.shape[:2], case.group, *case.key.shape[2:]).sum(axis=2)
    wants = (scale * down[..., None] * means.out, scale * by_head)
    for name, want, bound in zip(("query", "key"), wants, budgets, strict=True):
        require_close(found[name], want, bound, f"gradient of {name} for a cotangent on the log-sum-exp")


# --- split and merge --------------------------------------------------------------


@dataclass(frozen=True)
class Merged:
    """Results of parts merged in float64, with their bounds; out (B, H, n_q, d_v), lse (B, H, n_q)."""

    out: NDArray
    lse: NDArray
    out_bound: NDArray
    lse_bound: NDArray


def merge(subject: Subject, whole: Case, parts: list[Case]) -> Merged:
    """Merge the target's results on parts of the keys, and bound how far that may be from the whole's truth.

    With true shares w_a = exp(lse_a - lse), errors e_a of a part's log-sum-exp and f_a of its output,
    |e_a| <= E_a, |f_a| <= F_a: the merged output is sum_a w_a exp(e_a) (o_a + f_a) / Z with
    Z = sum_a w_a exp(e_a), and as sum_a w_a (o_a - o) = 0, its error is at most

        sum_a w_a (exp(E_a) F_a + (exp(E_a) - 1) |o_a - o|) / L,   L = sum_a w_a exp(-E_a),

    that of the log-sum-exp at most max(log sum_a w_a exp(E_a), -log L). Rounding of the merge, in float64: a
    share passes through an exponent |lse_a - max| times u off and at most parts + 8 further operations.
    """
    unit = 2 * UNIT_ROUNDOFF["float64"]
    outs, lses = [np.stack(x) for x in zip(*(_values(subject, p) for p in parts), strict=True)]
    F, E = [np.stack(x) for x in zip(*(_limits(subject, p) for p in parts), strict=True)]
    out, lse = oracle.merge(outs, lses)
    truth = subject.truth(whole)
    truths = [subject.truth(p) for p in parts]
    true_out = np.stack([np.where(t.dead[..., None], 0.0, t.out) for t in truths])
    true_lse = np.stack([t.lse for t in truths])
    with np.errstate(all="ignore"):
        w = np.where(true_lse == -np.inf, 0.0, np.exp(true_lse - truth.lse))
        steps = np.where(w > 0, np.abs(true_lse - true_lse.max(axis=0)) + len(parts) + 8, 0.0)
        up, low = (w * np.exp(E)).sum(axis=0), (w * np.exp(-E)).sum(axis=0)
        spread = (w * np.exp(E))[..., None] * F + (w * np.expm1(E))[..., None] * np.abs(true_out - truth.out)
        rounding = (unit * w * steps)[..., None] * (np.abs(true_out) + np.abs(truth.out))
        out_bound = (spread + rounding).sum(axis=0) / low[..., None]
        lse_bound = np.maximum(np.log(up), -np.log(low)) + unit * (len(parts) + 8 + np.abs(truth.lse))
    out_bound, lse_bound = (np.where(np.isnan(x), np.inf, x) for x in (out_bound, lse_bound))
    return Merged(out, lse, out_bound, lse_bound)


def _values(subject: Subject, case: Case) -> tuple[NDArray, NDArray]:
    return subject.forward(case).out.values, lse_of(subject, case)[0].values


def _limits(subject: Subject, case: Case) -> tuple[NDArray, NDArray]:
    """Budgets of output and log-sum-exp, 0 where a part has nothing to add."""
    dead, bounds = subject.truth(case).dead, subject.bounds(case)
    return np.where(dead[..., None], 0.0, bounds.out), np.where(dead, 0.0, bounds.lse)


def parts_of(subject: Subject, case: Case) -> list[Case]:
    """The case cut along its keys into two or three unequal parts: equal ones hide a wrong base."""
    n_kv = case.key.shape[-2]
    cuts = [0, 1 + n_kv // 6, 1 + n_kv // 2, n_kv] if n_kv >= 6 else [0, 1 if n_kv < 4 else n_kv // 4, n_kv]
    return [require_declared_sizes(subject, take_keys(case, np.arange(*ends))) for ends in pairwise(cuts)]


def merged_parts_are_the_whole(subject: Subject, case: Case) -> None:
    """Attention over unequal parts of the keys, merged by log-sum-exp, is attention over all keys.

    Formula: o = sum_a exp(lse_a - lse) o_a, lse = log sum_a exp(lse_a); bounds: see `merge`
    Source: Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory" (2021), section 2
    Fault: base_two
    """
    found = merge(subject, case, parts_of(subject, case))
    whole, (lse, lse_bound) = subject.forward(case).out, lse_of(subject, case)
    bound = subject.bounds(case).out
    assert bound is not None
    live = ~subject.truth(case).dead
    limit = lse_bound + found.lse_bound
    require_close(lse, found.lse, limit, "log-sum-exp against that of merged parts", where=live)
    limit = bound + found.out_bound
    require_close(whole, found.out, limit, "output against that of merged parts", where=live[..., None])


FREE = Space(causal=(False,))

LAWS = (
    Law(lse_agrees_with_truth, "lse", CONTRACT, central=True, large=8, small=25),
    Law(few_queries_have_their_lse, "lse", CONTRACT, space=FREE.with_(min_kv=32, small=False), large=6, small=0),
    Law(
        lse_of_equal_scores_counts_the_keys, "lse", CONTRACT, space=Space(masks=("none", "bool")),
        large=3, small=8,
    ),
    Law(
        a_bias_shifts_the_lse, "lse", CONTRACT, needs=needs("attn_mask"), large=3, small=8,
        space=FREE.with_(masks=("none",)),
    ),
    Law(
        dead_rows_have_no_mass, "lse", CONTRACT, needs=needs("attn_mask"), large=3, small=8,
        space=FREE.with_(masks=("bool", "float")),
    ),
    Law(
        lse_gradient_is_true, "lse", CONTRACT, declares=has_gradients, because=NO_GRADIENTS, large=4, small=10,
        untested="lse_gradient",
    ),
    Law(merged_parts_are_the_whole, "lse", CONTRACT, space=FREE.with_(min_kv=3), large=6, small=12),
)  # fmt: skip
