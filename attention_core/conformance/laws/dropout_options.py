"""Laws of dropout together with every other option: scale, groups, causality, masks, odd lengths, any rate.

The laws of `dropout` use one plain problem; a kernel has a path for each combination. Here scores differ, values are
the unit vectors (so that the output shows every weight), and what else is claimed is drawn.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws.chance import margin, unlikely
from attention_core.conformance.laws.derived import NO_GRADIENTS, has_gradients, output_bound, take_queries
from attention_core.conformance.laws.dropout import (
    BATCH,
    DROPOUT,
    FAMILY,
    KEPT,
    ONCE,
    Observed,
    accuse,
    shown_on_smaller,
)
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

LENGTHS = (33, 31, 65, 48, 32, 64, 16)
"""Odd ones are preferred; the first that the target allows, in a drawn order, is taken."""
RATES = (0.1, 0.25, 0.3, 0.5, 0.75, 0.9)

CUTS = tuple((batch, heads, n) for n in (2, 3, 5, 9, 17, 33) for batch, heads in ((1, 1), (1, 2), (2, 1)))
"""Parts of a problem on which what was refuted is shown: sequences, key heads, keys."""

KINDS = {"all": (0, 1, 2, 3), "one head": (2, 3), "one query": (0, 1, 3), "one key": (0, 1, 2)}
"""Over what kept weights are counted together."""


def draw_options(subject: Subject, case: Case, cut: tuple[int, int, int] | None = None) -> Case:
    """The problem of `draw_whole`, or a part of it.

    Raises: NotApplicable where it has no such part, or its sizes are not declared.
    """
    whole = draw_whole(subject, case)
    if cut is None:
        return whole
    part = cut_problem(whole, *cut)
    if part.query.size >= whole.query.size or not subject.allows(part):
        raise NotApplicable("not a smaller problem that is allowed")
    return part


def cut_problem(probe: Case, batch: int, kv_heads: int, n: int) -> Case:
    """The first sequences, key heads with their groups, queries and keys of a problem, as many features as keys."""
    heads, n_q = kv_heads * probe.group, min(n, probe.query.shape[-2])
    mask = probe.mask
    if mask is not None:
        mask = mask[..., :n_q, :n] if mask.ndim == 2 else mask[:batch, :heads, :n_q, :n]
    query = probe.query[:batch, :heads, :n_q, :n]
    key, value = (x[:batch, :kv_heads, :n, :n] for x in (probe.key, probe.value))
    return probe.with_(query=query, key=key, value=value, mask=mask)


def draw_whole(subject: Subject, case: Case) -> Case:
    """A problem in the dtype of `case` whose output is its weights, with a drawn choice of what is claimed.

    Scores lie within +-4/sqrt(n) or +-2, so that no weight is small against the others; key 0 is attended by every
    row, so that no row is dead.
    """
    rng, claims = case.rng("configured"), subject.binding.claims
    groups = (1, 2, 4) if "enable_gqa" in claims else (1,)
    kv_heads = 4 // int(rng.choice(groups))
    allows = subject.binding.profile().allows
    lengths = sorted(rng.permutation(LENGTHS), key=lambda n: n % 2 == 0)
    for H_kv in (kv_heads, 4):
        n = next((int(n) for n in lengths if allows((n, n, n, n, 4, H_kv))), 0)
        if n:
            break
    else:
        raise NotApplicable("no declared size shows every weight")
    n_q = next(m for m in (*rng.permutation([1, 2, n, n, n, n]), n) if allows((int(m), n, n, n, 4, H_kv)))
    query, key = np.zeros((BATCH, 4, n_q, n)), np.zeros((BATCH, H_kv, n, n))
    query[..., :4], key[..., :4] = rng.integers(-1, 2, (BATCH, 4, n_q, 4)), rng.integers(-1, 2, (BATCH, H_kv, n, 4))
    value = np.broadcast_to(np.eye(n), (BATCH, H_kv, n, n)).copy()
    mask = _mask(rng, int(n_q), n) if "attn_mask" in claims and rng.random() < 0.6 else None
    causal = "is_causal" in claims and (bool(rng.random() < 0.5) or subject.implementation.always_causal)
    scale = 0.5 if "scale" in claims and rng.random() < 0.5 else None
    return Case(case.dtype, query, key, value, mask, causal, scale, case.seed, default_scale=case.default_scale)


def _mask(rng: np.random.Generator, n_q: int, n: int) -> NDArray:
    """A bool mask or biases of size 1, per batch element or whole."""
    shape = ((BATCH, 1, 1, n), (BATCH, 4, n_q, n), (n_q, n))[int(rng.integers(3))]
    keep = rng.random(shape) < 0.7
    keep[..., 0] = True
    if rng.random() < 0.5:
        return keep
    return np.where(keep, rng.integers(-1, 2, shape).astype(float), -np.inf)


def observe_dropout(subject: Subject, probe: Case, out: Result) -> Observed:
    """Which weights an output of the probe kept: those over `KEPT` of what they are without dropout."""
    return Observed(out.values > KEPT * subject.truth(probe).out, out)


def factor_error(probe: Case, p: float) -> float:
    """Relative error of a weight times 1/(1 - p): p, 1 - p, the quotient and the product are rounded (dropout)."""
    return (4 + p / (1 - p)) * UNIT_ROUNDOFF[probe.dtype]


@shown_on_smaller(CUTS)
def dropout_heeds_every_option(subject: Subject, case: Case, cut: tuple[int, int, int] | None = None) -> None:
    """With scale, groups, mask, causality and any rate, dropout still takes whole weights, at its rate.

    Each weight is 0 or p_ij/(1 - p) within E_o/(1 - p) and the rounding of the factor, (4 + p/(1 - p)) u. The number
    of kept ones among the attended is judged as in `dropout_takes_the_stated_share`, with the same risk, over all
    and (the places sharing the risk) per head, query and key; a rate wrong by 0.09 over all is seen with probability
    1/2 or more (N >= 2000 attended pairs), a key that is never dropped wherever 1 - p <= 3/4. The last query is asked
    alone as well, as in decoding, its kept weights counted over all.

    Formula: f(x, p)_ij = z_ij p_ij / (1 - p), z_ij in {0, 1}, v = I, with mask, causal, scale and groups as drawn
    Source: Srivastava et al., "Dropout" (2014), section 10: the weights are scaled in training
    Fault: causal_lost_under_dropout
    """
    probe, p = draw_options(subject, case, cut), float(case.rng("p").choice(RATES))
    require_whole_weights(subject, probe, p, list(KINDS))
    alone = take_queries(probe, np.arange(probe.query.shape[-2])[-1:]).with_(is_causal=False)
    if probe.query.shape[-2] > 1 and subject.allows(alone):
        require_whole_weights(subject, alone, p, ["all"])


def require_whole_weights(subject: Subject, probe: Case, p: float, counted: list[str]) -> None:
    """Raise unless a call takes or keeps each weight whole, and as many as its rate says in these places."""
    seen = observe_dropout(subject, probe, subject.forward(probe, dropout=p, seed=probe.seed).out)
    weights = subject.truth(probe).out
    want = np.where(seen.kept, weights / (1 - p), 0.0)
    bound = output_bound(subject, probe) / (1 - p) * (1 + factor_error(probe, p)) + factor_error(probe, p) * want
    what = f"a weight under dropout {p:g}, dropped or kept, with the other options"
    require_close(seen.result, want, bound, what)
    for places in counted:
        require_rate(seen, weights > 0, p, places, KINDS[places])


def require_rate(seen: Observed, attended: NDArray, p: float, places: str, axes: tuple[int, ...]) -> None:
    """Raise if the share of kept weights among the attended ones of any such place cannot be chance at rate 1 - p."""
    count, total = (seen.kept & attended).sum(axis=axes).reshape(-1), attended.sum(axis=axes).reshape(-1)
    count, total = count[total > 0], total[total > 0]
    odd = np.array([bool(unlikely(float(c), int(n), 1 - p, len(count))) for c, n in zip(count, total, strict=True)])
    if odd.any():
        i = int(np.argmax(odd))
        c, n = int(count[i]), int(total[i])
        raise accuse(
            f"dropout {p:g} with the other options kept {c} of {n} weights ({places}), a share of {c / n:.4f}, "
            f"but should keep {1 - p:g} within {margin(n, 1 - p, len(count)):.3f}", seen,
        )  # fmt: skip


@shown_on_smaller(CUTS)
def gradients_under_dropout_heed_every_option(
    subject: Subject, case: Case, cut: tuple[int, int, int] | None = None
) -> None:
    """With the other options, too, the backward drops what the forward dropped, and scales what it kept.

    dV = P~^T dO with P~ read from the output of the same call, each term at most that of the call without dropout
    times 1/(1 - p). With values I, dP_ij = z_ij dO_ij / (1 - p): dQ and dK are those of the call without dropout for
    the cotangent z dO / (1 - p). So is every product and sum on the way (rowsum(dO o) too, as o_ij = z_ij p_ij /
    (1 - p)), and 1/(1 - p) is a power of two, which rounds nothing: the budget is that call's.

    Formula: |dV - P~^T dO| <= E_dV / (1 - p); |dX'(dO) - dX(z dO / (1 - p))| <= E_dX(z dO / (1 - p)), X of Q, K
    Source: derivations/softmax_backward.md (softmax-vjp)
    Fault: backward_mask_of_another_group_member
    """
    probe, p = draw_options(subject, case, cut), float(case.rng("p").choice([0.5, 0.75]))
    down = case.rng("cotangent").integers(0, 4, size=(*probe.query.shape[:-1], probe.value.shape[-1])).astype(float)
    back = subject.backward(probe, down, dropout=p, seed=case.seed)
    seen = observe_dropout(subject, probe, back.out)
    weights = np.where(seen.kept, subject.truth(probe).out / (1 - p), 0.0)
    terms = (weights.swapaxes(-1, -2) @ down).reshape(-1, probe.key.shape[1], probe.group, *probe.value.shape[2:])
    bound = subject.gradient_bounds(probe, down, subject.true_gradients(probe, down)).value
    assert bound is not None
    want = terms.sum(axis=2)
    limit = bound / (1 - p) + factor_error(probe, p) * want
    require_close(back.gradients["value"], want, limit, "gradient of value under dropout with the other options")
    through = np.where(seen.kept, down / (1 - p), 0.0)
    true = subject.true_gradients(probe, through)
    bounds = subject.gradient_bounds(probe, through, true)
    for name in ("query", "key"):
        what = f"gradient of {name} under dropout with the other options"
        require_close(back.gradients[name], getattr(true, name), getattr(bounds, name), what)


LAWS = (
    Law(dropout_heeds_every_option, FAMILY, needs=DROPOUT, space=ONCE, large=6, small=0),
    Law(
        gradients_under_dropout_heed_every_option, FAMILY, needs=DROPOUT, declares=has_gradients,
        because=NO_GRADIENTS, space=ONCE, large=4, small=0,
    ),
)  # fmt: skip
