"""Laws of dropout: which weights go, how many, independently of which others, and the same ones backward.

Statistical laws state their risk (`chance`). A call shows N = 16384 weights at n = 64: a query of zeros gives every
key the weight 1/n exactly, and values (I I; 0 0) return the weights of the first n/2 keys, twice. A weight that
dropout takes is a zero in both copies; one that it keeps is 1/(n (1 - p)) in both.

What a law refutes on such a probe it then asks of smaller ones, and shows the smallest that it refutes as well. The
risk stays that of the first probe, without which no other is made. How small it becomes depends on the fault: a wrong
value is seen in two weights, a count only where chance explains it with a probability below the risk (46 equal places
at p = 1/2, as 2 * 2^-46 < 6.1e-14).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.chance import agreements, at_every_distance, margin, unlikely
from attention_core.conformance.laws.derived import NO_GRADIENTS, has_gradients, output_bound
from attention_core.conformance.laws.visibility import judged_rows
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

BATCH, HEADS = 2, 4
KEPT = 1 / 16
"""A weight counts as kept above this share of itself: a dropped one is 0, and where a kept one is multiplied by 1 - p
instead of 1/(1 - p), up to p = 0.9, the law of its value shall say so, not those that count."""
LENGTHS = (64, 32, 128, 16)
"""Powers of two, so that 1/n is exact in every dtype; the first that the target allows is taken."""
Sizes = tuple[int, int, tuple[int, ...]]
"""Batch, heads and lengths of a probe."""
USUAL: Sizes = (BATCH, HEADS, LENGTHS)
SMALLER: tuple[Sizes, ...] = tuple(
    (batch, heads, (n,)) for n in (2, 4, 8, 16, 32) for batch, heads in ((1, 1), (1, 2), (2, 1))
)
"""Probes on which what was refuted is shown, the smallest first."""


def shown_on_smaller(sizes: Sequence[Any]) -> Callable[[Callable[..., None]], Callable[[Subject, Case], None]]:
    """A law whose violations are those of the first of these sizes at which it is broken in the same way, too.

    They are made only after the law refuted at its own sizes, so its risk of a false alarm does not grow. The law
    takes sizes as a third argument.
    """

    def decorate(law: Callable[..., None]) -> Callable[[Subject, Case], None]:
        @wraps(law)
        def judge(subject: Subject, case: Case) -> None:
            try:
                law(subject, case)
            except Violation as refuted:
                if refuted.evidence.kind == "crash":  # a call that may not return is not made again
                    raise
                raise find_smaller(law, subject, case, sizes, refuted) from None

        return judge

    return decorate


def find_smaller(
    law: Callable[..., None], subject: Subject, case: Case, sizes: Sequence[Any], refuted: Violation
) -> Violation:
    """The violation at the first of these sizes at which the law is broken in the same way; else the one it has."""
    for smaller in sizes:
        try:
            law(subject, case, smaller)
        except Violation as violation:
            if violation.evidence.kind == refuted.evidence.kind:
                return violation
        except (NotApplicable, Refused):
            continue
    return refuted


def probe_of(subject: Subject, case: Case, sizes: Sizes = USUAL) -> Case:
    """The probe in the dtype of `case`; all four sizes are n, which rules of sizes are likeliest to allow."""
    batch, heads, lengths = sizes
    allows = subject.binding.profile().allows
    n = next((n for n in lengths if allows((n, n, n, n, heads, heads))), 0)
    if not n:
        raise NotApplicable("no declared size shows every weight")
    key = in_turn((1.0, 2.0, 3.0), (batch, heads, n, n))
    shown = np.vstack([np.hstack([np.eye(n // 2)] * 2), np.zeros((n // 2, n))])
    value = np.broadcast_to(shown, (batch, heads, n, n)).copy()
    query = np.zeros((batch, heads, n, n))
    return Case(case.dtype, query, key, value, seed=case.seed, default_scale=case.default_scale)


def in_turn(numbers: tuple[float, ...], shape: tuple[int, ...]) -> NDArray:
    """The numbers again and again: not drawn, so that a program that shows a failure writes them in a line.

    Example:
        >>> in_turn((1.0, 2.0, 3.0), (2, 2)).tolist()
        [[1.0, 2.0], [3.0, 1.0]]
    """
    return np.resize(np.array(numbers), shape)


@dataclass(frozen=True)
class Observed:
    """Which weights a call kept, (B, H, n, n/2): those of the first n/2 keys."""

    kept: NDArray
    result: Result


def observe(subject: Subject, probe: Case, result: Result) -> Observed:
    """Read the kept weights from an output of the probe: they exceed `KEPT` of their value without dropout."""
    half = probe.key.shape[-2] // 2
    return Observed(result.values[..., :half] > KEPT * subject.truth(probe).out[..., :half], result)


def drop(subject: Subject, probe: Case, p: float, seed: int | None) -> Observed:
    """One call of the probe with dropout p; `seed` sets the generator, None leaves it where it is."""
    return observe(subject, probe, subject.forward(probe, dropout=p, seed=seed).out)


def require_dropout_values(subject: Subject, probe: Case, p: float, seen: Observed) -> None:
    """Raise unless every weight is 0 or 1/(1 - p) times itself, the same in both copies.

    The bound is E_o / (1 - p): the weights carry the errors of a call without dropout, and 1/(1 - p) is a
    power of two.
    """
    factor = 1 / (1 - p)
    bound = output_bound(subject, probe)
    want = np.where(np.concatenate([seen.kept] * 2, axis=-1), factor * subject.truth(probe).out, 0.0)
    require_close(seen.result, want, factor * bound, f"a weight under dropout {p:g}, dropped or kept")


def accuse(message: str, *seen: Observed) -> Violation:
    """A violation that only counting shows."""
    return Violation(message, Evidence(tuple(Shown(s.result.request) for s in seen), kind="raises"))


AXES = {"slices": ((0, 1, 2, 3), 2), "rows": ((2, 0, 1, 3), 1), "keys": ((3, 0, 1, 2), 1)}
"""What is compared -> the order of axes that brings it to the front, and how many axes it has."""


# --- the ends ------------------------------------------------------------------


def dropout_zero_is_no_dropout(subject: Subject, case: Case) -> None:
    """Dropout with probability 0 is none.

    Formula: |f(x, p = 0) - t(x)| <= E_o(x)
    Source: Srivastava et al., "Dropout" (2014), section 4
    Fault: keep_probability_for_dropout
    """
    out, where = subject.forward(case, dropout=0.0, seed=case.seed).out, judged_rows(subject, case)
    want, bound = subject.truth(case).out, output_bound(subject, case)
    require_close(out, want, bound, "output at dropout 0", where=where)


def full_dropout_gives_zeros(subject: Subject, case: Case) -> None:
    """Dropout with probability 1 gives zeros, not 0 * inf (or is refused).

    Formula: f(x, p = 1) = 0
    Source: Srivastava et al., "Dropout" (2014), section 4
    Fault: full_dropout_divides_by_zero
    """
    live = ~subject.truth(case).dead[..., None]
    out = subject.forward(case, dropout=1.0, seed=case.seed).out
    require_close(out, np.zeros(1), 0.0, "output at dropout 1", where=live)


# --- one call --------------------------------------------------------------------


@shown_on_smaller(SMALLER)
def dropped_weights_are_zero_and_kept_ones_scaled(subject: Subject, case: Case, sizes: Sizes = USUAL) -> None:
    """Dropout takes whole weights, after the softmax: each is 0 or 1/(1 - p) times what it was.

    Formula: f(x, p)_i = sum_j z_ij p_ij v_j / (1 - p), z_ij in {0, 1}; bound E_o / (1 - p), p in {1/2, 3/4}
    Source: Srivastava et al., "Dropout" (2014), section 10: the weights are scaled in training
    Fault: dropout_without_scaling
    """
    probe, p = probe_of(subject, case, sizes), float(case.rng("p").choice([0.5, 0.75]))
    require_dropout_values(subject, probe, p, drop(subject, probe, p, case.seed))


@shown_on_smaller(SMALLER)
def dropout_takes_the_stated_share(subject: Subject, case: Case, sizes: Sizes = USUAL) -> None:
    """The share of kept weights is 1 - p, which fixes mean and variance of the output.

    Each weight is 0 or p_ij/(1 - p), so its mean is p_ij and its variance p_ij^2 p/(1 - p) exactly if this
    rate is right. The count K of N kept weights is judged by Chernoff's bound, N KL(K/N || 1 - p) <=
    log(2/alarm) = 31: false with probability 6.1e-14 a test, 1e-9 a run. It sees every rate wrong by 0.031 (N
    = 16384; at p = 0.1 by 0.019) with probability 1/2, by 0.043 with 0.999.

    Formula: K ~ Binomial(N, 1 - p)
    Source: Hoeffding, "Probability Inequalities for Sums of Bounded Random Variables" (1963), theorem 1
    Fault: keep_probability_for_dropout
    """
    probe, p = probe_of(subject, case, sizes), float(case.rng("p").choice([0.1, 0.25, 0.75, 0.9]))
    seen = drop(subject, probe, p, case.seed)
    count, total = int(seen.kept.sum()), seen.kept.size
    if unlikely(count, total, 1 - p):
        raise accuse(
            f"dropout {p:g} kept {count} of {total} weights, a share of {count / total:.4f}, but should keep "
            f"{1 - p:g} within {margin(total, 1 - p):.3f}", seen,
        )  # fmt: skip


@shown_on_smaller(SMALLER)
def dropout_differs_within_a_call(subject: Subject, case: Case, sizes: Sizes = (5, HEADS, LENGTHS)) -> None:
    """Batch elements, heads, queries and keys are dropped independently of each other.

    Five sequences of four heads at n = 64. Any two slices (2048 common places), rows (640) or keys (1280) agree by
    chance in half of them at p = 1/2. All pairs of a kind share one risk of 6.1e-14. It sees pairs that agree, or
    disagree, in a share beyond 1/2 +- 0.10 (slices), 0.18 (rows), 0.13 (keys), so any two equal masks among them. The
    weights moved along by any number of slices, rows and keys agree with themselves in half of the N places that
    overlap, too: numbers used twice, at a distance that is the same for N >= 64 places, are seen.

    Formula: #{z_a = z_b} ~ Binomial(n, p^2 + (1 - p)^2) for a != b
    Source: Hoeffding (1963), theorem 1, with the union bound over pairs
    Fault: one_mask_for_all_heads
    """
    require_unlike(drop(subject, probe_of(subject, case, sizes), 0.5, case.seed), ("slices", "rows", "keys"))


@shown_on_smaller(SMALLER)
def dropout_goes_on_along_rows_and_keys(
    subject: Subject, case: Case, sizes: Sizes = (1, 8, (256, 128, 96, 64))
) -> None:
    """Random numbers do not start again along a long row or column of the weights, and their rate is exact.

    Eight heads at n = 256, of which 128 keys are seen: any two rows (1024 places at p = 1/2) or keys (2048) agree in
    half of them, within 0.14 and 0.10, and at any distance as in `dropout_differs_within_a_call`. At p = 0.9, the
    share of N = 262144 kept weights is within 1/256 of 1 - p (kernels may draw bytes) and what chance adds at a risk
    of 6.1e-14: a rate wrong by 0.0090 is seen with probability 1/2 or more.

    Formula: #{z_a = z_b} ~ Binomial(n, 1/2); K ~ Binomial(N, q), |q - (1 - p)| <= 1/256
    Source: Hoeffding (1963), theorem 1
    Fault: dropout_repeats_every_32_keys
    """
    probe = probe_of(subject, case, sizes)
    require_unlike(drop(subject, probe, 0.5, case.seed), ("rows", "keys"))
    seen = drop(subject, probe, 0.9, case.seed + 1)
    count, total = int(seen.kept.sum()), seen.kept.size
    nearest = float(np.clip(count / total, 0.1 - 1 / 256, 0.1 + 1 / 256))
    if unlikely(count, total, nearest):
        share = count / total
        raise accuse(f"dropout 0.9 kept {count} of {total} weights, a share of {share:.5f}, but should keep 0.1", seen)


def require_unlike(seen: Observed, kinds: tuple[str, ...]) -> None:
    """Raise where the masks of two slices, rows or keys at p = 1/2 agree in more or fewer places than by chance."""
    for what in kinds:
        axes, lead = AXES[what]
        turned = seen.kept.transpose(axes)
        flat = turned.reshape(int(np.prod(turned.shape[:lead])), -1)
        same = agreements(flat)
        if len(same) and unlikely(same, flat.shape[1], 0.5, len(same)).any():
            worst = float(same[np.argmax(np.abs(same - flat.shape[1] / 2))])
            places = f"{worst:.0f} of {flat.shape[1]} places"
            raise accuse(f"dropout masks of two {what} agree in {places}, but should in about half", seen)
    require_unlike_at_every_distance(*at_every_distance(seen.kept), seen)


def require_unlike_at_every_distance(same: NDArray, places: NDArray, *seen: Observed) -> None:
    """Raise where masks moved along by some distance agree more or less often than by chance at p = 1/2."""
    accused = unlikely(same, places, 0.5, len(same))
    if accused.any():
        worst = int(np.argmax(np.where(accused, np.abs(same - places / 2), -1.0)))
        message = "moved along by some rows and keys" if len(seen) == 1 else "of two calls, one moved along,"
        raise accuse(
            f"dropout masks {message} agree in {same[worst]:.0f} of {places[worst]} places, but should in about half",
            *seen,
        )


# --- several calls ---------------------------------------------------------------


@shown_on_smaller(SMALLER)
def dropout_differs_from_call_to_call(subject: Subject, case: Case, sizes: Sizes = USUAL) -> None:
    """Successive calls drop different weights: the generator moves on.

    Nine calls, the generator seeded before the first one alone; any two agree by chance in half of N places
    at p = 1/2, judged with a risk of 6.1e-14 for all. Seen: agreement beyond 1/2 +- 0.032 (N = 16384). A call and
    the next one, moved along by any distance, are compared with the same risk for all distances: a generator that
    moves on too little, so that 64 places or more use numbers again, is seen.

    Formula: #{z = z'} ~ Binomial(N, p^2 + (1 - p)^2)
    Source: Hoeffding (1963), theorem 1
    Fault: the_same_mask_every_call
    """
    probe, p = probe_of(subject, case, sizes), 0.5
    seen = [drop(subject, probe, p, seed) for seed in (case.seed, *[None] * 8)]
    flat = np.stack([s.kept.reshape(-1) for s in seen])
    same = agreements(flat)
    if unlikely(same, flat.shape[1], 0.5, len(same)).any():
        raise accuse(
            f"dropout masks of two of nine calls agree in {same.max():.0f} of {flat.shape[1]} places, "
            "but should in about half", *seen,
        )  # fmt: skip
    pairs = [at_every_distance(one.kept, two.kept) for one, two in pairwise(seen)]
    same, places = (np.concatenate(part) for part in zip(*pairs, strict=True))
    require_unlike_at_every_distance(same, places, *seen)


@shown_on_smaller(SMALLER)
def the_backward_drops_what_the_forward_dropped(subject: Subject, case: Case, sizes: Sizes = USUAL) -> None:
    """The gradient of the values uses the weights that the same call's output shows.

    dV = P~^T dO with P~ read from the output. Each term of the sum is a term of the call without dropout
    times 0 or 1/(1 - p) = 2, and dO >= 0, so 2 E_dV of that call bounds the error.

    Formula: |dV_j - sum_i z_ij p_ij dO_i / (1 - p)| <= E_dV / (1 - p)
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: backward_draws_another_mask
    """
    probe, p = probe_of(subject, case, sizes), 0.5
    down = in_turn((0.0, 1.0, 3.0, 2.0, 4.0), probe.value.shape)
    back = subject.backward(probe, down, ("value",), dropout=p, seed=case.seed)
    seen = observe(subject, probe, back.out)
    n = probe.key.shape[-2]
    want = np.zeros(probe.value.shape)
    want[..., : n // 2, :] = seen.kept.swapaxes(-1, -2).astype(float) @ down / (n * (1 - p))
    bound = subject.gradient_bounds(probe, down, subject.true_gradients(probe, down)).value
    assert bound is not None
    where = np.arange(n)[:, None] < n // 2
    what = "gradient of value under dropout"
    require_close(back.gradients["value"], want, bound / (1 - p), what, where=where)


@shown_on_smaller(SMALLER)
def dropped_weights_pass_no_gradient(subject: Subject, case: Case, sizes: Sizes = USUAL) -> None:
    """A cotangent that meets dropped weights alone gives the queries no gradient at all.

    The mask of a seeded call is read, and the call made again with dO_ij = 1 where weight j of row i was
    dropped. Every term of dP = (dO V^T) z / (1 - p), and every term of D = dO . o, then has a factor 0, so dQ
    = 0 exactly.

    Formula: dO_i . v_j > 0 only where z_ij = 0 implies dQ = 0
    Source: derivations/laws.md (masked-value-gradient)
    Fault: scores_gradient_ignores_dropout
    """
    probe, p = probe_of(subject, case, sizes), 0.5
    seen = drop(subject, probe, p, case.seed)
    down = np.concatenate([~seen.kept, np.zeros_like(seen.kept)], axis=-1).astype(float)
    back = subject.backward(probe, down, ("query",), dropout=p, seed=case.seed)
    if not np.array_equal(observe(subject, probe, back.out).kept, seen.kept):
        raise NotApplicable("the seed does not fix the mask")
    what, moved = "gradient of query through dropped weights", np.abs(back.gradients["query"].values).sum(axis=-1)
    if moved.any():  # one row of the cotangent is easier to read than all
        place = np.unravel_index(int(np.argmax(moved)), moved.shape)
        alone = np.zeros_like(down)
        alone[place] = down[place]
        one = subject.backward(probe, alone, ("query",), dropout=p, seed=case.seed)
        require_close(one.gradients["query"], np.zeros(1), 0.0, what)
    require_close(back.gradients["query"], np.zeros(1), 0.0, what)


@shown_on_smaller(SMALLER)
def returned_weights_are_before_dropout(subject: Subject, case: Case, sizes: Sizes = USUAL) -> None:
    """Returned weights are those of the softmax, also where dropout then takes some of them, or as they are declared.

    Formula: |w_ij - p_ij| <= E_o for values I, whose output is the weights; declared to be those after dropout,
        |o - w V| <= 4 E_o
    Source: derivations/error_budget.md (output)
    Fault: returns_dropped_weights
    """
    probe = probe_of(subject, case, sizes)
    found = subject.forward(probe, dropout=0.5, seed=case.seed)
    weights, bound = found.weights, subject.bounds(probe).out
    assert weights is not None and bound is not None
    if subject.implementation.dropped_weights:
        # Dropout of a half doubles what it keeps: outputs and weights are each within 2 E_o of what was kept.
        what = "output under dropout, beside the values by the returned weights"
        require_close(found.out, weights.values @ probe.value, 4 * bound, what)
        return
    what = "returned weights under dropout (if those after dropout are meant, declare --dropped-weights)"
    require_close(weights, subject.truth(probe).weights, float(bound.max()), what)


def _returns_weights(implementation: Implementation) -> bool:
    return implementation.returns == "out,weights"


FAMILY, DROPOUT = "dropout", needs("dropout_p")
ONCE = Space(masks=("none",), causal=(False,), scales=False, grouped=False, small=False, max_n=8, shrinks=False)
"""Only the dtype of these cases is used."""

LAWS = (
    Law(dropout_zero_is_no_dropout, FAMILY, needs=DROPOUT, space=Space(max_n=65), large=2, small=6),
    Law(full_dropout_gives_zeros, FAMILY, needs=DROPOUT, space=Space(max_n=65), large=2, small=6),
    Law(dropped_weights_are_zero_and_kept_ones_scaled, FAMILY, needs=DROPOUT, space=ONCE, large=2, small=0),
    Law(dropout_takes_the_stated_share, FAMILY, needs=DROPOUT, space=ONCE, large=2, small=0),
    Law(dropout_differs_within_a_call, FAMILY, needs=DROPOUT, space=ONCE, large=2, small=0),
    Law(dropout_goes_on_along_rows_and_keys, FAMILY, needs=DROPOUT, space=ONCE, large=1, small=0),
    Law(dropout_differs_from_call_to_call, FAMILY, needs=DROPOUT, space=ONCE, large=2, small=0),
    Law(
        the_backward_drops_what_the_forward_dropped, FAMILY, needs=DROPOUT, declares=has_gradients,
        because=NO_GRADIENTS, space=ONCE, large=2, small=0,
    ),
    Law(
        dropped_weights_pass_no_gradient, FAMILY, needs=DROPOUT, declares=has_gradients,
        because=NO_GRADIENTS, space=ONCE, large=2, small=0,
    ),
    Law(
        returned_weights_are_before_dropout, FAMILY, needs=DROPOUT, declares=_returns_weights,
        because="no weights are declared to be returned", space=ONCE, large=2, small=0,
    ),
)  # fmt: skip
